//! Arrow IPC files.

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use arrow_schema::{ArrowError, SchemaRef};

use super::arrow_check::check;
use super::{Source, TakeBatch};
use crate::error::{ConvertError, Place};

/// What a file of this format begins and ends with.
const MAGIC: &[u8; 6] = b"ARROW1";
/// An open table.
#[derive(Debug)]
pub(super) struct Arrow {
    path: PathBuf,
    schema: SchemaRef,
}

impl Arrow {
    pub(super) fn open(path: &Path) -> Result<Self, ConvertError> {
        let io = |error| ConvertError::io(path, error);
        let mut file = zvf_store::open_file(path).map_err(io)?;
        let mut magic = [0; 6];
        let got = file.read(&mut magic).map_err(io)?;
        if magic.get(..got) != Some(&MAGIC[..]) {
            return Err(ConvertError::malformed(
                path,
                Place::Byte(0),
                "another beginning",
                "\"ARROW1\": an Arrow IPC file, not a stream",
            ));
        }
        check(path, &mut file)?;
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        let reader = FileReader::try_new(BufReader::new(file), None);
        let reader = reader.map_err(|error| wrong(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            schema: reader.schema(),
        })
    }
}

impl Source for Arrow {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn vertices(&self, rows: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError> {
        let mut file = zvf_store::open_file(&self.path)
            .map_err(|error| ConvertError::io(&self.path, error))?;
        check(&self.path, &mut file)?;
        file.seek(SeekFrom::Start(0))
            .map_err(|error| ConvertError::io(&self.path, error))?;
        let reader = FileReader::try_new(BufReader::new(file), None);
        for batch in reader.map_err(|error| wrong(&self.path, error))? {
            let batch = batch.map_err(|error| wrong(&self.path, error))?;
            sliced(&batch, rows, take)?;
        }
        Ok(())
    }
}

/// Reads the table of an Arrow IPC file, which is checked before as for an import. Hands its batches over; returns its
/// schema.
///
/// # Cost
/// One batch of the file at a time.
///
/// # Errors
/// I/O; a file that is no such table; as `take` says.
pub fn read_arrow(
    path: &Path,
    take: &mut dyn FnMut(&RecordBatch) -> Result<(), ConvertError>,
) -> Result<SchemaRef, ConvertError> {
    let table = Arrow::open(path)?;
    table.vertices(usize::MAX, take)?;
    Ok(table.schema)
}

/// Hands a batch over in parts of so many rows.
pub(super) fn sliced(
    batch: &RecordBatch,
    rows: usize,
    take: &mut TakeBatch<'_>,
) -> Result<(), ConvertError> {
    let mut start = 0;
    while start < batch.num_rows() {
        let count = rows.max(1).min(batch.num_rows() - start);
        take(&batch.slice(start, count))?;
        start = start.saturating_add(count);
    }
    Ok(())
}

#[cold]
fn wrong(path: &Path, error: ArrowError) -> ConvertError {
    match error {
        ArrowError::IoError(_, source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
            ConvertError::io(path, source)
        }
        other => {
            ConvertError::malformed(path, Place::Whole, other.to_string(), "an Arrow IPC file")
        }
    }
}

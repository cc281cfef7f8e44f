//! Arrow IPC: files with a footer (Feather is one), and streams.

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::take::take;

use super::arrow_check;
use crate::error::{ConvertError, InFile};
use crate::isolate::{isolate, stream};
use crate::options::Options;
use crate::records::chosen::{chosen, left_out, metadata_of};
use crate::records::source::{TableSource, TakeBatch};
use crate::records::{geometry, lists, rename};

/// The magic bytes at the beginning and end of a file.
const MAGIC: &[u8; 6] = b"ARROW1";

/// An open table.
#[derive(Debug)]
pub(crate) struct Arrow {
    path: PathBuf,
    /// Whether the file is a stream, which has no footer.
    stream: bool,
    /// The columns that are read.
    columns: Vec<usize>,
    schema: SchemaRef,
    notes: Vec<String>,
}

/// The batches of a file or a stream.
type ArrowBatches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

/// All rows of a file, in the types of the file.
pub(crate) fn whole(path: &Path) -> Result<RecordBatch, ConvertError> {
    let open = Arrow::begin(path)?;
    isolate(path, || {
        let (schema, batches) = open.reader(None)?;
        let batches = batches.collect::<Result<Vec<_>, _>>();
        let batches = batches.map_err(|error| wrong(path, error))?;
        concat_batches(&schema, &batches).map_err(|error| wrong(path, error))
    })
}

impl Arrow {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, ConvertError> {
        let mut open = Self::begin(path)?;
        let all = isolate(path, || Ok(open.reader(None)?.0))?;
        let all = geometry::marked(rename::schema(&all, options), None, options);
        open.columns = chosen(path, &all, options)?;
        open.notes = left_out(&all, options);
        let schema = all.project(&open.columns);
        let schema = schema.map_err(|error| wrong(path, error))?;
        let schema = Arc::new(schema.with_metadata(metadata_of(&all, options)));
        open.schema = lists::found(&schema, |widths| {
            isolate(path, || {
                for batch in open.reader(Some(open.columns.clone()))?.1 {
                    if widths.see(&batch.map_err(|error| wrong(path, error))?) {
                        break;
                    }
                }
                Ok(())
            })
        })?;
        Ok(open)
    }

    /// Detects the format from the first bytes of a file.
    fn begin(path: &Path) -> Result<Self, ConvertError> {
        let io = |error| ConvertError::io(path, error);
        let mut magic = [0; 6];
        let mut file = zvf_store::open_file(path).map_err(io)?;
        let got = file.read(&mut magic).map_err(io)?;
        let stream = match magic.get(..got).unwrap_or_default() {
            start if start == MAGIC => false,
            [b'F', b'E', b'A', b'1', ..] => {
                let expected =
                    "Feather version 2, an Arrow IPC file, which pandas and pyarrow write";
                let found = "version 1 of Feather";
                return Err(ConvertError::malformed(
                    path,
                    InFile::Byte(0),
                    found,
                    expected,
                ));
            }
            [0xff, 0xff, 0xff, 0xff, ..] => true,
            _ => {
                let expected = "Arrow IPC: \"ARROW1\", or the first message of a stream";
                let found = "other first bytes";
                return Err(ConvertError::malformed(
                    path,
                    InFile::Byte(0),
                    found,
                    expected,
                ));
            }
        };
        Ok(Self {
            path: path.to_owned(),
            stream,
            columns: Vec::new(),
            schema: Arc::new(Schema::empty()),
            notes: Vec::new(),
        })
    }

    /// The schema, and the batches with these columns.
    fn reader(
        &self,
        columns: Option<Vec<usize>>,
    ) -> Result<(SchemaRef, ArrowBatches), ConvertError> {
        let path = &self.path;
        let io = |error| ConvertError::io(path, error);
        let mut file = zvf_store::open_file(path).map_err(io)?;
        if self.stream {
            arrow_check::stream(path, &mut file)?;
        } else {
            arrow_check::file(path, &mut file)?;
        }
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        let file = BufReader::new(file);
        let (schema, batches): (SchemaRef, ArrowBatches) = if self.stream {
            let reader = StreamReader::try_new(file, columns);
            let reader = reader.map_err(|error| wrong(path, error))?;
            (reader.schema(), Box::new(reader))
        } else {
            let reader = FileReader::try_new(file, columns);
            let reader = reader.map_err(|error| wrong(path, error))?;
            (reader.schema(), Box::new(reader))
        };
        let plain = decoded_schema(&schema);
        if plain == schema {
            return Ok((schema, batches));
        }
        let wanted = Arc::clone(&plain);
        let batches = batches.map(move |batch| decoded(&wanted, &batch?));
        Ok((plain, Box::new(batches)))
    }
}

/// A schema in which dictionaries of numbers, booleans and times are plain columns; pandas writes categories of numbers as dictionaries.
#[must_use]
pub fn decoded_schema(schema: &SchemaRef) -> SchemaRef {
    let plain = |field: &FieldRef| match field.data_type() {
        DataType::Dictionary(_, values)
            if values.is_numeric() || values.is_temporal() || **values == DataType::Boolean =>
        {
            let field = field.as_ref().clone().with_nullable(true);
            Arc::new(field.with_data_type(values.as_ref().clone()))
        }
        _ => Arc::clone(field),
    };
    let fields: Fields = schema.fields().iter().map(plain).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// A batch with the columns of [`decoded_schema`].
///
/// # Errors
/// The columns of the batch do not have the types of the schema.
pub fn decoded(schema: &SchemaRef, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| match column.as_any_dictionary_opt() {
        Some(coded) if column.data_type() != field.data_type() => {
            take(coded.values(), coded.keys(), None)
        }
        _ => Ok(Arc::clone(column)),
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &rows)
}

impl TableSource for Arrow {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn vertices(&self, rows: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError> {
        let open = || Ok(self.reader(Some(self.columns.clone()))?.1);
        hand_over(&self.path, &self.schema, rows, open, wrong, take)
    }
}

/// Reads batches on a separate thread, and passes them to `take` in parts of at most `rows` rows.
pub(crate) fn hand_over<B: Iterator<Item = Result<RecordBatch, ArrowError>>>(
    path: &Path,
    schema: &SchemaRef,
    rows: usize,
    open: impl FnOnce() -> Result<B, ConvertError> + Send,
    wrong: fn(&Path, ArrowError) -> ConvertError,
    take: &mut TakeBatch<'_>,
) -> Result<(), ConvertError> {
    let work = |out: &SyncSender<RecordBatch>| {
        for batch in open()? {
            let batch = batch.map_err(|error| wrong(path, error))?;
            if out.send(batch).is_err() {
                break;
            }
        }
        Ok(())
    };
    let most = rows.min(lists::at_most(schema));
    stream(path, work, &mut |batch| {
        sliced(&batch, most, &mut |batch| {
            take(&lists::fixed(path, schema, batch)?)
        })
    })
}

/// Passes a batch to `take` in parts of at most `rows` rows.
fn sliced(batch: &RecordBatch, rows: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError> {
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
            ConvertError::malformed(path, InFile::Whole, other.to_string(), "an Arrow IPC file")
        }
    }
}

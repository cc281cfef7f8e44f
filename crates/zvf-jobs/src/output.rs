//! Output files at a path or a URL. They appear under their names only when they are complete. Devices and pipes are written to directly,
//! since a rename would replace them.

mod dir;
mod sink;
mod staged;
mod upload;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use zvf_convert::output::{
    ArrowWriter, CsvWriter, NdjsonWriter, NpyRowType, NpyWriter, SpooledNpy, TableWriter,
};

use crate::JobError;
use crate::error::Result;
pub(crate) use dir::GROUPS;
pub(crate) use sink::{AnswerPlace, AnswerSink};
pub use staged::{Staged, TemporaryFolder, is_special, remove_path, unfinished_files};
pub use upload::Output;

/// Bytes gathered before a file or pipe is written to.
const BUFFER: usize = 1 << 18;

/// Formats of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum TableFormat {
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object a line
    Ndjson,
    /// Arrow IPC file
    Arrow,
    /// NumPy array of the positions, (N, D), stored dtype
    Npy,
    /// Parquet file
    #[cfg(feature = "parquet")]
    Parquet,
}

/// The schema is the same in every build, also without the feature of a format.
impl JsonSchema for TableFormat {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TableFormat".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": ["csv", "ndjson", "arrow", "npy", "parquet"]})
    }
}

impl TableFormat {
    /// Whether files of the format hold metadata of tables and columns.
    pub(crate) const fn has_metadata(self) -> bool {
        match self {
            Self::Arrow => true,
            #[cfg(feature = "parquet")]
            Self::Parquet => true,
            Self::Csv | Self::Ndjson | Self::Npy => false,
        }
    }

    /// The format of a table of vertices, for the ending of a file name.
    #[must_use]
    pub fn of_vertices(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "arrow" => Some(Self::Arrow),
            "csv" => Some(Self::Csv),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "npy" => Some(Self::Npy),
            _ => None,
        }
    }

    /// The format of a table of anything but vertices, for the ending of a file name.
    ///
    /// # Errors
    ///
    /// Misuse: an ending that is not the ending of a table format.
    pub fn of_table(path: &Path) -> Result<Self> {
        #[cfg(feature = "parquet")]
        if path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("parquet"))
        {
            return Ok(Self::Parquet);
        }
        let format = Self::of_vertices(path).filter(|format| *format != Self::Npy);
        format.ok_or_else(|| {
            JobError::usage(format!(
                "{}: expected a name that ends in .csv, .ndjson, .arrow or .parquet",
                path.display()
            ))
        })
    }
}

/// Whether a file is compressed with gzip, by its name.
#[must_use]
pub fn is_packed(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("gz"))
}

/// Writes one table to a file.
pub struct TableFile {
    // Closed before the file is renamed or removed.
    writer: Box<dyn TableWriter + Send>,
    target: PathBuf,
    /// The temporary name; `None` for devices and pipes.
    staged: Option<Staged>,
}

impl std::fmt::Debug for TableFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableFile")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

impl TableFile {
    /// Begins a table for the file `path`; devices and pipes are written to directly.
    ///
    /// # Errors
    ///
    /// Usage, when the schema does not fit the format or `path` is a directory; I/O.
    pub fn create(path: &Path, format: TableFormat, schema: &arrow_schema::Schema) -> Result<Self> {
        let failed = |error| JobError::file("write", path)(error);
        let target = path.to_owned();
        if is_special(path) {
            if format == TableFormat::Npy {
                NpyRowType::of(schema)?;
            }
            let file = File::options().write(true).open(path).map_err(failed)?;
            let out = BufWriter::with_capacity(BUFFER, file);
            return Ok(Self {
                writer: table_writer(format, out, schema).map_err(failed)?,
                target,
                staged: None,
            });
        }
        let staged = Staged::file(path)?;
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(staged.path())
            .map_err(failed)?;
        let out = BufWriter::with_capacity(BUFFER, file);
        let writer: Box<dyn TableWriter + Send> = match format {
            TableFormat::Npy => {
                Box::new(NpyWriter::new(out, NpyRowType::of(schema)?).map_err(failed)?)
            }
            other => table_writer(other, out, schema).map_err(failed)?,
        };
        Ok(Self {
            writer,
            target,
            staged: Some(staged),
        })
    }

    /// Appends rows.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { writer, target, .. } = self;
        writer.write(batch).map_err(JobError::file("write", target))
    }

    /// Completes the table and gives it its name.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn finish(self) -> Result<PathBuf> {
        let Self {
            writer,
            target,
            staged,
        } = self;
        writer.finish().map_err(JobError::file("write", &target))?;
        match staged {
            Some(staged) => staged.commit(),
            None => Ok(target),
        }
    }
}

/// A writer for the formats that do not seek.
///
/// # Errors
///
/// I/O; a schema that does not fit the format.
pub fn table_writer<W: Write + Send + 'static>(
    format: TableFormat,
    out: W,
    schema: &arrow_schema::Schema,
) -> std::io::Result<Box<dyn TableWriter + Send>> {
    Ok(match format {
        TableFormat::Csv => Box::new(CsvWriter::new(out, schema)?),
        TableFormat::Ndjson => Box::new(NdjsonWriter::new(out, schema)),
        TableFormat::Arrow => Box::new(ArrowWriter::new(out, schema)?),
        TableFormat::Npy => Box::new(SpooledNpy::new(
            out,
            NpyRowType::of(schema).map_err(|e| std::io::Error::other(e.to_string()))?,
        )?),
        #[cfg(feature = "parquet")]
        TableFormat::Parquet => Box::new(zvf_convert::output::ParquetWriter::new(out, schema)?),
    })
}

#[cfg(test)]
mod tests;

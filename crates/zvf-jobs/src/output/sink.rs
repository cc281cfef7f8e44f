//! The outputs of the tables of an answer.

use std::io::Write;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use zvf_convert::output::{NpyRowType, TableWriter};
use zvf_query::Table;

use super::dir::DirSink;
use super::{TableFile, TableFormat, table_writer};
use crate::JobError;
use crate::error::Result;

/// The output of an answer.
pub(crate) enum AnswerPlace {
    /// The tables are dropped.
    Nowhere,
    /// The table of vertices to a writer.
    Writer(Box<dyn Write + Send>, TableFormat),
    /// The table of vertices to a file.
    File(PathBuf, TableFormat),
    /// All tables to a directory.
    Directory(PathBuf),
}

impl AnswerPlace {
    /// Whether the output can hold metadata, such as the frame of the positions.
    pub(crate) fn states_frames(&self) -> bool {
        match self {
            Self::Nowhere => false,
            Self::Writer(_, format) | Self::File(_, format) => format.has_metadata(),
            Self::Directory(_) => true,
        }
    }
}

/// Writes the batches of an answer.
pub(crate) enum AnswerSink {
    Nothing,
    Writer(Box<dyn TableWriter + Send>),
    File(TableFile),
    Directory(DirSink),
}

/// An error of the caller's writer, which is stdout of the program.
fn failed(error: std::io::Error) -> JobError {
    JobError::file("write", Path::new("<stdout>"))(error)
}

impl AnswerSink {
    /// Begins to write tables with these schemas. `schema` is `None` for tables that the answer does not have.
    ///
    /// # Errors
    ///
    /// Misuse: no vertex table, a vertex table that does not fit the format, a target that may not be replaced. I/O.
    pub(crate) fn open<'s>(
        place: AnswerPlace,
        schema: impl Fn(Table) -> Option<&'s Schema>,
    ) -> Result<Self> {
        let vertices = || {
            let schema = schema(Table::Vertices);
            schema.ok_or_else(|| JobError::usage("the result has no vertex table"))
        };
        Ok(match place {
            AnswerPlace::Nowhere => Self::Nothing,
            AnswerPlace::Writer(out, format) => {
                if format == TableFormat::Npy {
                    NpyRowType::of(vertices()?)?;
                }
                Self::Writer(table_writer(format, out, vertices()?).map_err(failed)?)
            }
            AnswerPlace::File(path, format) => {
                Self::File(TableFile::create(&path, format, vertices()?)?)
            }
            AnswerPlace::Directory(path) => Self::Directory(DirSink::create(&path, schema)?),
        })
    }

    /// Appends rows of one table; tables that the target does not hold are dropped.
    ///
    /// # Errors
    ///
    /// I/O.
    pub(crate) fn write(&mut self, table: Table, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Writer(writer) if table == Table::Vertices => writer.write(batch).map_err(failed),
            Self::File(file) if table == Table::Vertices => file.write(batch),
            Self::Directory(dir) => dir.write(table, batch),
            _ => Ok(()),
        }
    }

    /// Writes a table of groups, if the target has one.
    ///
    /// # Errors
    ///
    /// I/O.
    pub(crate) fn groups(&mut self, groups: &RecordBatch) -> Result<()> {
        match self {
            Self::Directory(dir) => dir.groups(groups),
            _ => Ok(()),
        }
    }

    /// Completes all files, renames them, and returns their names.
    ///
    /// # Errors
    ///
    /// I/O.
    pub(crate) fn finish(self) -> Result<Vec<PathBuf>> {
        match self {
            Self::Nothing => Ok(Vec::new()),
            Self::Writer(writer) => writer.finish().map_err(failed).map(|()| Vec::new()),
            Self::File(file) => Ok(vec![file.finish()?]),
            Self::Directory(dir) => dir.finish(),
        }
    }
}

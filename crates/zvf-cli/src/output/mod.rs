//! Destinations of results: files by their ending, directories of tables, stdout.

pub(crate) mod dir;
pub(crate) mod interrupt;
#[cfg(feature = "plot")]
mod sixel;
pub(crate) mod table;
#[cfg(feature = "plot")]
pub(crate) mod terminal;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use serde::Serialize;
use zvf_convert::Format;
use zvf_convert::output::{Rows, TableWriter};
use zvf_jobs::{TableFile, TableFormat, is_packed, table_writer};
use zvf_query::Table;

use crate::error::{CliError, Result};

/// Bytes gathered before a file or pipe is written to.
const BUFFER: usize = 1 << 18;

/// The destination of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// No destination; only a summary is printed.
    Summary,
    /// The vertex table on stdout.
    Stdout(TableFormat),
    /// The vertex table in a file.
    File(PathBuf, TableFormat),
    /// A file of a format of `zvf export`.
    Export(PathBuf, Format),
    /// All tables in a directory.
    Directory(PathBuf),
}

impl Target {
    /// The destination for `-o` and `--format`; with both, the vertex table is written to the file in that format.
    ///
    /// # Errors
    ///
    /// Usage: an unknown ending.
    pub(crate) fn of(output: Option<&Path>, format: Option<TableFormat>) -> Result<Self> {
        Ok(match (output, format) {
            (None, None) => Self::Summary,
            (None, Some(format)) => Self::Stdout(format),
            (Some(path), Some(_)) if is_packed(path) => {
                return Err(CliError::usage(format!(
                    "{}: found .gz beside --format, expected no --format: .csv.gz and .tsv.gz are packed without it",
                    path.display()
                )));
            }
            (Some(path), Some(format)) => Self::File(path.to_owned(), format),
            (Some(path), None) if is_directory_name(path) => Self::Directory(path.to_owned()),
            (Some(path), None) => match TableFormat::of_vertices(path) {
                Some(format) => Self::File(path.to_owned(), format),
                None => Self::Export(path.to_owned(), export_format(path)?),
            },
        })
    }

    /// Whether its table of vertices has a column with the object of a row. All formats have it except NPY, which has only positions. Exports
    /// make their own choice.
    pub(crate) fn has_owners(&self) -> bool {
        match self {
            Self::Stdout(format) | Self::File(_, format) => *format != TableFormat::Npy,
            Self::Directory(_) => true,
            Self::Summary | Self::Export(..) => false,
        }
    }

    /// Whether only vertices are written.
    pub(crate) fn vertices_only(&self) -> bool {
        matches!(self, Self::Stdout(_) | Self::File(..))
    }
}

/// Whether a name has no ending, or a slash at its end.
fn is_directory_name(path: &Path) -> bool {
    let slash = path
        .as_os_str()
        .to_string_lossy()
        .ends_with(['/', std::path::MAIN_SEPARATOR]);
    slash || path.extension().is_none()
}

/// The format of `zvf export` for an ending.
fn export_format(path: &Path) -> Result<Format> {
    Format::of(path).map_err(|_| {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let known: Vec<String> = Format::endings().map(|one| format!(".{one}")).collect();
        CliError::usage(format!(
            "{}: found .{ending}, expected {}, or for a directory a name without an ending or with a slash at its end",
            path.display(),
            known.join(", ")
        ))
    })
}

/// Writes the batches of a result to their targets.
pub(crate) enum Sink {
    /// Nowhere.
    Nothing,
    /// One table on stdout.
    Stdout(Box<dyn TableWriter>),
    /// One table in a file.
    File(TableFile),
    /// Several tables in a directory.
    Directory(dir::DirSink),
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nothing => "Nothing",
            Self::Stdout(_) => "Stdout",
            Self::File(_) => "File",
            Self::Directory(_) => "Directory",
        })
    }
}

impl Sink {
    /// Begins to write tables of these schemas; tables without a schema do not occur in the result.
    ///
    /// # Errors
    ///
    /// Usage, when the vertex table does not fit the format or the target may not be replaced; I/O.
    pub(crate) fn open<'s>(
        target: &Target,
        schema: impl Fn(Table) -> Option<&'s Schema>,
    ) -> Result<Self> {
        let vertices = || {
            schema(Table::Vertices).ok_or_else(|| CliError::usage("the result has no vertex table"))
        };
        Ok(match target {
            // The file of an export is written by the export.
            Target::Summary | Target::Export(..) => Self::Nothing,
            Target::Stdout(format) => Self::Stdout(stdout_writer(*format, vertices()?)?),
            Target::File(path, format) => {
                Self::File(TableFile::create(path, *format, vertices()?)?)
            }
            Target::Directory(path) => Self::Directory(dir::DirSink::create(path, schema)?),
        })
    }

    /// Appends rows of one table; tables that the target does not hold are dropped.
    ///
    /// # Errors
    ///
    /// I/O.
    pub(crate) fn write(&mut self, table: Table, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Nothing => Ok(()),
            Self::Stdout(writer) if table == Table::Vertices => {
                writer.write(batch).map_err(|e| CliError::stdout(&e))
            }
            Self::File(file) if table == Table::Vertices => Ok(file.write(batch)?),
            Self::Directory(dir) => dir.write(table, batch),
            Self::Stdout(_) | Self::File(_) => Ok(()),
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
            Self::Stdout(writer) => writer
                .finish()
                .map_err(|e| CliError::stdout(&e))
                .map(|()| Vec::new()),
            Self::File(file) => Ok(vec![file.finish()?]),
            Self::Directory(dir) => dir.finish(),
        }
    }
}

/// A writer that ends on stdout.
fn stdout_writer(format: TableFormat, schema: &Schema) -> Result<Box<dyn TableWriter>> {
    if format == TableFormat::Npy {
        Rows::of(schema)?;
    }
    let out = BufWriter::with_capacity(BUFFER, io::stdout());
    match table_writer(format, out, schema) {
        Ok(writer) => Ok(writer),
        Err(error) => Err(CliError::stdout(&error)),
    }
}

/// Prints one JSON document on stdout.
///
/// # Errors
///
/// I/O.
pub(crate) fn print_json(document: &impl Serialize) -> Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, document)
        .map_err(io::Error::from)
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush())
        .map_err(|e| CliError::stdout(&e))
}

/// Prints text on stdout.
///
/// # Errors
///
/// I/O.
pub(crate) fn print_text(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|e| CliError::stdout(&e))
}

/// Writes bytes on stdout.
///
/// # Errors
///
/// I/O.
#[cfg(feature = "plot")]
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|e| CliError::stdout(&e))
}

#[cfg(test)]
mod tests;

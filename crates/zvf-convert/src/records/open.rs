//! Opens tables: files of all formats with columns.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;

use super::source::{ChangedColumns, TableSource, with_schema};
use super::{geometry, rename, values};
use crate::error::{ConvertError, InFile};
use crate::options::Options;
use crate::table::arrow;
#[cfg(feature = "parquet")]
use crate::table::parquet;
use crate::table::text::OpenTextTable;
use crate::{Format, las, npy, npz, ply};

/// A file with its columns renamed by the options.
fn renamed(source: impl TableSource + 'static, options: &Options) -> Box<dyn TableSource> {
    if options.rename.is_empty() {
        return Box::new(source);
    }
    let schema = rename::schema(&source.schema(), options);
    let names = Arc::clone(&schema);
    let change = move |batch: &RecordBatch, _| {
        with_schema(&names, batch.columns().to_vec(), batch.num_rows())
    };
    Box::new(ChangedColumns::new(Box::new(source), schema, change))
}

pub(crate) fn source(
    path: &Path,
    format: Format,
    options: &Options,
) -> Result<Box<dyn TableSource>, ConvertError> {
    Ok(match format {
        _ if format.is_text() => Box::new(OpenTextTable::open(path, format, options)?),
        Format::Npy => renamed(npy::Npy::open(path)?, options),
        Format::Npz => renamed(npz::read::Npz::open(path)?, options),
        Format::Las | Format::Laz => renamed(las::read::Las::open(path, options)?, options),
        Format::Ply => renamed(ply::read::Ply::open(path, options)?, options),
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            let source = Box::new(parquet::Parquet::open(path, options)?);
            geometry::as_positions(path, source, options)?
        }
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(ConvertError::not_built(path)),
        _ => {
            let source = Box::new(arrow::Arrow::open(path, options)?);
            geometry::as_positions(path, source, options)?
        }
    })
}

/// Reads a table of any format with columns. Values of text formats are not parsed; durations become texts with their unit, and UUIDs
/// become texts.
///
/// # Cost
/// Memory for the table, or twice that if the file has several batches.
///
/// # Errors
/// I/O; a format without columns; a damaged file, or one without usable columns.
pub fn read_table(path: &Path, options: &Options) -> Result<RecordBatch, ConvertError> {
    let format = options.format.map_or_else(|| Format::of(path), Ok)?;
    let table: Box<dyn TableSource> = match format {
        _ if format.is_text() => Box::new(OpenTextTable::texts(path, format, options)?),
        Format::Arrow | Format::Parquet | Format::Npy | Format::Npz => {
            let mut options = options.clone();
            options.loose = true;
            source(path, format, &options)?
        }
        other => {
            let expected = "a table: CSV, NDJSON, Arrow, Parquet, NPY or NPZ";
            let what = path.display().to_string();
            return Err(ConvertError::usage(what, other.name(), expected));
        }
    };
    read_source(path, &*table, options.batch)
}

/// Reads a whole source of columns.
pub(super) fn read_source(
    path: &Path,
    table: &dyn TableSource,
    rows: usize,
) -> Result<RecordBatch, ConvertError> {
    let wrong = |error: ArrowError| {
        let expected = "rows of one table";
        ConvertError::malformed(path, InFile::Whole, error.to_string(), expected)
    };
    let schema = values::plain(&table.schema());
    if schema.fields().is_empty() {
        let expected = "columns of numbers, booleans, texts, dates or times, or of lists of numbers of one length";
        return Err(ConvertError::malformed(
            path,
            InFile::Whole,
            "none",
            expected,
        ));
    }
    let mut batches = Vec::new();
    table.vertices(rows, &mut |batch| {
        batches.push(values::with_plain_columns(batch).map_err(wrong)?);
        Ok(())
    })?;
    concat_batches(&schema, &batches).map_err(wrong)
}

//! Parquet files.
//!
//! The crate's reader is made for files that are whole: it asserts what it expects, and reserves what is promised. So the footer is
//! walked before it is read, and every page is checked before it is taken apart (`check.rs`, `pages.rs`).
//!
//! Types are those of the file's own schema: a schema that Arrow writers leave in the metadata is not looked at. Columns of lists
//! are read where all lists of a file have one length.

mod check;
mod pages;
mod thrift;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, ParquetStatisticsPolicy,
};

use super::arrow::sliced;
use super::{Source, TakeBatch};
use crate::error::{ConvertError, Place, shown};
use crate::options::Options;
use crate::output::AXES;
use pages::Groups;

/// An open table.
#[derive(Debug)]
pub(super) struct Parquet {
    path: PathBuf,
    metadata: Arc<ParquetMetaData>,
    /// Columns of the file that are read.
    columns: Vec<usize>,
    schema: SchemaRef,
}

impl Parquet {
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self, ConvertError> {
        let file = zvf_store::open_file(path).map_err(|error| ConvertError::io(path, error))?;
        check::footer(path, &file)?;
        // Statistics are not needed, and what is not read cannot be wrong.
        let skipped = ParquetMetaDataOptions::new()
            .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
        let metadata = ParquetMetaDataReader::new()
            .with_metadata_options(Some(skipped))
            .parse_and_finish(&file);
        let metadata = Arc::new(metadata.map_err(|error| wrong(path, error))?);
        let all = parquet_to_arrow_schema(metadata.file_metadata().schema_descr(), None);
        let all = all.map_err(|error| wrong(path, error))?;
        if all.fields().len() as u64 > options.limits.columns {
            let limit = options.limits.columns;
            return Err(ConvertError::limit(path, Place::Whole, "columns", limit));
        }
        let names = all.fields().iter().map(|field| field.name().as_str());
        let wanted = |(_, name): &(usize, &str)| wanted(name, options);
        let columns: Vec<usize> = names
            .enumerate()
            .filter(wanted)
            .map(|(column, _)| column)
            .collect();
        check::columns(path, &file, &metadata, &columns)?;
        let mut open = Self {
            path: path.to_owned(),
            schema: Arc::new(all),
            columns,
            metadata,
        };
        open.schema = open.found()?;
        Ok(open)
    }

    /// Reads the columns that are wanted, forwards.
    fn reader(&self, rows: usize) -> Result<ParquetRecordBatchReader, ConvertError> {
        let file = zvf_store::open_file(&self.path)
            .map_err(|error| ConvertError::io(&self.path, error))?;
        let schema = self.metadata.file_metadata().schema_descr();
        let mask = ProjectionMask::roots(schema, self.columns.iter().copied());
        let groups = Groups {
            path: self.path.clone(),
            file: Arc::new(file),
            metadata: Arc::clone(&self.metadata),
        };
        let levels = parquet_to_arrow_field_levels(schema, mask, None);
        let reader = levels.and_then(|levels| {
            ParquetRecordBatchReader::try_new_with_row_groups(&levels, &groups, rows.max(1), None)
        });
        reader.map_err(|error| wrong(&self.path, error))
    }

    /// The schema of the columns that are read: lists have the length of the first one.
    fn found(&self) -> Result<SchemaRef, ConvertError> {
        let all = &self.schema;
        let fields = self.columns.iter().filter_map(|at| all.fields().get(*at));
        let mut fields: Vec<Field> = fields.map(|field| field.as_ref().clone()).collect();
        let listed = |field: &Field| matches!(field.data_type(), DataType::List(_));
        if fields.iter().any(listed) {
            let first = self.reader(1)?.next().transpose();
            let first = first.map_err(|error| wrong(&self.path, error.into()))?;
            for (field, column) in fields
                .iter_mut()
                .zip(first.iter().flat_map(RecordBatch::columns))
            {
                let DataType::List(item) = field.data_type().clone() else {
                    continue;
                };
                let width = column
                    .as_list_opt::<i32>()
                    .map_or(0, |list| list.value_length(0));
                field.set_data_type(DataType::FixedSizeList(item, width.max(1)));
            }
        }
        let pairs = self.metadata.file_metadata().key_value_metadata();
        let axes = pairs.into_iter().flatten().find(|pair| pair.key == AXES);
        let axes = axes.and_then(|pair| Some((pair.key.clone(), pair.value.clone()?)));
        let metadata: HashMap<String, String> = axes.into_iter().collect();
        Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
    }

    /// A batch with lists of one length.
    fn fixed(&self, batch: &RecordBatch) -> Result<RecordBatch, ConvertError> {
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| match field.data_type() {
            DataType::FixedSizeList(item, width) => {
                let list = column.as_list_opt::<i32>();
                let list = list.filter(|list| {
                    list.null_count() == 0
                        && list.offsets().windows(2).all(|ends| {
                            matches!(ends, [start, end] if end.checked_sub(*start) == Some(*width))
                        })
                });
                let list = list.and_then(|list| {
                    let start = list.offsets().first().copied().map(usize::try_from)?.ok()?;
                    let count = usize::try_from(*width).ok()?.checked_mul(list.len())?;
                    let items = list.values().slice(start, count);
                    FixedSizeListArray::try_new(Arc::clone(item), *width, items, None).ok()
                });
                list.map(|list| Arc::new(list) as ArrayRef).ok_or_else(|| {
                    let found =
                        format!("column {} with lists of other lengths", shown(field.name()));
                    let expected = format!("{width} values in each, as in the first");
                    ConvertError::malformed(&self.path, Place::Whole, found, expected)
                })
            }
            _ => Ok(Arc::clone(column)),
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|error| wrong(&self.path, error.into()))
    }
}

/// Whether a column is read: all are, unless attributes are named.
fn wanted(name: &str, options: &Options) -> bool {
    let Some(attributes) = &options.attributes else {
        return true;
    };
    let named =
        |list: Option<&Vec<String>>| list.is_some_and(|list| list.iter().any(|one| one == name));
    let usual = || {
        ["position", "positions", "x", "y", "z"]
            .iter()
            .any(|one| name.eq_ignore_ascii_case(one))
    };
    named(Some(attributes))
        || options.object_column.as_deref() == Some(name)
        || named(options.position.as_ref())
        || (options.position.is_none() && usual())
}

impl Source for Parquet {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn vertices(&self, rows: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError> {
        for batch in self.reader(rows)? {
            let batch = batch.map_err(|error| wrong(&self.path, error.into()))?;
            sliced(&self.fixed(&batch)?, rows, take)?;
        }
        Ok(())
    }
}

#[cold]
fn wrong(path: &Path, error: ParquetError) -> ConvertError {
    ConvertError::malformed(path, Place::Whole, error.to_string(), "a Parquet file")
}

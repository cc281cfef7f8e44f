//! Parquet files.
//!
//! Types are those of the file's own schema: a schema that Arrow writers leave in the metadata is not looked at. Columns of lists
//! are read where all lists of a file have one length.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;

use super::arrow::sliced;
use super::parquet_check::check;
use super::{Source, TakeBatch};
use crate::error::{ConvertError, Place, shown};
use crate::options::Options;
use crate::output::AXES;

/// An open table.
#[derive(Debug)]
pub(super) struct Parquet {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    /// Columns of the file that are read.
    columns: Vec<usize>,
    schema: SchemaRef,
}

impl Parquet {
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self, ConvertError> {
        let file = File::open(path).map_err(|error| ConvertError::io(path, error))?;
        check::footer(path, &file)?;
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file);
        let metadata = Arc::new(metadata.map_err(|error| wrong(path, error))?);
        let reading = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::try_new(metadata, reading);
        let metadata = metadata.map_err(|error| wrong(path, error))?;
        let all = metadata.schema();
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
        check::pages(path, &file, metadata.metadata(), &columns)?;
        let mut open = Self {
            path: path.to_owned(),
            schema: Arc::clone(all),
            columns,
            metadata,
        };
        open.schema = open.found(path)?;
        Ok(open)
    }

    /// Reads the columns that are wanted, forwards.
    fn reader(&self, rows: usize) -> Result<ParquetRecordBatchReader, ConvertError> {
        let file = File::open(&self.path).map_err(|error| ConvertError::io(&self.path, error))?;
        check::footer(&self.path, &file)?;
        check::pages(&self.path, &file, self.metadata.metadata(), &self.columns)?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), self.columns.iter().copied());
        let reader = builder.with_projection(mask).with_batch_size(rows.max(1)).build();
        reader.map_err(|error| wrong(&self.path, error))
    }

    /// The schema of the columns that are read: lists have the length of the first one.
    fn found(&self, path: &Path) -> Result<SchemaRef, ConvertError> {
        let all = self.metadata.schema();
        let fields = self.columns.iter().filter_map(|at| all.fields().get(*at));
        let mut fields: Vec<Field> = fields.map(|field| field.as_ref().clone()).collect();
        let listed = |field: &Field| matches!(field.data_type(), DataType::List(_));
        if fields.iter().any(listed) {
            let first = self.reader(1)?.next().transpose();
            let first = first.map_err(|error| wrong(path, error.into()))?;
            for (field, column) in fields.iter_mut().zip(first.iter().flat_map(RecordBatch::columns)) {
                let DataType::List(item) = field.data_type().clone() else {
                    continue;
                };
                let width = column.as_list_opt::<i32>().map_or(0, |list| list.value_length(0));
                field.set_data_type(DataType::FixedSizeList(item, width.max(1)));
            }
        }
        let pairs = self.metadata.metadata().file_metadata().key_value_metadata();
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
                    let found = format!("column {} with lists of other lengths", shown(field.name()));
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
    let named = |list: Option<&Vec<String>>| list.is_some_and(|list| list.iter().any(|one| one == name));
    let usual = || ["position", "positions", "x", "y", "z"].iter().any(|one| name.eq_ignore_ascii_case(one));
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

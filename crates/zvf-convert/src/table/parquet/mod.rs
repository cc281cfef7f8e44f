//! Parquet files.
//!
//! The parquet crate panics on unexpected contents and trusts stated sizes when it allocates. So it runs on a thread of its own
//! ([`crate::isolate`]), the footer is checked before it is read (`check.rs`), and allocations for pages are bounded (`pages.rs`).
//!
//! Types are taken from the file's own schema; timestamps, dates, times and durations from the Arrow schema in the metadata. Columns of lists
//! are read if all lists of a file have the same length.

mod check;
mod pages;
mod stated;
mod thrift;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::TimestampMicrosecondArray;
use arrow_array::cast::AsArray;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema};
use parquet::basic::{LogicalType, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, ParquetStatisticsPolicy,
};

use zvf_encode::arrow::{DELTA, LEVEL};
use zvf_encode::error::OrBug;

use super::arrow::hand_over;
use crate::error::{ConvertError, InFile, shown};
use crate::frame::FRAME;
use crate::isolate::isolate;
use crate::options::Options;
use crate::output::AXES;
use crate::records::chosen::{chosen, left_out, metadata_of};
use crate::records::source::{CRS, TableSource, TakeBatch, UUID};
use crate::records::{geometry, lists, rename};
use crate::time;
use pages::CheckedRowGroups;

/// An open table.
#[derive(Debug)]
pub(crate) struct Parquet {
    path: PathBuf,
    metadata: Arc<ParquetMetaData>,
    /// All columns of the file, with the types that they are read as.
    fields: Fields,
    /// Columns of the file that are read.
    columns: Vec<usize>,
    schema: SchemaRef,
    notes: Vec<String>,
}

impl Parquet {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, ConvertError> {
        let file = zvf_store::open_file(path).map_err(|error| ConvertError::io(path, error))?;
        check::footer(path, &file)?;
        // Statistics are not needed, so defects in them do not matter.
        let skipped = ParquetMetaDataOptions::new()
            .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
        let (metadata, all) = isolate(path, || {
            let metadata = ParquetMetaDataReader::new()
                .with_metadata_options(Some(skipped))
                .parse_and_finish(&file);
            let metadata = Arc::new(metadata.map_err(|error| wrong(path, error))?);
            let all = parquet_to_arrow_schema(metadata.file_metadata().schema_descr(), None);
            let all = all.map_err(|error| wrong(path, error))?;
            if all.fields().len() as u64 > options.limits.columns {
                let limit = options.limits.columns;
                return Err(ConvertError::limit(path, InFile::Whole, "columns", limit));
            }
            let all = typed(&all, &metadata);
            Ok((metadata, all))
        })?;
        let pairs = metadata.file_metadata().key_value_metadata();
        let geo = pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == geometry::GEO));
        let geo = geo.and_then(|pair| pair.value.as_deref());
        let located = geometry::marked(Arc::new(all.clone()), geo, options);
        let named = rename::schema(&located, options);
        let columns = chosen(path, &named, options)?;
        check::columns(path, &file, &metadata, &columns)?;
        let fields = columns.iter().filter_map(|at| named.fields().get(*at));
        let fields: Vec<Arc<Field>> = fields.map(Arc::clone).collect();
        let stated = metadata_of(&named, options);
        let mut open = Self {
            path: path.to_owned(),
            fields: all.fields().clone(),
            schema: Arc::new(Schema::new_with_metadata(fields, stated)),
            columns,
            metadata,
            notes: left_out(&named, options),
        };
        open.schema = lists::found(&open.schema, |widths| {
            // The first row is usually enough.
            isolate(path, || {
                Ok(open.see(1, 1, widths)? || open.see(1024, usize::MAX, widths)?)
            })?;
            Ok(())
        })?;
        open.choose_units()?;
        Ok(open)
    }

    /// Selects microseconds for each column of 96-bit timestamps whose values are not all in the range of nanoseconds.
    ///
    /// # Cost
    /// Reads each column with such timestamps once. Current writers do not use this type.
    fn choose_units(&mut self) -> Result<(), ConvertError> {
        let coarse = DataType::Timestamp(TimeUnit::Microsecond, None);
        for place in 0..self.columns.len() {
            let Some(root) = self
                .columns
                .get(place)
                .copied()
                .filter(|root| self.is_96(*root))
            else {
                continue;
            };
            let probe = Self {
                path: self.path.clone(),
                metadata: Arc::clone(&self.metadata),
                fields: with_type(&self.fields, root, &coarse),
                columns: vec![root],
                schema: Arc::clone(&self.schema),
                notes: Vec::new(),
            };
            let far = isolate(&self.path, || {
                for batch in probe.reader(1 << 16)? {
                    let batch = batch.map_err(|error| wrong(&self.path, error.into()))?;
                    let column = batch.columns().first();
                    let column = column.and_then(|one| one.as_primitive_opt());
                    let moments: &TimestampMicrosecondArray =
                        column.or_bug("timestamps of another type")?;
                    let mut moments = moments.iter().flatten();
                    if moments.any(|moment| moment.checked_mul(1000).is_none()) {
                        return Ok(true);
                    }
                }
                Ok(false)
            })?;
            if far {
                self.fields = probe.fields;
                let fields = with_type(self.schema.fields(), place, &coarse);
                let name = fields.get(place).map_or("", |field| field.name());
                self.notes.push(format!(
                    "{} is read with microseconds: 64-bit nanoseconds cover only the years 1677 to 2262",
                    shown(name)
                ));
                let metadata = self.schema.metadata().clone();
                self.schema = Arc::new(Schema::new_with_metadata(fields, metadata));
            }
        }
        Ok(())
    }

    /// Whether a column has 96-bit timestamps that are read as nanoseconds.
    fn is_96(&self, root: usize) -> bool {
        let schema = self.metadata.file_metadata().schema_descr();
        let leaves = schema.columns().iter().enumerate();
        let mut own = leaves.filter(|(leaf, _)| schema.get_column_root_idx(*leaf) == root);
        let nanoseconds = DataType::Timestamp(TimeUnit::Nanosecond, None);
        let is_one = self
            .fields
            .get(root)
            .is_some_and(|field| *field.data_type() == nanoseconds);
        is_one && own.all(|(_, leaf)| leaf.physical_type() == PhysicalType::INT96)
    }

    /// A reader of the requested columns.
    fn reader(&self, rows: usize) -> Result<ParquetRecordBatchReader, ConvertError> {
        let file = zvf_store::open_file(&self.path)
            .map_err(|error| ConvertError::io(&self.path, error))?;
        let schema = self.metadata.file_metadata().schema_descr();
        let mask = ProjectionMask::roots(schema, self.columns.iter().copied());
        let groups = CheckedRowGroups {
            path: self.path.clone(),
            file: Arc::new(file),
            metadata: Arc::clone(&self.metadata),
        };
        let levels = parquet_to_arrow_field_levels(schema, mask, Some(&self.fields));
        let reader = levels.and_then(|levels| {
            ParquetRecordBatchReader::try_new_with_row_groups(&levels, &groups, rows.max(1), None)
        });
        reader.map_err(|error| wrong(&self.path, error))
    }

    /// Reads at most `batches` batches of `rows` rows until the lengths of all lists are known; returns whether they are.
    fn see(
        &self,
        rows: usize,
        batches: usize,
        widths: &mut lists::ListLengths,
    ) -> Result<bool, ConvertError> {
        for batch in self.reader(rows)?.take(batches) {
            if widths.see(&batch.map_err(|error| wrong(&self.path, error.into()))?) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The fields, with the type of one of them replaced.
fn with_type(fields: &Fields, of: usize, kind: &DataType) -> Fields {
    let fields = fields.iter().enumerate();
    let fields = fields.map(|(at, field)| match at == of {
        true => Arc::new(field.as_ref().clone().with_data_type(kind.clone())),
        false => Arc::clone(field),
    });
    fields.collect()
}

/// The schema of a file: timestamps, dates, times and durations as in the Arrow schema, UUIDs by their logical type.
fn typed(own: &Schema, metadata: &ParquetMetaData) -> Schema {
    let file = metadata.file_metadata();
    let schema = file.schema_descr();
    let noted = stated::fields(own, metadata);
    let uuid = |at: usize| {
        let leaves = schema.columns().iter().enumerate();
        let mut own = leaves.filter(|(leaf, _)| schema.get_column_root_idx(*leaf) == at);
        own.any(|(_, leaf)| leaf.logical_type_ref() == Some(&LogicalType::Uuid))
    };
    let fields = own.fields().iter().enumerate().map(|(at, field)| {
        let mut field = field.as_ref().clone();
        let other = noted.as_ref().and_then(|noted| noted.get(at));
        if let Some(other) = other {
            let stated = other.metadata().iter();
            let stated = stated.filter(|(key, _)| key.starts_with("zvf."));
            field.set_metadata(stated.map(|(k, v)| (k.clone(), v.clone())).collect());
        }
        let other = other.map(|other| other.data_type());
        if let Some(kind) = other.filter(|kind| time::unit(kind).is_some())
            && (*field.data_type() == DataType::Int64 || time::unit(field.data_type()).is_some())
        {
            field.set_data_type(kind.clone());
        }
        if *field.data_type() == DataType::FixedSizeBinary(16) && uuid(at) {
            let name = (UUID.0.to_owned(), UUID.1.to_owned());
            field.metadata_mut().extend([name]);
        }
        field
    });
    let fields: Vec<Field> = fields.collect();
    let pairs = file.key_value_metadata().into_iter().flatten();
    let stated = pairs.filter(|pair| [AXES, CRS, DELTA, FRAME, LEVEL].contains(&pair.key.as_str()));
    let stated = stated.filter_map(|pair| Some((pair.key.clone(), pair.value.clone()?)));
    let stated: HashMap<String, String> = stated.collect();
    Schema::new_with_metadata(fields, stated)
}

impl TableSource for Parquet {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn vertices(&self, rows: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError> {
        let open = || self.reader(rows);
        let wrong = |path: &Path, error: ArrowError| wrong(path, error.into());
        hand_over(&self.path, &self.schema, rows, open, wrong, take)
    }
}

#[cold]
fn wrong(path: &Path, error: ParquetError) -> ConvertError {
    ConvertError::malformed(path, InFile::Whole, error.to_string(), "a Parquet file")
}

//! Parquet files, compressed with Zstandard. A table with a column of geometries becomes GeoParquet.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Time32MillisecondType, Time32SecondType,
    TimestampMillisecondType, TimestampSecondType,
};
use arrow_array::{ArrayRef, ArrowNativeTypeOp, PrimitiveArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use zvf_write::arrow::UNIT;

use super::geoparquet::{self, GeoColumns};
use super::{OddMoment, TableWriter, batch_with_times, with_times};
use crate::time;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Rows of a row group, which is in memory until it is written.
const ROWS: usize = 1 << 17;

/// Writes one table as a Parquet file.
pub struct ParquetWriter<W: Write + Send> {
    inner: ArrowWriter<W>,
    geometries: GeoColumns,
}

impl<W: Write + Send> std::fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetWriter").finish_non_exhaustive()
    }
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file with the metadata of the schema.
    ///
    /// # Cost
    /// Holds up to 131 072 encoded rows in memory.
    ///
    /// # Errors
    ///
    /// When the header cannot be written, or a column is of a type that Parquet does not have.
    pub fn new(out: W, schema: &Schema) -> io::Result<Self> {
        let mut pairs: Vec<(&String, &String)> = schema.metadata().iter().collect();
        pairs.sort_unstable();
        let pairs = pairs
            .into_iter()
            .map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
        let properties = WriterProperties::builder()
            .set_created_by("zvf".to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROWS))
            .set_key_value_metadata(Some(pairs.collect()))
            .build();
        let geometries = GeoColumns::of(schema);
        let schema = Arc::new(in_parquet_types(&with_times(schema)));
        let inner = ArrowWriter::try_new(out, schema, Some(properties)).map_err(io_error)?;
        Ok(Self { inner, geometries })
    }
}

impl<W: Write + Send> TableWriter for ParquetWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.geometries.see(batch);
        let batch = batch_with_times(batch)?;
        let batch = batch_in_parquet_types(&batch)?;
        self.inner.write(&batch).map_err(io_error)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if let Some(geo) = self.geometries.document() {
            let pair = KeyValue::new(geoparquet::KEY.to_owned(), geo);
            self.inner.append_key_value_metadata(pair);
        }
        self.inner.finish().map_err(io_error)?;
        self.inner.inner_mut().flush()
    }
}

/// The schema with milliseconds instead of seconds, and Date32 instead of Date64: Parquet has neither seconds nor Date64, and other programs would
/// read plain numbers.
fn in_parquet_types(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| {
        let finer = match field.data_type() {
            DataType::Timestamp(TimeUnit::Second, zone) => {
                DataType::Timestamp(TimeUnit::Millisecond, zone.clone())
            }
            DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
            DataType::Date64 => DataType::Date32,
            _ => return Field::clone(field),
        };
        let mut metadata = field.metadata().clone();
        if let (Some(stated), Some(unit)) = (metadata.get_mut(UNIT), time::unit(&finer)) {
            *stated = unit;
        }
        Field::clone(field)
            .with_data_type(finer)
            .with_metadata(metadata)
    });
    let fields: Vec<Field> = fields.collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// Converts a batch to the schema that [`in_parquet_types`] returns.
///
/// # Errors
///
/// [`OddMoment`]: a number of seconds that is too large for milliseconds, a date that is not a whole number of days.
fn batch_in_parquet_types(batch: &RecordBatch) -> io::Result<RecordBatch> {
    let columns = batch.columns().iter().zip(batch.schema_ref().fields());
    let columns = columns.map(|(column, field)| {
        let odd = |_: ArrowError| {
            let name = field.name();
            let odd = OddMoment(format!(
                "column {name}: found a number of seconds that 64 bits do not hold as milliseconds, which Parquet has, expected another format"
            ));
            io::Error::new(io::ErrorKind::InvalidData, odd)
        };
        Ok(match column.data_type() {
            DataType::Timestamp(TimeUnit::Second, zone) => {
                let finer = thousandfold::<TimestampSecondType, TimestampMillisecondType>(column);
                Arc::new(finer.map_err(odd)?.with_timezone_opt(zone.clone())) as ArrayRef
            }
            DataType::Time32(TimeUnit::Second) => {
                let finer = thousandfold::<Time32SecondType, Time32MillisecondType>(column);
                Arc::new(finer.map_err(odd)?)
            }
            DataType::Date64 => {
                let days = column.as_primitive::<Date64Type>().try_unary(|value| {
                    let whole = value % DAY == 0;
                    let days = i32::try_from(value / DAY).ok().filter(|_| whole);
                    days.ok_or_else(|| {
                        let name = field.name();
                        let odd = OddMoment(format!(
                            "column {name}: found a date of {value} milliseconds, expected whole days of 32 bits, which Parquet has; Arrow holds others"
                        ));
                        io::Error::new(io::ErrorKind::InvalidData, odd)
                    })
                });
                let days: PrimitiveArray<Date32Type> = days?;
                Arc::new(days)
            }
            _ => Arc::clone(column),
        })
    });
    let columns = columns.collect::<io::Result<Vec<_>>>()?;
    let schema = in_parquet_types(batch.schema_ref());
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let batch = RecordBatch::try_new_with_options(Arc::new(schema), columns, &rows);
    batch.map_err(io::Error::other)
}

/// The values times a thousand, as another type.
fn thousandfold<Coarse, Fine>(column: &ArrayRef) -> Result<PrimitiveArray<Fine>, ArrowError>
where
    Coarse: ArrowPrimitiveType,
    Fine: ArrowPrimitiveType<Native = Coarse::Native>,
    Coarse::Native: From<i32>,
{
    let values = column.as_primitive::<Coarse>();
    values.try_unary(|value| value.mul_checked(1000.into()))
}

/// The I/O error inside a Parquet error, or the Parquet error as an I/O error.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

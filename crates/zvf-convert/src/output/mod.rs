//! Tables as files: separated values, NumPy arrays, Arrow IPC, Parquet; and single values as text.

mod arrow;
mod csv;
pub(crate) mod npy;
#[cfg(feature = "parquet")]
mod parquet;
pub(crate) mod raw;
mod value;

use std::io;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use serde_json::Value;
use zvf_write::Axis;

use crate::time;

pub use arrow::ArrowWriter;
pub use csv::{CsvWriter, cells, column_names};
pub use npy::{NpyWriter, Rows, SpooledNpy};
#[cfg(feature = "parquet")]
pub use parquet::ParquetWriter;
pub use value::{Style, write_json_str, write_value};

/// One table being written.
pub trait TableWriter {
    /// Appends the rows of a batch.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()>;

    /// Writes what is buffered and flushes.
    ///
    /// # Errors
    ///
    /// When that cannot be written.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// The schema of an answer with moments, dates, times and durations where the units of its numbers say so.
#[must_use]
pub fn with_times(schema: &Schema) -> Schema {
    let fields = schema
        .fields()
        .iter()
        .map(|field| match time::of_field(field) {
            Some(kind) => Field::clone(field).with_data_type(kind).with_nullable(true),
            None => Field::clone(field),
        });
    let fields: Vec<Field> = fields.collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// A batch of an answer with the columns that [`with_times`] says.
///
/// # Errors
///
/// Where a number is none of its type: a time of day of more than 32 bits.
pub fn batch_with_times(batch: &RecordBatch) -> io::Result<RecordBatch> {
    let old = batch.schema();
    if old
        .fields()
        .iter()
        .all(|field| time::of_field(field).is_none())
    {
        return Ok(batch.clone());
    }
    let schema = with_times(&old);
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| {
        if column.data_type() == field.data_type() {
            return Ok(Arc::clone(column));
        }
        time::restored(column, field.data_type()).ok_or_else(|| {
            let what = format!(
                "column {}: a number that is no {}",
                field.name(),
                field.data_type()
            );
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    });
    let columns = columns.collect::<io::Result<Vec<_>>>()?;
    RecordBatch::try_new(Arc::new(schema), columns).map_err(io::Error::other)
}

/// Member of a schema's metadata: the names of the axes, as JSON.
pub(crate) const AXES: &str = "zvf.axes";

/// Axis names in the schema metadata of a query's answer, in axis order; empty when there are none.
#[must_use]
pub fn axis_names(schema: &Schema) -> Vec<String> {
    let axes = stated_axes(schema).unwrap_or_default().into_iter();
    axes.map(|axis| axis.name).collect()
}

/// Axes with their types and units in the schema metadata of a query's answer, in axis order; `None` where there are none.
#[must_use]
pub fn stated_axes(schema: &Schema) -> Option<Vec<Axis>> {
    let text = schema.metadata().get(AXES)?;
    let Ok(Value::Array(axes)) = serde_json::from_str(text) else {
        return None;
    };
    let word = |axis: &Value, key: &str| axis.get(key)?.as_str().map(str::to_owned);
    let axis = |axis: &Value| match axis {
        Value::String(name) => Axis::new(name, "space"),
        other => {
            let name = word(other, "name").unwrap_or_else(|| "?".to_owned());
            let kind = word(other, "type").unwrap_or_else(|| "space".to_owned());
            let mut axis = Axis::new(name, kind);
            axis.unit = word(other, "unit");
            axis
        }
    };
    Some(axes.iter().map(axis).collect())
}

//! Writes tables to files: separated values, NDJSON, NumPy arrays, Arrow IPC, Parquet; and single values as text.

mod arrow;
mod csv;
#[cfg(feature = "parquet")]
mod geoparquet;
mod ndjson;
pub(crate) mod npy;
#[cfg(feature = "parquet")]
mod parquet;
pub(crate) mod raw;
mod value;

use std::io;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use serde_json::Value;
use zvf_meta::moments::{MISSING, Moments};

use crate::time;

pub use arrow::ArrowWriter;
pub use csv::{CsvWriter, cells, column_names};
pub use ndjson::NdjsonWriter;
pub use npy::{NpyRowType, NpyWriter, SpooledNpy};
#[cfg(feature = "parquet")]
pub use parquet::ParquetWriter;
pub use value::{Style, write_json_str, write_value};

/// One table being written.
pub trait TableWriter {
    /// Appends the rows of a batch.
    ///
    /// # Errors
    ///
    /// When the rows cannot be written.
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()>;

    /// Writes the buffered data and flushes.
    ///
    /// # Errors
    ///
    /// When the buffered data cannot be written.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// The schema of an answer, in which columns with units of time become timestamps, dates, times and durations.
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

/// A batch of an answer with its columns converted as in [`with_times`].
///
/// # Errors
///
/// [`OddMoment`] if a number is not a valid date or time of day.
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
        let odd = || OddMoment::of(batch, column, field);
        time::restored(column, field.data_type())
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, odd()))
    });
    let columns = columns.collect::<io::Result<Vec<_>>>()?;
    RecordBatch::try_new(Arc::new(schema), columns).map_err(io::Error::other)
}

/// The text of a date, time or duration, from its number and its unit in an answer; `None` if the unit is not one of time or the number is invalid.
#[must_use]
pub fn text_of_number(number: &str, unit: &str) -> Option<String> {
    let number: i64 = number.trim().parse().ok()?;
    let unit = [("zvf.unit".to_owned(), unit.to_owned())];
    let field = Field::new("number", DataType::Int64, true).with_metadata(unit.into());
    let column: ArrayRef = Arc::new(Int64Array::from(vec![number]));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).ok()?;
    let timed = batch_with_times(&batch).ok()?;
    let column = timed.columns().first()?;
    let mut text = String::new();
    write_value(&mut text, column.as_ref(), 0, Style::Text);
    column.data_type().is_temporal().then_some(text)
}

/// A stored number that is not a valid date or time of day in its unit. The store is wrong, not the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OddMoment(String);

impl OddMoment {
    #[cold]
    fn of(batch: &RecordBatch, column: &ArrayRef, field: &Field) -> Self {
        let unit = field.metadata().get("zvf.unit").map_or("", String::as_str);
        let moments = Moments::of_unit(unit);
        let numbers = column.as_primitive_opt::<Int64Type>();
        let known = numbers
            .into_iter()
            .flatten()
            .map(|number| number.unwrap_or(MISSING));
        let odd = moments.and_then(|moments| moments.first_odd(known));
        let (row, number) = odd.unwrap_or_default();
        // The message names a row by its ids if it has any; row numbers are relative to this batch.
        let mut place = format!("row {row} of a batch");
        for name in ["object_id", "position"] {
            if let Some(named) = batch.column_by_name(name) {
                place = format!("{name} ");
                write_value(&mut place, named.as_ref(), row, Style::Text);
            }
        }
        let name = field.name();
        let expected = moments.map_or("a number of its type", Moments::expected);
        Self(format!(
            "column {name}, {place}: found {number} ({unit}), expected {expected}; `zvf edit STORE set-attribute {name}` sets other values, \
             and the other columns can be read alone (--attributes)"
        ))
    }

    /// The invalid date or time inside an error of an output, if that is its cause.
    #[must_use]
    pub fn within(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl std::fmt::Display for OddMoment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OddMoment {}

/// Member of a schema's metadata: the names of the axes, as JSON.
pub(crate) const AXES: &str = "zvf.axes";

/// Axis names in the schema metadata of a query's answer, in axis order, with `?` for an axis without a name; empty if the schema has none.
#[must_use]
pub fn axis_names(schema: &Schema) -> Vec<String> {
    let Some(Ok(Value::Array(axes))) = schema
        .metadata()
        .get(AXES)
        .map(|text| serde_json::from_str(text))
    else {
        return Vec::new();
    };
    let name = |axis: &Value| match axis {
        Value::String(name) => Some(name.clone()),
        other => other.get("name").and_then(Value::as_str).map(str::to_owned),
    };
    axes.iter()
        .map(|axis| name(axis).unwrap_or_else(|| "?".into()))
        .collect()
}

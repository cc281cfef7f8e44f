//! Tables as files: separated values, NumPy arrays, Arrow IPC, Parquet; and single values as text.

mod arrow;
mod csv;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;
pub(crate) mod raw;
mod value;

use std::io;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use serde_json::Value;

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

    /// Writes what is still owed and flushes.
    ///
    /// # Errors
    ///
    /// When that cannot be written.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// Member of a schema's metadata: the names of the axes, as JSON.
pub(crate) const AXES: &str = "zvf.axes";

/// Axis names in the schema metadata of a query's answer, in axis order; empty when there are none.
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

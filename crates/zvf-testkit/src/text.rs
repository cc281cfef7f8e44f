//! Values of Arrow arrays as text, for comparison with the input.

use anyhow::{Context, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

/// A column of a table as text.
///
/// # Errors
///
/// If there is no such column, or results have no columns of its type.
pub fn column(batch: &RecordBatch, name: &str) -> Result<Vec<String>> {
    let array = batch
        .column_by_name(name)
        .with_context(|| format!("no column {name}: {:?}", batch.schema()))?;
    (0..array.len()).map(|row| value(array, row)).collect()
}

/// One value as text: floats as by [`float`], booleans as 0 and 1, the items of a list with a space between them.
///
/// # Errors
///
/// A type that results do not have.
pub fn value(array: &ArrayRef, row: usize) -> Result<String> {
    if array.is_null(row) {
        return Ok("null".into());
    }
    macro_rules! number {
        ($type:ty) => {
            array.as_primitive::<$type>().value(row).to_string()
        };
    }
    Ok(match array.data_type() {
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float16 => float(array.as_primitive::<Float16Type>().value(row).to_f64()),
        DataType::Float32 => float(f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => u8::from(array.as_boolean().value(row)).to_string(),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::FixedSizeList(..) => list(&array.as_fixed_size_list().value(row))?,
        DataType::List(..) => list(&array.as_list::<i32>().value(row))?,
        DataType::Dictionary(..) => {
            let any = array.as_any_dictionary();
            let key = any.normalized_keys().get(row).copied();
            value(any.values(), key.context("a dictionary row")?)?
        }
        other => anyhow::bail!("a column of {other}"),
    })
}

fn list(items: &ArrayRef) -> Result<String> {
    let values: Vec<String> = (0..items.len())
        .map(|at| value(items, at))
        .collect::<Result<_>>()?;
    Ok(values.join(" "))
}

/// A float as text. Different values have different texts, except that every NaN is `nan`.
#[must_use]
pub fn float(value: f64) -> String {
    if value.is_nan() {
        "nan".into()
    } else {
        format!("{value:?}")
    }
}

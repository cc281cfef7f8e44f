//! Numbers of Arrow columns, and numbers as text.

use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};

use crate::output::raw::elements;
use crate::text::narrow;

/// Numbers of a column, with the channels of a row together.
#[derive(Debug, Default)]
pub(super) struct Floats {
    pub(super) values: Vec<f64>,
    /// Whether each number is the one that was stored: whole numbers of 64 bits may not be.
    pub(super) exact: bool,
}

/// The number of elements of a row, and their type, of a column of numbers.
pub(super) fn shape(column: &DataType) -> Option<(usize, &DataType)> {
    let (width, element) = match column {
        DataType::FixedSizeList(item, width) => (usize::try_from(*width).ok()?, item.data_type()),
        other => (1, other),
    };
    let number = element.is_numeric() || *element == DataType::Boolean;
    number.then_some((width, element))
}

/// The numbers of a column; a missing one is NaN. Nothing for a column of texts.
pub(super) fn floats(column: &ArrayRef) -> Floats {
    let (items, width) = elements(column);
    let mut values = Vec::with_capacity(items.len());
    let mut exact = true;
    macro_rules! convert {
        ($type:ty, $to:expr) => {
            if let Some(list) = items.as_primitive_opt::<$type>() {
                values.extend(list.values().iter().map(|&value| $to(value)));
            }
        };
    }
    match items.data_type() {
        DataType::Boolean => {
            let list = items.as_boolean().values();
            values.extend(list.iter().map(|value| f64::from(u8::from(value))));
        }
        DataType::Int8 => convert!(Int8Type, f64::from),
        DataType::Int16 => convert!(Int16Type, f64::from),
        DataType::Int32 => convert!(Int32Type, f64::from),
        DataType::UInt8 => convert!(UInt8Type, f64::from),
        DataType::UInt16 => convert!(UInt16Type, f64::from),
        DataType::UInt32 => convert!(UInt32Type, f64::from),
        DataType::Int64 => convert!(Int64Type, |value: i64| {
            exact &= value.unsigned_abs() <= 1 << 53;
            from_i64(value)
        }),
        DataType::UInt64 => convert!(UInt64Type, |value: u64| {
            exact &= value <= 1 << 53;
            from_u64(value)
        }),
        DataType::Float16 => convert!(Float16Type, |value: half::f16| value.to_f64()),
        DataType::Float32 => convert!(Float32Type, f64::from),
        DataType::Float64 => convert!(Float64Type, std::convert::identity),
        _ => {}
    }
    if column.null_count() > 0 && width > 0 {
        for (row, values) in values.chunks_mut(width).enumerate() {
            if column.is_null(row) {
                values.fill(f64::NAN);
            }
        }
    }
    Floats { values, exact }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the caller says where it is lost"
)]
fn from_i64(value: i64) -> f64 {
    value as f64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the caller says where it is lost"
)]
fn from_u64(value: u64) -> f64 {
    value as f64
}

/// The positions of a batch.
pub(super) fn positions(batch: &RecordBatch) -> Floats {
    batch
        .column_by_name("position")
        .map(floats)
        .unwrap_or_default()
}

/// Whether float32 is enough for the text of a column of numbers.
pub(super) fn single(schema: &Schema, column: &str) -> bool {
    let field = schema.field_with_name(column).ok();
    let element = field.and_then(|field| shape(field.data_type()));
    matches!(element, Some((_, DataType::Float16 | DataType::Float32)))
}

/// Appends a number with the fewest digits that read back as the same float32, or float64.
pub(super) fn put(out: &mut String, value: f64, single: bool) {
    // Writing to a String cannot fail.
    let _ = if single {
        write!(out, "{:?}", narrow(value))
    } else {
        write!(out, "{value:?}")
    };
}

/// Appends numbers, each behind a blank.
pub(super) fn put_all(out: &mut String, values: &[f64], single: bool) {
    for &value in values {
        out.push(' ');
        put(out, value, single);
    }
}

/// The float32 nearest to a number, and whether it is the number.
pub(super) fn rounded(value: f64) -> (f32, bool) {
    let near = narrow(value);
    (near, value.is_nan() || f64::from(near) == value)
}

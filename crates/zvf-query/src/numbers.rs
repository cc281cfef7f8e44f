//! Numbers of Arrow columns.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// Numbers of a column, with the channels of a row together.
#[derive(Debug, Default)]
pub struct Floats {
    /// The numbers, row-major.
    pub values: Vec<f64>,
    /// Whether all numbers are exact; whole numbers of 64 bits may be rounded.
    pub exact: bool,
}

/// The number of elements of a row, and their type, for a column of numbers.
#[must_use]
pub fn shape(column: &DataType) -> Option<(usize, &DataType)> {
    let (width, element) = match column {
        DataType::FixedSizeList(item, width) => (usize::try_from(*width).ok()?, item.data_type()),
        other => (1, other),
    };
    let number = element.is_numeric() || *element == DataType::Boolean;
    number.then_some((width, element))
}

/// The numbers of a column; missing rows and elements are NaN. Empty for a column of texts.
#[must_use]
pub fn floats(column: &ArrayRef) -> Floats {
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
        _ => {
            for (number, whole) in decimals(&items) {
                values.push(number);
                exact &= whole;
            }
        }
    }
    if column.null_count() > 0 || items.null_count() > 0 {
        let absent = |at| items.is_null(at) || column.is_null(at / width.max(1));
        let values = values.iter_mut().enumerate();
        values
            .filter(|(at, _)| absent(*at))
            .for_each(|(_, value)| *value = f64::NAN);
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

/// The elements of a column and their number in a row: the items of a list of fixed size, or the rows themselves.
#[must_use]
pub fn elements(column: &ArrayRef) -> (ArrayRef, usize) {
    let DataType::FixedSizeList(_, width) = column.data_type() else {
        return (ArrayRef::clone(column), 1);
    };
    let width = usize::try_from(*width).unwrap_or(0);
    (ArrayRef::clone(column.as_fixed_size_list().values()), width)
}

/// The numbers of a decimal column, with NaN for missing ones, and whether each is exact.
#[must_use]
pub fn decimals(column: &ArrayRef) -> Vec<(f64, bool)> {
    macro_rules! decimals {
        ($type:ty, $scale:expr) => {{
            let list = column.as_primitive::<$type>();
            let one = |row| {
                if list.is_null(row) {
                    return (f64::NAN, true);
                }
                let text = list.value_as_string(row);
                let number = text.parse::<f64>().unwrap_or(f64::NAN);
                let places = usize::try_from(*$scale).unwrap_or(0);
                (number, format!("{number:.places$}") == text)
            };
            (0..list.len()).map(one).collect()
        }};
    }
    match column.data_type() {
        DataType::Decimal32(_, scale) => decimals!(Decimal32Type, scale),
        DataType::Decimal64(_, scale) => decimals!(Decimal64Type, scale),
        DataType::Decimal128(_, scale) => decimals!(Decimal128Type, scale),
        DataType::Decimal256(_, scale) => decimals!(Decimal256Type, scale),
        _ => Vec::new(),
    }
}

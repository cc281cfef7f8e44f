//! Numbers of Arrow columns.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use zvf_store::meta::moments::MISSING;

use crate::columns::scalar::moments;

/// Numbers of a column, with the channels of a row together.
#[derive(Debug, Default)]
pub struct Floats {
    /// The numbers, row-major.
    pub values: Vec<f64>,
    /// Whether all numbers are exact; 64-bit integers and decimals may be rounded.
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
    differences(column, 0.0)
}

/// The numbers of a column of an answer, less `origin`. Missing rows and elements are NaN, including missing dates and times. Empty for a column of
/// texts.
///
/// `origin` is subtracted from 64-bit integers before they are rounded.
#[must_use]
pub fn measured(field: &Field, column: &ArrayRef, origin: f64) -> Floats {
    let mut found = differences(column, origin);
    let (items, _) = elements(column);
    if let Some(stored) = items.as_primitive_opt::<Int64Type>()
        && moments(field.data_type(), field.metadata().get("zvf.unit")).is_some()
    {
        let missing = found.values.iter_mut().zip(stored.values());
        let missing = missing.filter(|(_, stored)| **stored == MISSING);
        missing.for_each(|(value, _)| *value = f64::NAN);
    }
    found
}

fn differences(column: &ArrayRef, origin: f64) -> Floats {
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
            // `MISSING`, the value of missing dates and times, is a power of two and therefore exact.
            exact &= value.unsigned_abs() <= 1 << 53 || value == MISSING;
            from_whole(value.into(), origin)
        }),
        DataType::UInt64 => convert!(UInt64Type, |value: u64| {
            exact &= value <= 1 << 53;
            from_whole(value.into(), origin)
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
    let whole = matches!(items.data_type(), DataType::Int64 | DataType::UInt64);
    if origin != 0.0 && !whole {
        values.iter_mut().for_each(|value| *value -= origin);
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
    clippy::cast_possible_truncation,
    reason = "`Floats::exact` reports lost precision; an origin is near the numbers of a column"
)]
fn from_whole(value: i128, origin: f64) -> f64 {
    (value - origin.trunc() as i128) as f64 - origin.fract()
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        BooleanArray, Decimal128Array, Float32Array, Int8Array, Int16Array, Int32Array, Int64Array,
        StringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
    };
    use half::f16;

    use super::*;

    #[test]
    fn every_type_has_its_numbers() {
        let decimal = Decimal128Array::from(vec![Some(3), None, Some(7)]);
        let halves = [Some(3.0), None, Some(7.0)].map(|one| one.map(f16::from_f32));
        let columns: [ArrayRef; 11] = [
            Arc::new(Int8Array::from(vec![Some(3), None, Some(7)])),
            Arc::new(Int16Array::from(vec![Some(3), None, Some(7)])),
            Arc::new(Int32Array::from(vec![Some(3), None, Some(7)])),
            Arc::new(Int64Array::from(vec![Some(3), None, Some(7)])),
            Arc::new(UInt8Array::from(vec![Some(3), None, Some(7)])),
            Arc::new(UInt16Array::from(vec![Some(3), None, Some(7)])),
            Arc::new(UInt32Array::from(vec![Some(3), None, Some(7)])),
            Arc::new(UInt64Array::from(vec![Some(3), None, Some(7)])),
            Arc::new(arrow_array::Float16Array::from(halves.to_vec())),
            Arc::new(Float32Array::from(vec![Some(3.0), None, Some(7.0)])),
            Arc::new(decimal.with_precision_and_scale(5, 0).unwrap()),
        ];
        for column in columns {
            let kind = column.data_type().clone();
            for (found, numbers) in [
                (floats(&column), [3.0, 7.0]),
                (differences(&column, 2.5), [0.5, 4.5]),
            ] {
                let [first, missing, last] = found.values[..] else {
                    panic!("{kind}: {found:?}");
                };
                assert_eq!(([first, last], found.exact), (numbers, true), "{kind}");
                assert!(missing.is_nan(), "{kind}");
            }
        }
        let booleans: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
        assert_eq!(floats(&booleans).values, [1.0, 0.0]);
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["3"]));
        assert!(floats(&texts).values.is_empty());
    }

    #[test]
    fn whole_numbers_beyond_2_to_the_53_are_subtracted_before_they_are_rounded() {
        let (large, origin) = (1_u64 << 60, 2_f64.powi(60));
        let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![large, large + 1]));
        let signed: ArrayRef = Arc::new(Int64Array::from(vec![1_i64 << 60, (1 << 60) + 1]));
        for column in [unsigned, signed] {
            assert_eq!(differences(&column, origin).values, [0.0, 1.0]);
            let found = floats(&column);
            assert_eq!((found.values[1], found.exact), (origin, false));
        }
        let exact: ArrayRef = Arc::new(UInt64Array::from(vec![1_u64 << 53]));
        assert!(floats(&exact).exact);
    }
}

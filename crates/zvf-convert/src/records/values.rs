//! Columns of Arrow tables as columns of a store.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use half::f16;
use zvf_write::{AttributeType, NumberType, Values};

use crate::output::raw::elements;

/// What a column becomes, and how many values a row has; `None` for a type that a store does not hold.
pub(crate) fn kind(column: &DataType) -> Option<(AttributeType, usize)> {
    if let DataType::FixedSizeList(item, width) = column {
        let width = usize::try_from(*width).ok().filter(|width| *width > 0)?;
        return match kind(item.data_type())? {
            (AttributeType::Number(number), 1) => Some((AttributeType::Number(number), width)),
            _ => None,
        };
    }
    let number = match column {
        DataType::Boolean => NumberType::Bool,
        DataType::Int8 => NumberType::I8,
        DataType::Int16 => NumberType::I16,
        DataType::Int32 => NumberType::I32,
        DataType::Int64 => NumberType::I64,
        DataType::UInt8 => NumberType::U8,
        DataType::UInt16 => NumberType::U16,
        DataType::UInt32 => NumberType::U32,
        DataType::UInt64 => NumberType::U64,
        DataType::Float16 => NumberType::F16,
        DataType::Float32 => NumberType::F32,
        DataType::Float64 => NumberType::F64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            return Some((AttributeType::Category, 1));
        }
        DataType::Dictionary(_, values)
            if matches!(
                values.as_ref(),
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
            ) =>
        {
            return Some((AttributeType::Category, 1));
        }
        _ => return None,
    };
    Some((AttributeType::Number(number), 1))
}

/// The values of a column of such a type. Missing floats are NaN; the caller has made sure that no other number is missing.
pub(crate) fn values(column: &ArrayRef) -> Option<Values<'static>> {
    let uuid = matches!(column.data_type(), DataType::FixedSizeBinary(_));
    if uuid || matches!(kind(column.data_type())?, (AttributeType::Category, _)) {
        let texts = texts(column);
        return Some(Values::Text(
            texts
                .into_iter()
                .map(|text| text.map(Cow::into_owned))
                .collect(),
        ));
    }
    let (items, width) = elements(column);
    let absent = |at: usize| {
        items.is_null(at) || at.checked_div(width).is_some_and(|row| column.is_null(row))
    };
    let holes = column.null_count() > 0 || items.null_count() > 0;
    macro_rules! number {
        ($type:ty) => {
            list::<$type>(&items)?.into()
        };
    }
    macro_rules! float {
        ($type:ty, $nan:expr) => {{
            let mut list = list::<$type>(&items)?;
            if holes {
                for (at, value) in list.iter_mut().enumerate() {
                    if absent(at) {
                        *value = $nan;
                    }
                }
            }
            list.into()
        }};
    }
    Some(match items.data_type() {
        DataType::Boolean => {
            let list: Vec<bool> = items.as_boolean_opt()?.values().iter().collect();
            list.into()
        }
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float16 => float!(Float16Type, f16::NAN),
        DataType::Float32 => float!(Float32Type, f32::NAN),
        DataType::Float64 => float!(Float64Type, f64::NAN),
        _ => return None,
    })
}

fn list<T: ArrowPrimitiveType>(items: &ArrayRef) -> Option<Vec<T::Native>> {
    Some(items.as_primitive_opt::<T>()?.values().to_vec())
}

/// A schema whose durations and identifiers are texts, as [`plain_column`] makes them.
pub(super) fn plain(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        let text = matches!(
            field.data_type(),
            DataType::Duration(_) | DataType::FixedSizeBinary(16) | DataType::Null
        );
        match text {
            true => Field::new(field.name(), DataType::Utf8, true),
            false => field.as_ref().clone().with_nullable(true),
        }
    });
    let fields: Vec<Field> = fields.collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Durations as texts with their unit, and identifiers as texts.
pub(super) fn plain_column(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Duration(unit) => {
            let word = crate::time::word(*unit);
            let numbers = crate::time::numbers(column).unwrap_or_default().into_iter();
            let texts = numbers.map(|number| number.map(|number| format!("{number} {word}")));
            Arc::new(texts.collect::<StringArray>())
        }
        DataType::FixedSizeBinary(16) => {
            Arc::new(texts(column).into_iter().collect::<StringArray>())
        }
        DataType::Null => Arc::new(StringArray::new_null(column.len())),
        _ => Arc::clone(column),
    }
}

/// Adds values behind others of the same type; false, and nothing is added, where the types differ.
pub(crate) fn append(to: &mut Values<'static>, more: Values<'static>) -> bool {
    macro_rules! join {
        ($($variant:ident),*) => {
            match (to, more) {
                $((Values::$variant(list), Values::$variant(more)) => list.to_mut().extend_from_slice(&more),)*
                (Values::Text(list), Values::Text(more)) => list.extend(more),
                _ => return false,
            }
        };
    }
    join!(Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64);
    true
}

/// Sixteen bytes as such identifiers are written: digits in groups of 8, 4, 4, 4 and 12.
fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The whole numbers of a column; zeros where they are missing, nothing for another column.
pub(super) fn wide(items: &ArrayRef) -> Box<dyn Iterator<Item = i128> + '_> {
    macro_rules! wide {
        ($($data:ident $type:ty),*) => {
            match items.data_type() {
                $(DataType::$data => {
                    let list = items.as_primitive::<$type>().values();
                    Box::new(list.iter().map(|value| i128::from(*value)))
                })*
                _ => Box::new(std::iter::empty()),
            }
        };
    }
    wide!(
        Int8 Int8Type, Int16 Int16Type, Int32 Int32Type, Int64 Int64Type,
        UInt8 UInt8Type, UInt16 UInt16Type, UInt32 UInt32Type, UInt64 UInt64Type
    )
}

/// The numbers of a column of decimal ones, NaN where one is missing; and whether float64 shows all digits of each.
pub(crate) fn decimals(column: &ArrayRef) -> Vec<(f64, bool)> {
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

/// The texts of a column of texts, or of a dictionary of them.
pub(super) fn texts(column: &ArrayRef) -> Vec<Option<Cow<'_, str>>> {
    match column.data_type() {
        DataType::Utf8 => {
            let list = column.as_string::<i32>();
            list.iter().map(|text| text.map(Cow::Borrowed)).collect()
        }
        DataType::LargeUtf8 => {
            let list = column.as_string::<i64>();
            list.iter().map(|text| text.map(Cow::Borrowed)).collect()
        }
        DataType::Utf8View => {
            let list = column.as_string_view();
            list.iter().map(|text| text.map(Cow::Borrowed)).collect()
        }
        DataType::FixedSizeBinary(16) => {
            let list = column.as_fixed_size_binary();
            list.iter()
                .map(|bytes| bytes.map(|bytes| Cow::Owned(uuid(bytes))))
                .collect()
        }
        DataType::Dictionary(..) => {
            let Some(coded) = column.as_any_dictionary_opt() else {
                return Vec::new();
            };
            let words = coded.values();
            if words.is_empty() {
                return vec![None; column.len()];
            }
            let words = texts(words);
            let codes = coded.normalized_keys();
            let word = |(row, code): (usize, usize)| {
                let word = words.get(code).filter(|_| !coded.keys().is_null(row));
                word.and_then(|word| word.as_ref().map(|word| Cow::Owned(word.to_string())))
            };
            codes.into_iter().enumerate().map(word).collect()
        }
        _ => Vec::new(),
    }
}

//! Columns of Arrow tables as columns of a store.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::DataType;
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
        DataType::Utf8 | DataType::LargeUtf8 => return Some((AttributeType::Category, 1)),
        DataType::Dictionary(_, values)
            if matches!(values.as_ref(), DataType::Utf8 | DataType::LargeUtf8) =>
        {
            return Some((AttributeType::Category, 1));
        }
        _ => return None,
    };
    Some((AttributeType::Number(number), 1))
}

/// The values of a column of such a type. Missing floats are NaN; the caller has made sure that no other number is missing.
pub(crate) fn values(column: &ArrayRef) -> Option<Values<'static>> {
    if let (AttributeType::Category, _) = kind(column.data_type())? {
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

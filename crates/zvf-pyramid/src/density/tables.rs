//! Columns of an answer as columns of a batch.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use zvf_format::dtype::DTypeKind;
use zvf_store::TypedValues;

use zvf_write::error::OrBug;
use zvf_write::int::index;
use zvf_write::number::NumberType;
use zvf_write::{AttributeSpec, AttributeType, Values, WriteError};

/// The elements of a column, and how many each row has.
pub(super) fn elements(column: &ArrayRef) -> Result<(ArrayRef, usize), WriteError> {
    match column.as_fixed_size_list_opt() {
        Some(list) => {
            let width = usize::try_from(list.value_length());
            let width = width.or_bug("rows of fewer than no elements")?;
            Ok((std::sync::Arc::clone(list.values()), width))
        }
        None => Ok((std::sync::Arc::clone(column), 1)),
    }
}

/// Rows of a column, in this order.
///
/// # Errors
/// Malformed data: a row without a value, where numbers cannot say so. Misuse: a type that is not written.
pub(super) fn rows(
    name: &str,
    column: &ArrayRef,
    rows: &[u32],
) -> Result<Values<'static>, WriteError> {
    let (items, width) = elements(column)?;
    let places = rows.iter().flat_map(|&row| {
        let start = index(row) * width;
        start..start + width
    });
    macro_rules! numbers {
        ($type:ty) => {{
            let items = items.as_primitive::<$type>();
            let values = items.values();
            let place = |at| {
                values
                    .get(at)
                    .copied()
                    .or_bug(format_args!("{name} has no element {at}"))
            };
            Values::from(places.map(place).collect::<Result<Vec<_>, _>>()?)
        }};
    }
    let texts = matches!(
        items.data_type(),
        arrow_schema::DataType::Utf8 | arrow_schema::DataType::Dictionary(..)
    );
    if !texts && rows.iter().any(|&row| column.is_null(index(row))) {
        return Err(WriteError::data(
            name,
            "rows without a value",
            "a value for every vertex",
        ));
    }
    Ok(match items.data_type() {
        arrow_schema::DataType::Boolean => {
            let items = items.as_boolean();
            Values::from(places.map(|at| items.value(at)).collect::<Vec<bool>>())
        }
        arrow_schema::DataType::Int8 => numbers!(Int8Type),
        arrow_schema::DataType::Int16 => numbers!(Int16Type),
        arrow_schema::DataType::Int32 => numbers!(Int32Type),
        arrow_schema::DataType::Int64 => numbers!(Int64Type),
        arrow_schema::DataType::UInt8 => numbers!(UInt8Type),
        arrow_schema::DataType::UInt16 => numbers!(UInt16Type),
        arrow_schema::DataType::UInt32 => numbers!(UInt32Type),
        arrow_schema::DataType::UInt64 => numbers!(UInt64Type),
        arrow_schema::DataType::Float16 => numbers!(Float16Type),
        arrow_schema::DataType::Float32 => numbers!(Float32Type),
        arrow_schema::DataType::Float64 => numbers!(Float64Type),
        arrow_schema::DataType::Utf8 => {
            let items = items.as_string::<i32>();
            let text = |at| (!items.is_null(at)).then(|| items.value(at).to_owned());
            Values::Text(places.map(text).collect())
        }
        arrow_schema::DataType::Dictionary(..) => {
            let codes = items.as_any_dictionary();
            let Some(texts) = codes.values().as_string_opt::<i32>() else {
                return Err(WriteError::input(
                    name,
                    "categories that are no texts",
                    "texts",
                ));
            };
            // Without any text there are no keys either.
            let keys = match texts.is_empty() {
                true => Vec::new(),
                false => codes.normalized_keys(),
            };
            let text = |at: usize| {
                let key = keys.get(at).copied().filter(|_| !items.is_null(at))?;
                (!texts.is_null(key)).then(|| texts.value(key).to_owned())
            };
            Values::Text(places.map(text).collect())
        }
        other => {
            return Err(WriteError::input(
                name,
                other.to_string(),
                "numbers or texts",
            ));
        }
    })
}

/// What an attribute of vertices or links is to be declared as.
pub(super) fn declare(name: &str, column: &ArrayRef) -> Result<AttributeSpec, WriteError> {
    let (_, width) = elements(column)?;
    let values = rows(name, column, &[])?;
    let spec = match values.number_type() {
        Some(number) => AttributeSpec::number(name, number),
        None => AttributeSpec::category(name),
    };
    Ok(spec.with_channels(width))
}

/// A small table as a column.
pub(super) fn table(name: &str, values: &TypedValues) -> Result<Values<'static>, WriteError> {
    macro_rules! numbers {
        ($type:ty, $variant:ident) => {
            Values::$variant(
                values
                    .bytes
                    .as_chunks::<{ size_of::<$type>() }>()
                    .0
                    .iter()
                    .map(|bytes| <$type>::from_le_bytes(*bytes))
                    .collect(),
            )
        };
    }
    Ok(match values.dtype.kind {
        DTypeKind::Bool => Values::from(
            values
                .bytes
                .iter()
                .map(|byte| *byte != 0)
                .collect::<Vec<_>>(),
        ),
        DTypeKind::I8 => numbers!(i8, I8),
        DTypeKind::I16 => numbers!(i16, I16),
        DTypeKind::I32 => numbers!(i32, I32),
        DTypeKind::I64 => numbers!(i64, I64),
        DTypeKind::U8 => numbers!(u8, U8),
        DTypeKind::U16 => numbers!(u16, U16),
        DTypeKind::U32 => numbers!(u32, U32),
        DTypeKind::U64 => numbers!(u64, U64),
        DTypeKind::F16 => numbers!(half::f16, F16),
        DTypeKind::F32 => numbers!(f32, F32),
        DTypeKind::F64 => numbers!(f64, F64),
        DTypeKind::Utf32 { chars } => {
            let size = (index(chars) * 4).max(1);
            let text = |bytes: &[u8]| {
                let points = bytes.as_chunks::<4>().0.iter();
                let points = points.filter_map(|point| char::from_u32(u32::from_le_bytes(*point)));
                Some(points.collect::<String>().trim_end_matches('\0').to_owned())
            };
            Values::Text(values.bytes.chunks_exact(size).map(text).collect())
        }
        _ => {
            let found = values.dtype.to_string();
            return Err(WriteError::input(name, found, "numbers or texts"));
        }
    })
}

/// Numbers of any type as f64.
pub(super) fn to_f64(column: &ArrayRef) -> Result<Vec<f64>, WriteError> {
    let all: Vec<u32> = (0..zvf_write::int::narrow("vertices", column.len())?).collect();
    let values = rows("position", column, &all)?;
    let Some(number) = values.number_type() else {
        return Err(WriteError::data("position", "texts", "numbers"));
    };
    let bytes = values.bytes_as(number).or_bug("numbers of another type")?;
    Ok(number.to_f64(&bytes))
}

/// The number type of a column.
pub(super) fn number_of(spec: &AttributeSpec) -> Option<NumberType> {
    match spec.values {
        AttributeType::Number(number) => Some(number),
        _ => None,
    }
}

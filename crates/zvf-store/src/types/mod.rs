//! Types of elements: of Zarr arrays, and as stated in the attributes of nodes; fill values.

pub(crate) mod fill;
pub(crate) mod half;

use zvf_format::dtype::{ByteOrder, DType, DTypeKind, TimeUnit};
use zvf_meta::{ArrayAttributes, Codec, DataType};

use crate::StoreError;
use crate::codec::byte_order;

/// The type of the elements of the node at `path`, if its attributes state one.
///
/// # Errors
/// An invalid type.
pub(crate) fn stated_dtype(
    path: &str,
    attributes: &ArrayAttributes,
) -> Result<Option<DType>, StoreError> {
    let parse = |text: &String| {
        DType::parse(text).map_err(|e| StoreError::decode(format!("{path}: dtype {text:?}"), e))
    };
    attributes.dtype.as_ref().map(parse).transpose()
}

/// The type of the elements of an array as its codecs store them (codecs of an object or of an inner chunk); `None` for types without fixed size or
/// meaning here, and for an unknown byte order.
#[must_use]
pub fn stored_type(data_type: &DataType, codecs: &[Codec]) -> Option<DType> {
    let kind = dtype_of(data_type)?.kind;
    let order = codecs.first().map_or(Some(ByteOrder::Little), byte_order)?;
    Some(DType { kind, order })
}

/// The element type of a Zarr data type; `None` for types without fixed size or meaning here.
pub(crate) fn dtype_of(data_type: &DataType) -> Option<DType> {
    let length = || data_type.length_bytes().and_then(|n| u32::try_from(n).ok());
    let unit = || {
        let factor = data_type
            .configuration
            .get("scale_factor")
            .and_then(serde_json::Value::as_u64);
        let unit = data_type
            .configuration
            .get("unit")
            .and_then(serde_json::Value::as_str)?;
        (factor.unwrap_or(1) == 1)
            .then(|| time_unit(unit))
            .flatten()
    };
    let kind = match data_type.name.as_str() {
        "bool" => DTypeKind::Bool,
        "int8" => DTypeKind::I8,
        "int16" => DTypeKind::I16,
        "int32" => DTypeKind::I32,
        "int64" => DTypeKind::I64,
        "uint8" => DTypeKind::U8,
        "uint16" => DTypeKind::U16,
        "uint32" => DTypeKind::U32,
        "uint64" => DTypeKind::U64,
        "float16" => DTypeKind::F16,
        "float32" => DTypeKind::F32,
        "float64" => DTypeKind::F64,
        "complex64" => DTypeKind::C64,
        "complex128" => DTypeKind::C128,
        "fixed_length_utf32" => DTypeKind::Utf32 {
            chars: length().filter(|n| n % 4 == 0 && *n > 0)? / 4,
        },
        "null_terminated_bytes" => DTypeKind::Bytes {
            len: length().filter(|n| *n > 0)?,
        },
        "numpy.datetime64" => DTypeKind::Datetime { unit: unit()? },
        "numpy.timedelta64" => DTypeKind::Timedelta { unit: unit()? },
        _ => return None,
    };
    Some(DType::little(kind))
}

fn time_unit(name: &str) -> Option<TimeUnit> {
    Some(match name {
        "generic" => TimeUnit::Generic,
        other => match DType::parse(&format!("datetime64[{other}]")).ok()?.kind {
            DTypeKind::Datetime { unit } => unit,
            _ => return None,
        },
    })
}

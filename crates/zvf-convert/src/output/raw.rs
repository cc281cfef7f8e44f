//! Elements of Arrow columns as the bytes of their numbers, little-endian.

use std::io::{self, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::DataType;

/// NumPy's name of a number type; `None` for other types.
pub(crate) fn descr(element: &DataType) -> Option<&'static str> {
    Some(match element {
        DataType::Boolean => "|b1",
        DataType::Float16 => "<f2",
        DataType::Float32 => "<f4",
        DataType::Float64 => "<f8",
        DataType::Int8 => "|i1",
        DataType::Int16 => "<i2",
        DataType::Int32 => "<i4",
        DataType::Int64 => "<i8",
        DataType::UInt8 => "|u1",
        DataType::UInt16 => "<u2",
        DataType::UInt32 => "<u4",
        DataType::UInt64 => "<u8",
        _ => return None,
    })
}

/// Writes every number of a column. Missing values are written as the bytes in the buffer.
pub(crate) fn write_raw(out: &mut impl Write, values: &dyn Array) -> io::Result<()> {
    match values.data_type() {
        DataType::Boolean => {
            let values = values.as_boolean().values();
            let bytes: Vec<u8> = values.iter().map(u8::from).collect();
            out.write_all(&bytes)
        }
        DataType::Float16 => put::<Float16Type, 2>(out, values, |v| v.to_le_bytes()),
        DataType::Float32 => put::<Float32Type, 4>(out, values, f32::to_le_bytes),
        DataType::Float64 => put::<Float64Type, 8>(out, values, f64::to_le_bytes),
        DataType::Int8 => put::<Int8Type, 1>(out, values, i8::to_le_bytes),
        DataType::Int16 => put::<Int16Type, 2>(out, values, i16::to_le_bytes),
        DataType::Int32 => put::<Int32Type, 4>(out, values, i32::to_le_bytes),
        DataType::Int64 => put::<Int64Type, 8>(out, values, i64::to_le_bytes),
        DataType::UInt8 => put::<UInt8Type, 1>(out, values, u8::to_le_bytes),
        DataType::UInt16 => put::<UInt16Type, 2>(out, values, u16::to_le_bytes),
        DataType::UInt32 => put::<UInt32Type, 4>(out, values, u32::to_le_bytes),
        _ => put::<UInt64Type, 8>(out, values, u64::to_le_bytes),
    }
}

fn put<T: ArrowPrimitiveType, const N: usize>(
    out: &mut impl Write,
    values: &dyn Array,
    bytes: impl Fn(T::Native) -> [u8; N],
) -> io::Result<()> {
    let Some(values) = values.as_primitive_opt::<T>() else {
        return Err(io::Error::other("a column changed its type"));
    };
    // One write for each block, not for each value.
    let mut block = Vec::with_capacity(N * 4096);
    for part in values.values().chunks(4096) {
        block.clear();
        block.extend(part.iter().flat_map(|value| bytes(*value)));
        out.write_all(&block)?;
    }
    Ok(())
}

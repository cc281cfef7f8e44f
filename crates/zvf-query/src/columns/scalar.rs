//! Single values of a cell, of any type.

use std::cmp::Ordering;

use arrow_schema::DataType;
use half::f16;
use zvf_store::format::dtype::{ByteOrder, DType, DTypeKind};
use zvf_store::meta::moments::Moments;

/// One value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scalar<'a> {
    /// NaT: a missing date, time or duration.
    Null,
    Bool(bool),
    Int(i128),
    F16(f16),
    F32(f32),
    F64(f64),
    Utf32(Utf32<'a>),
    /// Without padding.
    Bytes(&'a [u8]),
}

/// Fixed-width text, four bytes a code point, padded with zeros.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Utf32<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl<'a> Utf32<'a> {
    pub(crate) fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Self {
            bytes,
            big: order == ByteOrder::Big,
        }
    }

    /// The code points without padding.
    pub(crate) fn codes(self) -> impl Iterator<Item = u32> + 'a {
        let code = move |item: &[u8; 4]| {
            let code = u32::from_le_bytes(*item);
            if self.big { code.swap_bytes() } else { code }
        };
        let (items, _) = self.bytes.as_chunks::<4>();
        let length = items
            .iter()
            .rposition(|item| *item != [0; 4])
            .map_or(0, |last| last + 1);
        items.iter().take(length).map(code)
    }

    /// Order by code point, which is the order of UTF-8 too.
    pub(crate) fn compare(self, text: &str) -> Ordering {
        self.codes().cmp(text.chars().map(u32::from))
    }
}

/// The kinds of literals with which a type can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Bool,
    Int,
    Float,
    Time,
    Text,
    Other,
}

/// The family of a type.
pub(crate) fn family(dtype: DType) -> Family {
    match dtype.kind {
        DTypeKind::Bool => Family::Bool,
        DTypeKind::I8
        | DTypeKind::I16
        | DTypeKind::I32
        | DTypeKind::I64
        | DTypeKind::U8
        | DTypeKind::U16
        | DTypeKind::U32
        | DTypeKind::U64 => Family::Int,
        DTypeKind::F16 | DTypeKind::F32 | DTypeKind::F64 => Family::Float,
        DTypeKind::Datetime { .. } | DTypeKind::Timedelta { .. } => Family::Time,
        DTypeKind::Utf32 { .. } | DTypeKind::Bytes { .. } => Family::Text,
        _ => Family::Other,
    }
}

/// The type of dates, times or durations, if the elements of a column are 64-bit integers with such a unit; the smallest integer marks a missing
/// value.
pub(crate) fn moments(column: &DataType, unit: Option<&String>) -> Option<DTypeKind> {
    let element = match column {
        DataType::FixedSizeList(item, _) => item.data_type(),
        other => other,
    };
    Moments::kind_of_unit(unit.filter(|_| *element == DataType::Int64)?)
}

/// The type has no single comparable value.
#[derive(Debug)]
pub(crate) struct NoScalar;

/// Calls `f` with one channel of every row of a row-major matrix.
pub(crate) fn each<'a>(
    dtype: DType,
    bytes: &'a [u8],
    width: usize,
    channel: usize,
    mut f: impl FnMut(Scalar<'a>),
) -> Result<(), NoScalar> {
    macro_rules! numbers {
        ($type:ty, $scalar:expr) => {{
            let big = dtype.order == ByteOrder::Big;
            let (items, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
            for item in items.iter().skip(channel).step_by(width.max(1)) {
                let mut item = *item;
                if big {
                    item.reverse();
                }
                f($scalar(<$type>::from_le_bytes(item)));
            }
        }};
    }
    match dtype.kind {
        DTypeKind::Bool => numbers!(u8, |v| Scalar::Bool(v != 0)),
        DTypeKind::I8 => numbers!(i8, |v| Scalar::Int(i128::from(v))),
        DTypeKind::I16 => numbers!(i16, |v| Scalar::Int(i128::from(v))),
        DTypeKind::I32 => numbers!(i32, |v| Scalar::Int(i128::from(v))),
        DTypeKind::I64 => numbers!(i64, |v| Scalar::Int(i128::from(v))),
        DTypeKind::U8 => numbers!(u8, |v| Scalar::Int(i128::from(v))),
        DTypeKind::U16 => numbers!(u16, |v| Scalar::Int(i128::from(v))),
        DTypeKind::U32 => numbers!(u32, |v| Scalar::Int(i128::from(v))),
        DTypeKind::U64 => numbers!(u64, |v| Scalar::Int(i128::from(v))),
        DTypeKind::F16 => numbers!(f16, Scalar::F16),
        DTypeKind::F32 => numbers!(f32, Scalar::F32),
        DTypeKind::F64 => numbers!(f64, Scalar::F64),
        DTypeKind::Datetime { .. } | DTypeKind::Timedelta { .. } => {
            numbers!(i64, |v| if v == i64::MIN {
                Scalar::Null
            } else {
                Scalar::Int(i128::from(v))
            });
        }
        DTypeKind::Utf32 { .. } => {
            for item in bytes
                .chunks_exact(dtype.size())
                .skip(channel)
                .step_by(width.max(1))
            {
                f(Scalar::Utf32(Utf32::new(item, dtype.order)));
            }
        }
        DTypeKind::Bytes { .. } => {
            for item in bytes
                .chunks_exact(dtype.size())
                .skip(channel)
                .step_by(width.max(1))
            {
                f(Scalar::Bytes(unpadded(item)));
            }
        }
        _ => return Err(NoScalar),
    }
    Ok(())
}

/// Fixed-width bytes without trailing zeros.
pub(crate) fn unpadded(item: &[u8]) -> &[u8] {
    let length = item
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    item.get(..length).unwrap_or(item)
}

/// The nearest `f32`.
#[expect(clippy::cast_possible_truncation, reason = "rounds to nearest")]
pub(crate) fn narrow(number: f64) -> f32 {
    number as f32
}

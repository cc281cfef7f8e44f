//! Number types of positions and attributes.

use std::fmt;

use half::f16;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zvf_format::dtype::{DType, DTypeKind};

/// A number type that positions and attributes can have. Stored little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NumberType {
    /// One byte, 0 or 1. Not for positions.
    Bool,
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE binary16.
    F16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

impl NumberType {
    /// Every type.
    pub const ALL: &'static [Self] = &[
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::F32,
        Self::F64,
    ];

    /// The same type in the words of the format's blobs.
    #[must_use]
    pub const fn dtype(self) -> DType {
        DType::little(match self {
            Self::Bool => DTypeKind::Bool,
            Self::I8 => DTypeKind::I8,
            Self::I16 => DTypeKind::I16,
            Self::I32 => DTypeKind::I32,
            Self::I64 => DTypeKind::I64,
            Self::U8 => DTypeKind::U8,
            Self::U16 => DTypeKind::U16,
            Self::U32 => DTypeKind::U32,
            Self::U64 => DTypeKind::U64,
            Self::F16 => DTypeKind::F16,
            Self::F32 => DTypeKind::F32,
            Self::F64 => DTypeKind::F64,
        })
    }

    /// The number type of an element; `None` for texts and numbers that are not written.
    pub fn from_kind(kind: DTypeKind) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|one| one.dtype().kind == kind)
    }

    /// Finds a type by any spelling that stores use: `float32`, `f4`, `<f4`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let dtype = DType::parse(name).ok()?;
        Self::ALL.iter().copied().find(|one| one.dtype() == dtype)
    }

    /// Bytes of one number.
    #[must_use]
    pub const fn size(self) -> usize {
        self.dtype().size()
    }

    /// Whether the numbers are real floating-point numbers.
    #[must_use]
    pub const fn is_float(self) -> bool {
        self.dtype().is_float()
    }

    /// The value that means "absent" in object attributes (0.9 §11.4), as bytes and as JSON; `bool` has none.
    pub fn absent(self) -> Option<(Vec<u8>, Value)> {
        Some(match self {
            Self::Bool => return None,
            Self::I8 => (i8::MIN.to_le_bytes().to_vec(), Value::from(i8::MIN)),
            Self::I16 => (i16::MIN.to_le_bytes().to_vec(), Value::from(i16::MIN)),
            Self::I32 => (i32::MIN.to_le_bytes().to_vec(), Value::from(i32::MIN)),
            Self::I64 => (i64::MIN.to_le_bytes().to_vec(), Value::from(i64::MIN)),
            Self::U8 => (u8::MAX.to_le_bytes().to_vec(), Value::from(u8::MAX)),
            Self::U16 => (u16::MAX.to_le_bytes().to_vec(), Value::from(u16::MAX)),
            Self::U32 => (u32::MAX.to_le_bytes().to_vec(), Value::from(u32::MAX)),
            Self::U64 => (u64::MAX.to_le_bytes().to_vec(), Value::from(u64::MAX)),
            Self::F16 => (f16::NAN.to_le_bytes().to_vec(), Value::from("NaN")),
            Self::F32 => (f32::NAN.to_le_bytes().to_vec(), Value::from("NaN")),
            Self::F64 => (f64::NAN.to_le_bytes().to_vec(), Value::from("NaN")),
        })
    }

    /// A number as it is after it was stored.
    pub(crate) fn round(self, value: f64) -> f64 {
        match self {
            Self::F16 => f64::from(f16::from_f64(value)),
            Self::F32 => f64::from(crate::number::narrow(value)),
            _ => value,
        }
    }

    /// Zero, as JSON.
    pub fn zero(self) -> Value {
        match self {
            Self::Bool => Value::from(false),
            other if other.is_float() => Value::from(0.0),
            _ => Value::from(0),
        }
    }

    /// Stored numbers as f64, which is what chunks are computed in (0.9 §10.1). A trailing part of a number is left out.
    pub fn to_f64(self, bytes: &[u8]) -> Vec<f64> {
        macro_rules! widen {
            ($type:ty, $convert:expr) => {
                bytes
                    .as_chunks::<{ size_of::<$type>() }>()
                    .0
                    .iter()
                    .map(|bytes| {
                        let convert: fn($type) -> f64 = $convert;
                        convert(<$type>::from_le_bytes(*bytes))
                    })
                    .collect()
            };
        }
        match self {
            Self::Bool | Self::U8 => widen!(u8, f64::from),
            Self::I8 => widen!(i8, f64::from),
            Self::I16 => widen!(i16, f64::from),
            Self::I32 => widen!(i32, f64::from),
            // Rounded, as the format has it: chunks are computed in f64.
            Self::I64 => widen!(i64, |v| v as f64),
            Self::U16 => widen!(u16, f64::from),
            Self::U32 => widen!(u32, f64::from),
            Self::U64 => widen!(u64, |v| v as f64),
            Self::F16 => widen!(f16, f64::from),
            Self::F32 => widen!(f32, f64::from),
            Self::F64 => widen!(f64, |v| v),
        }
    }
}

impl fmt::Display for NumberType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dtype().fmt(f)
    }
}

/// The nearest float32, as positions and attributes are rounded to it where a store holds float32.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding is what is asked for"
)]
#[must_use]
pub fn narrow(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::NumberType;

    #[test]
    fn names_of_numpy_are_found_and_written() {
        for kind in NumberType::ALL {
            assert_eq!(NumberType::from_name(&kind.to_string()), Some(*kind));
        }
        assert_eq!(NumberType::from_name("<f4"), Some(NumberType::F32));
        assert_eq!(NumberType::from_name(">f4"), None);
        assert_eq!(NumberType::from_name("complex64"), None);
    }

    #[test]
    fn stored_numbers_widen() {
        let bytes: Vec<u8> = [-1.5_f32, 2.0]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        assert_eq!(NumberType::F32.to_f64(&bytes), [-1.5, 2.0]);
        assert_eq!(NumberType::I8.to_f64(&[0xff]), [-1.0]);
        assert_eq!(NumberType::U16.to_f64(&[1, 1, 9]), [257.0]);
    }
}

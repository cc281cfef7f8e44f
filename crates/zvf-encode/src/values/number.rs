//! Number types of positions and attributes.

use std::fmt;

use half::f16;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zvf_format::dtype::{DType, DTypeKind};

/// A value that means "absent", as bytes and as JSON.
pub type Fill = (Vec<u8>, Value);

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

    /// The same type as a dtype of the format.
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

    /// Whether the numbers are floating-point numbers.
    #[must_use]
    pub const fn is_float(self) -> bool {
        self.dtype().is_float()
    }

    /// NaN in its stored form; `None` for integers.
    pub fn nan(self) -> Option<Vec<u8>> {
        Some(match self {
            Self::F16 => f16::NAN.to_le_bytes().to_vec(),
            Self::F32 => f32::NAN.to_le_bytes().to_vec(),
            Self::F64 => f64::NAN.to_le_bytes().to_vec(),
            _ => return None,
        })
    }

    /// The integer `at` steps above the least one of a signed type, or below the greatest one of an unsigned type;
    /// wraps around after the last one. `None` for other types.
    fn integer(self, at: u16) -> Option<Fill> {
        let size = self.size();
        let unused = 64 - 8 * size;
        let steps = u64::from(at) & (u64::MAX >> unused);
        let (value, word) = match self {
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => {
                let value = (i64::MIN >> unused) + steps.cast_signed();
                (value.cast_unsigned(), Value::from(value))
            }
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => {
                let value = (u64::MAX >> unused) - steps;
                (value, Value::from(value))
            }
            _ => return None,
        };
        let bytes = value.to_le_bytes().into_iter().take(size);
        Some((bytes.collect(), word))
    }

    /// The value that means "absent" in object attributes (0.9 §11.4), as bytes and as JSON; `bool` has none.
    pub fn absent(self) -> Option<Fill> {
        let nan = self.nan().map(|bytes| (bytes, Value::from("NaN")));
        nan.or_else(|| self.integer(0))
    }

    /// Values that could mean "absent", the usual one first.
    pub fn fills(self) -> Vec<Fill> {
        let infinite = |low: &[u8], high: &[u8]| {
            let words = [(low, "-Infinity"), (high, "Infinity")];
            let infinite = words.map(|(bytes, word)| (bytes.to_vec(), Value::from(word)));
            self.absent().into_iter().chain(infinite).collect()
        };
        match self {
            Self::Bool => vec![(vec![0], Value::from(false)), (vec![1], Value::from(true))],
            Self::F16 => infinite(
                &f16::NEG_INFINITY.to_le_bytes(),
                &f16::INFINITY.to_le_bytes(),
            ),
            Self::F32 => infinite(
                &f32::NEG_INFINITY.to_le_bytes(),
                &f32::INFINITY.to_le_bytes(),
            ),
            Self::F64 => infinite(
                &f64::NEG_INFINITY.to_le_bytes(),
                &f64::INFINITY.to_le_bytes(),
            ),
            _ => (0..=u16::MAX).filter_map(|at| self.integer(at)).collect(),
        }
    }

    /// Rounds a number to a float type; other types leave it unchanged.
    pub(crate) fn round(self, value: f64) -> f64 {
        match self {
            Self::F16 => f64::from(zvf_store::nearest_f16(value)),
            Self::F32 => f64::from(crate::values::number::narrow(value)),
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

    /// Stored numbers as f64, the type in which chunks are computed (0.9 §10.1). An incomplete number at the end is left out.
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
            // Rounded, as in the format: chunks are computed in f64.
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

/// The nearest float32, which is how positions and attributes are rounded in stores of float32.
#[expect(clippy::cast_possible_truncation, reason = "rounding is intended")]
#[must_use]
pub fn narrow(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn integers_are_counted_from_the_end_of_their_type() {
        let all = [
            (NumberType::I8, 0, vec![0x80], json!(-128)),
            (NumberType::I8, 255, vec![0x7f], json!(127)),
            (NumberType::I8, 256, vec![0x80], json!(-128)),
            (NumberType::I16, 1, vec![0x01, 0x80], json!(-32767)),
            (
                NumberType::I32,
                2,
                vec![2, 0, 0, 0x80],
                json!(-2_147_483_646),
            ),
            (
                NumberType::I64,
                0,
                i64::MIN.to_le_bytes().to_vec(),
                json!(i64::MIN),
            ),
            (NumberType::U8, 255, vec![0], json!(0)),
            (NumberType::U8, 256, vec![0xff], json!(255)),
            (NumberType::U16, u16::MAX, vec![0, 0], json!(0)),
            (
                NumberType::U32,
                1,
                vec![0xfe, 0xff, 0xff, 0xff],
                json!(4_294_967_294_u64),
            ),
            (NumberType::U64, 0, vec![0xff; 8], json!(u64::MAX)),
        ];
        for (number, at, bytes, word) in all {
            assert_eq!(number.integer(at), Some((bytes, word)), "{number} {at}");
        }
        assert_eq!(NumberType::Bool.integer(0), None);
        assert_eq!(NumberType::F32.integer(0), None);
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

//! Integers of any width, sign and byte order, as i64: for columns of link rows, and codes. Also the
//! check of UTF-32 texts.

use super::{ByteOrder, DType, DTypeKind};
use crate::int::{index, same_bits};

impl DType {
    /// The index of the first element of `bytes` that is not a valid text, and its first 32-bit unit
    /// that is not a Unicode scalar value (such as 0xD800 or 0x110000). `None` if all elements are
    /// valid, and for types other than UTF-32.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn first_odd_text(&self, bytes: &[u8]) -> Option<(usize, u32)> {
        let DTypeKind::Utf32 { chars } = self.kind else {
            return None;
        };
        let (codes, _) = bytes.as_chunks::<4>();
        let mut codes = codes.iter().enumerate().map(|(at, code)| {
            let little = u32::from_le_bytes(*code);
            let code = if self.order == ByteOrder::Big {
                little.swap_bytes()
            } else {
                little
            };
            (at, code)
        });
        let (at, code) = codes.find(|(_, code)| char::from_u32(*code).is_none())?;
        Some((at.checked_div(index(chars))?, code))
    }

    /// Smallest and largest value that both the type and an i64 can represent; `None` if the type is
    /// not an integer.
    #[must_use]
    pub const fn integer_bounds(&self) -> Option<(i64, i64)> {
        Some(match self.kind {
            DTypeKind::I8 => (-1 << 7, (1 << 7) - 1),
            DTypeKind::I16 => (-1 << 15, (1 << 15) - 1),
            DTypeKind::I32 => (-1 << 31, (1 << 31) - 1),
            DTypeKind::I64 => (i64::MIN, i64::MAX),
            DTypeKind::U8 => (0, (1 << 8) - 1),
            DTypeKind::U16 => (0, (1 << 16) - 1),
            DTypeKind::U32 => (0, (1 << 32) - 1),
            DTypeKind::U64 => (0, i64::MAX),
            _ => return None,
        })
    }

    /// Value `i` of a list of integers; `None` after the last complete value, and if the type is not
    /// an integer.
    ///
    /// An unsigned value above 2^63 - 1 is returned as a negative number, which is not a valid row
    /// number.
    #[must_use]
    #[inline]
    pub fn integer_at(&self, bytes: &[u8], i: usize) -> Option<i64> {
        macro_rules! read {
            ($type:ty) => {{
                let mut bytes = *bytes.as_chunks().0.get(i)?;
                if self.order == ByteOrder::Big {
                    bytes.reverse();
                }
                <$type>::from_le_bytes(bytes)
            }};
        }
        Some(match self.kind {
            DTypeKind::I64 => read!(i64),
            DTypeKind::I8 => read!(i8).into(),
            DTypeKind::I16 => read!(i16).into(),
            DTypeKind::I32 => read!(i32).into(),
            DTypeKind::U8 => read!(u8).into(),
            DTypeKind::U16 => read!(u16).into(),
            DTypeKind::U32 => read!(u32).into(),
            DTypeKind::U64 => same_bits(read!(u64)),
            _ => return None,
        })
    }
}

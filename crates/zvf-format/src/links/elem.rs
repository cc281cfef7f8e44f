//! The element type of a link cell: any integer.

use crate::dtype::{ByteOrder, DType, DTypeKind};
use crate::int::same_bits;

/// The integer type of one column of a link row. Bulk writers use [`Elem::I64`]; all are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Elem {
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits, little-endian.
    I16,
    /// Signed, 32 bits, little-endian.
    I32,
    /// Signed, 64 bits, little-endian.
    I64,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits, little-endian.
    U16,
    /// Unsigned, 32 bits, little-endian.
    U32,
    /// Unsigned, 64 bits, little-endian.
    U64,
    /// Signed, 16 bits, big-endian.
    I16Be,
    /// Signed, 32 bits, big-endian.
    I32Be,
    /// Signed, 64 bits, big-endian.
    I64Be,
    /// Unsigned, 16 bits, big-endian.
    U16Be,
    /// Unsigned, 32 bits, big-endian.
    U32Be,
    /// Unsigned, 64 bits, big-endian.
    U64Be,
}

impl Elem {
    /// The element type of a `dtype` attribute; `None` when it is not an integer.
    #[must_use]
    pub const fn from_dtype(dtype: DType) -> Option<Self> {
        Some(match (dtype.kind, dtype.order) {
            (DTypeKind::I8, _) => Self::I8,
            (DTypeKind::U8, _) => Self::U8,
            (DTypeKind::I16, ByteOrder::Little) => Self::I16,
            (DTypeKind::I32, ByteOrder::Little) => Self::I32,
            (DTypeKind::I64, ByteOrder::Little) => Self::I64,
            (DTypeKind::U16, ByteOrder::Little) => Self::U16,
            (DTypeKind::U32, ByteOrder::Little) => Self::U32,
            (DTypeKind::U64, ByteOrder::Little) => Self::U64,
            (DTypeKind::I16, ByteOrder::Big) => Self::I16Be,
            (DTypeKind::I32, ByteOrder::Big) => Self::I32Be,
            (DTypeKind::I64, ByteOrder::Big) => Self::I64Be,
            (DTypeKind::U16, ByteOrder::Big) => Self::U16Be,
            (DTypeKind::U32, ByteOrder::Big) => Self::U32Be,
            (DTypeKind::U64, ByteOrder::Big) => Self::U64Be,
            _ => return None,
        })
    }

    /// Bytes of one element.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::I16Be | Self::U16Be => 2,
            Self::I32 | Self::U32 | Self::I32Be | Self::U32Be => 4,
            Self::I64 | Self::U64 | Self::I64Be | Self::U64Be => 8,
        }
    }

    /// Smallest and largest value that the type and an i64 both hold.
    #[must_use]
    pub const fn bounds(self) -> (i64, i64) {
        match self {
            Self::I8 => (-1 << 7, (1 << 7) - 1),
            Self::I16 | Self::I16Be => (-1 << 15, (1 << 15) - 1),
            Self::I32 | Self::I32Be => (-1 << 31, (1 << 31) - 1),
            Self::I64 | Self::I64Be => (i64::MIN, i64::MAX),
            Self::U8 => (0, (1 << 8) - 1),
            Self::U16 | Self::U16Be => (0, (1 << 16) - 1),
            Self::U32 | Self::U32Be => (0, (1 << 32) - 1),
            Self::U64 | Self::U64Be => (0, i64::MAX),
        }
    }

    /// Whether the bytes of an element come most significant first.
    #[must_use]
    pub const fn is_big_endian(self) -> bool {
        matches!(
            self,
            Self::I16Be | Self::I32Be | Self::I64Be | Self::U16Be | Self::U32Be | Self::U64Be
        )
    }

    /// The value of one element; `None` unless `bytes` holds exactly one.
    ///
    /// An unsigned value above 2^63 - 1 comes out negative, which no row number is.
    #[must_use]
    #[inline]
    pub fn read(self, bytes: &[u8]) -> Option<i64> {
        use zerocopy::FromBytes;
        use zerocopy::byteorder::{big_endian as be, little_endian as le};
        if bytes.len() != self.size() {
            return None;
        }
        Some(match self {
            Self::I64 => le::I64::read_from_bytes(bytes).ok()?.get(),
            Self::I8 => i64::from(i8::read_from_bytes(bytes).ok()?),
            Self::U8 => i64::from(*bytes.first()?),
            Self::I16 => i64::from(le::I16::read_from_bytes(bytes).ok()?.get()),
            Self::I32 => i64::from(le::I32::read_from_bytes(bytes).ok()?.get()),
            Self::U16 => i64::from(le::U16::read_from_bytes(bytes).ok()?.get()),
            Self::U32 => i64::from(le::U32::read_from_bytes(bytes).ok()?.get()),
            Self::U64 => same_bits(le::U64::read_from_bytes(bytes).ok()?.get()),
            Self::I16Be => i64::from(be::I16::read_from_bytes(bytes).ok()?.get()),
            Self::I32Be => i64::from(be::I32::read_from_bytes(bytes).ok()?.get()),
            Self::I64Be => be::I64::read_from_bytes(bytes).ok()?.get(),
            Self::U16Be => i64::from(be::U16::read_from_bytes(bytes).ok()?.get()),
            Self::U32Be => i64::from(be::U32::read_from_bytes(bytes).ok()?.get()),
            Self::U64Be => same_bits(be::U64::read_from_bytes(bytes).ok()?.get()),
        })
    }
}

//! Element types, by their names in numpy's spelling.
//!
//! `spec/zvf-0.9.md` section 8.2. The names are stored in the `dtype` attributes of arrays:
//!
//! ```text
//! dtype  := name | order? code | order? letter
//! name   := "bool" | "int8" .. "uint64" | "float16" .. "float64" | "complex64" | "complex128"
//!         | ("datetime64" | "timedelta64") ("[" unit "]")? | "object"
//! code   := ("b" | "i" | "u" | "f" | "c") bytes | "U" chars | "S" bytes
//!         | ("M8" | "m8") ("[" unit "]")? | "O"
//! order  := "<" | ">" | "=" | "|"
//! ```
//!
//! The user's spelling is kept on disk. `f4`, `<f4` and `float32` are the same type; `>f4` is that
//! type stored big-endian. A [`DType`] is displayed in numpy's preferred spelling.

mod integer;
mod parse;
#[cfg(feature = "alloc")]
#[cfg(test)]
mod tests;

use core::fmt;

/// The type of the elements of a cell: a kind and a byte order.
///
/// # Shape
/// One element; other document members define rows of several elements (`row_shape`, `link_width`).
///
/// # Examples
///
/// ```
/// use zvf_format::dtype::{ByteOrder, DType, DTypeKind};
///
/// let dtype = DType::parse(">f4")?;
/// assert_eq!((dtype.kind, dtype.order, dtype.size()), (DTypeKind::F32, ByteOrder::Big, 4));
/// assert_eq!(DType::parse("<f4")?.to_string(), "float32");
/// # Ok::<(), zvf_format::DecodeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DType {
    /// The kind of an element.
    pub kind: DTypeKind,
    /// Its byte order; [`ByteOrder::Little`] for types without one.
    pub order: ByteOrder,
}

/// Byte order of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first; also for types without a byte order (`bool`, `int8`, `|S3`).
    Little,
    /// Most significant byte first.
    Big,
}

/// The kind of an element, without its byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DTypeKind {
    /// One byte, 0 or 1.
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
    /// Two binary32: real, imaginary.
    C64,
    /// Two binary64: real, imaginary.
    C128,
    /// Text of fixed width, UTF-32, padded with zeros: `<U5`.
    Utf32 {
        /// Width in code points, 4 bytes each; at least 1.
        chars: u32,
    },
    /// Bytes of fixed width, padded with zeros: `|S3`.
    Bytes {
        /// Width in bytes; at least 1.
        len: u32,
    },
    /// Timestamps as i64 since 1970-01-01T00:00:00; the smallest number is "not a time".
    Datetime {
        /// The unit of the number.
        unit: TimeUnit,
    },
    /// Durations as i64; the smallest number is "not a time".
    Timedelta {
        /// The unit of the number.
        unit: TimeUnit,
    },
    /// Memory addresses of another process (trap T14); they have no readable value.
    Object,
}

/// The unit of a date or time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// No unit was named.
    Generic,
    /// `Y`
    Year,
    /// `M`
    Month,
    /// `W`
    Week,
    /// `D`
    Day,
    /// `h`
    Hour,
    /// `m`
    Minute,
    /// `s`
    Second,
    /// `ms`
    Millisecond,
    /// `us`
    Microsecond,
    /// `ns`
    Nanosecond,
    /// `ps`
    Picosecond,
    /// `fs`
    Femtosecond,
    /// `as`
    Attosecond,
}

impl DType {
    /// The type if `dtype` is absent (8.2).
    pub const DEFAULT: Self = Self {
        kind: DTypeKind::F32,
        order: ByteOrder::Little,
    };

    /// Little-endian 64-bit integers: the type in which writers store link rows.
    pub const I64: Self = Self::little(DTypeKind::I64);

    /// The little-endian type of a kind.
    #[must_use]
    pub const fn little(kind: DTypeKind) -> Self {
        Self {
            kind,
            order: ByteOrder::Little,
        }
    }

    /// Bytes of one element; never 0. For `object` it is the size of the stored addresses.
    #[must_use]
    pub const fn size(&self) -> usize {
        use crate::int::index;
        match self.kind {
            DTypeKind::Bool | DTypeKind::I8 | DTypeKind::U8 => 1,
            DTypeKind::I16 | DTypeKind::U16 | DTypeKind::F16 => 2,
            DTypeKind::I32 | DTypeKind::U32 | DTypeKind::F32 => 4,
            DTypeKind::I64
            | DTypeKind::U64
            | DTypeKind::F64
            | DTypeKind::C64
            | DTypeKind::Datetime { .. }
            | DTypeKind::Timedelta { .. }
            | DTypeKind::Object => 8,
            DTypeKind::C128 => 16,
            DTypeKind::Utf32 { chars } => index(chars).saturating_mul(4),
            DTypeKind::Bytes { len } => index(len),
        }
    }

    /// Bytes of one number inside an element: the unit in which the bytes of a big-endian element
    /// are reversed. 4 for `complex64` and text, 1 for `bool`, 8-bit integers and bytes.
    #[must_use]
    pub const fn number_size(&self) -> usize {
        match self.kind {
            DTypeKind::C64 | DTypeKind::Utf32 { .. } => 4,
            DTypeKind::C128 => 8,
            DTypeKind::Bytes { .. } => 1,
            _ => self.size(),
        }
    }

    /// Whether the elements are integers, as those of link cells and codes must be.
    #[must_use]
    pub const fn is_integer(&self) -> bool {
        use DTypeKind::{I8, I16, I32, I64, U8, U16, U32, U64};
        matches!(self.kind, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
    }

    /// Whether the elements are real floating-point numbers.
    #[must_use]
    pub const fn is_float(&self) -> bool {
        matches!(self.kind, DTypeKind::F16 | DTypeKind::F32 | DTypeKind::F64)
    }
}

impl TimeUnit {
    /// The name inside the brackets; empty for [`TimeUnit::Generic`].
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generic => "",
            Self::Year => "Y",
            Self::Month => "M",
            Self::Week => "W",
            Self::Day => "D",
            Self::Hour => "h",
            Self::Minute => "m",
            Self::Second => "s",
            Self::Millisecond => "ms",
            Self::Microsecond => "us",
            Self::Nanosecond => "ns",
            Self::Picosecond => "ps",
            Self::Femtosecond => "fs",
            Self::Attosecond => "as",
        }
    }
}

/// numpy's spelling of the type: for little-endian types and types without a byte order the name,
/// `<U5` or `|S3`; for big-endian types a code such as `>f4`.
impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let big = self.order == ByteOrder::Big;
        let (name, code) = match self.kind {
            DTypeKind::Bool => ("bool", "?"),
            DTypeKind::I8 => ("int8", "i1"),
            DTypeKind::I16 => ("int16", "i2"),
            DTypeKind::I32 => ("int32", "i4"),
            DTypeKind::I64 => ("int64", "i8"),
            DTypeKind::U8 => ("uint8", "u1"),
            DTypeKind::U16 => ("uint16", "u2"),
            DTypeKind::U32 => ("uint32", "u4"),
            DTypeKind::U64 => ("uint64", "u8"),
            DTypeKind::F16 => ("float16", "f2"),
            DTypeKind::F32 => ("float32", "f4"),
            DTypeKind::F64 => ("float64", "f8"),
            DTypeKind::C64 => ("complex64", "c8"),
            DTypeKind::C128 => ("complex128", "c16"),
            DTypeKind::Object => ("object", "O"),
            DTypeKind::Utf32 { chars } => {
                return write!(f, "{}U{chars}", if big { '>' } else { '<' });
            }
            DTypeKind::Bytes { len } => return write!(f, "|S{len}"),
            DTypeKind::Datetime { unit } => return write_time(f, "datetime64", ">M8", big, unit),
            DTypeKind::Timedelta { unit } => return write_time(f, "timedelta64", ">m8", big, unit),
        };
        if big && self.number_size() > 1 && self.kind != DTypeKind::Object {
            write!(f, ">{code}")
        } else {
            f.write_str(name)
        }
    }
}

fn write_time(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    code: &str,
    big: bool,
    unit: TimeUnit,
) -> fmt::Result {
    f.write_str(if big { code } else { name })?;
    match unit {
        TimeUnit::Generic => Ok(()),
        _ => write!(f, "[{}]", unit.name()),
    }
}

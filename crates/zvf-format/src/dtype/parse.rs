//! Parses the text of a type.

use super::{ByteOrder, DType, DTypeKind, TimeUnit};
use crate::error::DecodeError;

impl DType {
    /// Parses a numpy type: a name (`float32`, `datetime64[ns]`), or a byte order and a code
    /// (`>f4`, `<U5`, `|S3`, `f4`).
    ///
    /// `=` and a missing order mean little-endian, the order of every writer's machine.
    ///
    /// # Cost
    /// O(text), no allocation.
    ///
    /// # Errors
    /// Malformed for an empty text; unsupported for every type that is not in 8.2, and for text
    /// and bytes of width 0.
    ///
    /// # Panics
    /// Never.
    pub fn parse(text: &str) -> Result<Self, DecodeError> {
        let (order, code) = match text.as_bytes().first() {
            None => return Err(DecodeError::text("dtype", 0, None, "the name of a type")),
            Some(b'>') => (ByteOrder::Big, text.get(1..)),
            Some(b'<' | b'=' | b'|') => (ByteOrder::Little, text.get(1..)),
            Some(_) => (ByteOrder::Little, None),
        };
        let kind = match code {
            Some(code) => coded(code),
            None => named(text).or_else(|| coded(text)),
        };
        let Some(kind) = kind else {
            let start = text.len() - code.unwrap_or(text).len();
            let found = text.as_bytes().get(start).copied();
            return Err(DecodeError::unsupported_text(
                "dtype",
                start,
                found,
                "a numpy type such as `float32` or `>i4`",
            ));
        };
        let dtype = Self { kind, order };
        // Types without a byte order have one representation.
        let ordered = dtype.number_size() > 1 && kind != DTypeKind::Object;
        Ok(if ordered { dtype } else { Self::little(kind) })
    }
}

impl core::str::FromStr for DType {
    type Err = DecodeError;

    fn from_str(text: &str) -> Result<Self, DecodeError> {
        Self::parse(text)
    }
}

/// Parses a name; names have no byte order.
fn named(text: &str) -> Option<DTypeKind> {
    Some(match text {
        "bool" | "bool_" | "bool8" => DTypeKind::Bool,
        "int8" | "byte" => DTypeKind::I8,
        "int16" | "short" => DTypeKind::I16,
        "int32" | "intc" => DTypeKind::I32,
        "int64" | "int" | "longlong" => DTypeKind::I64,
        "uint8" | "ubyte" => DTypeKind::U8,
        "uint16" | "ushort" => DTypeKind::U16,
        "uint32" | "uintc" => DTypeKind::U32,
        "uint64" | "uint" | "ulonglong" => DTypeKind::U64,
        "float16" | "half" => DTypeKind::F16,
        "float32" | "single" => DTypeKind::F32,
        "float64" | "double" | "float" => DTypeKind::F64,
        "complex64" | "csingle" => DTypeKind::C64,
        "complex128" | "cdouble" | "complex" => DTypeKind::C128,
        "object" | "object_" => DTypeKind::Object,
        _ => {
            if let Some(rest) = text.strip_prefix("datetime64") {
                return Some(DTypeKind::Datetime { unit: unit(rest)? });
            }
            let rest = text.strip_prefix("timedelta64")?;
            return Some(DTypeKind::Timedelta { unit: unit(rest)? });
        }
    })
}

/// Parses a code: a letter and a size in bytes, or a single letter.
fn coded(code: &str) -> Option<DTypeKind> {
    Some(match code {
        "b1" | "?" => DTypeKind::Bool,
        "i1" | "b" => DTypeKind::I8,
        "i2" | "h" => DTypeKind::I16,
        "i4" | "i" => DTypeKind::I32,
        "i8" | "q" => DTypeKind::I64,
        "u1" | "B" => DTypeKind::U8,
        "u2" | "H" => DTypeKind::U16,
        "u4" | "I" => DTypeKind::U32,
        "u8" | "Q" => DTypeKind::U64,
        "f2" | "e" => DTypeKind::F16,
        "f4" | "f" => DTypeKind::F32,
        "f8" | "d" => DTypeKind::F64,
        "c8" | "F" => DTypeKind::C64,
        "c16" | "D" => DTypeKind::C128,
        "O" | "O8" => DTypeKind::Object,
        _ => {
            if let Some(chars) = code.strip_prefix('U') {
                let chars = width(chars)?;
                // The width in bytes must also fit 32 bits.
                chars.checked_mul(4)?;
                return Some(DTypeKind::Utf32 { chars });
            }
            if let Some(len) = code.strip_prefix(['S', 'a']) {
                return Some(DTypeKind::Bytes { len: width(len)? });
            }
            if let Some(rest) = code.strip_prefix("M8") {
                return Some(DTypeKind::Datetime { unit: unit(rest)? });
            }
            return Some(DTypeKind::Timedelta {
                unit: unit(code.strip_prefix("m8")?)?,
            });
        }
    })
}

/// A width of at least 1 in plain digits.
fn width(digits: &str) -> Option<u32> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|&width| width > 0)
}

/// `[ns]`, or nothing. Multiples such as `[25s]` are not supported.
fn unit(text: &str) -> Option<TimeUnit> {
    if text.is_empty() {
        return Some(TimeUnit::Generic);
    }
    Some(match text.strip_prefix('[')?.strip_suffix(']')? {
        "generic" => TimeUnit::Generic,
        "Y" => TimeUnit::Year,
        "M" => TimeUnit::Month,
        "W" => TimeUnit::Week,
        "D" => TimeUnit::Day,
        "h" => TimeUnit::Hour,
        "m" => TimeUnit::Minute,
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" | "μs" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        "ps" => TimeUnit::Picosecond,
        "fs" => TimeUnit::Femtosecond,
        "as" => TimeUnit::Attosecond,
        _ => return None,
    })
}

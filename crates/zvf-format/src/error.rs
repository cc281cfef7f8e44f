//! Errors of decoding and encoding, with field and position: [`DecodeError`] and [`EncodeError`].
//!
//! Both are small `Copy` values without heap data. A decoder names every field that it reads
//! (`what`) and records the byte at which it begins (`at`), so that each message has the field, the
//! position, the found and the expected value:
//!
//! ```text
//! fragment index magic at byte 0: found 7, expected 1515603527
//! range table at byte 24: cut short, found 5 bytes, expected 32
//! ```

use core::fmt;

/// An error of bytes or text that cannot be decoded.
///
/// An error has exactly one of four classes: [`is_truncated`](Self::is_truncated),
/// [`is_malformed`](Self::is_malformed), [`is_unsupported`](Self::is_unsupported) or
/// [`is_limit`](Self::is_limit).
///
/// # Examples
///
/// ```
/// use zvf_format::fragments::FragmentIndex;
///
/// let error = FragmentIndex::parse(&[0x47, 0x46]).unwrap_err();
/// assert!(error.is_truncated());
/// assert_eq!(error.to_string(), "fragment index head at byte 0: cut short, found 2 bytes, expected 16");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    what: &'static str,
    at: u64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Fewer bytes than the field needs.
    Truncated { have: u64, need: u64 },
    /// A value the format does not allow.
    Malformed { found: Found, expected: Expected },
    /// A value that a later version or another tool may allow, and this crate does not support.
    Unsupported { found: Found, expected: Expected },
    /// A count that the target cannot address or the caller does not allow.
    Limit { found: u64, limit: u64 },
}

/// The invalid value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Number(i64),
    Byte(u8),
    End,
}

/// The expected value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Exactly(i64),
    AtLeast(i64),
    AtMost(i64),
    Text(&'static str),
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Found::Number(value) => write!(f, "{value}"),
            Found::Byte(byte) if byte.is_ascii_graphic() => write!(f, "`{}`", char::from(byte)),
            Found::Byte(byte) => write!(f, "byte {byte:#04x}"),
            Found::End => f.write_str("the end"),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Expected::Exactly(value) => write!(f, "{value}"),
            Expected::AtLeast(value) => write!(f, "at least {value}"),
            Expected::AtMost(value) => write!(f, "at most {value}"),
            Expected::Text(text) => f.write_str(text),
        }
    }
}

impl DecodeError {
    #[cold]
    pub(crate) fn truncated(what: &'static str, at: u64, have: u64, need: u64) -> Self {
        Self {
            what,
            at,
            kind: Kind::Truncated { have, need },
        }
    }

    #[cold]
    pub(crate) fn malformed(what: &'static str, at: u64, found: i64, expected: Expected) -> Self {
        Self {
            what,
            at,
            kind: Kind::Malformed {
                found: Found::Number(found),
                expected,
            },
        }
    }

    #[cold]
    pub(crate) fn unsupported(what: &'static str, at: u64, found: i64, expected: Expected) -> Self {
        Self {
            what,
            at,
            kind: Kind::Unsupported {
                found: Found::Number(found),
                expected,
            },
        }
    }

    /// The error for a character that the grammar does not allow; `None` is the end of the text.
    #[cold]
    pub(crate) fn text(
        what: &'static str,
        at: usize,
        found: Option<u8>,
        expected: &'static str,
    ) -> Self {
        let found = found.map_or(Found::End, Found::Byte);
        Self {
            what,
            at: crate::int::wide(at),
            kind: Kind::Malformed {
                found,
                expected: Expected::Text(expected),
            },
        }
    }

    #[cold]
    pub(crate) fn unsupported_text(
        what: &'static str,
        at: usize,
        found: Option<u8>,
        expected: &'static str,
    ) -> Self {
        let found = found.map_or(Found::End, Found::Byte);
        Self {
            what,
            at: crate::int::wide(at),
            kind: Kind::Unsupported {
                found,
                expected: Expected::Text(expected),
            },
        }
    }

    #[cold]
    pub(crate) fn limit(what: &'static str, at: u64, found: u64, limit: u64) -> Self {
        Self {
            what,
            at,
            kind: Kind::Limit { found, limit },
        }
    }

    /// The same error with its position moved by `base` bytes, for bytes that are part of a larger blob.
    #[must_use]
    pub fn shifted(self, base: u64) -> Self {
        Self {
            at: self.at.saturating_add(base),
            ..self
        }
    }

    /// The field that could not be read, in the terms of the specification.
    #[must_use]
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// The byte at which that field begins, counted from the start of the blob or text.
    #[must_use]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Whether the bytes end before the end of the field.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        matches!(self.kind, Kind::Truncated { .. })
    }

    /// Whether the field holds a value that the format does not allow.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        matches!(self.kind, Kind::Malformed { .. })
    }

    /// Whether the field names a version, flag or type that this crate does not support.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(self.kind, Kind::Unsupported { .. })
    }

    /// Whether a count is more than the target can address or the caller allows.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        matches!(self.kind, Kind::Limit { .. })
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: ", self.what, self.at)?;
        match self.kind {
            Kind::Truncated { have, need } => {
                write!(f, "cut short, found {have} bytes, expected {need}")
            }
            Kind::Malformed { found, expected } => write!(f, "found {found}, expected {expected}"),
            Kind::Unsupported { found, expected } => {
                write!(f, "not supported, found {found}, expected {expected}")
            }
            Kind::Limit { found, limit } => {
                write!(f, "too many, found {found}, expected at most {limit}")
            }
        }
    }
}

impl core::error::Error for DecodeError {}

#[cfg(feature = "std")]
impl From<DecodeError> for std::io::Error {
    fn from(error: DecodeError) -> Self {
        let kind = if error.is_truncated() {
            std::io::ErrorKind::UnexpectedEof
        } else {
            std::io::ErrorKind::InvalidData
        };
        std::io::Error::new(kind, error)
    }
}

/// An error of values that cannot be encoded: a bug in the caller.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "alloc")] {
/// use zvf_format::fragments::FragmentIndexBuilder;
///
/// let error = FragmentIndexBuilder::new().push_rows(&[3, -1]).unwrap_err();
/// assert_eq!(error.to_string(), "fragment row, item 1: found -1, expected at least 0");
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeError {
    what: &'static str,
    item: u64,
    found: i64,
    expected: Expected,
}

impl EncodeError {
    #[cfg(feature = "alloc")]
    #[cold]
    pub(crate) fn new(what: &'static str, item: usize, found: i64, expected: Expected) -> Self {
        Self {
            what,
            item: crate::int::wide(item),
            found,
            expected,
        }
    }

    /// The kind of value that cannot be encoded, in the terms of the specification.
    #[must_use]
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// The index of that value among the given ones, counted from 0.
    #[must_use]
    pub fn item(&self) -> u64 {
        self.item
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, item {}: found {}, expected {}",
            self.what, self.item, self.found, self.expected
        )
    }
}

impl core::error::Error for EncodeError {}

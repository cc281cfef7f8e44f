//! The error of decoding, with the field and its position: [`DecodeError`].

use core::fmt;

use crate::Codec;

/// The class of a [`DecodeError`]: what a caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// The bytes end before a field does.
    Truncated,
    /// A value that the format does not allow.
    Malformed,
    /// A version, codec or filter that this build does not read; the bytes may be sound.
    Unsupported,
    /// A size above the caller's limit or above what the bytes can produce, or a buffer of another
    /// length than the block or chunk.
    Limit,
}

/// The expected value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// This number.
    Exactly(i64),
    /// This number or more.
    AtLeast(i64),
    /// This number or less.
    AtMost(i64),
    /// A description.
    Text(&'static str),
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

/// Why bytes could not be decoded: the field, its byte, found and expected value.
///
/// A small `Copy` value without heap data. [`class`](Self::class) is one of four classes.
///
/// # Examples
///
/// ```
/// use zvf_blosc::{Class, Header};
///
/// let error = Header::parse(&[5, 1, 0x17]).unwrap_err();
/// assert_eq!(error.class(), Class::Truncated);
/// assert_eq!(error.to_string(), "chunk header at byte 0: cut short, found 3 bytes, expected 16");
/// ```
// A deliberate duplicate of `zvf_format::DecodeError`: chunks are used without Zarr Vectors, so neither crate may depend on the
// other. A third crate for the 40 common lines would be one more dependency of both. Only this type has codecs; only the other
// type shows an invalid byte as a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    what: &'static str,
    at: u64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Truncated { have: u64, need: u64 },
    Malformed { found: i64, expected: Expected },
    Unsupported { found: i64, expected: Expected },
    Limit { found: u64, limit: u64 },
    Stream { codec: Codec },
}

impl DecodeError {
    /// The bytes end before the end of the field `what` at byte `at`.
    #[cold]
    #[must_use]
    pub const fn truncated(what: &'static str, at: u64, have: u64, need: u64) -> Self {
        let kind = Kind::Truncated { have, need };
        Self { what, at, kind }
    }

    /// The field holds a value that the format does not allow.
    #[cold]
    #[must_use]
    pub const fn malformed(what: &'static str, at: u64, found: i64, expected: Expected) -> Self {
        let kind = Kind::Malformed { found, expected };
        Self { what, at, kind }
    }

    /// The field holds a value that is legal, but that this build does not read.
    #[cold]
    #[must_use]
    pub const fn unsupported(what: &'static str, at: u64, found: i64, expected: Expected) -> Self {
        let kind = Kind::Unsupported { found, expected };
        Self { what, at, kind }
    }

    /// The field states more than the caller allows or the bytes can produce, or a buffer has another
    /// length.
    #[cold]
    #[must_use]
    pub const fn limit(what: &'static str, at: u64, found: u64, limit: u64) -> Self {
        let kind = Kind::Limit { found, limit };
        Self { what, at, kind }
    }

    /// A codec did not return the expected number of bytes for a stream.
    #[cold]
    #[must_use]
    pub const fn stream(codec: Codec, at: u64) -> Self {
        let what = "stream";
        let kind = Kind::Stream { codec };
        Self { what, at, kind }
    }

    /// The same error with its position moved by `base` bytes, for bytes that are part of a larger unit.
    #[must_use]
    pub const fn shifted(self, base: u64) -> Self {
        let at = self.at.saturating_add(base);
        Self { at, ..self }
    }

    /// The field that could not be read, in the terms of the specification.
    #[must_use]
    pub const fn what(&self) -> &'static str {
        self.what
    }

    /// The byte at which that field begins.
    #[must_use]
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// What a caller can do about it.
    #[must_use]
    pub const fn class(&self) -> Class {
        match self.kind {
            Kind::Truncated { .. } => Class::Truncated,
            Kind::Malformed { .. } | Kind::Stream { .. } => Class::Malformed,
            Kind::Unsupported { .. } => Class::Unsupported,
            Kind::Limit { .. } => Class::Limit,
        }
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
                write!(f, "too large, found {found}, expected at most {limit}")
            }
            Kind::Stream { codec } => write!(f, "not a {codec} stream of the expected length"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// A length as a number in error messages.
pub(crate) fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

//! The error of codecs: [`CodecError`].

use zvf_meta::Codec;

/// Why bytes cannot be decoded or encoded. The caller adds the name of the object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The codec did not write these bytes.
    #[error("{0}")]
    Malformed(String),
    /// More decoded bytes than the caller allows.
    #[error("{bytes} decoded bytes exceed the limit")]
    Limit {
        /// The number of decoded bytes.
        bytes: u64,
    },
    /// The bytes are legal, but this build does not decode them.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// A library failed, or the stored bytes could not be read.
    #[error("{0}")]
    Library(#[from] std::io::Error),
    /// An invalid compression.
    #[error("compression: found {found}, expected {expected}")]
    Specification {
        /// The requested compression.
        found: String,
        /// The expected one.
        expected: String,
    },
}

impl CodecError {
    #[cold]
    pub(crate) fn malformed(what: impl Into<String>) -> Self {
        Self::Malformed(what.into())
    }

    #[cfg(feature = "encode")]
    #[cold]
    pub(crate) fn specification(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Specification {
            found: found.into(),
            expected: expected.into(),
        }
    }
}

/// Checks a number of decoded bytes.
pub(crate) fn check(bytes: u64, limit: u64) -> Result<(), CodecError> {
    if bytes > limit {
        Err(CodecError::Limit { bytes })
    } else {
        Ok(())
    }
}

/// The names of codecs, as shown in messages.
#[must_use]
pub fn names(codecs: &[Codec]) -> String {
    let names: Vec<&str> = codecs.iter().map(|codec| codec.name.as_str()).collect();
    format!("{names:?}")
}

//! Errors of reading a store.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use zvf_format::DecodeError;
use zvf_io::{Class, IoError};
use zvf_meta::MetaError;

/// Why a store could not answer. Retrying helps only where [`is_transient`](Self::is_transient) is true.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum StoreError {
    /// An error of access to the store, a limit, misuse or a bug: see its class.
    Io(IoError),
    /// A required object does not exist.
    NotFound {
        /// The object, relative to the store's root.
        key: String,
        /// The store's address.
        store: String,
    },
    /// The address has no store, or has something else.
    NoStore {
        /// The store's address.
        store: String,
        /// The expected object, and the one that exists instead.
        what: String,
    },
    /// There is no such level.
    NoSuchLevel {
        /// The requested level.
        level: u32,
        /// The levels that exist.
        levels: Vec<u32>,
    },
    /// A JSON document violates the format.
    Document {
        /// The document's key.
        key: String,
        /// What is wrong.
        source: Arc<MetaError>,
    },
    /// This crate does not read stores of this version.
    Version {
        /// `zv_version` as found.
        found: String,
        /// The versions that this crate reads.
        supported: &'static str,
    },
    /// A blob's bytes are not legal.
    Decode {
        /// The object, cell or element, as `array at chunk`.
        key: String,
        /// What and where.
        source: DecodeError,
    },
    /// A stored object does not match the document of its array.
    Malformed {
        /// The object, cell or element.
        key: String,
        /// Found and expected.
        what: String,
    },
    /// A codec, data type or encoding that this build does not read.
    Unsupported {
        /// The array or object.
        key: String,
        /// The codec, type or encoding, by its name in the document.
        what: String,
    },
}

impl From<IoError> for StoreError {
    fn from(error: IoError) -> Self {
        Self::Io(error)
    }
}

impl StoreError {
    /// The class a caller acts on.
    pub fn class(&self) -> Class {
        match self {
            Self::Io(error) => error.class(),
            Self::NotFound { .. } | Self::NoStore { .. } => Class::Io,
            Self::NoSuchLevel { .. } => Class::Misuse,
            Self::Decode { source, .. } if source.is_limit() => Class::Limit,
            Self::Document { .. }
            | Self::Version { .. }
            | Self::Decode { .. }
            | Self::Malformed { .. }
            | Self::Unsupported { .. } => Class::Malformed,
        }
    }

    /// The error if a store is to be changed, but the address has no root document.
    #[must_use]
    pub fn no_root(store: &str) -> Self {
        Self::NoStore {
            store: store.to_owned(),
            what: "no store there: no object zarr.json".to_owned(),
        }
    }

    /// Whether the error means that something does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. } | Self::NoStore { .. })
    }

    /// Whether the backend refused access.
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Io(error) if error.is_denied())
    }

    /// Whether the same call may succeed later. Its requests were already retried as [`Retry`](crate::Retry) configures.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Io(error) if error.is_transient())
    }

    /// Whether the store changed while it was read. If it is opened again, its current state can be read.
    pub fn is_changed(&self) -> bool {
        matches!(self, Self::Io(error) if error.is_changed())
    }

    /// Whether the bytes are legal but this build does not read them.
    pub fn is_unsupported(&self) -> bool {
        match self {
            Self::Unsupported { .. }
            | Self::Version { .. }
            | Self::Io(IoError::NotSupported { .. }) => true,
            Self::Decode { source, .. } => source.is_unsupported(),
            _ => false,
        }
    }

    /// Whether the error is about the content of the store: it is malformed, exceeds a limit, or an object is missing. Otherwise it is
    /// about access to the store, or about the call.
    pub fn is_defect(&self) -> bool {
        matches!(self.class(), Class::Malformed | Class::Limit) || self.is_not_found()
    }

    /// The object, prefix or cell the error is about, when it is about one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Io(error) => error.key(),
            Self::NotFound { key, .. }
            | Self::Document { key, .. }
            | Self::Decode { key, .. }
            | Self::Malformed { key, .. }
            | Self::Unsupported { key, .. } => Some(key),
            Self::NoStore { .. } | Self::NoSuchLevel { .. } | Self::Version { .. } => None,
        }
    }

    #[cold]
    pub(crate) fn decode(key: impl Into<String>, source: DecodeError) -> Self {
        Self::Decode {
            key: key.into(),
            source,
        }
    }

    #[cold]
    pub(crate) fn malformed(key: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Malformed {
            key: key.into(),
            what: what.into(),
        }
    }

    #[cold]
    pub(crate) fn unsupported(key: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Unsupported {
            key: key.into(),
            what: what.into(),
        }
    }

    /// Replaces the key of an error about the content of an object; other errors do not change.
    #[cold]
    pub(crate) fn renamed(mut self, name: String) -> Self {
        if let Self::Decode { key, .. }
        | Self::Malformed { key, .. }
        | Self::Unsupported { key, .. }
        | Self::Io(IoError::Limit { key, .. }) = &mut self
        {
            *key = name;
        }
        self
    }

    #[cold]
    pub(crate) fn misuse(what: impl Into<String>) -> Self {
        IoError::misuse(what).into()
    }

    #[cold]
    pub(crate) fn limit(
        key: impl Into<String>,
        what: &'static str,
        found: u64,
        limit: u64,
    ) -> Self {
        IoError::limit(key, what, found, limit).into()
    }

    /// The error for a violated invariant of this crate.
    #[cold]
    pub(crate) fn bug(what: &'static str) -> Self {
        IoError::Bug { what }.into()
    }

    #[cold]
    pub(crate) fn document(key: impl Into<String>, source: MetaError) -> Self {
        Self::Document {
            key: key.into(),
            source: Arc::new(source),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotFound { key, store } => write!(f, "{store}: no object {key:?}"),
            Self::NoStore { store, what } => write!(f, "{store}: {what}"),
            Self::NoSuchLevel { level, levels } => {
                write!(f, "no level {level}: the store has ")?;
                if levels.is_empty() {
                    return f.write_str("no levels");
                }
                f.write_str(if levels.len() == 1 { "level" } else { "levels" })?;
                for (at, level) in levels.iter().enumerate() {
                    write!(f, "{} {level}", if at == 0 { "" } else { "," })?;
                }
                Ok(())
            }
            Self::Document { key, source } => write!(f, "{key}: {source}"),
            Self::Version { found, supported } => {
                write!(
                    f,
                    "zv_version {found:?} is not supported: expected {supported}"
                )
            }
            Self::Decode { key, source } => write!(f, "{key}: {source}"),
            Self::Malformed { key, what } => write!(f, "{key}: {what}"),
            Self::Unsupported { key, what } => write!(f, "{key}: {what} is not supported"),
        }
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            // The text is already that of the I/O error, so its source is the next one.
            Self::Io(error) => error.source(),
            Self::Document { source, .. } => Some(source.as_ref()),
            Self::Decode { source, .. } => Some(source),
            _ => None,
        }
    }
}

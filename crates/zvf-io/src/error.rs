//! Errors of requests to an address.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The source of an error. Shared by the copies of an error that several waiting callers get.
pub type Source = Arc<dyn StdError + Send + Sync + 'static>;

/// The classes of failure that a caller can act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// The bytes are absent, access is denied, the backend failed, the object changed while it was read, or the work was cancelled. A retry may help.
    Io,
    /// The bytes violate the format. A retry never helps.
    Malformed,
    /// The call is invalid: correct the program or the command.
    Misuse,
    /// A count in a file exceeds what [`Limits`](crate::Limits) allows.
    Limit,
    /// Another program locks the object or changed it in the meantime. The call had no effect; a retry helps.
    Busy,
    /// An internal invariant of this library is broken. Please report it. The call had no effect.
    Bug,
}

/// The error of a request to an address. A retry helps only if [`is_transient`](Self::is_transient) is true.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum IoError {
    /// The backend refuses access with the credentials given.
    Denied {
        /// The object or prefix.
        key: String,
        /// The error of the backend.
        source: Source,
    },
    /// The backend failed: network, disk, time-out.
    Backend {
        /// The object or prefix.
        key: String,
        /// The last error of the backend.
        source: Source,
        /// The number of attempts; see [`Retry`](crate::Retry).
        tries: u32,
        /// The time of all attempts and the pauses between them.
        elapsed: Duration,
        /// Whether the failure may be transient.
        transient: bool,
    },
    /// The backend does not support the operation, or was not compiled in.
    NotSupported {
        /// The object, prefix or address.
        key: String,
        /// The operation that is missing.
        what: String,
    },
    /// A folder, a pipe or a device instead of an object, or folders that are nested too deep.
    NotAnObject {
        /// The object.
        key: String,
        /// The kind of entry that was found.
        what: String,
    },
    /// The address cannot be opened by this crate.
    Address {
        /// The address as given.
        url: String,
        /// The defect.
        what: String,
    },
    /// The call is invalid.
    Misuse {
        /// The invalid argument, and the expected one.
        what: String,
    },
    /// A count exceeds a limit.
    Limit {
        /// The object, cell or call.
        key: String,
        /// The counted thing; the field of [`Limits`](crate::Limits).
        what: &'static str,
        /// The count, as far as known.
        found: u64,
        /// The largest allowed count.
        limit: u64,
    },
    /// The store or file changed while it was read. Open it again to read its present state.
    SourceChanged {
        /// The object.
        key: String,
        /// Its state when first read, or when the snapshot was taken.
        first: String,
        /// Its state now.
        now: String,
    },
    /// The work was cancelled: see [`Stop`](crate::Stop).
    Stopped,
    /// An internal invariant of this library is broken.
    Bug {
        /// The invariant.
        what: &'static str,
    },
}

/// The name of the limit [`Limits::cell_bytes`](crate::Limits::cell_bytes) in errors.
pub const CELL_BYTES: &str = "cell_bytes";

impl IoError {
    /// The class that a caller can act on.
    pub fn class(&self) -> Class {
        match self {
            Self::Denied { .. }
            | Self::Backend { .. }
            | Self::SourceChanged { .. }
            | Self::Stopped => Class::Io,
            Self::NotAnObject { .. } => Class::Malformed,
            Self::NotSupported { .. } | Self::Address { .. } | Self::Misuse { .. } => Class::Misuse,
            Self::Limit { .. } => Class::Limit,
            Self::Bug { .. } => Class::Bug,
        }
    }

    /// Whether the backend refused access.
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Denied { .. })
    }

    /// Whether the store or file changed while it was read. Open it again to read its present state.
    pub fn is_changed(&self) -> bool {
        matches!(self, Self::SourceChanged { .. })
    }

    /// Whether the same call may succeed later. All attempts of [`Retry`](crate::Retry) have failed by then.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Backend {
                transient: true,
                ..
            }
        )
    }

    /// Whether more bytes were needed at once than [`Limits::cell_bytes`](crate::Limits::cell_bytes) allows.
    pub fn is_cell_limit(&self) -> bool {
        matches!(self, Self::Limit { what, .. } if *what == CELL_BYTES)
    }

    /// The object or prefix that the error is about, if there is one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Denied { key, .. }
            | Self::Backend { key, .. }
            | Self::NotSupported { key, .. }
            | Self::NotAnObject { key, .. }
            | Self::Limit { key, .. }
            | Self::SourceChanged { key, .. } => Some(key),
            Self::Address { .. } | Self::Misuse { .. } | Self::Stopped | Self::Bug { .. } => None,
        }
    }

    /// The error for an invalid call.
    #[cold]
    pub fn misuse(what: impl Into<String>) -> Self {
        Self::Misuse { what: what.into() }
    }

    /// A count over a limit.
    #[cold]
    pub fn limit(key: impl Into<String>, what: &'static str, found: u64, limit: u64) -> Self {
        Self::Limit {
            key: key.into(),
            what,
            found,
            limit,
        }
    }

    /// A failure for which retries do not help.
    #[cold]
    pub fn backend(
        key: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::Backend {
            key: key.into(),
            source: source.into().into(),
            tries: 1,
            elapsed: Duration::ZERO,
            transient: false,
        }
    }

    /// The error of a file operation.
    #[cold]
    pub fn file(key: impl Into<String>, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::PermissionDenied => Self::Denied {
                key: key.into(),
                source: Arc::new(source),
            },
            _ => Self::backend(key, source),
        }
    }

    #[cold]
    pub(crate) fn no_object(key: impl Into<String>, what: impl Into<String>) -> Self {
        Self::NotAnObject {
            key: key.into(),
            what: what.into(),
        }
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied { key, .. } if key.is_empty() => f.write_str("access denied"),
            Self::Denied { key, .. } => write!(f, "{key}: access denied"),
            Self::Backend {
                key,
                source,
                tries,
                elapsed,
                ..
            } => {
                write!(f, "{key}: I/O error: {source}")?;
                if *tries > 1 {
                    write!(f, " (tried {tries} times in {elapsed:.1?})")?;
                }
                Ok(())
            }
            Self::NotSupported { key, what } | Self::NotAnObject { key, what } => {
                write!(f, "{key}: {what}")
            }
            Self::Address { url, what } => write!(f, "cannot open {url:?}: {what}"),
            Self::Misuse { what } => f.write_str(what),
            Self::Stopped => f.write_str("interrupted"),
            Self::Bug { what } => write!(f, "a bug in zvf: {what}; please report it"),
            Self::Limit {
                key,
                what,
                found,
                limit,
            } => write!(f, "{key}: {found} exceeds the limit {what} of {limit}"),
            Self::SourceChanged { key, first, now } => write!(
                f,
                "{key}: changed while the store was read: first {first}, now {now}"
            ),
        }
    }
}

impl StdError for IoError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Denied { source, .. } | Self::Backend { source, .. } => Some(source.as_ref()),
            _ => None,
        }
    }
}

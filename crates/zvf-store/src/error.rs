//! Why a store could not answer.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use zvf_format::DecodeError;
use zvf_meta::MetaError;

/// A boxed source error.
pub type Source = Box<dyn StdError + Send + Sync + 'static>;

/// The classes of failure a caller can act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// The bytes could not be had: absent, denied, or the backend failed. Trying again may help.
    Io,
    /// The bytes are there and are not what the format says. Trying again never helps.
    Malformed,
    /// The call asks for something that cannot be: fix the program or the command.
    Misuse,
    /// A count in a file exceeds what [`Limits`](crate::Limits) allows.
    Limit,
    /// This library broke a rule of its own: please report it. What was asked for was not done.
    Bug,
}

/// Why a store could not answer. Retrying helps only where [`is_transient`](Self::is_transient) is true.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// A required object does not exist.
    NotFound {
        /// The object, relative to the store's root.
        key: String,
        /// The store's address.
        store: String,
    },
    /// There is no store at the address, or something else is.
    NoStore {
        /// The store's address.
        store: String,
        /// What was looked for, and what is there instead.
        what: String,
    },
    /// The backend refuses access with the credentials given.
    Denied {
        /// The object or prefix.
        key: String,
        /// What the backend said.
        source: Source,
    },
    /// The backend failed: network, disk, time-out.
    Backend {
        /// The object or prefix.
        key: String,
        /// What the backend said, the last time.
        source: Source,
        /// How often it was tried; see [`Retry`](crate::Retry).
        tries: u32,
        /// How long all tries and the pauses between them took.
        elapsed: Duration,
        /// Whether the failure is of the kind that may pass.
        transient: bool,
    },
    /// The backend has no such operation, or it was compiled out.
    NotSupported {
        /// The object, prefix or address.
        key: String,
        /// The operation that is missing.
        what: String,
    },
    /// The address is not one this crate can open.
    Address {
        /// The address as given.
        url: String,
        /// What is wrong with it.
        what: String,
    },
    /// The call cannot be answered as it was made.
    Misuse {
        /// What was asked, and what would be right.
        what: String,
    },
    /// There is no such level.
    NoSuchLevel {
        /// The level asked for.
        level: u32,
        /// The levels that exist.
        levels: Vec<u32>,
    },
    /// A JSON document is not what the format says.
    Document {
        /// The document's key.
        key: String,
        /// What is wrong.
        source: Arc<MetaError>,
    },
    /// The store's version is not one this crate reads.
    Version {
        /// `zv_version` as found.
        found: String,
        /// What is read.
        supported: &'static str,
    },
    /// A blob's bytes are not legal.
    Decode {
        /// The object, cell or element, as `array at chunk`.
        key: String,
        /// What and where.
        source: DecodeError,
    },
    /// A stored object is not what its array's document says.
    Malformed {
        /// The object, cell or element.
        key: String,
        /// What was found and what was expected.
        what: String,
    },
    /// A codec, data type or encoding that this build does not read.
    Unsupported {
        /// The array or object.
        key: String,
        /// The thing that is not read, by its name in the document.
        what: String,
    },
    /// A count exceeds a limit.
    Limit {
        /// The object, cell or call.
        key: String,
        /// What is counted; the field of [`Limits`](crate::Limits).
        what: &'static str,
        /// How many there are, as far as known.
        found: u64,
        /// How many are allowed.
        limit: u64,
    },
    /// The store changed while it was read: opened again, it can be read as it is now.
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
    /// This library broke a rule of its own.
    Bug {
        /// Which rule.
        what: &'static str,
    },
}

impl StoreError {
    /// The class a caller acts on.
    pub fn class(&self) -> Class {
        match self {
            Self::NotFound { .. }
            | Self::NoStore { .. }
            | Self::Denied { .. }
            | Self::Backend { .. }
            | Self::SourceChanged { .. }
            | Self::Stopped => Class::Io,
            Self::NotSupported { .. }
            | Self::Address { .. }
            | Self::Misuse { .. }
            | Self::NoSuchLevel { .. } => Class::Misuse,
            Self::Document { .. }
            | Self::Version { .. }
            | Self::Malformed { .. }
            | Self::Unsupported { .. } => Class::Malformed,
            Self::Decode { source, .. } if source.is_limit() => Class::Limit,
            Self::Decode { .. } => Class::Malformed,
            Self::Limit { .. } => Class::Limit,
            Self::Bug { .. } => Class::Bug,
        }
    }

    /// Whether the error says that something does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. } | Self::NoStore { .. })
    }

    /// Whether the backend refused access.
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Denied { .. })
    }

    /// Whether the same call may succeed later. It was tried as often as [`Retry`](crate::Retry) says by then.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Backend {
                transient: true,
                ..
            }
        )
    }

    /// Whether the store changed under its reader: opened again, it can be read as it is now.
    pub fn is_changed(&self) -> bool {
        matches!(self, Self::SourceChanged { .. })
    }

    /// Whether the bytes are legal but this build does not read them.
    pub fn is_unsupported(&self) -> bool {
        match self {
            Self::Unsupported { .. } | Self::Version { .. } | Self::NotSupported { .. } => true,
            Self::Decode { source, .. } => source.is_unsupported(),
            _ => false,
        }
    }

    /// The object, prefix or cell the error is about, when it is about one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::NotFound { key, .. }
            | Self::Denied { key, .. }
            | Self::Backend { key, .. }
            | Self::NotSupported { key, .. }
            | Self::Document { key, .. }
            | Self::Decode { key, .. }
            | Self::Malformed { key, .. }
            | Self::Unsupported { key, .. }
            | Self::Limit { key, .. }
            | Self::SourceChanged { key, .. } => Some(key),
            Self::Address { .. }
            | Self::NoStore { .. }
            | Self::Misuse { .. }
            | Self::NoSuchLevel { .. }
            | Self::Stopped
            | Self::Bug { .. }
            | Self::Version { .. } => None,
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

    /// Gives what is wrong with some bytes the name of those bytes.
    #[cold]
    pub(crate) fn renamed(mut self, name: String) -> Self {
        if let Self::Decode { key, .. }
        | Self::Malformed { key, .. }
        | Self::Unsupported { key, .. }
        | Self::Limit { key, .. } = &mut self
        {
            *key = name;
        }
        self
    }

    #[cold]
    pub(crate) fn misuse(what: impl Into<String>) -> Self {
        Self::Misuse { what: what.into() }
    }

    #[cold]
    pub(crate) fn limit(
        key: impl Into<String>,
        what: &'static str,
        found: u64,
        limit: u64,
    ) -> Self {
        Self::Limit {
            key: key.into(),
            what,
            found,
            limit,
        }
    }

    #[cold]
    pub(crate) fn document(key: impl Into<String>, source: MetaError) -> Self {
        Self::Document {
            key: key.into(),
            source: Arc::new(source),
        }
    }

    #[cold]
    pub(crate) fn backend(key: impl Into<String>, source: impl Into<Source>) -> Self {
        Self::Backend {
            key: key.into(),
            source: source.into(),
            tries: 1,
            elapsed: Duration::ZERO,
            transient: false,
        }
    }

    #[cold]
    pub(crate) fn io(key: impl Into<String>, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::PermissionDenied => Self::Denied {
                key: key.into(),
                source: source.into(),
            },
            _ => Self::backend(key, source),
        }
    }

    /// The same failure for another one who waited for the same request.
    #[cold]
    pub(crate) fn repeated(first: &Arc<Self>) -> Self {
        let source = || Box::new(Shared(Arc::clone(first)));
        match first.as_ref() {
            Self::Denied { key, .. } => Self::Denied {
                key: key.clone(),
                source: source(),
            },
            Self::Backend {
                key,
                tries,
                elapsed,
                transient,
                ..
            } => Self::Backend {
                key: key.clone(),
                source: source(),
                tries: *tries,
                elapsed: *elapsed,
                transient: *transient,
            },
            Self::NotSupported { key, what } => Self::NotSupported {
                key: key.clone(),
                what: what.clone(),
            },
            Self::NotFound { key, store } => Self::NotFound {
                key: key.clone(),
                store: store.clone(),
            },
            Self::NoStore { store, what } => Self::NoStore {
                store: store.clone(),
                what: what.clone(),
            },
            Self::Address { url, what } => Self::Address {
                url: url.clone(),
                what: what.clone(),
            },
            Self::Misuse { what } => Self::misuse(what),
            Self::NoSuchLevel { level, levels } => Self::NoSuchLevel {
                level: *level,
                levels: levels.clone(),
            },
            Self::Document { key, source } => Self::Document {
                key: key.clone(),
                source: Arc::clone(source),
            },
            Self::Version { found, supported } => Self::Version {
                found: found.clone(),
                supported,
            },
            Self::Decode { key, source } => Self::decode(key, *source),
            Self::Malformed { key, what } => Self::malformed(key, what),
            Self::Unsupported { key, what } => Self::unsupported(key, what),
            Self::Limit {
                key,
                what,
                found,
                limit,
            } => Self::limit(key, what, *found, *limit),
            Self::Bug { what } => Self::Bug { what },
            Self::Stopped => Self::Stopped,
            Self::SourceChanged { key, first, now } => Self::SourceChanged {
                key: key.clone(),
                first: first.clone(),
                now: now.clone(),
            },
        }
    }
}

/// The source of an error that several callers got.
#[derive(Debug)]
struct Shared(Arc<StoreError>);

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match StdError::source(self.0.as_ref()) {
            Some(source) => fmt::Display::fmt(source, f),
            None => fmt::Display::fmt(&self.0, f),
        }
    }
}

impl StdError for Shared {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        StdError::source(self.0.as_ref()).and_then(StdError::source)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { key, store } => write!(f, "{store}: no object {key:?}"),
            Self::NoStore { store, what } => write!(f, "{store}: {what}"),
            Self::Denied { key, .. } if key.is_empty() => f.write_str("access denied"),
            Self::Denied { key, .. } => write!(f, "{key}: access denied"),
            Self::Backend {
                key,
                source,
                tries,
                elapsed,
                ..
            } => {
                write!(f, "{key}: cannot be read: {source}")?;
                if *tries > 1 {
                    write!(f, " (tried {tries} times in {elapsed:.1?})")?;
                }
                Ok(())
            }
            Self::NotSupported { key, what } => write!(f, "{key}: {what}"),
            Self::Address { url, what } => write!(f, "cannot open {url:?}: {what}"),
            Self::Misuse { what } => f.write_str(what),
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
            Self::Stopped => f.write_str("interrupted"),
            Self::Bug { what } => write!(f, "a bug in zvf: {what}; please report it"),
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
            Self::Limit {
                key,
                what,
                found,
                limit,
            } => {
                write!(f, "{key}: {found} exceeds the limit {what} of {limit}")
            }
            Self::SourceChanged { key, first, now } => {
                write!(
                    f,
                    "{key}: changed while the store was read: first {first}, now {now}"
                )
            }
        }
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Denied { source, .. } | Self::Backend { source, .. } => Some(source.as_ref()),
            Self::Document { source, .. } => Some(source.as_ref()),
            Self::Decode { source, .. } => Some(source),
            _ => None,
        }
    }
}

//! Errors of writing.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;
use zvf_codec::CodecError;
use zvf_format::EncodeError;
use zvf_format::int::wide;
use zvf_meta::MetaError;
use zvf_store::{Class, IoError, StoreError};

use crate::transaction::holder::Holder;
use crate::transaction::unfinished::UnfinishedChanges;

/// The error of a write. Nothing was committed, unless [`WriteError::is_committed`] is true; [`WriteError::Unremoved`] leaves a new store behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The writer violated one of its own invariants: please report it. Nothing is committed.
    #[error("{file}:{line}: this is a bug, please report it: {what}")]
    Bug {
        /// The rule.
        what: String,
        /// The source file of the check.
        file: &'static str,
        /// The line of the check.
        line: u32,
    },
    /// A member of the specification is invalid, or contradicts another member.
    #[error("{member}: found {found}, expected {expected}")]
    Spec {
        /// The member, such as `chunk_shape` or `vertex_attributes/fa/channels`.
        member: String,
        /// What was given.
        found: String,
        /// The valid values.
        expected: String,
    },
    /// A batch does not fit the specification. None of its rows were added.
    #[error("batch {batch}, {column}: found {found}, expected {expected}")]
    Batch {
        /// Number of the batch, counted from 0.
        batch: u64,
        /// The column, and the row if one row is the cause.
        column: String,
        /// What was given.
        found: String,
        /// The valid values.
        expected: String,
    },
    /// An argument is invalid, or does not fit the store: a table, an id, a name, an address.
    #[error("{what}: found {found}, expected {expected}")]
    Input {
        /// The argument, with the object or attribute if one is the cause.
        what: String,
        /// What was found.
        found: String,
        /// The valid values.
        expected: String,
    },
    /// The store that is read violates the format, or holds data whose meaning is not defined.
    #[error("{place}: {what}")]
    Data {
        /// The level, array and chunk or object.
        place: String,
        /// The violation, such as the found and the expected value.
        what: String,
    },
    /// The address is not free for a new store or backup. Nothing was changed there.
    #[error("{store}: {what}")]
    Exists {
        /// The address.
        store: String,
        /// What exists at the address.
        what: String,
        /// Whether it is a store, or another Zarr group: its root document exists.
        root: bool,
    },
    /// A folder inside a local store is a symbolic link. Nothing is written or removed through it, because its target may be outside of the store.
    #[error(
        "{}: is a link to {}: folders inside a store that are links are read, but nothing is written or removed through \
         them; replace the link by the folder itself",
        path.display(),
        to.display()
    )]
    Linked {
        /// The link.
        path: PathBuf,
        /// The target of the link.
        to: PathBuf,
    },
    /// Another program is writing to the store. A later attempt may succeed.
    #[error("{store}: {what}; try again later")]
    Busy {
        /// The address.
        store: String,
        /// The running operation, and its writer.
        what: String,
        /// Whether `zvf edit STORE resume` finishes that operation or rolls it back, if its writer is dead.
        resumable: bool,
    },
    /// Another writer changed the store in the meantime. Its changes were not overwritten.
    #[error(
        "{store}: the store was changed by another writer meanwhile; nothing was replaced; try again"
    )]
    Changed {
        /// The address.
        store: String,
    },
    /// Another writer has taken over this change, or may have: the storage did not answer for too long.
    #[error(
        "{store}: the marker of this change could not be renewed in time, another writer may have taken it over; nothing more was written"
    )]
    Lost {
        /// The address.
        store: String,
    },
    /// The store has data that would be lost by an edit. Nothing was changed.
    #[error("{path}: cannot be edited: found {found}, expected {expected}")]
    Unsupported {
        /// The node inside the store.
        path: String,
        /// The state that prevents the edit.
        found: String,
        /// The expected value.
        expected: String,
    },
    /// An edit is committed, but not all of its objects are in place: readers of this workspace see the new store,
    /// others see a mixture until it is resumed.
    #[error(
        "{store}: the edit is committed, but applying it failed; `zvf edit STORE resume` completes it: {source}"
    )]
    Pending {
        /// The address.
        store: String,
        /// Why.
        source: Box<WriteError>,
    },
    /// More of something than the format can count.
    #[error("{what}: found {found}, expected at most {limit}")]
    Limit {
        /// What is counted.
        what: &'static str,
        /// The count.
        found: u64,
        /// The largest allowed count.
        limit: u64,
    },
    /// Data cannot be encoded as a cell or manifest.
    #[error("{what}: {source}")]
    Encode {
        /// The array and chunk.
        what: String,
        /// The value that does not fit.
        source: EncodeError,
    },
    /// A document is malformed, or cannot express the data.
    #[error(transparent)]
    Document(#[from] MetaError),
    /// Reading a store failed, the address cannot be written to, or its backend cannot be created.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The query of the store from which coarse levels are made failed.
    #[error("{source}")]
    Query {
        /// The class of the failure.
        class: Class,
        /// The cause: an error of `zvf-query`.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A local file could not be written or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The object store failed.
    #[error("{key}: {source}")]
    Backend {
        /// The object.
        key: String,
        /// The error of the backend.
        source: object_store::Error,
    },
    /// The store is complete and readable; only the cleanup afterwards failed.
    #[error("the store is written, but {key} could not be removed: {source}")]
    Tidying {
        /// The object that was not removed; readers ignore it.
        key: String,
        /// Why.
        source: Box<WriteError>,
    },
    /// The verification of a copy found a difference from the source store.
    #[error("{place}: {what}")]
    Differs {
        /// The level, and the object, chunk or attribute.
        place: String,
        /// What differs.
        what: String,
    },
    /// A new store that failed its verification, or could not be verified, could not be removed either.
    #[error(
        "{store}: {source}; the store is not verified, and could not be removed ({removal}): remove it before the next attempt"
    )]
    Unremoved {
        /// The address.
        store: String,
        /// The first failure.
        source: Box<WriteError>,
        /// The failure of the removal.
        removal: Box<WriteError>,
    },
    /// An earlier call failed midway, so the state of the writer is undefined.
    #[error("the writer failed before: {what}")]
    Broken {
        /// The first failure.
        what: String,
    },
}

/// Returns an error of the class bug, with file and line, from the enclosing function unless a condition holds.
///
/// ```
/// use zvf_encode::{WriteError, internal};
///
/// fn half(number: u32) -> Result<u32, WriteError> {
///     internal!(number % 2 == 0, "{number} is odd");
///     Ok(number / 2)
/// }
/// assert!(matches!(half(3), Err(WriteError::Bug { .. })));
/// ```
#[macro_export]
macro_rules! internal {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err($crate::WriteError::bug(format!($($what)+)).into());
        }
    };
}
pub use crate::internal;

/// Turns an absent value, or an error that cannot occur, into an error of the class bug.
pub trait OrBug<T> {
    /// The value, or an error of the class bug with file and line of the caller. `what` states the violated invariant; it is formatted only in that
    /// case.
    #[track_caller]
    fn or_bug(self, what: impl fmt::Display) -> Result<T, WriteError>;
}

impl<T> OrBug<T> for Option<T> {
    #[track_caller]
    fn or_bug(self, what: impl fmt::Display) -> Result<T, WriteError> {
        match self {
            Some(value) => Ok(value),
            None => Err(WriteError::bug(what.to_string())),
        }
    }
}

impl<T, E: fmt::Display> OrBug<T> for Result<T, E> {
    #[track_caller]
    fn or_bug(self, what: impl fmt::Display) -> Result<T, WriteError> {
        match self {
            Ok(value) => Ok(value),
            Err(source) => Err(WriteError::bug(format!("{what}: {source}"))),
        }
    }
}

/// A 64-bit number as an index.
///
/// # Errors
/// Limit: the number is too large for this machine.
pub fn to_index(what: &'static str, value: u64) -> Result<usize, WriteError> {
    usize::try_from(value).map_err(|_| WriteError::limit(what, value, wide(usize::MAX)))
}

/// A length as a 32-bit number.
///
/// # Errors
/// Limit: the length does not fit.
pub fn narrow(what: &'static str, value: usize) -> Result<u32, WriteError> {
    u32::try_from(value).map_err(|_| WriteError::limit(what, wide(value), u64::from(u32::MAX)))
}

/// A count as a coordinate or stored number.
///
/// # Errors
/// Limit: 2^63 or more.
pub fn signed64(what: &'static str, value: u64) -> Result<i64, WriteError> {
    i64::try_from(value).map_err(|_| WriteError::limit(what, value, i64::MAX.unsigned_abs()))
}

impl From<CodecError> for WriteError {
    fn from(error: CodecError) -> Self {
        match error {
            CodecError::Specification { found, expected } => {
                Self::spec("compression", found, expected)
            }
            CodecError::Library(source) => Self::io("compression", source),
            other => Self::io("compression", std::io::Error::other(other)),
        }
    }
}

impl From<IoError> for WriteError {
    fn from(error: IoError) -> Self {
        Self::Store(error.into())
    }
}

impl WriteError {
    /// The class of the failure.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Spec { .. }
            | Self::Batch { .. }
            | Self::Input { .. }
            | Self::Exists { .. }
            | Self::Linked { .. }
            | Self::Unsupported { .. }
            | Self::Document(_)
            | Self::Broken { .. } => Class::Misuse,
            Self::Differs { .. } | Self::Data { .. } => Class::Malformed,
            Self::Busy { .. } | Self::Changed { .. } => Class::Busy,
            Self::Bug { .. } => Class::Bug,
            Self::Encode { .. } | Self::Limit { .. } => Class::Limit,
            Self::Store(source) => source.class(),
            Self::Unremoved { source, .. } => source.class(),
            Self::Query { class, .. } => *class,
            Self::Io { .. }
            | Self::Backend { .. }
            | Self::Lost { .. }
            | Self::Tidying { .. }
            | Self::Pending { .. } => Class::Io,
        }
    }

    /// Whether the store is complete in spite of the error.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        matches!(self, Self::Tidying { .. } | Self::Pending { .. })
    }

    /// A violated invariant of the writer; see [`internal!`] and [`OrBug`].
    #[cold]
    #[track_caller]
    pub fn bug(what: impl Into<String>) -> Self {
        let place = std::panic::Location::caller();
        Self::Bug {
            what: what.into(),
            file: place.file(),
            line: place.line(),
        }
    }

    /// A specification that is refused.
    #[cold]
    pub fn spec(
        member: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Spec {
            member: member.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// The error for an address that is not free.
    #[cold]
    pub fn exists(store: &str, what: impl Into<String>) -> Self {
        Self::Exists {
            store: store.to_owned(),
            what: what.into(),
            root: false,
        }
    }

    /// The store was changed by another writer in the meantime.
    #[cold]
    pub fn changed(store: &str) -> Self {
        let store = store.to_owned();
        Self::Changed { store }
    }

    /// A store that another program writes.
    #[cold]
    pub fn busy(store: &str, what: impl Into<String>) -> Self {
        Self::Busy {
            store: store.to_owned(),
            what: what.into(),
            resumable: false,
        }
    }

    /// The error for a store that another change has locked, with the name of its marker and, if stated, its writer.
    #[cold]
    pub fn held(store: &str, marker: &'static str, found: Option<&[u8]>) -> Self {
        let by = found.and_then(Holder::of_marker);
        let parsed = found.map(serde_json::from_slice::<Value>);
        if matches!(parsed, Some(Err(_))) {
            let what = format!(
                "{marker} exists and cannot be read: if no program writes to the store, remove this file"
            );
            return Self::busy(store, what);
        }
        let parts = parsed.and_then(Result::ok);
        let of_parts = |marker: &Value| marker.pointer("/details/parts").is_some();
        if parts.as_ref().is_some_and(of_parts) {
            let what = "its parts are being committed, or the commit was interrupted at its end: `zvf import STORE … --commit` finishes it";
            return Self::busy(store, what);
        }
        let by = by.map_or_else(String::new, |by| format!(" of {by}"));
        let what = format!("another change is running or was interrupted ({marker}{by} exists)");
        let resumable = parts.is_none_or(|marker| UnfinishedChanges::of(&marker).is_some());
        let way_out = match resumable {
            true => "",
            false => {
                ", and the file does not state which: if no program writes to the store, remove this file"
            }
        };
        Self::Busy {
            store: store.to_owned(),
            what: what + way_out,
            resumable,
        }
    }

    /// A store that cannot be changed this way.
    #[cold]
    pub fn unsupported(
        path: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Unsupported {
            path: path.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// An argument that is refused.
    #[cold]
    pub fn input(
        what: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Input {
            what: what.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// The error for malformed data of a store.
    #[cold]
    pub fn source(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Data {
            place: place.into(),
            what: what.into(),
        }
    }

    /// A difference between a copy and its source.
    #[cold]
    pub fn differs(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Differs {
            place: place.into(),
            what: what.into(),
        }
    }

    /// Data of a store that is not as expected.
    #[cold]
    pub fn data(
        what: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        let (found, expected) = (found.into(), expected.into());
        Self::source(what, format!("found {found}, expected {expected}"))
    }

    /// A local file that could not be written or read.
    #[cold]
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io {
            path: path.into(),
            source,
        }
    }

    /// A value that cannot be encoded.
    #[cold]
    pub fn encode(what: impl Into<String>, source: EncodeError) -> Self {
        Self::Encode {
            what: what.into(),
            source,
        }
    }

    /// More of something than the format can count.
    #[cold]
    pub fn limit(what: &'static str, found: u64, limit: u64) -> Self {
        Self::Limit { what, found, limit }
    }
}

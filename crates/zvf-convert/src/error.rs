//! Why a file could not be read as vertices, or written from them.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::output::OddMoment;
pub(crate) use zvf_meta::shown;
use zvf_query::QueryError;
use zvf_store::StoreError;
use zvf_write::{Class, WriteError};

/// A position in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InFile {
    /// A line of a text file, counted from 1.
    Line(u64),
    /// A byte of a binary file, counted from 0.
    Byte(u64),
    /// The file as a whole.
    Whole,
}

impl fmt::Display for InFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, ", line {line}"),
            Self::Byte(byte) => write!(f, ", byte {byte}"),
            Self::Whole => Ok(()),
        }
    }
}

/// Why a file could not be read as vertices, or written from them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The file violates its format, or has data that a store cannot represent.
    #[error("{}{place}: found {found}, expected {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: InFile,
        /// What was found.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// Options that do not fit each other or the files.
    #[error("{what}: found {found}, expected {expected}")]
    Usage {
        /// The option or file.
        what: String,
        /// What was given.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// A limit was reached.
    #[error("{}{place}: more than {limit} {what}", path.display())]
    Limit {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: InFile,
        /// What is counted.
        what: String,
        /// How many are allowed.
        limit: u64,
    },
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A query of the store failed.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The data could not be written to the store.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The volume of a mask could not be read.
    #[cfg(feature = "volumes")]
    #[error(transparent)]
    Volume(#[from] zvf_volume::VolumeError),
}

impl ConvertError {
    /// The class of the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Io { source, .. } if OddMoment::within(source).is_some() => Class::Malformed,
            Self::Io { .. } => Class::Io,
            Self::Malformed { .. } => Class::Malformed,
            Self::Usage { .. } => Class::Misuse,
            Self::Limit { .. } => Class::Limit,
            Self::Store(source) => source.class(),
            Self::Query(source) => source.class(),
            Self::Write(source) => source.class(),
            #[cfg(feature = "volumes")]
            Self::Volume(source) => source.class(),
        }
    }

    #[cold]
    /// Replaces the path in an error about a file, for callers that read a temporary copy; `rename` returns `None` for paths to keep.
    #[must_use]
    pub fn renamed(mut self, rename: impl FnOnce(&Path) -> Option<PathBuf>) -> Self {
        match &mut self {
            Self::Io { path, .. } | Self::Malformed { path, .. } | Self::Limit { path, .. } => {
                if let Some(other) = rename(path) {
                    *path = other;
                }
            }
            _ => {}
        }
        self
    }

    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// The error for a file whose second reading differs from the first.
    #[cold]
    pub(crate) fn file_changed(path: &Path, found: &str) -> Self {
        let expected = "what the first pass read: the file changed while it was read";
        Self::malformed(path, InFile::Whole, found, expected)
    }

    #[cold]
    pub(crate) fn malformed(
        path: &Path,
        place: InFile,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Malformed {
            path: path.to_owned(),
            place,
            found: found.into(),
            expected: expected.into(),
        }
    }

    #[cold]
    pub(crate) fn usage(
        what: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Usage {
            what: what.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// The error for a Parquet file in a build without Parquet.
    #[cold]
    #[cfg(not(feature = "parquet"))]
    pub(crate) fn not_built(path: &Path) -> Self {
        let expected = "another format, or a program that was built with the feature `parquet`";
        Self::usage(path.display().to_string(), "a Parquet file", expected)
    }

    #[cold]
    pub(crate) fn limit(path: &Path, place: InFile, what: impl Into<String>, limit: u64) -> Self {
        Self::Limit {
            path: path.to_owned(),
            place,
            what: what.into(),
            limit,
        }
    }
}

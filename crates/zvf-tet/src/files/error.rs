//! Why a file could not be read or written: [`Error`].

use std::io;
use std::string::String;

use crate::error::{Class, TetError};
use zvf_grid::GridError;

/// What reading, verifying and writing can answer. Four kinds: the system ([`Self::is_io`]), a file that is not right
/// ([`Self::class`]), a wrong call, and limits ([`Self::Limit`]).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is not right.
    #[error("{0}")]
    Format(#[from] TetError),
    /// The JSON of the footer or its metadata is invalid.
    #[error("{error} ({source})")]
    Json {
        /// Where.
        error: TetError,
        /// The error of serde_json.
        source: serde_json::Error,
    },
    /// A selection or buffer that does not fit the dataset.
    #[error("{0}")]
    Grid(#[from] GridError),
    /// No dataset of that name.
    #[error("no dataset named {name:?}")]
    NoDataset {
        /// The name.
        name: String,
    },
    /// More than the caller allows.
    #[error("{what}: {found} bytes found, at most {limit} allowed")]
    Limit {
        /// What would need so much.
        what: &'static str,
        /// Bytes it would need.
        found: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// A call that cannot be carried out.
    #[error("{what}: {why}")]
    Misuse {
        /// The argument.
        what: &'static str,
        /// The reason.
        why: String,
    },
    /// The source is not the one that was opened any more.
    #[error("the file changed while it was read: {what}")]
    Changed {
        /// What shows it.
        what: &'static str,
    },
}

impl Error {
    /// The class of the fault in the file. None for everything that is not the file's fault.
    #[must_use]
    pub fn class(&self) -> Option<Class> {
        self.fault().map(|error| error.class())
    }

    /// The fault in the file. None for everything that is not the file's fault.
    #[must_use]
    pub fn fault(&self) -> Option<&TetError> {
        match self {
            Self::Format(error) | Self::Json { error, .. } => Some(error),
            _ => None,
        }
    }

    /// Whether the system below failed; trying again may help.
    #[must_use]
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Io(_))
    }

    #[cold]
    pub(crate) fn misuse(what: &'static str, why: impl Into<String>) -> Self {
        Self::Misuse {
            what,
            why: why.into(),
        }
    }
}

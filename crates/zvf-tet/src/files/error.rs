//! The error of reading and writing files: [`Error`].

use std::io;
use std::string::String;

use crate::error::{Class, TetError};
use zvf_grid::GridError;

/// The error of reading, verifying and writing. Five kinds: the system failed ([`Self::is_io`]), an invalid file
/// ([`Self::class`]), a wrong call, a limit ([`Self::Limit`]), and a file that changed ([`Self::Changed`]).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is invalid.
    #[error("{0}")]
    Format(#[from] TetError),
    /// The JSON of the footer or its metadata is invalid.
    #[error("{error} ({source})")]
    Json {
        /// The fault and its position.
        error: TetError,
        /// The error of serde_json.
        source: serde_json::Error,
    },
    /// A selection or buffer that does not fit the dataset.
    #[error("{0}")]
    Grid(#[from] GridError),
    /// No dataset has that name.
    #[error("no dataset named {name:?}")]
    NoDataset {
        /// The name.
        name: String,
    },
    /// More memory is needed than the caller allows.
    #[error("{what}: {found} bytes found, at most {limit} allowed")]
    Limit {
        /// The data that would need this memory.
        what: &'static str,
        /// The needed bytes.
        found: u64,
        /// The allowed bytes.
        limit: u64,
    },
    /// A call with an argument that is not allowed.
    #[error("{what}: {why}")]
    Misuse {
        /// The argument.
        what: &'static str,
        /// The reason.
        why: String,
    },
    /// The source changed since it was opened.
    #[error("the file changed while it was read: {what}")]
    Changed {
        /// The difference that was found.
        what: &'static str,
    },
}

impl Error {
    /// The class of the fault in the file. `None` if the file is not at fault.
    #[must_use]
    pub fn class(&self) -> Option<Class> {
        self.fault().map(|error| error.class())
    }

    /// The fault in the file. `None` if the file is not at fault.
    #[must_use]
    pub fn fault(&self) -> Option<&TetError> {
        match self {
            Self::Format(error) | Self::Json { error, .. } => Some(error),
            _ => None,
        }
    }

    /// Whether the system failed; trying again may help.
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

//! Why a job did not run, or did not end.

use zvf_encode::WriteError;
use zvf_store::{Class, StoreError};
use zvf_validate::ValidateError;

/// The reason why a job has no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// A member of a job is wrong.
    #[error("{path}: {what}")]
    Option {
        /// The path of the member, such as `factors[1]`, behind the place of the job in a list: `[2].factors[1]`.
        path: String,
        /// What was found and expected.
        what: String,
    },
    /// A store could not be read.
    #[error("{source}")]
    Store {
        /// The address of the store.
        place: String,
        /// The reason.
        source: Box<StoreError>,
    },
    /// A store could not be written.
    #[error("{source}")]
    Write {
        /// The address of the store.
        place: String,
        /// The reason.
        source: Box<WriteError>,
    },
    /// A store could not be validated.
    #[error("{source}")]
    Validate {
        /// The address of the store.
        place: String,
        /// The reason.
        source: Box<ValidateError>,
    },
}

impl JobError {
    /// A member that is wrong.
    #[cold]
    pub(crate) fn option(path: &str, found: impl std::fmt::Display, expected: &str) -> Self {
        Self::Option {
            path: path.to_owned(),
            what: format!("found {found}, expected {expected}"),
        }
    }

    /// An error of writing at an address.
    pub(crate) fn write(place: &str) -> impl FnOnce(WriteError) -> Self + '_ {
        move |source| Self::Write {
            place: place.to_owned(),
            source: Box::new(source),
        }
    }

    /// The same error of a job in a list.
    pub(crate) fn of_item(mut self, at: usize) -> Self {
        if let Self::Option { path, .. } = &mut self {
            let dot = if path.is_empty() { "" } else { "." };
            *path = format!("[{at}]{dot}{path}");
        }
        self
    }

    /// The class that a caller acts on.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Option { .. } => Class::Misuse,
            Self::Store { source, .. } => source.class(),
            Self::Write { source, .. } => source.class(),
            Self::Validate { source, .. } => source.class(),
        }
    }

    /// The address of the store that was worked on, if the options are right.
    #[must_use]
    pub fn place(&self) -> Option<&str> {
        match self {
            Self::Option { .. } => None,
            Self::Store { place, .. }
            | Self::Write { place, .. }
            | Self::Validate { place, .. } => Some(place),
        }
    }
}

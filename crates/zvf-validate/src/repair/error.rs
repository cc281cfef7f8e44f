//! Errors: reasons why a store could not be repaired.

use crate::ValidateError;
use zvf_encode::{Holder, WriteError};
use zvf_store::{Class, StoreError};

/// The reason why a repair could not be planned or executed, or its result not be validated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// The store could not be validated.
    #[error(transparent)]
    Validate(#[from] ValidateError),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Documents could not be replaced or restored.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The documents are replaced, but the store could not be validated again.
    #[error("{source}")]
    Unchecked {
        /// The address of the backup of the old documents.
        backup: String,
        /// The error of the validation.
        source: Box<ValidateError>,
    },
    /// A change of the store is unfinished.
    #[error(
        "{store}: a change is running or was interrupted ({marker}{} exists): try again later; if its writer has ended, `zvf edit STORE resume` finishes it",
        by.as_ref().map_or_else(String::new, |by| format!(" of {by}"))
    )]
    Unfinished {
        /// The address.
        store: String,
        /// The marker of the change.
        marker: &'static str,
        /// The writer, if the marker names it.
        by: Option<Box<Holder>>,
    },
    /// Documents of this version cannot be repaired.
    #[error(
        "{store}: found version {version}, expected 0.9 or later: `zvf migrate` copies the store and derives the members that a repair would correct"
    )]
    Version {
        /// The address.
        store: String,
        /// The version that the root states.
        version: String,
    },
    /// The storage cannot list objects.
    #[error(
        "{store}: found storage that does not list its objects, expected storage that does: a repair needs the names of the objects"
    )]
    Unlisted {
        /// The address.
        store: String,
    },
}

impl RepairError {
    /// The class by which a caller can handle the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Validate(error) => error.class(),
            Self::Store(error) => error.class(),
            Self::Write(error) => error.class(),
            Self::Unchecked { source, .. } => source.class(),
            Self::Unfinished { .. } => Class::Busy,
            Self::Version { .. } | Self::Unlisted { .. } => Class::Misuse,
        }
    }
}

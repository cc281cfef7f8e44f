//! Errors: reasons why a store could not be validated. A finding is not an error.

use zvf_store::{Class, StoreError};

/// The reason why a validation ended without a report. A defect of a store is a [`Finding`](crate::Finding), never an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValidateError {
    /// A read failed, the address is invalid, or the store changed in the meantime.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An option is invalid: it names a level that does not exist, or a file that is not a journal.
    #[error("{what}")]
    Misuse {
        /// The invalid option or address, and the expected value.
        what: String,
    },
    /// The journal could not be read or written.
    #[error("{what}")]
    Journal {
        /// The journal, and the error of the system.
        what: String,
    },
}

impl ValidateError {
    /// The class by which a caller can handle the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Store(error) => error.class(),
            Self::Misuse { .. } => Class::Misuse,
            Self::Journal { .. } => Class::Io,
        }
    }
}

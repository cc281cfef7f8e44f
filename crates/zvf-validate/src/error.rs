//! Why a store could not be looked at: everything that is no finding.

use zvf_store::{Class, StoreError};

/// The reason why a validation ended without a report. A defect of a store is a [`Finding`](crate::Finding), never an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValidateError {
    /// Bytes could not be had, the address is none, or the store changed meanwhile.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An option names what is not there.
    #[error("{what}")]
    Misuse {
        /// The option or address that is wrong, and the expected value.
        what: String,
    },
}

impl ValidateError {
    /// The class that a caller acts on.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Store(error) => error.class(),
            Self::Misuse { .. } => Class::Misuse,
        }
    }
}

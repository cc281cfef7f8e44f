//! Why a store could not be repaired.

use crate::ValidateError;
use zvf_encode::{Holder, WriteError};
use zvf_store::{Class, StoreError};

/// Why there is no plan, or why it was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// The store could not be looked at.
    #[error(transparent)]
    Validate(#[from] ValidateError),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Documents could not be replaced or put back.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A writer's change is unfinished.
    #[error(
        "{store}: a change is running or was interrupted ({marker}{} is there): try again later; if its writer is dead, `zvf edit STORE resume` finishes it",
        by.as_ref().map_or_else(String::new, |by| format!(" of {by}"))
    )]
    Unfinished {
        /// The address.
        store: String,
        /// What tells it.
        marker: &'static str,
        /// The writer, where the marker names it.
        by: Option<Box<Holder>>,
    },
    /// Documents of this version are not repaired.
    #[error(
        "{store}: found version {version}, expected 0.9 or later: `zvf migrate` copies it, and derives again what a repair would"
    )]
    Version {
        /// The address.
        store: String,
        /// What the root states.
        version: String,
    },
    /// The storage does not tell which objects there are.
    #[error("{store}: found storage that does not list its objects, a repair needs their names")]
    Unlisted {
        /// The address.
        store: String,
    },
}

impl RepairError {
    /// The class that a caller acts on.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Validate(error) => error.class(),
            Self::Store(error) => error.class(),
            Self::Write(error) => error.class(),
            Self::Unfinished { .. } => Class::Busy,
            Self::Version { .. } | Self::Unlisted { .. } => Class::Misuse,
        }
    }
}

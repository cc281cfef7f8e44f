//! Errors of views.

use zvf_query::QueryError;
use zvf_store::{Class, StoreError};

use crate::precomputed::{EncodeError, MultiLodError};

pub(crate) type Result<T, E = ViewError> = std::result::Result<T, E>;

/// Why a file of a view cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// There is no such view, file or object.
    #[error("{0}")]
    NotFound(String),
    /// A file that would be too large, or too many objects for it.
    #[error("{0}")]
    TooLarge(String),
    /// Inconsistent data of the store.
    #[error("{0}")]
    Malformed(String),
    /// The store cannot be read.
    #[error(transparent)]
    Store(StoreError),
    /// The query failed.
    #[error(transparent)]
    Query(QueryError),
    /// Inconsistent counts in the data that was read.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A mesh cannot be encoded in levels of detail.
    #[error(transparent)]
    MultiLod(#[from] MultiLodError),
}

impl ViewError {
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::NotFound(message.into())
    }

    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::TooLarge(message.into())
    }

    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::Malformed(message.into())
    }

    /// The class of the failure.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::NotFound(_) => Class::Misuse,
            Self::TooLarge(_) => Class::Limit,
            Self::Malformed(_) | Self::Encode(_) | Self::MultiLod(_) => Class::Malformed,
            Self::Store(error) if error.is_denied() => Class::Io,
            Self::Store(StoreError::NotFound { .. } | StoreError::NoSuchLevel { .. }) => {
                Class::Misuse
            }
            Self::Store(error) => error.class(),
            Self::Query(error) => error.class(),
        }
    }
}

impl From<StoreError> for ViewError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<QueryError> for ViewError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Store(error) => Self::Store(error),
            error => Self::Query(error),
        }
    }
}

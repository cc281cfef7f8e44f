//! Errors of drawing.

use zvf_query::QueryError;
use zvf_store::{Class, StoreError};

/// The reason why a picture could not be drawn. Callers decide by its [`class`](Self::class).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The query failed.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The request cannot be drawn.
    #[error("{what}")]
    Misuse {
        /// The request, and what is allowed.
        what: String,
    },
    /// The picture needs more than a limit allows.
    #[error("{what}")]
    Limit {
        /// The actual number, the limit, and advice.
        what: String,
    },
    /// The picture could not be encoded.
    #[error("PNG: {0}")]
    Png(#[from] png::EncodingError),
    /// A broken internal invariant: please report it.
    #[error("internal error at {at}: {what}")]
    Bug {
        /// The invariant, and the found value.
        what: String,
        /// File and line.
        at: &'static std::panic::Location<'static>,
    },
}

impl PlotError {
    /// Wrong usage.
    #[cold]
    pub fn usage(what: impl Into<String>) -> Self {
        Self::Misuse { what: what.into() }
    }

    /// A limit that was reached.
    #[cold]
    pub(crate) fn limit(what: impl Into<String>) -> Self {
        Self::Limit { what: what.into() }
    }

    /// A broken internal invariant.
    #[cold]
    #[track_caller]
    pub(crate) fn bug(what: impl Into<String>) -> Self {
        Self::Bug {
            what: what.into(),
            at: std::panic::Location::caller(),
        }
    }

    /// The class of the failure.
    pub fn class(&self) -> Class {
        match self {
            Self::Store(error) => error.class(),
            Self::Query(error) => error.class(),
            Self::Misuse { .. } => Class::Misuse,
            Self::Limit { .. } => Class::Limit,
            Self::Png(_) => Class::Io,
            Self::Bug { .. } => Class::Bug,
        }
    }
}

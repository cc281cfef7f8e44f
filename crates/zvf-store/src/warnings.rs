//! Violations of the format that do not prevent reading.

use std::fmt;
use std::sync::{Mutex, PoisonError};

/// A violation of the format that does not prevent reading. Its text describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// A node of the store is left out of every result: its path and the reason.
    LeftOut(String),
    /// Attributes that the store may have are not read: the backend cannot list, and no document has their names.
    NamesUnknown(String),
    /// Links that the store may have are not read: the backend cannot list, and arrays of links between distant chunks have names that only a
    /// listing gives.
    LinksUnknown(String),
    /// Anything else.
    Other(String),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeftOut(what) => write!(f, "left out: {what}"),
            Self::NamesUnknown(what) | Self::LinksUnknown(what) | Self::Other(what) => {
                f.write_str(what)
            }
        }
    }
}

/// Warnings in the order of their discovery, each once.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<Vec<Warning>>);

/// Most warnings that are kept; later ones are dropped.
const MOST: usize = 1000;

impl Warnings {
    #[cold]
    pub(crate) fn add(&self, what: String) {
        self.put(Warning::Other(what));
    }

    /// Adds a node that is left out.
    #[cold]
    pub(crate) fn left_out(&self, what: String) {
        self.put(Warning::LeftOut(what));
    }

    /// Adds attributes whose names are not known.
    #[cold]
    pub(crate) fn names_unknown(&self, what: String) {
        self.put(Warning::NamesUnknown(what));
    }

    /// Adds links whose arrays are not known.
    #[cold]
    pub(crate) fn links_unknown(&self, what: String) {
        self.put(Warning::LinksUnknown(what));
    }

    fn put(&self, warning: Warning) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() < MOST && !list.contains(&warning) {
            list.push(warning);
        }
    }

    pub(crate) fn list(&self) -> Vec<Warning> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

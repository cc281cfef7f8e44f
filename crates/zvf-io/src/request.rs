//! Requests to an address, and their results.

use std::ops::Range;

use bytes::Bytes;

use crate::error::CELL_BYTES;
use crate::{IoError, Limits};

/// The requested part of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ask {
    /// All of it.
    Whole,
    /// At least this many bytes from the start.
    Prefix(u64),
    /// At least this many bytes from the end; the whole object if it is shorter.
    Suffix(u64),
    /// Exactly these bytes.
    Range(Range<u64>),
}

impl Ask {
    /// The requested bytes of an object of `size` bytes.
    pub fn of(&self, size: u64) -> Range<u64> {
        match self {
            Self::Whole => 0..size,
            Self::Prefix(n) => 0..size.min(*n),
            Self::Suffix(n) => size.saturating_sub(*n)..size,
            Self::Range(range) => range.start.min(size)..range.end.min(size),
        }
    }

    /// Offset and length for the trace.
    pub(crate) fn traced(&self) -> (Option<u64>, Option<u64>) {
        match self {
            Self::Whole => (None, None),
            Self::Prefix(n) => (Some(0), Some(*n)),
            Self::Suffix(n) => (None, Some(*n)),
            Self::Range(r) => (Some(r.start), Some(r.end.saturating_sub(r.start))),
        }
    }
}

/// Part of an object.
#[derive(Debug, Clone)]
pub struct Object {
    /// The bytes.
    pub bytes: Bytes,
    /// Where `bytes` starts in the object.
    pub start: u64,
    /// Bytes of the whole object.
    pub size: u64,
    /// The validator of the content, if the backend sends one.
    pub etag: Option<String>,
}

impl Object {
    /// Cuts the requested range out of a whole object; other requests return it unchanged.
    pub(crate) fn part(mut self, ask: &Ask) -> Self {
        if let Ask::Range(range) = ask {
            let bound = |at: u64| {
                usize::try_from(at)
                    .unwrap_or(usize::MAX)
                    .min(self.bytes.len())
            };
            let (from, to) = (bound(range.start), bound(range.end));
            self.bytes = self.bytes.slice(from..to.max(from));
            self.start = range.start;
        }
        self
    }
}

/// A request about the tree of objects, sent together with others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    /// The bytes of a document.
    Document(String),
    /// The names of the folders directly below a prefix.
    Names(String),
    /// As [`Names`](Self::Names), of a folder that has one child for each chunk.
    Cells(String),
    /// The keys of all objects below a prefix, relative to it.
    Keys(String),
}

impl Question {
    /// Most names or keys in the reply, or bytes of the document.
    pub(crate) fn cap(&self, limits: &Limits) -> Cap {
        match self {
            Self::Document(_) => Cap::document(limits),
            Self::Names(_) => Cap::names(limits),
            Self::Cells(_) | Self::Keys(_) => Cap::cells(limits),
        }
    }
}

/// The answer to a [`Question`].
#[derive(Debug, Clone)]
pub enum Reply {
    /// The document; `None` if it does not exist.
    Document(Option<Object>),
    /// Names or keys, ascending; `None` if the backend cannot list.
    Names(Option<Vec<String>>),
}

/// The number and size of objects below a prefix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Objects.
    pub objects: u64,
    /// Their bytes, as stored.
    pub bytes: u64,
}

impl Usage {
    /// Counts one more object.
    pub(crate) fn add(&mut self, prefix: &str, bytes: u64, cap: Cap) -> Result<(), IoError> {
        self.merge(prefix, Self { objects: 1, bytes }, cap)
    }

    /// Adds the counts of other objects.
    pub(crate) fn merge(&mut self, prefix: &str, other: Self, cap: Cap) -> Result<(), IoError> {
        self.objects = self.objects.saturating_add(other.objects);
        self.bytes = self.bytes.saturating_add(other.bytes);
        cap.check(prefix, self.objects)
    }
}

/// One of the [`Limits`], with the name of its field for messages.
#[derive(Debug, Clone, Copy)]
pub struct Cap {
    /// The field of [`Limits`].
    pub what: &'static str,
    /// Most bytes, cells, names or rows.
    pub most: u64,
}

impl Cap {
    /// [`Limits::cell_bytes`].
    pub fn cell(limits: &Limits) -> Self {
        Self::new(CELL_BYTES, limits.cell_bytes)
    }

    /// [`Limits::batch_bytes`].
    pub fn batch(limits: &Limits) -> Self {
        Self::new("batch_bytes", limits.batch_bytes)
    }

    /// [`Limits::document_bytes`].
    pub fn document(limits: &Limits) -> Self {
        Self::new("document_bytes", limits.document_bytes)
    }

    /// [`Limits::cells_per_query`].
    pub fn cells(limits: &Limits) -> Self {
        Self::new("cells_per_query", limits.cells_per_query)
    }

    /// [`Limits::listed_names`].
    pub fn names(limits: &Limits) -> Self {
        Self::new("listed_names", limits.listed_names)
    }

    /// [`Limits::object_rows`].
    pub fn rows(limits: &Limits) -> Self {
        Self::new("object_rows", limits.object_rows)
    }

    fn new(what: &'static str, most: u64) -> Self {
        Self { what, most }
    }

    /// Checks a count against a limit.
    ///
    /// # Errors
    /// Limit: more than allowed.
    pub fn check(self, key: &str, found: u64) -> Result<(), IoError> {
        if found > self.most {
            Err(self.exceeded(key, found))
        } else {
            Ok(())
        }
    }

    /// The error for a count over the limit.
    #[cold]
    pub fn exceeded(self, key: &str, found: u64) -> IoError {
        IoError::limit(key, self.what, found, self.most)
    }
}

/// Whether `name` can be one segment of a key: not empty, `.` or `..`, and without `/`, `\` and NUL.
pub fn is_segment(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0'])
}

//! What is asked of an address, and what comes back.

use std::ops::Range;

use bytes::Bytes;

use crate::{IoError, Limits};

/// Which part of an object is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ask {
    /// All of it.
    Whole,
    /// The first so many bytes, or more where more comes along.
    Prefix(u64),
    /// The last so many bytes, or more where more comes along, or all of it when it is shorter.
    Suffix(u64),
    /// Exactly these bytes.
    Range(Range<u64>),
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
    /// What changes with the content, where the backend says it.
    pub etag: Option<String>,
}

impl Object {
    /// The part of a whole object that was asked for; a longer part than asked for stays whole.
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

/// A question about the tree of objects, asked together with others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    /// The bytes of a document.
    Document(String),
    /// The names of the folders below a prefix.
    Names(String),
    /// As [`Names`](Self::Names), of a folder that has one child for each chunk.
    Cells(String),
    /// The keys of all objects below a prefix, relative to it.
    Keys(String),
}

/// The answer to a [`Question`].
#[derive(Debug, Clone)]
pub enum Reply {
    /// The document; `None` where there is none.
    Document(Option<Object>),
    /// Names or keys, ascending; `None` where the backend cannot list.
    Names(Option<Vec<String>>),
}

/// How much is stored below a prefix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Objects.
    pub objects: u64,
    /// Their bytes, as stored.
    pub bytes: u64,
}

impl Usage {
    /// Counts one more object, up to `limit` of them.
    pub(crate) fn add(&mut self, prefix: &str, bytes: u64, limit: u64) -> Result<(), IoError> {
        self.merge(prefix, Self { objects: 1, bytes }, limit)
    }

    /// Counts other objects, too, up to `limit` of them all.
    pub(crate) fn merge(&mut self, prefix: &str, other: Self, limit: u64) -> Result<(), IoError> {
        self.objects = self.objects.saturating_add(other.objects);
        self.bytes = self.bytes.saturating_add(other.bytes);
        if self.objects > limit {
            return Err(IoError::limit(
                prefix,
                "cells_per_query",
                self.objects,
                limit,
            ));
        }
        Ok(())
    }
}

/// A limit on the bytes of one object.
#[derive(Debug, Clone, Copy)]
pub struct Cap {
    /// The field of [`Limits`], for the message.
    pub what: &'static str,
    /// Most bytes.
    pub bytes: u64,
}

impl Cap {
    /// [`Limits::cell_bytes`].
    pub fn cell(limits: &Limits) -> Self {
        Self {
            what: "cell_bytes",
            bytes: limits.cell_bytes,
        }
    }

    /// [`Limits::document_bytes`].
    pub fn document(limits: &Limits) -> Self {
        Self {
            what: "document_bytes",
            bytes: limits.document_bytes,
        }
    }

    /// Checks the size of an object.
    ///
    /// # Errors
    /// Limit: more bytes than allowed.
    pub fn check(self, key: &str, bytes: u64) -> Result<(), IoError> {
        if bytes > self.bytes {
            Err(IoError::limit(key, self.what, bytes, self.bytes))
        } else {
            Ok(())
        }
    }
}

/// Whether `name` can be one segment of a key: it names something inside its parent and nothing else.
pub fn is_segment(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0'])
}

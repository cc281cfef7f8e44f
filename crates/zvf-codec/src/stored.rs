//! Stored bytes of a chunk, in memory or read range by range.

use std::ops::Range;

use bytes::Bytes;

use crate::error::CodecError;

/// Reads a range of the stored bytes of a chunk; returns fewer bytes only at the end of the chunk.
pub type ReadStored = Box<dyn Fn(Range<u64>) -> Result<Bytes, CodecError> + Send + Sync>;

/// The stored bytes of one chunk.
pub enum StoredBytes {
    /// In memory.
    Memory(Bytes),
    /// Read on demand: their number, and a function that reads ranges.
    Source(u64, ReadStored),
}

impl std::fmt::Debug for StoredBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StoredBytes({})", self.len())
    }
}

impl StoredBytes {
    /// The number of stored bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => wide(bytes.len()),
            Self::Source(length, _) => *length,
        }
    }

    /// Whether there are no stored bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A range of the bytes, cut at their end.
    pub(crate) fn get(&self, range: Range<usize>) -> Result<Bytes, CodecError> {
        match self {
            Self::Memory(bytes) => {
                let end = range.end.min(bytes.len());
                Ok(bytes.slice(range.start.min(end)..end))
            }
            Self::Source(length, read) => {
                let end = wide(range.end).min(*length);
                read(wide(range.start).min(end)..end)
            }
        }
    }

    pub(crate) fn all(&self) -> Result<Bytes, CodecError> {
        self.get(0..usize::MAX)
    }
}

/// A number of bytes as `u64`.
pub(crate) fn wide(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

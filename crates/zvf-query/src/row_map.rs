//! Maps rows of chunks to rows of the result.

use std::sync::Arc;

use crate::columns::gather::Kept;
use crate::fragments::Fragments;
use crate::plan::chunks::Slot;
use zvf_store::format::int;

/// The rows of one chunk in the result.
#[derive(Debug, Clone)]
pub(crate) struct ChunkRows {
    /// Row of the result for the first kept row.
    pub(crate) base: u64,
    /// Number of rows of the chunk; `None` if it was not read or does not exist.
    pub(crate) rows: Option<u32>,
    pub(crate) kept: Kept,
    pub(crate) fragments: Option<Arc<Fragments>>,
}

impl Default for ChunkRows {
    fn default() -> Self {
        Self {
            base: 0,
            rows: None,
            kept: Kept::Rows(Vec::new()),
            fragments: None,
        }
    }
}

impl ChunkRows {
    /// Row of the result for a row of the chunk.
    pub(crate) fn global(&self, row: u32) -> Option<u64> {
        Some(self.base + u64::from(self.kept.rank(row)?))
    }
}

/// The kept rows of all chunks, by slot. Memory grows only with the kept rows of partly kept chunks: one number for each.
#[derive(Debug, Default)]
pub(crate) struct RowMap {
    pub(crate) chunks: Vec<ChunkRows>,
}

impl RowMap {
    /// A map without kept rows.
    pub(crate) fn new(chunks: usize) -> Self {
        Self {
            chunks: vec![ChunkRows::default(); chunks],
        }
    }

    /// The rows of one chunk.
    pub(crate) fn get(&self, slot: Slot) -> Option<&ChunkRows> {
        self.chunks.get(int::index(slot))
    }

    /// Number of rows of a chunk, if it was read.
    pub(crate) fn rows(&self, slot: Slot) -> Option<u32> {
        self.get(slot)?.rows
    }

    /// Row of the result for a row of a chunk.
    pub(crate) fn global(&self, key: Key) -> Option<u64> {
        self.get(key.slot())?.global(key.row())
    }
}

/// A row of a chunk in eight bytes, ordered by chunk, then row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(u64);

impl Key {
    /// A row of a chunk outside the query.
    pub(crate) const OUTSIDE: Self = Self(u64::MAX);

    pub(crate) fn new(slot: Slot, row: u32) -> Self {
        Self((u64::from(slot) << 32) | u64::from(row))
    }

    pub(crate) fn slot(self) -> Slot {
        u32::try_from(self.0 >> 32).unwrap_or(Slot::MAX)
    }

    pub(crate) fn row(self) -> u32 {
        u32::try_from(self.0 & u64::from(u32::MAX)).unwrap_or(u32::MAX)
    }
}

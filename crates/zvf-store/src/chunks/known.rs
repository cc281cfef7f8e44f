//! Rows and fragments of the chunks that an open store read in parts.

use std::sync::Arc;

use zvf_format::int::wide;

use super::fragments::CheckedFragments;
use crate::ChunkCoord;
use crate::once_cache::OnceCache;

/// The number of rows of a chunk, and its fragments.
#[derive(Debug, Clone)]
pub(crate) struct KnownChunk {
    pub(super) rows: u32,
    pub(super) fragments: Arc<CheckedFragments>,
}

/// By level and chunk.
pub(crate) type KnownChunks = OnceCache<(u32, ChunkCoord), KnownChunk>;

/// Most bytes that a store caches.
const MOST: u64 = 32 << 20;

/// Memory of an entry besides its fragments.
const OVERHEAD: u64 = 256;

/// An empty cache of at most `limit` bytes.
pub(crate) fn known_chunks(limit: u64) -> KnownChunks {
    KnownChunks::new(limit.min(MOST), |known| {
        wide(known.fragments.bytes()).saturating_add(OVERHEAD)
    })
}

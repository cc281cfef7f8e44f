//! The chunks of a level, with the number of rows and fragments of each.

use zvf_meta::Kind;
use zvf_store::{ChunkCoord, Level};

use zvf_format::int::index;

/// The count of a chunk whose cell is damaged or was not read.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// The value of `LevelState::ends` for a fragment without rows.
pub(crate) const NO_ROWS: (u32, u32) = (UNKNOWN, UNKNOWN);

/// A level after its chunks were read.
#[derive(Debug)]
pub(crate) struct LevelState {
    pub(crate) level: Level,
    /// The chunks with vertices, in lexicographic order.
    pub(crate) chunks: Vec<ChunkCoord>,
    /// Rows of each chunk.
    pub(crate) rows: Vec<u32>,
    /// Fragments of each chunk.
    pub(crate) fragments: Vec<u32>,
    /// The fragments of each chunk that have no rows, ascending.
    pub(crate) empty: Vec<Vec<u32>>,
    /// First and last row of each fragment, chunk by chunk, if they are needed for chains; [`NO_ROWS`] for an empty fragment.
    pub(crate) ends: Option<Vec<Vec<(u32, u32)>>>,
    /// Whether a fragment has an explicit list of rows.
    pub(crate) lists: bool,
    /// Whether every chunk was read.
    pub(crate) whole: bool,
}

impl LevelState {
    pub(crate) fn new(level: Level) -> Self {
        let chunks: Vec<ChunkCoord> = level
            .vertices()
            .presence()
            .iter()
            .map(ChunkCoord::new)
            .collect();
        Self {
            rows: vec![UNKNOWN; chunks.len()],
            fragments: vec![UNKNOWN; chunks.len()],
            empty: vec![Vec::new(); chunks.len()],
            ends: None,
            lists: false,
            whole: false,
            chunks,
            level,
        }
    }

    pub(crate) fn number(&self) -> u32 {
        self.level.number()
    }

    /// The path of a node in the level.
    pub(crate) fn path(&self, below: &str) -> String {
        format!("{}/{below}", self.number())
    }

    /// The index of a chunk in [`chunks`](Self::chunks).
    pub(crate) fn slot(&self, chunk: &[i64]) -> Option<usize> {
        self.chunks
            .binary_search_by(|one| one.as_slice().cmp(chunk))
            .ok()
    }

    /// The number of rows of a chunk; `None` if its cells cannot be read.
    pub(crate) fn rows_of(&self, slot: usize) -> Option<u32> {
        self.rows.get(slot).copied().filter(|&rows| rows != UNKNOWN)
    }

    /// The number of fragments of a chunk; `None` if its index cannot be read.
    pub(crate) fn fragments_of(&self, slot: usize) -> Option<u32> {
        let count = self.fragments.get(slot).copied();
        count.filter(|&count| count != UNKNOWN)
    }

    /// Whether a fragment has no rows; `false` if its chunk cannot be read.
    pub(crate) fn is_empty(&self, slot: usize, fragment: u32) -> bool {
        let empty = self.empty.get(slot);
        empty.is_some_and(|empty| empty.binary_search(&fragment).is_ok())
    }

    /// For each chunk the number of known fragments in the chunks before it; then their total.
    pub(crate) fn fragment_bases(&self) -> Vec<usize> {
        let mut bases = Vec::with_capacity(self.chunks.len() + 1);
        let mut next = 0_usize;
        for slot in 0..self.chunks.len() {
            bases.push(next);
            next = next.saturating_add(self.fragments_of(slot).map_or(0, index));
        }
        bases.push(next);
        bases
    }

    /// The first and the last row of a fragment; `None` if it is empty or its chunk cannot be read.
    pub(crate) fn ends_of(&self, slot: usize, fragment: u32) -> Option<(u32, u32)> {
        let ends = self.ends.as_ref()?.get(slot)?.get(index(fragment)).copied();
        ends.filter(|&ends| ends != NO_ROWS)
    }

    /// Number of vertices in all chunks with a known number of rows.
    pub(crate) fn vertices(&self) -> u64 {
        let known = self.rows.iter().filter(|&&rows| rows != UNKNOWN);
        known.fold(0, |sum, &rows| sum.saturating_add(u64::from(rows)))
    }

    /// Whether every chunk was read and its number of rows is known.
    pub(crate) fn is_known(&self) -> bool {
        self.whole && self.rows.iter().all(|&rows| rows != UNKNOWN)
    }

    /// Whether the fragments of points are bins (0.9 §10.2).
    pub(crate) fn is_binned(&self) -> bool {
        let root = self.level.store().root();
        self.number() == 0
            && root.zarr_vectors.geometry_types.len() == 1
            && self.level.store().kind() == Kind::PointCloud
            && self.level.object_index().is_none()
            && self.level.key_rank() == self.level.dims()
    }
}

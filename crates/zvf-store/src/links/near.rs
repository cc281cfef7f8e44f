//! Which cells of a link array can touch given chunks.

use super::array::{LinkArray, Placement};
use crate::{ChunkCoord, StoreError};

/// How many endpoint chunks of a cell must be among given chunks for the cell to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Touch {
    /// All of them: a link is kept only with all its endpoints.
    All,
    /// One is enough: a record may name a parent outside the chunks (trap T2).
    Any,
}

/// A set of chunks of the level.
pub trait Chunks {
    /// How many there are.
    fn count(&self) -> usize;

    /// Calls `each` with every one of them.
    fn visit(&self, each: &mut dyn FnMut(&[i64]));

    /// Whether a chunk is one of them.
    fn has(&self, chunk: &[i64]) -> bool;
}

impl LinkArray {
    /// Calls `each` with every cell that touches the chunks, and the chunks of its endpoints, in unspecified order.
    ///
    /// # Cost
    /// No I/O. Iterates over the chunks or the cells, whichever are fewer.
    ///
    /// # Errors
    /// As [`endpoint_chunks`](Self::endpoint_chunks).
    pub fn cells_near<C: Chunks + ?Sized>(
        &self,
        chunks: &C,
        touch: Touch,
        mut each: impl FnMut(ChunkCoord, &[i64]),
    ) -> Result<(), StoreError> {
        let rank = self.chunk_rank().max(1);
        let mut ends = Vec::new();
        let mut keep = |source: &[i64]| -> Result<(), StoreError> {
            self.endpoint_chunks(source, &mut ends)?;
            let mut inside = ends.chunks_exact(rank).map(|chunk| chunks.has(chunk));
            let wanted = match touch {
                Touch::All => inside.all(|inside| inside),
                Touch::Any => inside.any(|inside| inside),
            };
            if wanted {
                each(ChunkCoord::new(source), &ends);
            }
            Ok(())
        };
        match self.candidates(chunks, touch) {
            Some(sources) => sources.iter().try_for_each(|source| keep(source)),
            None => self.array.presence().iter().try_for_each(keep),
        }
    }

    /// The cells that can touch the chunks, each once; `None` when every cell has to be looked at.
    fn candidates<C: Chunks + ?Sized>(&self, chunks: &C, touch: Touch) -> Option<Vec<ChunkCoord>> {
        let presence = self.array.presence();
        if chunks.count().saturating_mul(self.width()) >= presence.len() {
            return None;
        }
        let mut found: Vec<ChunkCoord> = Vec::new();
        match &self.placement() {
            // A cell starts with its first chunk: the presence list is sorted by it. Where any endpoint counts, all
            // cells are looked at, for the list is sorted by nothing else.
            Placement::Tuple if touch == Touch::All => chunks.visit(&mut |chunk| {
                let rest = presence.rank().saturating_sub(chunk.len());
                let lo = [chunk, &vec![i64::MIN; rest]].concat();
                let hi = [chunk, &vec![i64::MAX; rest]].concat();
                found.extend(presence.in_box(&lo, &hi).map(ChunkCoord::new));
            }),
            Placement::Tuple => return None,
            Placement::SameKey => chunks.visit(&mut |chunk| {
                if presence.contains(chunk) {
                    found.push(ChunkCoord::new(chunk));
                }
            }),
            Placement::Offsets { offsets, .. } => chunks.visit(&mut |chunk| {
                let mut add = |source: &[i64]| {
                    if presence.contains(source) {
                        found.push(ChunkCoord::new(source));
                    }
                };
                add(chunk);
                if touch == Touch::All {
                    return;
                }
                for offset in offsets.chunks_exact(chunk.len().max(1)) {
                    let source: Option<Vec<i64>> = chunk
                        .iter()
                        .zip(offset)
                        .map(|(at, step)| at.checked_sub(*step))
                        .collect();
                    source.iter().for_each(|source| add(source));
                }
            }),
        }
        found.sort_unstable();
        found.dedup();
        Some(found)
    }
}

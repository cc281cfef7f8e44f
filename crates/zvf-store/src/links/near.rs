//! Finds the cells of a link array that can touch given chunks.

use super::array::{LinkArray, Placement};
use crate::{ChunkCoord, StoreError};

/// The condition on the endpoint chunks of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Touch {
    /// All of them are among the chunks, because a link is only returned with all its endpoints.
    All,
    /// At least one is among the chunks, because a record may name a parent outside of them (trap T2).
    Any,
}

/// A set of chunks of the level.
pub trait Chunks {
    /// The number of chunks.
    fn count(&self) -> usize;

    /// Calls `each` with every chunk.
    fn visit(&self, each: &mut dyn FnMut(&[i64]));

    /// Whether a chunk is in the set.
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

    /// The cells that can touch the chunks, each once; `None` if every cell must be tested.
    fn candidates<C: Chunks + ?Sized>(&self, chunks: &C, touch: Touch) -> Option<Vec<ChunkCoord>> {
        let presence = self.array.presence();
        if chunks.count().saturating_mul(self.width()) >= presence.len() {
            return None;
        }
        let mut found: Vec<ChunkCoord> = Vec::new();
        match &self.placement() {
            // The presence list is sorted by the first endpoint chunk of a cell, so cells can be searched by it. For `Touch::Any`, the other
            // endpoints matter, too, and all cells are tested.
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

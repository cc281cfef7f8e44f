//! The chunks of a query, numbered.

use zvf_store::format::int::index;

/// Number of a chunk within one query, in lexicographic order of coordinates.
pub(crate) type Slot = u32;

/// A lexicographically sorted list of chunk coordinates with a lookup that costs a few nanoseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChunkTable {
    rank: usize,
    coords: Vec<i64>,
    lookup: Lookup,
}

#[derive(Debug, Clone, Default)]
enum Lookup {
    /// Binary search.
    #[default]
    Search,
    /// One entry for each chunk of the block around all chunks; [`Slot::MAX`] for unlisted ones.
    Dense {
        lo: Vec<i64>,
        shape: Vec<i64>,
        slots: Vec<Slot>,
    },
}

impl ChunkTable {
    /// Numbers `chunks`, which must be in lexicographic order. `None`: more than `u32::MAX - 1` chunks.
    pub(crate) fn new<'a>(rank: usize, chunks: impl Iterator<Item = &'a [i64]>) -> Option<Self> {
        let mut coords = Vec::new();
        for chunk in chunks {
            coords.extend_from_slice(chunk);
        }
        Self::from_flat(rank, coords)
    }

    /// Numbers chunks in any order, dropping repeats.
    pub(crate) fn from_unsorted(rank: usize, mut chunks: Vec<&[i64]>) -> Option<Self> {
        chunks.sort_unstable();
        chunks.dedup();
        Self::new(rank, chunks.into_iter())
    }

    fn from_flat(rank: usize, coords: Vec<i64>) -> Option<Self> {
        let count = coords.len().checked_div(rank).unwrap_or(0);
        u32::try_from(count)
            .ok()
            .filter(|count| *count < Slot::MAX)?;
        let mut table = Self {
            rank,
            coords,
            lookup: Lookup::Search,
        };
        if let Some(dense) = table.dense(count) {
            table.lookup = dense;
        }
        Some(table)
    }

    /// Builds the dense lookup if the block is not much larger than the list.
    fn dense(&self, count: usize) -> Option<Lookup> {
        let first = self.iter().next()?;
        let (mut lo, mut hi) = (first.to_vec(), first.to_vec());
        for chunk in self.iter() {
            for ((lo, hi), at) in lo.iter_mut().zip(&mut hi).zip(chunk) {
                *lo = (*lo).min(*at);
                *hi = (*hi).max(*at);
            }
        }
        let mut volume = 1_usize;
        let mut shape = Vec::with_capacity(self.rank);
        for (lo, hi) in lo.iter().zip(&hi) {
            let edge = hi.checked_sub(*lo)?.checked_add(1)?;
            volume = volume.checked_mul(usize::try_from(edge).ok()?)?;
            shape.push(edge);
        }
        if volume > count.checked_mul(8)?.checked_add(4096)? {
            return None;
        }
        let mut slots = vec![Slot::MAX; volume];
        for (slot, chunk) in (0..).zip(self.iter()) {
            *slots.get_mut(place(&lo, &shape, chunk)?)? = slot;
        }
        Some(Lookup::Dense { lo, shape, slots })
    }

    /// Number of chunks.
    pub(crate) fn len(&self) -> usize {
        self.coords.len().checked_div(self.rank).unwrap_or(0)
    }

    /// Coordinate of a chunk; empty for an invalid number.
    pub(crate) fn get(&self, slot: Slot) -> &[i64] {
        let start = index(slot).saturating_mul(self.rank);
        self.coords
            .get(start..start.saturating_add(self.rank))
            .unwrap_or(&[])
    }

    /// The chunks in lexicographic order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[i64]> {
        self.coords.chunks_exact(self.rank.max(1))
    }

    /// Number of a chunk, if it is listed.
    pub(crate) fn slot(&self, chunk: &[i64]) -> Option<Slot> {
        match &self.lookup {
            Lookup::Dense { lo, shape, slots } => {
                let slot = *slots.get(place(lo, shape, chunk)?)?;
                (slot != Slot::MAX).then_some(slot)
            }
            Lookup::Search => {
                let (mut low, mut high) = (0_u32, u32::try_from(self.len()).ok()?);
                while low < high {
                    let middle = low + (high - low) / 2;
                    match self.get(middle).cmp(chunk) {
                        std::cmp::Ordering::Equal => return Some(middle),
                        std::cmp::Ordering::Less => low = middle + 1,
                        std::cmp::Ordering::Greater => high = middle,
                    }
                }
                None
            }
        }
    }
}

/// Row-major number of a chunk inside a block, or `None` outside.
fn place(lo: &[i64], shape: &[i64], chunk: &[i64]) -> Option<usize> {
    let mut number = 0_i64;
    for ((at, lo), edge) in chunk.iter().zip(lo).zip(shape) {
        let step = at.checked_sub(*lo)?;
        if step < 0 || step >= *edge {
            return None;
        }
        number = number.checked_mul(*edge)?.checked_add(step)?;
    }
    usize::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(chunks: &[[i64; 2]]) -> ChunkTable {
        ChunkTable::new(2, chunks.iter().map(|chunk| &chunk[..])).unwrap()
    }

    #[test]
    fn every_chunk_finds_its_own_number() {
        for far in [3, i64::MAX] {
            let chunks = [[-2, 5], [0, -1], [0, 0], [far, 1]];
            let table = table(&chunks);
            assert_eq!(matches!(table.lookup, Lookup::Dense { .. }), far == 3);
            for (slot, chunk) in chunks.iter().enumerate() {
                assert_eq!(table.slot(chunk), u32::try_from(slot).ok());
                assert_eq!(table.get(u32::try_from(slot).unwrap()), chunk);
            }
            for absent in [[0, 1], [-3, 0], [i64::MIN, i64::MAX], [1, 5]] {
                assert_eq!(table.slot(&absent), None);
            }
        }
    }

    #[test]
    fn no_chunks_is_a_table_too() {
        let table = table(&[]);
        assert_eq!((table.len(), table.slot(&[0, 0])), (0, None));
        assert_eq!(table.get(0), &[] as &[i64]);
    }

    #[test]
    fn repeats_are_dropped() {
        let table = ChunkTable::from_unsorted(1, vec![&[4], &[-1], &[4]]).unwrap();
        assert_eq!(table.iter().collect::<Vec<_>>(), [&[-1_i64][..], &[4]]);
    }
}

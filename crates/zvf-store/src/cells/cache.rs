//! A cache of decoded cells, limited in bytes; evicts the least recently used. Off by default.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::want::CellWant;
use crate::ChunkCoord;
use zvf_format::int::wide;

/// Memory of an entry besides the bytes of its cell.
const OVERHEAD: u64 = 256;

/// Decoded cells by array and chunk, shared by all clones of a store. Absent cells are cached too.
#[derive(Debug)]
pub(crate) struct CellCache {
    limit: u64,
    state: Mutex<CacheState>,
}

#[derive(Debug, Default)]
struct CacheState {
    arrays: HashMap<Arc<str>, HashMap<ChunkCoord, CachedCell>>,
    /// The entries by the time of their last use.
    order: BTreeMap<u64, (Arc<str>, ChunkCoord)>,
    clock: u64,
    weight: u64,
}

#[derive(Debug)]
struct CachedCell {
    cell: Option<Bytes>,
    used: u64,
}

impl CachedCell {
    fn weight(&self) -> u64 {
        let bytes = self.cell.as_ref().map_or(0, Bytes::len);
        wide(bytes).saturating_add(OVERHEAD)
    }
}

/// A batch, split into cached cells and cells to read.
#[derive(Debug)]
pub(crate) struct CachedBatch {
    cells: Vec<Option<Bytes>>,
    /// The places of `rest` in the batch.
    places: Vec<usize>,
    pub(crate) rest: Vec<CellWant>,
}

impl CellCache {
    /// A cache of at most `limit` bytes; `None` if that is 0.
    pub(crate) fn new(limit: u64) -> Option<Arc<Self>> {
        (limit > 0).then(|| {
            Arc::new(Self {
                limit,
                state: Mutex::default(),
            })
        })
    }

    /// Splits a batch into cached cells and cells to read.
    pub(crate) fn split(&self, wants: Vec<CellWant>) -> CachedBatch {
        let mut split = CachedBatch {
            cells: Vec::with_capacity(wants.len()),
            places: Vec::new(),
            rest: Vec::new(),
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, want) in wants.into_iter().enumerate() {
            match state.get(want.array.path(), &want.chunk) {
                Some(cell) => split.cells.push(cell),
                None => {
                    split.cells.push(None);
                    split.places.push(place);
                    split.rest.push(want);
                }
            }
        }
        split
    }

    /// Caches the cells that were read, and puts them into their batch. `fresh[i]` belongs to `rest[i]`.
    pub(crate) fn merge(
        &self,
        cells: Vec<Option<Bytes>>,
        places: &[usize],
        rest: Vec<CellWant>,
        fresh: Vec<Option<Bytes>>,
    ) -> Vec<Option<Bytes>> {
        let mut cells = cells;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for ((place, want), cell) in places.iter().zip(rest).zip(fresh) {
            state.put(want.array.path(), want.chunk, cell.as_ref(), self.limit);
            if let Some(slot) = cells.get_mut(*place) {
                *slot = cell;
            }
        }
        cells
    }
}

impl CachedBatch {
    /// The cached cells, the places of the others, and the others.
    pub(crate) fn into_parts(self) -> (Vec<Option<Bytes>>, Vec<usize>, Vec<CellWant>) {
        (self.cells, self.places, self.rest)
    }
}

impl CacheState {
    fn get(&mut self, path: &str, chunk: &ChunkCoord) -> Option<Option<Bytes>> {
        let entry = self.arrays.get_mut(path)?.get_mut(chunk)?;
        self.clock = self.clock.saturating_add(1);
        if let Some(name) = self.order.remove(&entry.used) {
            self.order.insert(self.clock, name);
        }
        entry.used = self.clock;
        Some(entry.cell.clone())
    }

    fn put(&mut self, path: &str, chunk: ChunkCoord, cell: Option<&Bytes>, limit: u64) {
        self.clock = self.clock.saturating_add(1);
        let entry = CachedCell {
            // A copy: the cell may be a slice of a large buffer, which it would keep in memory.
            cell: cell.map(|bytes| Bytes::copy_from_slice(bytes)),
            used: self.clock,
        };
        let weight = entry.weight();
        if weight > limit {
            return;
        }
        let path = match self.arrays.get_key_value(path) {
            Some((path, _)) => Arc::clone(path),
            None => Arc::from(path),
        };
        let cells = self.arrays.entry(Arc::clone(&path)).or_default();
        if let Some(old) = cells.insert(chunk.clone(), entry) {
            self.order.remove(&old.used);
            self.weight = self.weight.saturating_sub(old.weight());
        }
        self.order.insert(self.clock, (path, chunk));
        self.weight = self.weight.saturating_add(weight);
        while self.weight > limit {
            let Some((_, (path, chunk))) = self.order.pop_first() else {
                break;
            };
            let gone = self.arrays.get_mut(&path).and_then(|c| c.remove(&chunk));
            self.weight = self
                .weight
                .saturating_sub(gone.map_or(0, |entry| entry.weight()));
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::{CacheState, OVERHEAD};
    use crate::ChunkCoord;

    fn chunk(x: i64) -> ChunkCoord {
        ChunkCoord::new(&[x, -x])
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let mut state = CacheState::default();
        let limit = 3 * (OVERHEAD + 10);
        let cell = Bytes::from(vec![1; 10]);
        for x in 0..3 {
            state.put("0/a", chunk(x), Some(&cell), limit);
        }
        assert_eq!(state.get("0/a", &chunk(0)), Some(Some(cell.clone())));
        state.put("0/b", chunk(0), None, limit);
        // Cell 1 was used longest ago. It was evicted, although the new entry is smaller than it.
        assert_eq!(state.get("0/a", &chunk(1)), None);
        assert_eq!(state.get("0/b", &chunk(0)), Some(None));
        assert_eq!(state.get("0/b", &chunk(1)), None);
        assert_eq!(state.get("0/a", &chunk(2)), Some(Some(cell)));
        // A cell that is larger than the cache evicts nothing.
        state.put("0/a", chunk(9), Some(&Bytes::from(vec![0; 5000])), limit);
        assert!(state.get("0/a", &chunk(9)).is_none() && state.get("0/a", &chunk(0)).is_some());
    }

    proptest! {
        #[test]
        fn the_weight_is_what_is_there_and_never_more_than_the_limit(
            steps in proptest::collection::vec((0i64..20, 0usize..3000, any::<bool>()), 0..200),
            limit in 0u64..8000,
        ) {
            let mut state = CacheState::default();
            for (x, length, put) in steps {
                let path = if x % 2 == 0 { "even" } else { "odd" };
                if put {
                    let cell = Bytes::from(vec![x as u8; length]);
                    state.put(path, chunk(x), Some(&cell), limit);
                } else if let Some(Some(cell)) = state.get(path, &chunk(x)) {
                    prop_assert!(cell.iter().all(|b| *b == x as u8));
                }
                let entries = state.arrays.values().flat_map(|cells| cells.values());
                let weight: u64 = entries.clone().map(super::CachedCell::weight).sum();
                prop_assert_eq!(weight, state.weight);
                prop_assert!(weight <= limit);
                prop_assert_eq!(entries.count(), state.order.len());
            }
        }
    }
}

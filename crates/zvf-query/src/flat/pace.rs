//! How much is read at one time.

use std::ops::Range;

use crate::plan::chunks::Slot;

/// Most chunks of one group.
const GROUP: u32 = 64;

/// Up to so many chunks make two groups, more make at least four.
const FEW: u32 = 32;

/// Most groups in flight.
const WINDOW: u64 = 64;

/// Groups of chunks, and how many of them may be in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) groups: Vec<Range<Slot>>,
    pub(crate) window: usize,
}

/// What is known about a level before reading it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Rows that a chunk has on average, as far as documents tell.
    pub(crate) rows_per_chunk: u64,
    /// Decoded bytes of a row.
    pub(crate) row_bytes: u64,
    /// Rows of one batch.
    pub(crate) batch_rows: u64,
    /// Bytes that may be in flight.
    pub(crate) budget: u64,
    /// Rows that are wanted at most.
    pub(crate) limit: Option<u64>,
}

impl Load {
    /// Decoded bytes of a chunk.
    pub(crate) fn chunk_bytes(self) -> u64 {
        let rows = self.rows_per_chunk.saturating_mul(self.row_bytes);
        rows.saturating_add(256)
    }
}

impl Pace {
    /// Cuts chunks into groups: large enough to be worth a task, small enough that there are several, about a batch
    /// each. Where few rows are wanted, the first group has about as many, and each of the next is twice as large: a filter may
    /// leave rows out. The cut depends on the store and the query alone, so that the same query gives the same batches.
    pub(crate) fn new(chunks: Slot, load: Load) -> Self {
        let rows = load.rows_per_chunk.max(1);
        let by_rows = u32::try_from(load.batch_rows.div_ceil(rows)).unwrap_or(GROUP);
        // Waking a thread costs as much as some ten small cells.
        let parts = if chunks <= FEW { 2 } else { 4 };
        let size = by_rows.clamp(1, GROUP).min(chunks.div_ceil(parts).max(2));
        let mut next = load.limit.map_or(size, |limit| {
            u32::try_from(limit.div_ceil(rows)).map_or(size, |few| few.clamp(1, size))
        });
        let mut groups: Vec<Range<Slot>> = Vec::new();
        let mut start = 0;
        while start < chunks {
            let end = start.saturating_add(next).min(chunks);
            groups.push(start..end);
            start = end;
            next = next.saturating_mul(2).min(size);
        }
        let rows = rows.saturating_mul(u64::from(size));
        let bytes = rows.saturating_mul(load.row_bytes).max(1);
        // Decoded cells and gathered columns exist side by side.
        let mut window = (load.budget / bytes.saturating_mul(2)).clamp(2, WINDOW);
        if let Some(limit) = load.limit {
            window = window.min((limit / rows).saturating_add(2));
        }
        Self {
            groups,
            window: usize::try_from(window).unwrap_or(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(chunks: u32, rows_per_chunk: u64, limit: Option<u64>) -> Pace {
        let load = Load {
            rows_per_chunk,
            row_bytes: 20,
            batch_rows: 65_536,
            budget: 256 << 20,
            limit,
        };
        Pace::new(chunks, load)
    }

    #[test]
    fn every_chunk_is_in_one_group() {
        for chunks in [0, 1, 7, 8, 27, 64, 1000] {
            let found = pace(chunks, 1000, None);
            let all: Vec<u32> = found.groups.into_iter().flatten().collect();
            assert_eq!(all, (0..chunks).collect::<Vec<_>>());
        }
    }

    #[test]
    fn large_chunks_make_small_groups_and_windows() {
        assert_eq!(pace(1000, 1000, None).groups.len(), 16);
        assert_eq!(pace(27, 1000, None).groups.len(), 2);
        let large = pace(1000, 10_000_000, None);
        assert_eq!((large.groups.len(), large.window), (1000, 2));
        assert_eq!(pace(1000, 1000, Some(10)).window, 2);
    }

    #[test]
    fn groups_grow_where_few_rows_are_wanted() {
        let lengths = |limit| {
            let groups = pace(1000, 1000, limit).groups;
            let lengths = groups.iter().map(ExactSizeIterator::len);
            lengths.collect::<Vec<usize>>()
        };
        assert_eq!(lengths(Some(1))[..7], [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(lengths(Some(3000))[..4], [3, 6, 12, 24]);
        assert_eq!(lengths(Some(1 << 40)), lengths(None));
        assert_eq!(lengths(Some(1)).iter().sum::<usize>(), 1000);
    }
}

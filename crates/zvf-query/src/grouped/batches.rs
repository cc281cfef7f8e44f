//! Manifest entries cut into batches, and which chunks each batch is the first or last to use.

use std::ops::Range;

use crate::int;
use crate::plan::chunks::Slot;
use crate::walk::Entry;

/// Most chunks that one batch adds.
const CHUNKS: usize = 32;

/// Most entries of one batch.
const ENTRIES: usize = 4096;

/// Consecutive entries that are gathered together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) entries: Range<usize>,
    /// Every chunk the entries name, ascending.
    pub(crate) slots: Vec<Slot>,
    /// Those that no batch before has named.
    pub(crate) new: Vec<Slot>,
}

/// All batches, and for each chunk the number of the last batch that uses it.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    pub(crate) list: Vec<Batch>,
    pub(crate) last_use: Vec<usize>,
}

/// Cuts entries into batches.
pub(crate) fn cut(entries: &[Entry], chunks: usize) -> Batches {
    let mut batches = Batches {
        list: Vec::new(),
        last_use: vec![0; chunks],
    };
    let mut seen = vec![false; chunks];
    let mut start = 0;
    let (mut slots, mut new) = (Vec::new(), Vec::new());
    let mut close = |range: Range<usize>,
                     slots: &mut Vec<Slot>,
                     new: &mut Vec<Slot>,
                     last_use: &mut [usize]| {
        if range.is_empty() {
            return;
        }
        slots.sort_unstable();
        slots.dedup();
        new.sort_unstable();
        for slot in slots.iter() {
            if let Some(last) = last_use.get_mut(int::at(*slot)) {
                *last = batches.list.len();
            }
        }
        batches.list.push(Batch {
            entries: range,
            slots: std::mem::take(slots),
            new: std::mem::take(new),
        });
    };
    let mut last_use = std::mem::take(&mut batches.last_use);
    for (at, entry) in entries.iter().enumerate() {
        let unseen = entry.slot != Entry::GAP && seen.get(int::at(entry.slot)) == Some(&false);
        if (unseen && new.len() >= CHUNKS) || at - start >= ENTRIES {
            close(start..at, &mut slots, &mut new, &mut last_use);
            start = at;
        }
        if entry.slot == Entry::GAP {
            continue;
        }
        if slots.last() != Some(&entry.slot) {
            slots.push(entry.slot);
        }
        if unseen {
            new.push(entry.slot);
            if let Some(seen) = seen.get_mut(int::at(entry.slot)) {
                *seen = true;
            }
        }
    }
    close(start..entries.len(), &mut slots, &mut new, &mut last_use);
    batches.last_use = last_use;
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_in_one_batch_and_every_chunk_is_new_once() {
        let entries: Vec<Entry> = (0..10_000_u32)
            .map(|at| Entry {
                slot: if at % 97 == 0 {
                    Entry::GAP
                } else {
                    (at * 7) % 200
                },
                first: at,
                count: 1,
            })
            .collect();
        let batches = cut(&entries, 200);
        let mut next = 0;
        let mut new: Vec<Slot> = Vec::new();
        for (number, batch) in batches.list.iter().enumerate() {
            assert_eq!(batch.entries.start, next);
            next = batch.entries.end;
            new.extend(&batch.new);
            for entry in &entries[batch.entries.clone()] {
                if entry.slot != Entry::GAP {
                    assert!(batch.slots.binary_search(&entry.slot).is_ok());
                    assert!(batches.last_use[entry.slot as usize] >= number);
                }
            }
            assert!(batch.new.len() <= CHUNKS && batch.entries.len() <= ENTRIES);
        }
        assert_eq!(next, entries.len());
        new.sort_unstable();
        assert_eq!(new, (0..200).collect::<Vec<_>>());
        assert!(cut(&[], 3).list.is_empty());
    }
}

//! Splits manifest entries into batches, and determines the first and last batch that uses each chunk.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::manifests::Entries;
use crate::plan::chunks::Slot;
use zvf_store::format::int;

/// Most new chunks of one batch.
const CHUNKS: usize = 32;

/// Most entries of one batch.
const ENTRIES: usize = 4096;

/// Consecutive entries that are gathered together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) entries: Range<usize>,
    /// Every chunk the entries name, ascending.
    pub(crate) slots: Vec<Slot>,
    /// Chunks that no previous batch has named.
    pub(crate) new: Vec<Slot>,
}

/// All batches, and for each chunk the number of the last batch that uses it.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    pub(crate) list: Vec<Batch>,
    pub(crate) last_use: Vec<usize>,
}

impl Batches {
    /// The number of chunks that are read again if at most `keep` remain in memory from one batch to the next, chosen as in `run::shrink`.
    /// Counting ends above `most`.
    pub(crate) fn repeats(&self, keep: usize, most: usize) -> usize {
        let mut held: BTreeSet<(usize, Slot)> = BTreeSet::new();
        let mut repeats = 0;
        for (number, batch) in self.list.iter().enumerate() {
            for slot in &batch.slots {
                let last = self.last_use.get(int::index(*slot)).copied().unwrap_or(0);
                if held.insert((last, *slot)) && batch.new.binary_search(slot).is_err() {
                    repeats += 1;
                }
            }
            while held.first().is_some_and(|(last, _)| *last <= number) {
                held.pop_first();
            }
            while held.len() > keep {
                held.pop_last();
            }
            if repeats > most {
                break;
            }
        }
        repeats
    }
}

/// Splits the entries from `from` on into batches that name at most `most` chunks each.
pub(crate) fn cut(entries: &Entries, from: usize, chunks: usize, most: usize) -> Batches {
    let mut batches = Batches {
        list: Vec::new(),
        last_use: vec![0; chunks],
    };
    // The last batch that named each chunk, from 1.
    let mut named = vec![0_usize; chunks];
    let mut start = from;
    let (mut slots, mut new) = (Vec::new(), Vec::new());
    let mut close = |range: Range<usize>, slots: &mut Vec<Slot>, new: &mut Vec<Slot>| {
        if range.is_empty() {
            return;
        }
        slots.sort_unstable();
        new.sort_unstable();
        for slot in slots.iter() {
            if let Some(last) = batches.last_use.get_mut(int::index(*slot)) {
                *last = batches.list.len();
            }
        }
        batches.list.push(Batch {
            entries: range,
            slots: std::mem::take(slots),
            new: std::mem::take(new),
        });
    };
    let mut number = 1;
    for (at, entry) in (from..).zip(entries.iter(from)) {
        let before = named.get(int::index(entry.slot)).copied();
        let unseen = before == Some(0);
        let unnamed = before.is_some_and(|before| before != number);
        let full = unseen && new.len() >= CHUNKS || unnamed && slots.len() >= most.max(1);
        if full || at - start >= ENTRIES {
            close(start..at, &mut slots, &mut new);
            start = at;
            number += 1;
        }
        let Some(named) = named.get_mut(int::index(entry.slot)) else {
            continue;
        };
        if unseen {
            new.push(entry.slot);
        }
        if *named != number {
            *named = number;
            slots.push(entry.slot);
        }
    }
    close(start..entries.len(), &mut slots, &mut new);
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::Entry;

    #[test]
    fn every_entry_is_in_one_batch_and_every_chunk_is_new_once() {
        let entries: Entries = (0..10_000_u32)
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
        let batches = cut(&entries, 0, 200, usize::MAX);
        let mut next = 0;
        let mut new: Vec<Slot> = Vec::new();
        for (number, batch) in batches.list.iter().enumerate() {
            assert_eq!(batch.entries.start, next);
            next = batch.entries.end;
            new.extend(&batch.new);
            for entry in entries.iter(batch.entries.start).take(batch.entries.len()) {
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
        assert!(cut(&Entries::default(), 0, 3, 9).list.is_empty());
        let some = cut(&entries, 9000, 200, 7);
        assert!(some.list.iter().all(|batch| batch.slots.len() <= 7));
        assert_eq!(some.list[0].entries.start, 9000);
    }

    #[test]
    fn repeated_reads_are_counted() {
        let order = [0, 1, 2, 3, 0, 1, 2, 3].map(|slot| Entry {
            slot,
            first: 0,
            count: 1,
        });
        let batches = cut(&order.into_iter().collect(), 0, 4, 1);
        assert_eq!(batches.list.len(), 8);
        assert_eq!(batches.repeats(4, 100), 0);
        assert_eq!(batches.repeats(0, 100), 4);
        assert_eq!(batches.repeats(0, 1), 2);
        // The chunk that is used again first is kept.
        assert_eq!(batches.repeats(1, 100), 3);
    }
}

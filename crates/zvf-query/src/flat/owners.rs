//! Owners of rows: which objects' manifests name the fragments a row lies in.

use zvf_store::IdTable;

use super::requests::ChunkOut;
use crate::int;
use crate::plan::chunks::Slot;
use crate::vertex_table::OwnerColumns;
use crate::walk::{Entry, Walk};

/// Object rows by chunk and fragment, in object-row order.
#[derive(Debug)]
pub(crate) struct Owners {
    /// Where each chunk's pairs begin, and the end.
    starts: Vec<usize>,
    /// First fragment, count, object row.
    pairs: Vec<(u32, u32, u32)>,
}

impl Owners {
    /// Sorts the entries of all manifests by chunk.
    pub(crate) fn new(walk: &Walk, chunks: usize) -> Self {
        let mut starts = vec![0_usize; chunks + 1];
        let all = || {
            walk.objects()
                .flat_map(|(row, entries)| entries.iter().map(move |entry| (row, entry)))
        };
        let seen = |entry: &Entry| entry.slot != Entry::GAP && int::index(entry.slot) < chunks;
        for (_, entry) in all().filter(|(_, entry)| seen(entry)) {
            if let Some(count) = starts.get_mut(int::index(entry.slot) + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut pairs = vec![(0, 0, 0); sum];
        for (row, entry) in all().filter(|(_, entry)| seen(entry)) {
            if let Some(next) = next.get_mut(int::index(entry.slot)) {
                if let Some(pair) = pairs.get_mut(*next) {
                    *pair = (entry.first, entry.count, row);
                }
                *next += 1;
            }
        }
        Self { starts, pairs }
    }

    fn of(&self, slot: Slot) -> &[(u32, u32, u32)] {
        let start = self.starts.get(int::index(slot)).copied().unwrap_or(0);
        let end = self
            .starts
            .get(int::index(slot) + 1)
            .copied()
            .unwrap_or(start);
        self.pairs.get(start..end).unwrap_or(&[])
    }

    /// Appends the owners of a chunk's kept rows: the first of each, and all of them if `all`.
    pub(crate) fn push(&self, chunk: &ChunkOut, ids: &IdTable, all: bool, out: &mut OwnerColumns) {
        const NOBODY: u32 = u32::MAX;
        // Beyond this many pairs repeats are dropped before there is more room.
        const MOST: usize = 1 << 22;
        let rows = int::index(chunk.rows.unwrap_or(0));
        let mut first = vec![NOBODY; rows];
        let mut every: Vec<(u32, u32)> = Vec::new();
        if let Some(fragments) = &chunk.fragments {
            for (start, count, object) in self.of(chunk.slot) {
                for fragment in *start..start.saturating_add(*count) {
                    let Some(rows) = fragments.get(fragment) else {
                        break;
                    };
                    for row in rows.iter() {
                        if let Some(first) = first.get_mut(int::index(row)) {
                            *first = (*first).min(*object);
                        }
                        if all {
                            every.push((row, *object));
                        }
                        if every.len() >= MOST && every.len() == every.capacity() {
                            every.sort_unstable();
                            every.dedup();
                        }
                    }
                }
            }
        }
        let id = |object: u32| ids.get(u64::from(object));
        for row in chunk.kept.iter() {
            out.first.push(
                first
                    .get(int::index(row))
                    .filter(|object| **object != NOBODY)
                    .and_then(|object| id(*object)),
            );
        }
        if all {
            every.sort_unstable();
            every.dedup();
            for row in chunk.kept.iter() {
                let from = every.partition_point(|(at, _)| *at < row);
                let until = every.partition_point(|(at, _)| *at <= row);
                let owners = every.get(from..until).unwrap_or(&[]);
                out.all.push(
                    owners
                        .iter()
                        .filter_map(|(_, object)| id(*object))
                        .collect(),
                );
            }
        }
    }
}

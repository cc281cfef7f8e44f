//! Owners of rows: which objects' manifests name the fragments a row lies in.

use zvf_store::IdTable;

use crate::by_slot::BySlot;
use crate::int;
use crate::manifests::{Entry, Walk};
use crate::plan::chunks::Slot;
use crate::row_map::ChunkRows;
use crate::vertex_table::OwnerColumns;

/// Object rows by chunk, in their order: first fragment, count, object row.
#[derive(Debug)]
pub(crate) struct Owners(BySlot<(u32, u32, u32)>);

impl Owners {
    /// Sorts the entries of all manifests by chunk.
    pub(crate) fn new(walk: &Walk, chunks: usize) -> Self {
        let named = |row| move |entry: &Entry| (entry.slot, (entry.first, entry.count, row));
        let all = || {
            let objects = walk.objects();
            objects.flat_map(move |(row, entries)| entries.iter().map(named(row)))
        };
        Self(BySlot::new(chunks, all))
    }

    /// Appends the owners of a chunk's kept rows: the first of each, and all of them if `all`.
    pub(crate) fn push(
        &self,
        slot: Slot,
        chunk: &ChunkRows,
        ids: &IdTable,
        all: bool,
        out: &mut OwnerColumns,
    ) {
        const NOBODY: u32 = u32::MAX;
        // Beyond this many pairs repeats are dropped before there is more room.
        const MOST: usize = 1 << 22;
        let rows = int::index(chunk.rows.unwrap_or(0));
        let mut first = vec![NOBODY; rows];
        let mut every: Vec<(u32, u32)> = Vec::new();
        let mut shared: Vec<u32> = Vec::new();
        if let Some(fragments) = &chunk.fragments {
            for (start, count, object) in self.0.of(slot) {
                for fragment in *start..start.saturating_add(*count) {
                    let Some(rows) = fragments.get(fragment) else {
                        break;
                    };
                    for row in rows.iter() {
                        if let Some(first) = first.get_mut(int::index(row)) {
                            if *first != NOBODY && *first != *object && shared.last() != Some(&row)
                            {
                                shared.push(row);
                            }
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
        if !shared.is_empty() {
            shared.sort_unstable();
            let kept = chunk.kept.iter();
            let kept = kept.filter(|row| shared.binary_search(row).is_ok());
            out.shared = out.shared.saturating_add(int::wide(kept.count()));
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

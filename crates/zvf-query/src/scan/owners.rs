//! Owners of rows: the objects whose manifests name a fragment with the row.

use std::sync::Arc;

use zvf_store::IdTable;

use crate::by_slot::BySlot;
use crate::manifests::{Entry, Walk};
use crate::owner_cells::OwnerCells;
use crate::plan::chunks::Slot;
use crate::row_map::ChunkRows;
use crate::vertex_table::OwnerColumns;
use zvf_store::format::int;

/// The source of the objects of fragments.
#[derive(Debug)]
pub(crate) enum Owners {
    /// Manifests: object rows by chunk, in their order; first fragment, count, object row.
    Manifests(BySlot<(u32, u32, u32)>, Arc<IdTable>),
    /// The owner column, and the ids if their order differs from the order of rows.
    Column(Arc<OwnerCells>, Option<Arc<IdTable>>),
}

impl Owners {
    /// Sorts the entries of all manifests by chunk.
    pub(crate) fn new(walk: &Walk, chunks: usize, ids: Arc<IdTable>) -> Self {
        let named = |row| move |entry: &Entry| (entry.slot, (entry.first, entry.count, row));
        let all = || {
            let objects = walk.objects();
            objects.flat_map(move |(row, entries)| entries.iter().map(named(row)))
        };
        Self::Manifests(BySlot::new(chunks, all), ids)
    }

    /// Appends the owners of a chunk's kept rows: the first owner of each in the order of the object index; all of them with `all`.
    pub(crate) fn push(&self, slot: Slot, chunk: &ChunkRows, all: bool, out: &mut OwnerColumns) {
        match self {
            Self::Manifests(entries, ids) => {
                let id = |object: u32| ids.get(u64::from(object));
                push(entries.of(slot).iter().copied(), id, chunk, all, out);
            }
            Self::Column(cells, ids) => {
                let row = |id| ids.as_ref().and_then(|ids| ids.slot(id));
                let named = |(fragment, id)| (fragment, 1, (row(id), id));
                let id = |(_, id): (Option<u64>, i64)| Some(id);
                push(cells.of(slot).map(named), id, chunk, all, out);
            }
        }
    }
}

/// Appends the owners of a chunk's kept rows, from its fragments with their objects, which are in the order of the object index.
fn push<O: Copy + Ord>(
    entries: impl Iterator<Item = (u32, u32, O)>,
    id: impl Fn(O) -> Option<i64>,
    chunk: &ChunkRows,
    all: bool,
    out: &mut OwnerColumns,
) {
    // From so many pairs on, repeated ones are dropped before more memory is reserved.
    const MOST: usize = 1 << 22;
    let rows = int::index(chunk.rows.unwrap_or(0));
    let mut first: Vec<Option<O>> = vec![None; rows];
    let mut every: Vec<(u32, O)> = Vec::new();
    let mut shared: Vec<u32> = Vec::new();
    if let Some(fragments) = &chunk.fragments {
        for (start, count, object) in entries {
            for fragment in start..start.saturating_add(count) {
                let Some(rows) = fragments.get(fragment) else {
                    break;
                };
                for row in rows.iter() {
                    if let Some(first) = first.get_mut(int::index(row)) {
                        if first.is_some_and(|first| first != object) && shared.last() != Some(&row)
                        {
                            shared.push(row);
                        }
                        *first = Some(first.map_or(object, |first| first.min(object)));
                    }
                    if all {
                        every.push((row, object));
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
    for row in chunk.kept.iter() {
        let first = first.get(int::index(row)).copied().flatten();
        out.first.push(first.and_then(&id));
    }
    if all {
        every.sort_unstable();
        every.dedup();
        for row in chunk.kept.iter() {
            let from = every.partition_point(|(at, _)| *at < row);
            let until = every.partition_point(|(at, _)| *at <= row);
            let owners = every.get(from..until).unwrap_or(&[]).iter();
            out.all
                .push(owners.filter_map(|(_, object)| id(*object)).collect());
        }
    }
}

//! Owners of rows: the objects whose manifests name a fragment with the row.

use std::ops::Range;
use std::sync::Arc;

use zvf_store::IdTable;

use crate::QueryError;
use crate::by_slot::BySlot;
use crate::columns::gather::{Kept, Rows};
use crate::fragments::Fragments;
use crate::manifests::{Entry, Walk};
use crate::owner_cells::OwnerCells;
use crate::plan::chunks::Slot;
use crate::reader::Reader;
use crate::row_map::ChunkRows;
use crate::vertex_table::OwnerColumns;
use zvf_store::format::int;

/// The source of the objects of fragments.
#[derive(Debug)]
pub(crate) enum Owners {
    /// Manifests: for each chunk the first fragment, the number of fragments and the row of the object, in the order of rows.
    Manifests(BySlot<(u32, u32, u32)>, Arc<IdTable>),
    /// The owner column, and the ids by row if these do not ascend.
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

    /// Appends the owners of a chunk's kept rows: the first owner of each row in the order of the object index, or with `all` every owner.
    ///
    /// # Errors
    ///
    /// Malformed: owners of fragments that the chunk does not have.
    pub(crate) fn push(
        &self,
        reader: &Reader,
        (slot, chunk): (Slot, &ChunkRows),
        all: bool,
        out: &mut OwnerColumns,
    ) -> Result<(), QueryError> {
        match self {
            Self::Manifests(entries, ids) => {
                let id = |object: u32| ids.get(u64::from(object));
                push(entries.of(slot).iter().copied(), id, chunk, all, out);
            }
            Self::Column(cells, ids) => {
                if let Some(fragments) = &chunk.fragments {
                    cells.check(reader, slot, fragments)?;
                }
                let row = |id| ids.as_ref().and_then(|ids| ids.slot(id));
                let named = |(fragment, id)| (fragment, 1, (row(id), id));
                let id = |(_, id): (Option<u64>, i64)| Some(id);
                push(cells.of(slot).map(named), id, chunk, all, out);
            }
        }
        Ok(())
    }
}

/// Appends the owners of a chunk's kept rows. `entries` has its fragments with their objects; `O` has the order of the object index.
fn push<O: Copy + Ord>(
    entries: impl Iterator<Item = (u32, u32, O)>,
    id: impl Fn(O) -> Option<i64>,
    chunk: &ChunkRows,
    all: bool,
    out: &mut OwnerColumns,
) {
    match &chunk.fragments {
        Some(fragments) if fragments.disjoint() && !all => {
            push_by_fragment(entries, id, fragments, &chunk.kept, out);
        }
        _ => push_by_row(entries, id, chunk, all, out),
    }
}

/// The first owner of each kept row, if the fragments are rising ranges, so that all rows of a fragment have the same owners.
fn push_by_fragment<O: Copy + Ord>(
    entries: impl Iterator<Item = (u32, u32, O)>,
    id: impl Fn(O) -> Option<i64>,
    fragments: &Fragments,
    kept: &Kept,
    out: &mut OwnerColumns,
) {
    let mut owners: Vec<Option<O>> = vec![None; fragments.len()];
    let mut shared: Vec<u32> = Vec::new();
    for (start, count, object) in entries {
        for fragment in start..start.saturating_add(count) {
            let Some(owner) = owners.get_mut(int::index(fragment)) else {
                break;
            };
            if owner.is_some_and(|owner| owner != object) {
                shared.push(fragment);
            }
            *owner = Some(owner.map_or(object, |owner| owner.min(object)));
        }
    }
    shared.sort_unstable();
    shared.dedup();
    let rows = shared
        .iter()
        .filter_map(|fragment| fragments.get(*fragment));
    let rows = rows.map(|rows| rows.kept(kept));
    out.shared = rows.fold(out.shared, u64::saturating_add);
    let kept_in = |rows: Range<u32>| {
        let count = rows.end.saturating_sub(rows.start);
        int::index(kept.count_in(rows.start, count))
    };
    let mut next = 0;
    for ((_, rows), owner) in fragments.iter().zip(owners) {
        let Rows::Range { start, count } = rows else {
            // Among disjoint fragments, only those without rows are lists.
            continue;
        };
        let end = start.saturating_add(count);
        out.first.append_nulls(kept_in(next..start));
        match owner.and_then(&id) {
            Some(id) => out.first.append_value_n(id, kept_in(start..end)),
            None => out.first.append_nulls(kept_in(start..end)),
        }
        next = end.max(next);
    }
    out.first.append_nulls(kept_in(next..u32::MAX));
}

/// The owners of each kept row, if fragments share rows or are lists; with `all` every owner.
fn push_by_row<O: Copy + Ord>(
    entries: impl Iterator<Item = (u32, u32, O)>,
    id: impl Fn(O) -> Option<i64>,
    chunk: &ChunkRows,
    all: bool,
    out: &mut OwnerColumns,
) {
    // Above this number of pairs, repeated pairs are dropped before more memory is reserved.
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
        out.first.append_option(first.and_then(&id));
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

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Int64Array;
    use zvf_store::format::fragments::FragmentIndexBuilder;

    /// Six fragments of a chunk of 12 rows: rows 2, 3, 9 and 11 are in none, fragment 3 is empty.
    fn fragments() -> Fragments {
        let mut builder = FragmentIndexBuilder::new();
        for (start, count) in [(0, 2), (4, 3), (7, 1), (8, 0), (8, 1), (10, 1)] {
            builder.push_range(start, count).unwrap();
        }
        Fragments::decode(&builder.finish(), 12).unwrap()
    }

    #[test]
    fn owners_of_fragments_and_of_rows_agree() {
        // Fragment 1 belongs to objects 7 and 5, fragment 2 twice to object 7; fragment 5 to none, fragment 9 does not exist.
        let entries = [
            (0, 2, 7),
            (1, 1, 5),
            (2, 1, 7),
            (2, 2, 7),
            (4, 1, 9),
            (9, 1, 3),
        ];
        let keeps = [
            Kept::All(12),
            Kept::All(0),
            Kept::Rows(vec![1, 3, 5, 6, 8, 11]),
            Kept::Rows(vec![4]),
            Kept::Rows(Vec::new()),
        ];
        let found = |kept: &Kept, by_row: bool| -> (Int64Array, u64) {
            let (mut out, fragments) = (OwnerColumns::default(), fragments());
            assert!(fragments.disjoint());
            // Object 9 has no id.
            let (id, entries) = (|object| (object != 9_i64).then_some(object * 10), entries);
            if by_row {
                let chunk = ChunkRows {
                    base: 0,
                    rows: Some(12),
                    kept: kept.clone(),
                    fragments: Some(Arc::new(fragments)),
                };
                push_by_row(entries.into_iter(), id, &chunk, false, &mut out);
            } else {
                push_by_fragment(entries.into_iter(), id, &fragments, kept, &mut out);
            }
            (out.first.finish(), out.shared)
        };
        for kept in &keeps {
            assert_eq!(found(kept, false), found(kept, true), "{kept:?}");
        }
        let (all, shared) = found(&Kept::All(12), false);
        let expected = [
            Some(70),
            Some(70),
            None,
            None,
            Some(50),
            Some(50),
            Some(50),
            Some(70),
            None,
            None,
            None,
            None,
        ];
        assert_eq!(all, Int64Array::from_iter(expected));
        assert_eq!((shared, all.len()), (3, 12));
    }
}

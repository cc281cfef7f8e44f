//! Combines manifests with the kept rows: the number of vertices of each object in the result, and the links between fragments.

use std::sync::Arc;

use crate::QueryError;
use crate::by_slot::BySlot;
use crate::error::Place;
use crate::fragments::Fragments;
use crate::manifests::{Entry, Walk};
use crate::reader::Reader;
use crate::row_ids::RowIds;
use crate::row_map::{ChunkRows, Key, RowMap};
use zvf_store::format::int;

/// Information about a result from the manifests.
#[derive(Debug, Default)]
pub(crate) struct ObjectCounts {
    /// Object rows with their number of rows in the result, for objects with at least one.
    pub(crate) counts: Vec<(u32, u64)>,
    /// Links between consecutive fragments of an object.
    pub(crate) bridges: Bridges,
    /// Which fragments belong to some object.
    pub(crate) used: Used,
}

/// Links between the last row of a fragment and the first row of the next one. They are stored under the chunk of their first end: its row, and the
/// key of the second end.
#[derive(Debug, Default)]
pub(crate) struct Bridges(BySlot<(u32, Key)>);

impl Bridges {
    /// The links that start in a chunk and have both ends in the result, as rows of it, sorted, each once.
    pub(crate) fn of(&self, slot: u32, kept: &RowMap, out: &mut Vec<(u64, u64)>) {
        out.clear();
        let Some(chunk) = kept.get(slot) else { return };
        let pairs = self.0.of(slot);
        let both = |(from, to): &(u32, Key)| Some((chunk.global(*from)?, kept.global(*to)?));
        out.extend(pairs.iter().filter_map(both).filter(|(a, b)| a != b));
        out.sort_unstable();
        out.dedup();
    }
}

/// One mark for each fragment of each chunk: the last object that named it, plus one.
#[derive(Debug, Default)]
pub(crate) struct Used(Vec<Vec<u32>>);

impl Used {
    fn new(kept: &RowMap) -> Self {
        let fragments = kept.chunks.iter().map(|chunk| chunk.fragments.as_ref());
        let count = |fragments: Option<&Arc<Fragments>>| fragments.map_or(0, |some| some.len());
        Self(fragments.map(|some| vec![0; count(some)]).collect())
    }

    /// The marks of the fragments of one chunk; zero if no object names the fragment.
    pub(crate) fn of(&self, slot: u32) -> &[u32] {
        self.0.get(int::index(slot)).map_or(&[], Vec::as_slice)
    }

    /// Marks a fragment; returns whether this object has named it before.
    fn mark(&mut self, slot: u32, fragment: u32, object: u32) -> bool {
        let mark = object.saturating_add(1);
        let marks = self.0.get_mut(int::index(slot));
        let found = marks.and_then(|marks| marks.get_mut(int::index(fragment)));
        found.is_some_and(|found| std::mem::replace(found, mark) == mark)
    }
}

/// Most fragments of one object. A manifest can name any number of fragments in 16 bytes, as a range.
const MOST: usize = 1 << 24;

#[cold]
fn too_many(reader: &Reader, id: Option<i64>) -> QueryError {
    let place = Place::array(reader.number, "object_index/manifests").of(id);
    QueryError::limit(
        place,
        "fragments of one object",
        int::wide(MOST) + 1,
        int::wide(MOST),
    )
}

/// Counts the vertices of objects, and finds the links between fragments.
///
/// # Errors
///
/// Malformed: a manifest that names a fragment the chunk does not have.
pub(crate) fn count_objects(
    reader: &Reader,
    walk: &Walk,
    kept: &RowMap,
    joins: bool,
    ids: &RowIds,
) -> Result<ObjectCounts, QueryError> {
    let mut found = ObjectCounts {
        used: Used::new(kept),
        ..ObjectCounts::default()
    };
    let mut bridges: Vec<(Key, Key)> = Vec::new();
    for (row, entries) in walk.objects() {
        let mut total = 0_u64;
        let mut count = 0_usize;
        let mut last: Option<Key> = None;
        // Rows can only occur twice if fragments overlap, or if one is named twice.
        let mut exact = true;
        for entry in entries {
            let Some((chunk, fragments)) = chunk_of(*entry, kept) else {
                last = None;
                continue;
            };
            exact &= fragments.disjoint();
            count = count.saturating_add(int::index(entry.count));
            for fragment in entry.fragments() {
                let Some(rows) = fragments.get(fragment) else {
                    let id = ids.get(u64::from(row));
                    return Err(no_fragment(
                        reader,
                        entry.slot,
                        fragment,
                        fragments.len(),
                        id,
                    ));
                };
                exact &= !found.used.mark(entry.slot, fragment, row);
                total += rows.kept(&chunk.kept);
                if let Some((first, end)) = rows.ends().filter(|_| joins) {
                    if let Some(last) = last {
                        bridges.push((last, Key::new(entry.slot, first)));
                    }
                    last = Some(Key::new(entry.slot, end));
                }
            }
            if count > MOST {
                return Err(too_many(reader, ids.get(u64::from(row))));
            }
        }
        if !exact {
            total = distinct(entries, kept);
        }
        if total > 0 {
            found.counts.push((row, total));
        }
    }
    let starts = || {
        bridges
            .iter()
            .map(|(from, to)| (from.slot(), (from.row(), *to)))
    };
    found.bridges = Bridges(BySlot::new(kept.chunks.len(), starts));
    Ok(found)
}

/// The chunk of an entry and its fragments; `None` for a gap and for a chunk that was not read.
fn chunk_of(entry: Entry, kept: &RowMap) -> Option<(&ChunkRows, &Fragments)> {
    let chunk = kept.get(entry.slot).filter(|_| entry.slot != Entry::GAP)?;
    chunk.rows?;
    Some((chunk, chunk.fragments.as_deref()?))
}

/// Kept rows of fragments that may overlap, each counted once.
fn distinct(entries: &[Entry], kept: &RowMap) -> u64 {
    let mut pieces: Vec<(u32, u32)> = Vec::new();
    // A range of fragments in a chunk that was not read may have any length.
    for entry in entries
        .iter()
        .filter(|entry| chunk_of(**entry, kept).is_some())
    {
        pieces.extend(entry.fragments().map(|fragment| (entry.slot, fragment)));
    }
    pieces.sort_unstable();
    pieces.dedup();
    let mut rows: Vec<Key> = Vec::new();
    for (slot, fragment) in pieces {
        let entry = Entry {
            slot,
            first: fragment,
            count: 1,
        };
        let Some((chunk, fragments)) = chunk_of(entry, kept) else {
            continue;
        };
        let found = fragments
            .get(fragment)
            .into_iter()
            .flat_map(|rows| rows.iter());
        rows.extend(
            found
                .filter(|row| chunk.kept.rank(*row).is_some())
                .map(|row| Key::new(slot, row)),
        );
    }
    rows.sort_unstable();
    rows.dedup();
    int::wide(rows.len())
}

/// The error for a manifest that names a missing fragment.
#[cold]
pub(crate) fn no_fragment(
    reader: &Reader,
    slot: u32,
    fragment: u32,
    count: usize,
    id: Option<i64>,
) -> QueryError {
    let place = Place::cell(
        reader.number,
        "object_index/manifests",
        reader.table.get(slot),
    )
    .of(id);
    QueryError::malformed(
        place,
        format!("the manifest names fragment {fragment}, the chunk has {count}"),
    )
}

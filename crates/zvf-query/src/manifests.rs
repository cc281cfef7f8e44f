//! Reads each manifest once: the fragments of each object in the chunks of a query, in the order of objects.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use futures::stream::{FuturesOrdered, TryStreamExt};
use zvf_store::format::manifest::{FragmentRefs, Manifest};
use zvf_store::{IdTable, ManifestChunk, ObjectIndex};

use crate::QueryError;
use crate::error::{OrBug, Place};
use crate::plan::candidates::Candidates;
use crate::plan::chunks::{ChunkTable, Slot};
use crate::reader::Reader;
use crate::row_ids::RowIds;
use zvf_store::format::int;

/// The fewest and the most stored chunks of manifests in flight, once the size of one of them is known.
const AHEAD: RangeInclusive<usize> = 2..=64;

/// Stored chunks of manifests in flight while their size is unknown.
const AHEAD_FIRST: usize = 4;

/// Most bytes of manifests in flight, as estimated from the last chunk, unless the fewest chunks in flight have more.
const AHEAD_BYTES: u64 = 32 << 20;

/// Most manifests that are requested together if only some rows are read.
const TOGETHER: usize = 1 << 14;

/// Consecutive fragments of one chunk in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// [`Entry::GAP`] for fragments that are not part of the query.
    pub(crate) slot: Slot,
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Entry {
    /// The slot of chunks that the query does not read.
    pub(crate) const GAP: Slot = Slot::MAX;

    /// The fragments in order; none for a gap.
    pub(crate) fn fragments(self) -> impl Iterator<Item = u32> {
        self.first..self.first.saturating_add(self.count)
    }
}

/// Entries in order. Each takes eight bytes as long as all are gaps or single fragments, and twelve otherwise.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// Chunk and first fragment.
    places: Vec<(Slot, u32)>,
    /// The number of fragments of each entry; `None` as long as every entry is a gap or a single fragment.
    counts: Option<Vec<u32>>,
}

impl Entries {
    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The entry at an index; `None` after the last one.
    pub(crate) fn get(&self, at: usize) -> Option<Entry> {
        let (slot, first) = *self.places.get(at)?;
        let count = match &self.counts {
            Some(counts) => *counts.get(at)?,
            None => usual_count(slot),
        };
        Some(Entry { slot, first, count })
    }

    /// The entries from `from` on.
    pub(crate) fn iter(&self, from: usize) -> impl Iterator<Item = Entry> {
        (from..self.len()).filter_map(|at| self.get(at))
    }

    fn push(&mut self, entry: Entry) {
        let Entry { slot, first, count } = entry;
        if self.counts.is_none() && count != usual_count(slot) {
            let mut counts = Vec::with_capacity(self.places.capacity());
            counts.extend(self.places.iter().map(|(slot, _)| usual_count(*slot)));
            self.counts = Some(counts);
        }
        self.places.push((slot, first));
        self.counts.iter_mut().for_each(|counts| counts.push(count));
    }
}

impl FromIterator<Entry> for Entries {
    fn from_iter<I: IntoIterator<Item = Entry>>(all: I) -> Self {
        let mut entries = Self::default();
        all.into_iter().for_each(|entry| entries.push(entry));
        entries
    }
}

fn usual_count(slot: Slot) -> u32 {
    u32::from(slot != Entry::GAP)
}

/// The manifests of many objects, restricted to the chunks of a query. Objects without a fragment there are left out.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Object rows, ascending.
    rows: Vec<u32>,
    /// The first entry of each object.
    starts: Vec<usize>,
    entries: Vec<Entry>,
}

impl Walk {
    /// The objects in row order with their entries.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (u32, &[Entry])> {
        let ends = self
            .starts
            .iter()
            .skip(1)
            .copied()
            .chain(std::iter::once(self.entries.len()));
        let spans = self.starts.iter().copied().zip(ends);
        self.rows
            .iter()
            .copied()
            .zip(spans.map(|(start, end)| self.entries.get(start..end).unwrap_or(&[])))
    }

    /// Makes the walk from known fragments, without manifests. `all` lists object row, chunk and fragment.
    pub(crate) fn of_fragments(mut all: Vec<(u32, Slot, u32)>) -> Self {
        all.sort_unstable();
        let mut walk = Self::default();
        for (row, slot, first) in all {
            if walk.rows.last() != Some(&row) {
                walk.rows.push(row);
                walk.starts.push(walk.entries.len());
            }
            let count = 1;
            walk.entries.push(Entry { slot, first, count });
        }
        walk
    }

    /// Merges two walks that have no object in common.
    pub(crate) fn merged(&self, other: &Self) -> Self {
        let mut objects: Vec<(u32, &[Entry])> = self.objects().chain(other.objects()).collect();
        objects.sort_unstable_by_key(|(row, _)| *row);
        let mut walk = Self::default();
        for (row, entries) in objects {
            walk.rows.push(row);
            walk.starts.push(walk.entries.len());
            walk.entries.extend_from_slice(entries);
        }
        walk
    }

    fn append(&mut self, mut other: Self) {
        let base = self.entries.len();
        self.rows.append(&mut other.rows);
        self.starts
            .extend(other.starts.iter().map(|start| base + start));
        self.entries.append(&mut other.entries);
    }
}

/// The chunks outside the query that a manifest may name.
#[derive(Debug, Clone)]
pub(crate) enum Scope {
    /// None: the query reads all chunks.
    Whole,
    /// Chunks outside a box.
    Box(Candidates),
    /// All chunks.
    Any,
}

/// Reads all manifests of a level, stored chunk by stored chunk, and concurrently the ids.
///
/// # Errors
///
/// I/O; malformed manifests and ids; a manifest that names a chunk of the query's region that the level does not have.
pub(crate) async fn walk_all(
    index: &ObjectIndex,
    reader: &Arc<Reader>,
    scope: &Scope,
    round: u32,
) -> Result<(Arc<IdTable>, Walk), QueryError> {
    let walk = async {
        let mut walk = Walk::default();
        let mut parts = (0..index.manifest_chunks()).map(|number| async move {
            let chunk = index.manifest_chunk_in(round, number).await?;
            let bytes = chunk.bytes();
            let (reader, scope, key_rank) = (Arc::clone(reader), scope.clone(), index.key_rank());
            let store = reader.level.store().clone();
            let work = move |_| walk_chunk(&chunk, &reader, &scope, key_rank);
            let part = store.fetch_map(round, Vec::new(), work).await?;
            Ok::<_, QueryError>((bytes, part))
        });
        let mut ahead = FuturesOrdered::from_iter(parts.by_ref().take(AHEAD_FIRST));
        let mut all_bytes = 0_u64;
        while let Some((bytes, part)) = ahead.try_next().await? {
            match part {
                Ok(part) => walk.append(part),
                Err(fault) => return Ok(Err(fault)),
            }
            all_bytes = all_bytes.saturating_add(bytes);
            if all_bytes > AHEAD_BYTES {
                // The cached manifests are not used again, and all of them may take much memory.
                index.forget_manifests();
            }
            let most = usize::try_from(AHEAD_BYTES / bytes.max(1)).unwrap_or(usize::MAX);
            let most = most.clamp(*AHEAD.start(), *AHEAD.end());
            let more = most.saturating_sub(ahead.len());
            ahead.extend(parts.by_ref().take(more));
        }
        Ok::<_, QueryError>(Ok(walk))
    };
    let ids = async { Ok::<_, QueryError>(index.ids_in(round).await?) };
    let (ids, walk) = futures::try_join!(ids, walk)?;
    match walk {
        Ok(walk) => Ok((ids, walk)),
        Err(fault) => Err(fault.with_id(&RowIds::All(ids))),
    }
}

/// Reads the manifests of some objects, given by their rows, ascending.
///
/// # Errors
///
/// As [`walk_all`].
pub(crate) async fn walk_rows(
    index: &ObjectIndex,
    reader: &Arc<Reader>,
    scope: &Scope,
    round: u32,
    (rows, ids): (&[u64], &RowIds),
) -> Result<Walk, QueryError> {
    let mut walk = Walk::default();
    for rows in rows.chunks(TOGETHER) {
        let blobs = index.manifests_in(round, rows).await?;
        let (reader, scope, key_rank) = (Arc::clone(reader), scope.clone(), index.key_rank());
        let (store, rows) = (reader.level.store().clone(), rows.to_vec());
        let work = move |_| {
            let mut walk = Walk::default();
            for (row, blob) in rows.into_iter().zip(blobs) {
                walk.push(row, &blob, &reader, &scope, key_rank)?;
            }
            Ok(walk)
        };
        match store.fetch_map(round, Vec::new(), work).await? {
            Ok(part) => walk.append(part),
            Err(fault) => return Err(Fault::with_id(fault, ids)),
        }
    }
    Ok(walk)
}

/// The error for the manifest of a row.
struct Fault {
    row: u64,
    error: QueryError,
}

impl Fault {
    fn with_id(self, ids: &RowIds) -> QueryError {
        let id = ids.get(self.row);
        match self.error {
            QueryError::Malformed { place, what } => QueryError::malformed(place.of(id), what),
            QueryError::Decode { place, source } => QueryError::decode(place.of(id), source),
            other => other,
        }
    }
}

fn walk_chunk(
    chunk: &ManifestChunk,
    reader: &Reader,
    scope: &Scope,
    key_rank: usize,
) -> Result<Walk, Fault> {
    let mut walk = Walk::default();
    for row in chunk.first_slot()..chunk.first_slot().saturating_add(int::wide(chunk.len())) {
        walk.push(row, chunk.blob(row), reader, scope, key_rank)?;
    }
    Ok(walk)
}

impl Walk {
    /// Adds the manifest of the next row, if it names a chunk of the query.
    fn push(
        &mut self,
        row: u64,
        blob: &[u8],
        reader: &Reader,
        scope: &Scope,
        key_rank: usize,
    ) -> Result<(), Fault> {
        let presence = reader.level.vertices().presence();
        let fault = |error| Fault { row, error };
        let manifest = parse(blob, reader, key_rank).map_err(fault)?;
        let before = self.entries.len();
        let slot_of = |coord: &[i64], _| {
            let slot = reader.table.slot(coord);
            let expected = match scope {
                Scope::Whole => true,
                Scope::Box(candidates) => candidates.contains(coord),
                Scope::Any => false,
            };
            if slot.is_none() && expected && !presence.contains(coord) {
                return Err(fault(no_chunk(reader, coord)));
            }
            Ok(slot)
        };
        each_entry(&manifest, slot_of, |entry| self.entries.push(entry))?;
        if self.entries.len() > before {
            self.rows.push(narrow(row).map_err(fault)?);
            self.starts.push(before);
        }
        Ok(())
    }
}

/// An object row as a [`Walk`] stores it.
pub(crate) fn narrow(row: u64) -> Result<u32, QueryError> {
    let number = u32::try_from(row).ok();
    number.or_bug("more objects than 32 bits count")
}

fn parse<'a>(blob: &'a [u8], reader: &Reader, key_rank: usize) -> Result<Manifest<'a>, QueryError> {
    let place = || Place::array(reader.number, "object_index/manifests");
    if key_rank != reader.level.key_rank() {
        let what = format!(
            "sid_ndim is {key_rank}, expected {}",
            reader.level.key_rank()
        );
        return Err(QueryError::malformed(
            Place::array(reader.number, "object_index"),
            what,
        ));
    }
    Manifest::parse(blob, key_rank).map_err(|source| QueryError::decode(place(), source))
}

#[cold]
fn no_chunk(reader: &Reader, coord: &[i64]) -> QueryError {
    let place = Place::cell(reader.number, "object_index/manifests", coord);
    QueryError::malformed(place, "the manifest names a chunk that has no vertices")
}

fn each_of_block(slot: Slot, fragments: FragmentRefs<'_>, each: &mut impl FnMut(Entry)) {
    // The parser has checked that numbers fit 32 bits. Other numbers become `u32::MAX`, which no fragment has as its number.
    let number = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    let mut entry = |first: i64, count: i64| {
        let (first, count) = (number(first), number(count));
        each(Entry { slot, first, count });
    };
    match fragments {
        FragmentRefs::One(fragment) => entry(fragment, 1),
        FragmentRefs::Range { start, count } => entry(start, count),
        FragmentRefs::List(list) => list.iter().for_each(|fragment| entry(fragment.get(), 1)),
    }
}

/// Calls `each` with the entries of one manifest. `slot_of` returns the number of a chunk from its coordinate and the previous entry, or `None` if
/// the chunk is not part of the query. Consecutive fragments outside the query become one gap; a gap before the first entry is left out.
fn each_entry<E>(
    manifest: &Manifest<'_>,
    mut slot_of: impl FnMut(&[i64], Option<Slot>) -> Result<Option<Slot>, E>,
    mut each: impl FnMut(Entry),
) -> Result<(), E> {
    let mut last = None;
    let mut coord = Vec::new();
    for block in manifest.blocks() {
        coord.clear();
        coord.extend(block.chunk.iter().map(|part| part.get()));
        match slot_of(&coord, last)? {
            Some(slot) => {
                each_of_block(slot, block.fragments, &mut each);
                last = Some(slot);
            }
            None if last.is_some_and(|slot| slot != Entry::GAP) => {
                let (slot, first, count) = (Entry::GAP, 0, 0);
                each(Entry { slot, first, count });
                last = Some(slot);
            }
            None => {}
        }
    }
    Ok(())
}

/// The manifests of chosen objects.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    /// The named chunks.
    pub(crate) table: ChunkTable,
    /// The first entry of each chosen object, and the end.
    pub(crate) starts: Vec<usize>,
    pub(crate) entries: Entries,
}

/// Numbers of chunks in the order in which manifests first name them.
#[derive(Debug)]
struct Numbers {
    rank: usize,
    /// A table for fast lookup of listed chunks, and their numbers; [`Entry::GAP`] for chunks without a number.
    listed: Option<(ChunkTable, Vec<Slot>)>,
    others: HashMap<Box<[i64]>, Slot>,
    coords: Vec<i64>,
    count: Slot,
}

impl Numbers {
    fn coord(&self, number: Slot) -> Option<&[i64]> {
        let start = int::index(number).saturating_mul(self.rank);
        self.coords.get(start..start.saturating_add(self.rank))
    }

    /// The number of a chunk; `None` if all numbers are used.
    fn of(&mut self, coord: &[i64]) -> Option<Slot> {
        let place = match &mut self.listed {
            Some((table, numbers)) => match table.slot(coord) {
                Some(slot) => numbers.get_mut(int::index(slot)),
                None => None,
            },
            None => None,
        };
        let place = match place {
            Some(place) => place,
            None => match self.others.get_mut(coord) {
                Some(place) => place,
                None => self.others.entry(coord.into()).or_insert(Entry::GAP),
            },
        };
        if *place == Entry::GAP {
            *place = self.count;
            self.coords.extend_from_slice(coord);
            self.count = self
                .count
                .checked_add(1)
                .filter(|count| *count < Entry::GAP)?;
        }
        Some(*place)
    }
}

/// Decodes chosen manifests incrementally, and numbers their chunks.
#[derive(Debug)]
pub(crate) struct Chooser<V> {
    level: u32,
    /// Tests whether a chunk is part of the query; other chunks become gaps.
    visible: V,
    numbers: Numbers,
    starts: Vec<usize>,
    entries: Entries,
}

impl<V: Fn(&[i64]) -> bool> Chooser<V> {
    /// Starts without manifests. A table of `listed` chunks makes lookups faster, which is worth its cost for many manifests.
    pub(crate) fn new(level: u32, rank: usize, visible: V, listed: Option<ChunkTable>) -> Self {
        Self {
            level,
            visible,
            numbers: Numbers {
                rank,
                listed: listed.map(|table| {
                    let numbers = vec![Entry::GAP; table.len()];
                    (table, numbers)
                }),
                others: HashMap::new(),
                coords: Vec::new(),
                count: 0,
            },
            starts: Vec::new(),
            entries: Entries::default(),
        }
    }

    /// Decodes the manifests of the next chosen objects.
    ///
    /// # Errors
    ///
    /// Malformed manifests. Limit: more chunks than 32-bit numbers.
    pub(crate) fn push(&mut self, blobs: &[bytes::Bytes], ids: &[i64]) -> Result<(), QueryError> {
        let rank = self.numbers.rank;
        for (at, blob) in blobs.iter().enumerate() {
            let manifest = Manifest::parse(blob, rank).map_err(|source| {
                QueryError::decode(
                    Place::array(self.level, "object_index/manifests").of(ids.get(at).copied()),
                    source,
                )
            })?;
            self.starts.push(self.entries.len());
            let (numbers, level) = (&mut self.numbers, self.level);
            let slot_of = |coord: &[i64], last: Option<Slot>| {
                let same = last.filter(|last| numbers.coord(*last) == Some(coord));
                match same {
                    Some(last) => Ok(Some(last)),
                    None if !(self.visible)(coord) => Ok(None),
                    None => match numbers.of(coord) {
                        Some(number) => Ok(Some(number)),
                        None => Err(too_many(level, numbers.count)),
                    },
                }
            };
            each_entry(&manifest, slot_of, |entry| self.entries.push(entry))?;
        }
        Ok(())
    }

    /// Reserves memory for `more` manifests. Their size is estimated from the `first` manifests, which are already decoded.
    pub(crate) fn reserve(&mut self, more: usize, first: usize) {
        let entries = int::wide(self.entries.len()).saturating_mul(int::wide(more));
        let room = entries.checked_div(int::wide(first)).unwrap_or(0);
        // The reservation is limited, because it is only an estimate.
        let room = room.saturating_add(room / 16).min(1 << 26);
        self.entries
            .places
            .reserve(usize::try_from(room).unwrap_or(0));
    }

    /// Returns the decoded manifests, in which the number of each chunk is replaced with its slot in the table.
    ///
    /// # Errors
    ///
    /// Limit: more chunks than 32-bit numbers.
    pub(crate) fn finish(mut self) -> Result<Chosen, QueryError> {
        let rank = self.numbers.rank;
        let coords = std::mem::take(&mut self.numbers.coords);
        let chunks = || coords.chunks_exact(rank.max(1));
        let table = ChunkTable::from_unsorted(rank, chunks().collect());
        let table = table.ok_or_else(|| too_many(self.level, self.numbers.count))?;
        let slots: Vec<Slot> = chunks()
            .map(|coord| table.slot(coord).unwrap_or(Entry::GAP))
            .collect();
        for (slot, _) in &mut self.entries.places {
            *slot = slots.get(int::index(*slot)).copied().unwrap_or(Entry::GAP);
        }
        self.starts.push(self.entries.len());
        Ok(Chosen {
            table,
            starts: self.starts,
            entries: self.entries,
        })
    }
}

#[cold]
fn too_many(level: u32, chunks: Slot) -> QueryError {
    let place = Place::array(level, "object_index/manifests");
    QueryError::limit(place, "chunks", u64::from(chunks), u64::from(u32::MAX - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zvf_store::format::manifest::ManifestBuilder;

    fn choose(
        blobs: &[bytes::Bytes],
        ids: &[i64],
        level: u32,
        rank: usize,
        visible: impl Fn(&[i64]) -> bool,
    ) -> Result<Chosen, QueryError> {
        let mut chooser = Chooser::new(level, rank, visible, None);
        chooser.push(blobs, ids)?;
        chooser.finish()
    }

    #[test]
    fn entries_come_back_with_any_counts() {
        let entry = |slot, first, count| Entry { slot, first, count };
        let gap = entry(Entry::GAP, 0, 0);
        let plain = [entry(3, 7, 1), gap, entry(0, u32::MAX, 1)];
        let ranges = [gap, entry(3, 7, 1), entry(1, 2, 5), entry(1, 9, 0)];
        for list in [&plain[..], &ranges] {
            let entries: Entries = list.iter().copied().collect();
            assert_eq!(entries.iter(0).collect::<Vec<_>>(), list);
            assert_eq!(entries.iter(2).collect::<Vec<_>>(), list[2..]);
            assert_eq!(entries.get(list.len()), None);
        }
    }

    #[test]
    fn chosen_manifests_share_one_table() {
        let mut first = ManifestBuilder::new(1).unwrap();
        first.push(&[5], 0).unwrap();
        first.push_range(&[5], 2, 3).unwrap();
        first.push(&[9], 1).unwrap();
        first.push(&[-1], 7).unwrap();
        let mut second = ManifestBuilder::new(1).unwrap();
        second.push_list(&[-1], &[4, 2]).unwrap();
        let blobs = [
            first.finish().into(),
            bytes::Bytes::new(),
            second.finish().into(),
        ];
        let chosen = choose(&blobs, &[1, 2, 3], 0, 1, |chunk| chunk != [9]).unwrap();
        assert_eq!(
            chosen.table.iter().collect::<Vec<_>>(),
            [&[-1_i64][..], &[5]]
        );
        assert_eq!(chosen.starts, [0, 4, 4, 6]);
        let entry = |slot, first, count| Entry { slot, first, count };
        assert_eq!(
            chosen.entries.iter(0).collect::<Vec<_>>(),
            [
                entry(1, 0, 1),
                entry(1, 2, 3),
                entry(Entry::GAP, 0, 0),
                entry(0, 7, 1),
                entry(0, 4, 1),
                entry(0, 2, 1)
            ]
        );
    }

    #[test]
    fn a_damaged_manifest_names_its_object() {
        let error = choose(
            &[bytes::Bytes::from_static(&[1, 0, 0, 0, 9])],
            &[42],
            3,
            1,
            |_| true,
        )
        .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("level 3, array object_index/manifests, object 42: "),
            "{error}"
        );
    }
}

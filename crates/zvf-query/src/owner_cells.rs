//! Owners of the fragments of a query's chunks, from the owner column of the level (0.9 §11.7), which replaces manifests.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use zvf_store::owners::{NOBODY, SEVERAL, owners_in};
use zvf_store::{CellWant, ChunkCoord, Level, ObjectIndex, StoreError};

use crate::QueryError;
use crate::error::{OrBug, Place};
use crate::fragments::Fragments;
use crate::manifests::{Scope, Walk, narrow, walk_all, walk_rows};
use crate::plan::chunks::{ChunkTable, Slot};
use crate::reader::Reader;
use crate::row_ids::RowIds;
use crate::row_map::RowMap;
use zvf_store::format::int;

/// Cells that are read together, and the number of such groups in flight.
const CELLS: usize = 1024;
const AHEAD: usize = 8;

/// The owner of each fragment of the chunks of a query.
#[derive(Debug)]
pub(crate) struct OwnerCells {
    /// The owners of each chunk, up to the last fragment with an owner.
    chunks: Vec<Box<[i64]>>,
    /// The owners of chunks from this one on have not been read.
    until: Slot,
}

/// The cells of the owner column for some chunks; `None` without a usable column.
pub(crate) fn wants(level: &Level, table: &ChunkTable) -> Option<Vec<(Slot, CellWant)>> {
    let array = &level.owner_column().current()?.array;
    let listed = (0..).zip(table.iter());
    let listed = listed.filter(|(_, chunk)| array.presence().contains(chunk));
    let want = |(slot, chunk)| {
        let (array, chunk) = (Arc::clone(array), ChunkCoord::from(chunk));
        (slot, CellWant { array, chunk })
    };
    Some(listed.map(want).collect())
}

impl OwnerCells {
    /// Reads the owners of all chunks of a query. `None` if there is no usable column, or if a fragment has several owners, which are only in
    /// manifests.
    ///
    /// # Errors
    ///
    /// I/O; malformed cells.
    pub(crate) async fn read(reader: &Arc<Reader>, round: u32) -> Result<Option<Self>, QueryError> {
        Self::read_until(reader, Slot::MAX, round, None).await
    }

    /// Like [`read`](Self::read), for the chunks before `until`, except the `known` ones.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub(crate) async fn read_until(
        reader: &Arc<Reader>,
        until: Slot,
        round: u32,
        known: Option<&Self>,
    ) -> Result<Option<Self>, QueryError> {
        let Some(mut wants) = wants(&reader.level, &reader.table) else {
            return Ok(None);
        };
        let from = known.map_or(0, |known| known.until);
        wants.retain(|(slot, _)| (from..until).contains(slot));
        let parts: Vec<Vec<(Slot, CellWant)>> = wants.chunks(CELLS).map(<[_]>::to_vec).collect();
        let parts = parts.into_iter().map(|part| {
            let store = reader.level.store().clone();
            let wants = part.iter().map(|(_, want)| want.clone()).collect();
            let read = store.fetch_map(round, wants, move |cells| {
                let cells = part.iter().zip(cells);
                let owners = |((slot, want), cell): (&(Slot, CellWant), Option<bytes::Bytes>)| {
                    let owners = owners_in(&want.array, &want.chunk, cell.as_deref())?;
                    Ok((*slot, owners.into_boxed_slice()))
                };
                cells.map(owners).collect::<Result<Vec<_>, StoreError>>()
            });
            async move { Ok::<_, QueryError>(read.await??) }
        });
        let none = || vec![Box::default(); reader.table.len()];
        let mut chunks = known.map_or_else(none, |known| known.chunks.clone());
        let mut parts = stream::iter(parts).buffered(AHEAD);
        while let Some(part) = parts.try_next().await? {
            for (slot, owners) in part {
                if owners.contains(&SEVERAL) {
                    return Ok(None);
                }
                if let Some(place) = chunks.get_mut(int::index(slot)) {
                    *place = owners;
                }
            }
        }
        Ok(Some(Self { chunks, until }))
    }

    /// Whether the owners of a chunk have been read.
    pub(crate) fn has(&self, slot: Slot) -> bool {
        slot < self.until
    }

    /// Checks that a chunk has no more owners than fragments: further owners belong to another chunk, or to an older state of this one.
    ///
    /// # Errors
    ///
    /// Malformed.
    pub(crate) fn check(
        &self,
        reader: &Reader,
        slot: Slot,
        fragments: &Fragments,
    ) -> Result<(), QueryError> {
        let owners = self.chunks.get(int::index(slot));
        match owners.map_or(0, |owners| owners.len()) {
            owners if owners > fragments.len() => Err(QueryError::malformed(
                place(reader, slot),
                format!(
                    "found owners of {owners} fragments, expected at most {}, as many as the chunk has; `zvf edit add-owners` writes them again",
                    fragments.len()
                ),
            )),
            _ => Ok(()),
        }
    }

    /// The fragments of one chunk with an owner, and their owners.
    pub(crate) fn of(&self, slot: Slot) -> impl Iterator<Item = (u32, i64)> {
        let owners = self.chunks.get(int::index(slot));
        let owners = owners.map_or(&[][..], |owners| owners);
        (0..)
            .zip(owners.iter().copied())
            .filter(|(_, id)| *id != NOBODY)
    }

    /// Calls `found` with each fragment that has kept rows and an owner.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check); the errors of `found`.
    fn kept(
        &self,
        reader: &Reader,
        kept: &RowMap,
        mut found: impl FnMut(i64, Slot, u32) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        for (slot, chunk) in (0..).zip(&kept.chunks) {
            let Some(fragments) = chunk.fragments.as_ref().filter(|_| chunk.kept.len() > 0) else {
                continue;
            };
            self.has(slot)
                .then_some(())
                .or_bug("owners of rows that were not read")?;
            self.check(reader, slot, fragments)?;
            for (fragment, id) in self.of(slot) {
                let rows = fragments.get(fragment);
                if rows.is_some_and(|rows| rows.kept(&chunk.kept) > 0) {
                    found(id, slot, fragment)?;
                }
            }
        }
        Ok(())
    }

    /// The ids of the owners of kept rows: all ids of the index, unless only some can be looked up.
    ///
    /// # Errors
    ///
    /// I/O; a damaged table of ids.
    async fn ids(
        &self,
        reader: &Reader,
        kept: &RowMap,
        index: &ObjectIndex,
        round: u32,
    ) -> Result<RowIds, QueryError> {
        if index.looks_up() {
            let mut owners = BTreeSet::new();
            self.kept(reader, kept, |id, _, _| {
                owners.insert(id);
                Ok(())
            })?;
            let owners = Vec::from_iter(owners);
            let rows = index.rows_of_in(round, &owners).await?;
            // False now if the whole table had to be read.
            if index.looks_up() {
                let found = rows.into_iter().zip(owners);
                let found = found.filter_map(|(row, id)| Some((row?, id)));
                return Ok(RowIds::Some(found.collect()));
            }
        }
        Ok(RowIds::All(index.ids_in(round).await?))
    }
}

/// The objects of kept rows, in the form in which manifests are read, and their ids. If the `order` of fragments matters, the manifests of objects with
/// several fragments are read, each once.
///
/// # Errors
///
/// I/O; malformed manifests; an owner that does not exist.
pub(crate) async fn walk_of_kept(
    cells: &OwnerCells,
    reader: &Arc<Reader>,
    kept: &RowMap,
    index: &ObjectIndex,
    (scope, round): (&Scope, u32),
    order: bool,
) -> Result<(Walk, RowIds), QueryError> {
    let ids = cells.ids(reader, kept, index, round).await?;
    let mut single: Vec<(u32, Slot, u32)> = Vec::new();
    cells.kept(reader, kept, |id, slot, fragment| {
        let row = ids.row(id).ok_or_else(|| {
            let what = format!("object {id} owns a fragment, but is not in the object index");
            QueryError::malformed(place(reader, slot), what)
        })?;
        single.push((narrow(row)?, slot, fragment));
        Ok(())
    })?;
    if !order {
        return Ok((Walk::of_fragments(single), ids));
    }
    single.sort_unstable();
    let mut several: Vec<u64> = Vec::new();
    for object in single.chunk_by(|(a, ..), (b, ..)| a == b) {
        if let [(row, ..), _, ..] = object {
            several.push(u64::from(*row));
        }
    }
    if int::wide(several.len()) > index.len() / 2 {
        let (ids, walk) = walk_all(index, reader, scope, round).await?;
        return Ok((walk, RowIds::All(ids)));
    }
    let ordered = walk_rows(index, reader, scope, round, (&several, &ids)).await?;
    single.retain(|(row, ..)| several.binary_search(&u64::from(*row)).is_err());
    Ok((Walk::of_fragments(single).merged(&ordered), ids))
}

#[cold]
fn place(reader: &Reader, slot: Slot) -> Place {
    let path = "fragment_attributes/object_id";
    Place::cell(reader.number, path, reader.table.get(slot))
}

//! Owners of the fragments of a query's chunks, by the owner column of the level (0.9 §11.7): what manifests say, read from the chunks.

use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use zvf_store::owners::{NOBODY, SEVERAL};
use zvf_store::{CellWant, ChunkCoord, IdTable, Level};

use crate::error::Place;
use crate::plan::chunks::{ChunkTable, Slot};
use crate::reader::Reader;
use crate::{QueryError, int};

/// Cells that are read together, and how many times as many are on their way at once.
const CELLS: usize = 1024;
const AHEAD: usize = 8;

/// The owner of each fragment of each chunk of a query.
#[derive(Debug)]
pub(crate) struct OwnerCells {
    /// By chunk; up to the last fragment that has an owner.
    chunks: Vec<Box<[i64]>>,
}

/// The cells of the column of a level that hold the owners of some chunks; `None` where there is no column that can be used.
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
    /// Reads the owners of all chunks of a query. `None`: there is no column that can be used, or it does not name the owners of a fragment, as
    /// it has several; then manifests say which.
    ///
    /// # Errors
    ///
    /// I/O; malformed cells.
    pub(crate) async fn read(reader: &Arc<Reader>, round: u32) -> Result<Option<Self>, QueryError> {
        let Some(wants) = wants(&reader.level, &reader.table) else {
            return Ok(None);
        };
        let parts: Vec<Vec<(Slot, CellWant)>> = wants.chunks(CELLS).map(<[_]>::to_vec).collect();
        let parts = parts.into_iter().map(|part| {
            let reader = Arc::clone(reader);
            let store = reader.level.store().clone();
            let (slots, wants): (Vec<Slot>, Vec<CellWant>) = part.into_iter().unzip();
            let read = store.fetch_map(round, wants, move |cells| {
                let cells = slots.into_iter().zip(cells);
                let decode = |(slot, cell): (Slot, Option<bytes::Bytes>)| {
                    let owners = decode(&reader, slot, &cell.unwrap_or_default())?;
                    Ok::<_, QueryError>((slot, owners))
                };
                cells.map(decode).collect::<Result<Vec<_>, _>>()
            });
            async move { read.await? }
        });
        let mut chunks = vec![Box::default(); reader.table.len()];
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
        Ok(Some(Self { chunks }))
    }

    /// The fragments of one chunk that have an owner, and their owners.
    pub(crate) fn of(&self, slot: Slot) -> impl Iterator<Item = (u32, i64)> {
        let owners = self.chunks.get(int::index(slot));
        let owners = owners.map_or(&[][..], |owners| owners);
        (0..)
            .zip(owners.iter().copied())
            .filter(|(_, id)| *id != NOBODY)
    }

    /// The fragments of all chunks that have an owner, in the order of chunks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, u32, i64)> {
        (0..)
            .take(self.chunks.len())
            .flat_map(|slot| self.of(slot).map(move |(fragment, id)| (slot, fragment, id)))
    }

    /// The rows of the index of all owners, ascending.
    ///
    /// # Errors
    ///
    /// Malformed: an owner that does not exist.
    pub(crate) fn rows(&self, reader: &Reader, ids: &IdTable) -> Result<Vec<u64>, QueryError> {
        let mut owners: Vec<(i64, Slot)> = Vec::new();
        for (slot, _, id) in self.iter() {
            if owners.last().is_none_or(|(last, _)| *last != id) {
                owners.push((id, slot));
            }
            // Each chunk adds few that are new.
            if owners.len() == owners.capacity() {
                owners.sort_unstable();
                owners.dedup_by_key(|(id, _)| *id);
            }
        }
        owners.sort_unstable();
        owners.dedup_by_key(|(id, _)| *id);
        let row = |(id, slot)| row_of(reader, ids, slot, id);
        let mut rows = owners.into_iter().map(row).collect::<Result<Vec<_>, _>>()?;
        rows.sort_unstable();
        Ok(rows)
    }
}

/// The row of the owner of a fragment.
///
/// # Errors
///
/// Malformed: an owner that does not exist.
pub(crate) fn row_of(
    reader: &Reader,
    ids: &IdTable,
    slot: Slot,
    id: i64,
) -> Result<u64, QueryError> {
    ids.slot(id).ok_or_else(|| {
        let what = format!("object {id} owns a fragment, and the object index does not have it");
        QueryError::malformed(place(reader, slot), what)
    })
}

fn decode(reader: &Reader, slot: Slot, bytes: &[u8]) -> Result<Box<[i64]>, QueryError> {
    let (owners, rest) = bytes.as_chunks();
    if rest.is_empty() {
        return Ok(owners.iter().map(|id| i64::from_le_bytes(*id)).collect());
    }
    let what = format!("found {} bytes, expected a multiple of 8", bytes.len());
    Err(QueryError::malformed(place(reader, slot), what))
}

#[cold]
fn place(reader: &Reader, slot: Slot) -> Place {
    let path = "fragment_attributes/object_id";
    Place::cell(reader.number, path, reader.table.get(slot))
}

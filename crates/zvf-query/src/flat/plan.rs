//! Which chunks a query takes, and how many of them at a time.

use std::sync::Arc;

use zvf_store::CellWant;

use super::pace::{Load, Pace};
use crate::error::Place;
use crate::plan::candidates::{Candidates, farthest};
use crate::plan::chunks::{ChunkTable, Slot};
use crate::prepare::Prepared;
use crate::reader::{Reader, What};
use crate::{BBox, QueryError, Select, int};

/// The chunks a box leads to: those that may hold rows of it, and where whole chunks are selected in a chain of levels,
/// those that overlap what is selected on its first level.
fn region(p: &Prepared, bbox: &BBox) -> Candidates {
    let world = &p.reader.position.world;
    let first = p.part.as_ref().and_then(|part| part.first.as_ref());
    match first.filter(|_| p.query.select == Select::Chunks) {
        Some(first) => first
            .candidates(bbox, world)
            .overlapping(first, &p.reader.grid),
        None => p.reader.grid.candidates(bbox, world),
    }
}

/// The chunks of a query, the region they were taken from (`None`: all of the level), and whether any were left out by where their rows lie.
pub(crate) fn plan_chunks(
    p: &Prepared,
    prune: bool,
) -> Result<(ChunkTable, Option<Candidates>, bool), QueryError> {
    let presence = p.level.vertices().presence();
    let rank = p.level.key_rank();
    let scope = match &p.query.bbox {
        Some(bbox) if prune => Some(region(p, bbox)),
        _ => None,
    };
    let within = p.query.within.as_ref().filter(|_| prune);
    let keep = |chunk: &&[i64]| {
        let asked = p.query.chunks.as_ref();
        let listed = |list: &Arc<Vec<Vec<i64>>>| {
            list.binary_search_by(|one| one.as_slice().cmp(chunk))
                .is_ok()
        };
        asked.is_none_or(|range| range.contains(chunk))
            && within.is_none_or(listed)
            && scope.as_ref().is_none_or(|scope| scope.contains(chunk))
            && !p.reader.rules_out(chunk)
    };
    let table = match &scope {
        None => ChunkTable::new(rank, presence.iter().filter(keep)),
        Some(scope) => match scope.hull(rank) {
            Some((lo, hi)) => ChunkTable::new(rank, presence.in_box(&lo, &hi).filter(keep)),
            None => ChunkTable::new(rank, std::iter::empty()),
        },
    };
    let table = table.ok_or_else(|| {
        let place = Place::array(p.query.level, "vertices");
        QueryError::limit(
            place,
            "chunks",
            int::wide(presence.len()),
            u64::from(Slot::MAX - 1),
        )
    })?;
    let pruned = scope.is_some() || within.is_some();
    Ok((table, scope, pruned))
}

pub(crate) fn check_count(p: &Prepared, reader: &Reader, what: &What) -> Result<(), QueryError> {
    let each = 1
        + u64::from(what.fragments)
        + int::wide(what.attributes.iter().filter(|wanted| **wanted).count());
    let found = int::wide(reader.table.len()).saturating_mul(each);
    let limit = p.level.store().limits().cells_per_query;
    if found > limit {
        let place = Place::array(p.query.level, "vertices");
        return Err(QueryError::limit(place, "cells of one query", found, limit));
    }
    Ok(())
}

/// What documents say about the size of the cells of a query.
pub(crate) fn load(p: &Prepared, reader: &Reader, what: &What) -> Load {
    let chunks = int::wide(p.level.vertices().presence().len()).max(1);
    let rows_per_chunk = match p.level.doc().vertex_count {
        // Some writers leave the count at zero.
        0 => 4096,
        count => count.div_ceil(chunks),
    };
    let attributes = reader
        .columns
        .iter()
        .zip(&what.attributes)
        .filter(|(_, wanted)| **wanted);
    let attributes: usize = attributes
        .map(|(column, _)| column.row_bytes())
        .fold(0, usize::saturating_add);
    Load {
        rows_per_chunk,
        row_bytes: int::wide(
            reader
                .position
                .row_bytes()
                .saturating_add(attributes)
                .saturating_add(p.table.computed_bytes(p.level.key_rank())),
        ),
        batch_rows: int::wide(p.query.batch_rows.max(1)),
        budget: p.query.memory_budget,
        limit: None,
    }
}

/// How much is read at one time.
pub(crate) fn pace(p: &Prepared, reader: &Reader, what: &What, limit: Option<u64>) -> Pace {
    let load = load(p, reader, what);
    let owners = int::wide(p.table.owner_bytes());
    let load = Load {
        limit,
        row_bytes: load.row_bytes.saturating_add(owners),
        ..load
    };
    Pace::new(u32::try_from(reader.table.len()).unwrap_or(Slot::MAX), load)
}

/// Whether the chunk that would show it best is where its key says. Asked only where the listed chunks are not those
/// that the store's bounds lead to: of a coarse level, whose rows may reach less far, where they lie beyond, or where the box meets none.
pub(crate) async fn witness(
    p: &Prepared,
    reader: &Arc<Reader>,
    pruned: bool,
) -> Result<bool, QueryError> {
    let presence = p.level.vertices().presence();
    let pruned = pruned && reader.table.len() < presence.len();
    if !pruned {
        return Ok(true);
    }
    let dims = p.level.dims();
    let (lo, hi) = &p.level.store().root().zarr_vectors.bounds;
    let expected = reader.grid.extents(lo, hi);
    let agrees = presence.extent().is_some_and(|(first, last)| {
        if expected.len() != dims {
            return false;
        }
        let skip = first.len().saturating_sub(dims);
        let mut listed = first.iter().zip(&last).skip(skip).zip(&expected);
        match p.query.level {
            0 => listed.all(|((first, last), (lo, hi))| first == lo && last == hi),
            _ => {
                reader.table.len() > 0
                    && listed.all(|((first, last), (lo, hi))| first >= lo && last <= hi)
            }
        }
    });
    let far = farthest(presence.iter(), dims)
        .filter(|chunk| !agrees && reader.table.slot(chunk).is_none());
    let Some(chunk) = far else { return Ok(true) };
    let want = CellWant::new(p.level.vertices(), chunk);
    let (reader, chunk) = (Arc::clone(reader), chunk.to_vec());
    let checked = p
        .level
        .store()
        .fetch_map(p.round, vec![want], move |cells| {
            let Some(cell) = cells.into_iter().next().flatten() else {
                return true;
            };
            let extent = reader.position.extent(&reader.position.little(&cell));
            reader.grid.in_place(&chunk, &extent.min, &extent.max)
        });
    Ok(checked.await?)
}

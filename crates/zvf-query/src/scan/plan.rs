//! Plans the chunks of a query, and how many of them are read at a time.

use std::ops::Range;
use std::sync::Arc;

use zvf_store::CellWant;

use crate::error::Place;
use crate::links::records::{LinkCellRef, Touch};
use crate::objects::ObjectTable;
use crate::plan::candidates::{Candidates, farthest};
use crate::plan::chunks::{ChunkTable, Slot};
use crate::prepare::Prepared;
use crate::reader::{Reader, What};
use crate::vertex_table::TablePlan;
use crate::{BBox, QueryError, Select};
use zvf_store::format::int;

/// The chunks that may have rows inside a box. If whole chunks are selected in a chain of levels, the chunks that overlap the selection on its first
/// level.
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

/// The chunks of a query, their region (`None`: the whole level), and whether chunks were excluded because of the positions of their rows.
fn plan_chunks(
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
            && (!prune || p.reader.may_meet(chunk))
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

/// The information about objects that a pass needs; each variant includes the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OfObjects {
    Nothing,
    /// The object of each fragment.
    Owners,
    /// The rows of these objects in the object index.
    Rows,
    /// The order of the fragments of an object, which only manifests contain.
    Order,
}

/// The data that a pass reads in addition to vertices.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) fragments: bool,
    /// Whether fragments are kept until the end of the pass.
    pub(crate) keep_fragments: bool,
    /// The information about objects.
    pub(crate) objects_by: OfObjects,
    /// Stored links.
    pub(crate) links: Option<Touch>,
    /// The object table, if its attributes are requested.
    pub(crate) objects: Option<ObjectTable>,
    /// Largest memory for decoded chunks that are kept, in bytes.
    pub(crate) hold: u64,
    /// Largest number of rows that are needed.
    pub(crate) limit: Option<u64>,
    /// Columns that are gathered.
    pub(crate) table: TablePlan,
}

/// The work on every chunk of a result in chunk order.
#[derive(Debug)]
pub(crate) struct VertexPlan {
    pub(crate) reader: Arc<Reader>,
    pub(crate) what: What,
    pub(crate) table: TablePlan,
    /// Whether decoded chunks are kept for a second pass.
    pub(crate) hold: bool,
    /// Whether chunks are read on the calling thread.
    pub(crate) here: bool,
}

impl VertexPlan {
    /// The cells of a group.
    pub(crate) fn cells(&self, slots: &Range<Slot>) -> Vec<CellWant> {
        self.reader.cells(slots.clone(), &self.what)
    }
}

/// One pass over the chunks of a level: the groups of cells to read, and how many groups at a time. Computed from documents.
#[derive(Debug)]
pub(crate) struct Pass {
    pub(crate) vertices: Arc<VertexPlan>,
    pub(crate) pace: Pace,
    pub(crate) load: Load,
    pub(crate) links: Vec<LinkCellRef>,
    /// The region of the chunks; `None`: the whole level.
    pub(crate) scope: Option<Candidates>,
    /// Whether chunks were excluded because of the positions of their rows.
    pub(crate) pruned: bool,
}

impl Pass {
    /// The end of the chunks whose owners are read with the first cells. With a limit and no conditions, these are the chunks of the groups in
    /// flight, which have enough rows if each chunk has as many rows as the mean of the level. Otherwise, these are all chunks.
    pub(crate) fn expected(&self, p: &Prepared, limit: Option<u64>) -> Slot {
        let first = self.pace.groups.iter().take(self.pace.window).next_back();
        match first {
            Some(first) if limit.is_some() && takes_every_row(p) => first.end,
            _ => Slot::MAX,
        }
    }
}

/// Plans a pass; with `prune`, only over chunks that may have rows of the answer.
///
/// # Errors
///
/// A limit; malformed presence of links.
pub(crate) fn plan_pass(p: &Prepared, ask: &Ask, prune: bool) -> Result<Pass, QueryError> {
    let (table, scope, pruned) = plan_chunks(p, prune)?;
    let mut reader = p.reader.clone();
    reader.test.placed = pruned;
    reader.test.worthless_keys = !pruned && p.query.bbox.is_some();
    reader.set_table(table);
    let reader = Arc::new(reader);
    let what = p.what(&ask.table, ask.fragments, true);
    check_count(p, &reader, &what)?;
    let load = load(p, &reader, &what);
    let pace = pace(p, &reader, load, ask.limit);
    let links = match (&p.family, ask.links) {
        (Some(family), Some(touch)) => {
            let all = scope.is_none() && p.query.filter.is_none();
            family.cells(&reader.table, all, touch)?
        }
        _ => Vec::new(),
    };
    let chunk_count = reader.table.len();
    let vertices = VertexPlan {
        reader,
        what,
        table: ask.table.clone(),
        hold: ask.hold > 0,
        here: load.is_small(chunk_count),
    };
    Ok(Pass {
        vertices: Arc::new(vertices),
        pace,
        load,
        links,
        scope,
        pruned,
    })
}

fn check_count(p: &Prepared, reader: &Reader, what: &What) -> Result<(), QueryError> {
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

/// The sizes of the cells of a query, as documents state them.
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

/// Whether no condition rejects rows of the chunks of a query, so that only a limit cuts the answer.
fn takes_every_row(p: &Prepared) -> bool {
    p.query.bbox.is_none() && p.query.filter.is_none() && p.query.within.is_none()
}

/// Computes the groups and their number in flight.
fn pace(p: &Prepared, reader: &Reader, load: Load, limit: Option<u64>) -> Pace {
    let owners = int::wide(p.table.owner_bytes());
    let load = Load {
        limit,
        row_bytes: load.row_bytes.saturating_add(owners),
        ..load
    };
    let pace = Pace::new(u32::try_from(reader.table.len()).unwrap_or(Slot::MAX), load);
    // Every row is in the answer, so the first group is enough.
    match (limit, pace.groups.first()) {
        (Some(limit), Some(first)) if takes_every_row(p) && limit < load.rows(first) => {
            Pace { window: 1, ..pace }
        }
        _ => pace,
    }
}

/// The chunk that shows most clearly whether keys agree with positions, if this is in doubt because the listed chunks are not the chunks of the
/// store's bounds. Rows of a coarse level may have smaller bounds, so it is in doubt only if chunks are beyond the bounds or the box intersects none.
pub(crate) fn probe(p: &Prepared, pass: &Pass) -> Option<Vec<i64>> {
    let presence = p.level.vertices().presence();
    let reader = &pass.vertices.reader;
    if !pass.pruned || reader.table.len() >= presence.len() {
        return None;
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
    if agrees {
        return None;
    }
    let far = farthest(presence.iter(), dims).filter(|chunk| reader.table.slot(chunk).is_none());
    far.map(<[i64]>::to_vec)
}

/// Most chunks of one group.
const GROUP: u32 = 64;

/// Up to this number, chunks are split into two groups; more chunks into at least four.
const FEW: u32 = 32;

/// Most groups in flight.
const WINDOW: u64 = 64;

/// Groups of chunks, and how many of them may be in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) groups: Vec<Range<Slot>>,
    pub(crate) window: usize,
}

/// The size of a level's data, as known before it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Average rows of a chunk, by the documents.
    pub(crate) rows_per_chunk: u64,
    /// Decoded bytes of a row.
    pub(crate) row_bytes: u64,
    /// Rows of one batch.
    pub(crate) batch_rows: u64,
    /// Bytes that may be in flight.
    pub(crate) budget: u64,
    /// Largest number of rows that are needed.
    pub(crate) limit: Option<u64>,
}

/// Decoded bytes up to which chunks are decoded on the calling thread: a thread switch takes as long as zstd takes for some 50 kB.
const SMALL: u64 = 256 << 10;

impl Load {
    /// Whether this number of chunks is decoded on the calling thread.
    pub(crate) fn is_small(self, chunks: usize) -> bool {
        self.chunk_bytes().saturating_mul(int::wide(chunks)) <= SMALL
    }

    /// Average number of rows of these chunks.
    fn rows(self, chunks: &Range<Slot>) -> u64 {
        let chunks = u64::from(chunks.end.saturating_sub(chunks.start));
        self.rows_per_chunk.saturating_mul(chunks)
    }

    /// Decoded bytes of a chunk.
    pub(crate) fn chunk_bytes(self) -> u64 {
        let rows = self.rows_per_chunk.saturating_mul(self.row_bytes);
        rows.saturating_add(256)
    }
}

impl Pace {
    /// Splits chunks into groups of about one batch: large enough to be worth a task, small enough that there are several. With a small limit, the
    /// first group has about this number of rows, and each further group twice as many, because a filter may reject rows. The result depends
    /// only on the store and the query, so that the same query returns the same batches.
    pub(crate) fn new(chunks: Slot, load: Load) -> Self {
        let rows = load.rows_per_chunk.max(1);
        let by_rows = u32::try_from(load.batch_rows.div_ceil(rows)).unwrap_or(GROUP);
        // Waking a thread costs as much as some ten small cells.
        let parts = if chunks <= FEW { 2 } else { 4 };
        let size = by_rows.clamp(1, GROUP).min(chunks.div_ceil(parts).max(2));
        let mut next = load.limit.map_or(size, |limit| {
            u32::try_from(limit.div_ceil(rows)).map_or(size, |few| few.clamp(1, size))
        });
        let mut groups: Vec<Range<Slot>> = Vec::new();
        let mut start = 0;
        while start < chunks {
            let end = start.saturating_add(next).min(chunks);
            groups.push(start..end);
            start = end;
            next = next.saturating_mul(2).min(size);
        }
        let rows = rows.saturating_mul(u64::from(size));
        let bytes = rows.saturating_mul(load.row_bytes).max(1);
        // Decoded cells and gathered columns are in memory at the same time.
        let mut window = (load.budget / bytes.saturating_mul(2)).clamp(2, WINDOW);
        if let Some(limit) = load.limit {
            window = window.min((limit / rows).saturating_add(2));
        }
        Self {
            groups,
            window: usize::try_from(window).unwrap_or(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(chunks: u32, rows_per_chunk: u64, limit: Option<u64>) -> Pace {
        let load = Load {
            rows_per_chunk,
            row_bytes: 20,
            batch_rows: 65_536,
            budget: 256 << 20,
            limit,
        };
        Pace::new(chunks, load)
    }

    #[test]
    fn every_chunk_is_in_one_group() {
        for chunks in [0, 1, 7, 8, 27, 64, 1000] {
            let found = pace(chunks, 1000, None);
            let all: Vec<u32> = found.groups.into_iter().flatten().collect();
            assert_eq!(all, (0..chunks).collect::<Vec<_>>());
        }
    }

    #[test]
    fn large_chunks_make_small_groups_and_windows() {
        assert_eq!(pace(1000, 1000, None).groups.len(), 16);
        assert_eq!(pace(27, 1000, None).groups.len(), 2);
        let large = pace(1000, 10_000_000, None);
        assert_eq!((large.groups.len(), large.window), (1000, 2));
        assert_eq!(pace(1000, 1000, Some(10)).window, 2);
    }

    #[test]
    fn groups_grow_where_few_rows_are_wanted() {
        let lengths = |limit| {
            let groups = pace(1000, 1000, limit).groups;
            let lengths = groups.iter().map(ExactSizeIterator::len);
            lengths.collect::<Vec<usize>>()
        };
        assert_eq!(lengths(Some(1))[..7], [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(lengths(Some(3000))[..4], [3, 6, 12, 24]);
        assert_eq!(lengths(Some(1 << 40)), lengths(None));
        assert_eq!(lengths(Some(1)).iter().sum::<usize>(), 1000);
    }
}

//! The concurrent requests of a pass, and the work on worker threads: groups of chunks, then link cells; at the same time manifests, ids and object
//! attributes.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zvf_store::{IdTable, ObjectIndex, OpenChunk, WantedCells};

use super::plan::{Ask, OfObjects, Pass, VertexPlan};
use crate::QueryError;
use crate::columns::gather::Rows;
use crate::gaps::Gaps;
use crate::jobs::Jobs;
use crate::manifests::{Scope, Walk, walk_all};
use crate::objects::ObjectValues;
use crate::owner_cells::OwnerCells;
use crate::plan::candidates::Candidates;
use crate::plan::chunks::Slot;
use crate::prepare::Prepared;
use crate::reader::{Decoded, Reader};
use crate::row_map::ChunkRows;
use crate::vertex_table::Gathered;
use zvf_store::format::int;

/// Most rows for which memory is reserved before they are decoded. A damaged cell may state any number.
const ROOM: usize = 1 << 20;

/// Largest size, in bytes, of the object attributes that are all read even if the pass reads only some chunks.
const FEW_VALUES: u64 = 1 << 20;

/// The data that was read in addition to the cells.
#[derive(Debug, Default)]
pub(crate) struct Side {
    pub(crate) ids: Option<Arc<IdTable>>,
    pub(crate) walk: Option<Arc<Walk>>,
    /// The objects of fragments by the owner column, without manifests.
    pub(crate) cells: Option<Arc<OwnerCells>>,
    /// The chunks that manifests may name, if they are read after the pass.
    pub(crate) scope: Option<Scope>,
    pub(crate) values: Option<ObjectValues>,
}

/// The jobs in order: groups of chunks, then link cells, with the number in flight from the plan.
pub(crate) fn jobs(p: &Prepared, pass: Pass, stop: &Arc<AtomicBool>) -> Jobs<Box<GroupOut>> {
    let (round, stop) = (p.round, Arc::clone(stop));
    let (reader, links) = (Arc::clone(&pass.vertices.reader), p.link_parts(pass.links));
    let plan = pass.vertices;
    let groups = pass.pace.groups.into_iter();
    let groups = groups.take_while(move |_| !stop.load(Ordering::Relaxed));
    let chunks = groups.map(move |slots: Range<Slot>| {
        let wanted = slots.clone().map(|slot| (slot, plan.what.clone()));
        let run = Arc::clone(&plan);
        let work = move |chunks| run.run(slots, chunks).map(Box::new);
        plan.reader.open(round, wanted, plan.here, work)
    });
    Jobs::new(&reader, round, chunks, links, pass.pace.window)
}

/// Reads the information about objects and their attributes; of owners, only those of the chunks before `expected`.
pub(crate) async fn side(
    p: &Prepared,
    ask: &Ask,
    reader: &Arc<Reader>,
    scope: Option<Candidates>,
    expected: Slot,
) -> Result<Side, QueryError> {
    let Some(index) = p.level.object_index() else {
        return Ok(Side::default());
    };
    let scope = scope.map_or(Scope::Whole, Scope::Box);
    // Large tables of attributes are read later, batch by batch; if only some chunks are read, also tables of more than FEW_VALUES bytes.
    let most = match reads_all(reader, expected) {
        true => p.query.memory_budget / 4,
        false => (p.query.memory_budget / 4).min(FEW_VALUES),
    };
    let small = ask.objects.as_ref().filter(|table| table.bytes() <= most);
    let values = async {
        match small {
            Some(table) => table.read_all(p.round).await.map(Some),
            None => Ok(None),
        }
    };
    let needed = (ask.objects_by, expected);
    let known = of_objects(index, reader, &scope, needed, p.round);
    let (known, values) = futures::try_join!(known, values)?;
    Ok(Side { values, ..known })
}

/// Whether a pass is expected to read all chunks of its level.
fn reads_all(reader: &Reader, expected: Slot) -> bool {
    let chunks = reader.level.vertices().presence().len();
    reader.table.len().min(int::index(expected)) >= chunks
}

/// Reads the information about objects: from the owner column if it is usable, else from all manifests. [`Scan::walk`](super::pass::Scan::walk)
/// reads the rest for kept rows after the pass.
async fn of_objects(
    index: &ObjectIndex,
    reader: &Arc<Reader>,
    scope: &Scope,
    (needed, expected): (OfObjects, Slot),
    round: u32,
) -> Result<Side, QueryError> {
    let mut side = Side::default();
    if needed == OfObjects::Nothing {
        return Ok(side);
    }
    let cells = async {
        // If all chunks are read, the manifests of all objects with vertices are needed.
        if reads_all(reader, expected) && needed == OfObjects::Order {
            return Ok(None);
        }
        OwnerCells::read_until(reader, expected, round, None).await
    };
    let ids = async {
        // If ids ascend, the order of the owners of a row follows from their ids. In a large table, ids are looked up after the rows are known.
        let ascending = index.doc().object_ids_sorted == Some(true);
        let unneeded = ascending && (needed == OfObjects::Owners || index.looks_up());
        if unneeded || reader.level.owner_column().current().is_none() {
            return Ok(None);
        }
        Ok::<_, QueryError>(Some(index.ids_in(round).await?))
    };
    let (cells, ids) = futures::try_join!(cells, ids)?;
    let Some(cells) = cells.map(Arc::new) else {
        let (ids, walk) = walk_all(index, reader, scope, round).await?;
        side.ids = Some(ids);
        side.walk = Some(Arc::new(walk));
        return Ok(side);
    };
    (side.cells, side.ids) = (Some(cells), ids);
    side.scope = Some(scope.clone());
    Ok(side)
}

/// Whether the rows of the probed chunk are inside the chunk of its key.
///
/// # Errors
///
/// I/O.
pub(crate) async fn placed(
    p: &Prepared,
    reader: &Arc<Reader>,
    probe: Option<Vec<i64>>,
) -> Result<bool, QueryError> {
    let Some(chunk) = probe else { return Ok(true) };
    let positions = WantedCells {
        positions: true,
        ..WantedCells::default()
    };
    let (reader, wanted) = (Arc::clone(reader), vec![(chunk[..].into(), positions)]);
    let chunks = reader.chunks.clone();
    let checked = chunks.open_map(p.round, wanted, false, move |mut chunks| {
        let positions = chunks.first_mut().map(|chunk| chunk.positions(None));
        let Some(positions) = positions.transpose()? else {
            return Ok(true);
        };
        let extent = reader.position.extent(positions.bytes());
        Ok::<bool, QueryError>(
            positions.rows() == 0 || reader.grid.in_place(&chunk, &extent.min, &extent.max),
        )
    });
    checked.await?
}

/// The result for a group of chunks.
#[derive(Debug, Default)]
pub(crate) struct GroupOut {
    pub(crate) chunks: Vec<(Slot, ChunkRows)>,
    pub(crate) gathered: Gathered,
    pub(crate) held: Vec<Decoded>,
    pub(crate) gaps: Gaps,
    /// A chunk whose rows are outside the chunk of its key.
    pub(crate) misplaced: Option<Slot>,
    pub(crate) cells: u64,
}

impl VertexPlan {
    /// Decodes a group.
    ///
    /// # Errors
    ///
    /// Malformed cells.
    pub(crate) fn run(
        &self,
        slots: Range<Slot>,
        chunks: Vec<OpenChunk>,
    ) -> Result<GroupOut, QueryError> {
        let mut out = GroupOut {
            cells: chunks.iter().map(OpenChunk::requested).sum(),
            gaps: Gaps::new(self.reader.columns.len()),
            ..GroupOut::default()
        };
        let (table, reader) = (&self.table, &*self.reader);
        let mut chunks: Vec<(Slot, OpenChunk)> = slots.zip(chunks).collect();
        let mut rows = 0_usize;
        let counted = !reader.tests_all();
        if counted {
            for (slot, chunk) in &mut chunks {
                let of_chunk = reader.rows(*slot, chunk)?;
                rows = rows.saturating_add(int::index(of_chunk));
            }
        }
        let chunks = chunks.into_iter();
        let mut decoded: Box<dyn Iterator<Item = Result<Decoded, QueryError>>> =
            Box::new(chunks.map(|(slot, chunk)| reader.decode(slot, &self.what, chunk, None)));
        if !counted {
            let all = decoded.collect::<Result<Vec<Decoded>, QueryError>>()?;
            rows = all.iter().map(|chunk| chunk.kept.len()).sum();
            decoded = Box::new(all.into_iter().map(Ok));
        }
        out.gathered = Gathered::with_capacity(table, reader, rows.min(ROOM));
        for chunk in decoded {
            // If rows are not tested, they are copied as soon as their chunk is decoded, so that the next chunk is decoded into the same memory.
            let chunk = chunk?;
            if !chunk.in_place {
                out.misplaced.get_or_insert(chunk.slot);
            }
            out.gaps.count(reader, &chunk, chunk.kept.len() > 0);
            let picked = Rows::from(&chunk.kept);
            out.gathered.push(table, reader, &chunk, picked, None)?;
            let rows = ChunkRows {
                base: 0,
                rows: (!chunk.absent).then_some(chunk.rows),
                kept: chunk.kept.clone(),
                fragments: chunk.fragments.clone(),
            };
            out.chunks.push((chunk.slot, rows));
            if self.hold {
                out.held.push(chunk);
            }
        }
        Ok(out)
    }
}

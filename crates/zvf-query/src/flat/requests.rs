//! What is asked for at once, and what worker threads make of it: groups of chunks, then link cells; manifests, ids and object
//! attributes beside them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, BoxStream, StreamExt};
use zvf_store::{CellWant, IdTable};

use super::plan::{Ask, Pass, VertexPlan};
use crate::columns::attribute::Cell;
use crate::columns::gather::{Kept, Pick};
use crate::fragments::Fragments;
use crate::links::records::{Family, LinkCellRef, RecordCell};
use crate::objects::ObjectValues;
use crate::plan::candidates::Candidates;
use crate::plan::chunks::{ChunkTable, Slot};
use crate::prepare::Prepared;
use crate::reader::{Decoded, Reader};
use crate::vertex_table::Gathered;
use crate::walk::{Scope, Walk, walk_all};
use crate::{QueryError, int};

/// What came beside the cells.
#[derive(Debug, Default)]
pub(crate) struct Side {
    pub(crate) ids: Option<Arc<IdTable>>,
    pub(crate) walk: Option<Arc<Walk>>,
    pub(crate) values: Option<ObjectValues>,
}

/// What came.
#[derive(Debug)]
pub(crate) enum Job {
    Vertices(Box<GroupOut>),
    /// Records, and how many cells were asked for.
    Links(Vec<RecordCell>, u64),
}

/// Vertices, then links, as many at a time as the plan says, in order.
pub(crate) fn jobs(
    p: &Prepared,
    pass: Pass,
    stop: &Arc<AtomicBool>,
) -> BoxStream<'static, Result<Job, QueryError>> {
    let store = p.level.store().clone();
    let round = p.round;
    let stop = Arc::clone(stop);
    let Pass {
        vertices: plan,
        pace,
        links,
        ..
    } = pass;
    let reader = Arc::clone(&plan.reader);
    let groups = pace
        .groups
        .into_iter()
        .take_while(move |_| !stop.load(Ordering::Relaxed));
    let vertices = {
        let store = store.clone();
        groups.map(
            move |slots: Range<Slot>| -> BoxFuture<'static, Result<Job, QueryError>> {
                let wants = plan.wants(&slots);
                let plan = Arc::clone(&plan);
                let done = store.fetch_map(round, wants, move |cells| plan.run(slots, cells));
                async move { Ok(Job::Vertices(Box::new(done.await??))) }.boxed()
            },
        )
    };
    let family = p.family.clone();
    let parts = family
        .as_ref()
        .map(|family| family.parts(links, p.query.memory_budget));
    let links = parts.into_iter().flatten().filter_map(
        move |batch| -> Option<BoxFuture<'static, Result<Job, QueryError>>> {
            let family = Arc::clone(family.as_ref()?);
            let reader = Arc::clone(&reader);
            let wants = link_wants(&family, &batch);
            let count = int::wide(wants.len());
            let work = move |cells| link_records(&family, &reader.table, batch, cells);
            let done = store.fetch_map(round, wants, work);
            Some(async move { Ok(Job::Links(done.await??, count)) }.boxed())
        },
    );
    stream::iter(vertices.chain(links))
        .buffered(pace.window)
        .boxed()
}

/// Manifests, ids and object attributes.
pub(crate) async fn side(
    p: &Prepared,
    ask: &Ask,
    reader: &Arc<Reader>,
    scope: Option<Candidates>,
) -> Result<Side, QueryError> {
    let mut side = Side::default();
    let Some(index) = p.level.object_index() else {
        return Ok(side);
    };
    let scope = scope.map_or(Scope::Whole, Scope::Box);
    let walk = async {
        if !ask.walk {
            return Ok(None);
        }
        walk_all(index, reader, &scope, p.round).await.map(Some)
    };
    // Attributes of very many objects are read later, piece by piece.
    let small = ask
        .objects
        .as_ref()
        .filter(|table| table.bytes() <= p.query.memory_budget / 4);
    let values = async {
        match small {
            Some(table) => table.read(0..index.len(), p.round).await.map(Some),
            None => Ok(None),
        }
    };
    let (walk, values) = futures::try_join!(walk, values)?;
    side.values = values;
    if let Some((ids, walk)) = walk {
        side.ids = Some(ids);
        side.walk = Some(Arc::new(walk));
    }
    Ok(side)
}

/// Whether the rows of the chunk that a plan is in doubt about lie where its key says.
///
/// # Errors
///
/// I/O.
pub(crate) async fn placed(
    p: &Prepared,
    reader: &Arc<Reader>,
    probe: Option<CellWant>,
) -> Result<bool, QueryError> {
    let Some(want) = probe else { return Ok(true) };
    let (reader, chunk) = (Arc::clone(reader), want.chunk.clone());
    let store = p.level.store();
    let checked = store.fetch_map(p.round, vec![want], move |cells| {
        let Some(cell) = cells.into_iter().next().flatten() else {
            return true;
        };
        let extent = reader.position.extent(&reader.position.little(&cell));
        reader.grid.in_place(&chunk, &extent.min, &extent.max)
    });
    Ok(checked.await?)
}

/// One chunk of a group.
#[derive(Debug)]
pub(crate) struct ChunkOut {
    pub(crate) slot: Slot,
    /// Rows of the buffer; `None` where a listed chunk has no vertices.
    pub(crate) rows: Option<u32>,
    pub(crate) kept: Kept,
    pub(crate) fragments: Option<Arc<Fragments>>,
}

/// A group of chunks, done.
#[derive(Debug, Default)]
pub(crate) struct GroupOut {
    pub(crate) chunks: Vec<ChunkOut>,
    pub(crate) gathered: Gathered,
    pub(crate) held: Vec<Decoded>,
    /// For each column of the reader, how many chunks with rows lack it.
    pub(crate) missing: Vec<u64>,
    /// For each column of the reader, how many chunks with rows have values of some rows only.
    pub(crate) short: Vec<u64>,
    /// Listed chunks without vertices.
    pub(crate) absent: u64,
    /// A chunk whose rows lie elsewhere than its key says.
    pub(crate) misplaced: Option<Slot>,
    pub(crate) cells: u64,
}

impl VertexPlan {
    /// The work.
    ///
    /// # Errors
    ///
    /// Malformed cells.
    pub(crate) fn run(
        &self,
        slots: Range<Slot>,
        cells: Vec<Option<Bytes>>,
    ) -> Result<GroupOut, QueryError> {
        let mut out = GroupOut {
            cells: int::wide(cells.len()),
            missing: vec![0; self.reader.columns.len()],
            short: vec![0; self.reader.columns.len()],
            ..GroupOut::default()
        };
        let mut cells = cells.into_iter();
        let mut decoded = Vec::new();
        let mut rows = 0_usize;
        for slot in slots {
            let chunk = self.reader.decode(slot, &self.what, &mut cells)?;
            if !chunk.in_place {
                out.misplaced.get_or_insert(slot);
            }
            out.absent += u64::from(chunk.absent);
            if chunk.kept.len() > 0 {
                for (missing, cell) in out.missing.iter_mut().zip(&chunk.cells) {
                    *missing += u64::from(matches!(cell, Cell::Missing));
                }
                for (short, cell) in out.short.iter_mut().zip(&chunk.cells) {
                    *short += u64::from(matches!(cell, Cell::Short { .. }));
                }
            }
            rows = rows.saturating_add(chunk.kept.len());
            decoded.push(chunk);
        }
        out.gathered = Gathered::with_capacity(&self.table, &self.reader, rows);
        for chunk in &decoded {
            out.gathered.push(
                &self.table,
                &self.reader,
                chunk,
                Pick::from(&chunk.kept),
                None,
            )?;
        }
        for chunk in decoded {
            out.chunks.push(ChunkOut {
                slot: chunk.slot,
                rows: (!chunk.absent).then_some(chunk.rows),
                kept: chunk.kept.clone(),
                fragments: chunk.fragments.clone(),
            });
            if self.hold {
                out.held.push(chunk);
            }
        }
        Ok(out)
    }
}

/// The cells of some link cells.
pub(crate) fn link_wants(family: &Family, cells: &[LinkCellRef]) -> Vec<CellWant> {
    let mut wants = Vec::new();
    for cell in cells {
        family.wants(cell, &mut wants);
    }
    wants
}

/// Decodes some link cells.
///
/// # Errors
///
/// Malformed cells.
pub(crate) fn link_records(
    family: &Family,
    table: &ChunkTable,
    refs: Vec<LinkCellRef>,
    cells: Vec<Option<Bytes>>,
) -> Result<Vec<RecordCell>, QueryError> {
    let mut cells = cells.into_iter();
    refs.into_iter()
        .map(|cell| family.decode(cell, table, &mut cells))
        .collect()
}

//! What is asked for at once: groups of chunks, then link cells; manifests, ids and object attributes beside them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, BoxStream, StreamExt};
use zvf_store::IdTable;

use super::job::{GroupOut, VertexPlan, link_records, link_wants};
use super::pace::Pace;
use crate::links::records::{LinkCellRef, RecordCell, Touch};
use crate::objects::{ObjectTable, ObjectValues};
use crate::plan::candidates::Candidates;
use crate::plan::chunks::Slot;
use crate::prepare::Prepared;
use crate::reader::Reader;
use crate::vertex_table::TablePlan;
use crate::walk::{Scope, Walk, walk_all};
use crate::{QueryError, int};

/// What a pass needs beside vertices.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) fragments: bool,
    /// Fragments are kept until the end of the pass.
    pub(crate) keep_fragments: bool,
    /// Manifests and ids.
    pub(crate) walk: bool,
    /// Stored links.
    pub(crate) links: Option<Touch>,
    /// The object table, when its attributes are wanted.
    pub(crate) objects: Option<ObjectTable>,
    /// Keep what was decoded, up to this many bytes.
    pub(crate) hold: u64,
    /// Rows that are wanted at most.
    pub(crate) limit: Option<u64>,
    /// Columns that are gathered.
    pub(crate) table: TablePlan,
}

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

/// Vertices, then links, as many at a time as the pace allows, in order.
pub(crate) fn jobs(
    p: &Prepared,
    plan: Arc<VertexPlan>,
    pace: Pace,
    links: Vec<LinkCellRef>,
    stop: &Arc<AtomicBool>,
) -> BoxStream<'static, Result<Job, QueryError>> {
    let store = p.level.store().clone();
    let round = p.round;
    let stop = Arc::clone(stop);
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

//! A result in chunk order, from first to last batch.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::owners::Owners;
use super::plan::Ask;
use super::requests::Side;
use super::scan::{Scan, started};
use crate::answer::{Count, Emit, Item, Schemas, Summary, Table, VerticesEnd};
use crate::error::count_warning;
use crate::links::Rule;
use crate::links::branches::{Branches, Parents};
use crate::links::explicit;
use crate::links::records::{RecordCell, Touch};
use crate::links::sequential::{Sequential, Stored};
use crate::links::table::LinkTable;
use crate::object_counts::{ObjectCounts, count_objects};
use crate::objects::{Form, ObjectRow, ObjectTable};
use crate::plan::chunks::Slot;
use crate::prepare::Prepared;
use crate::row_map::RowMap;
use crate::vertex_table::{Gathered, Out, OwnerColumns, pieces};
use crate::{QueryError, int};

/// Steps, and link batches, that are made at one time.
pub(crate) const WORKERS: usize = 2;

/// Runs a query whose result is in chunk order.
///
/// # Errors
///
/// I/O; malformed cells; a limit.
pub(crate) async fn run(mut p: Prepared, emit: &mut Emit) -> Result<Summary, QueryError> {
    let ask = ask(&mut p)?;
    let objects = ask.objects.clone();
    let links = link_table(&p)?;
    let counted = counted(&p);
    let owned = owned(&p);
    let sequential = links.is_some() && p.rule == Rule::Sequential;
    let mut scan = Scan::start(&p, &ask).await?;
    let widths = scan.widths().await?;
    let schema = p.table.schema(&scan.reader, &widths)?;
    emit.schemas(Schemas {
        vertices: p.query.outputs.vertices.then(|| Arc::clone(&schema)),
        links: links.as_ref().map(|table| Arc::clone(&table.schema)),
        objects: objects.as_ref().map(|table| Arc::clone(&table.schema)),
        guessed: p.table.guessed(&scan.reader, &widths),
    })
    .await;
    if let Some(gate) = p.part.as_mut().and_then(|part| part.gate.take()) {
        // The channel is closed when the rest is not wanted.
        scan.limit(gate.await.unwrap_or(0));
    }

    let owners = match &scan.side.walk {
        Some(walk) if owned => Some(Owners::new(walk, scan.reader.table.len())),
        _ => None,
    };
    if !counted && !sequential {
        scan.side.walk = None;
    }
    while let Some((mut group, taken)) = scan.next().await? {
        if !p.query.outputs.vertices || taken == 0 {
            continue;
        }
        let mut columns = OwnerColumns::default();
        let gathered: Gathered = std::mem::take(&mut group.gathered);
        if owned {
            own(
                &group.chunks,
                &scan.side,
                owners.as_ref(),
                p.table.has(Out::ObjectIds),
                &mut columns,
            );
            // Rows past the limit are gathered already; they have no owners, since they are cut off below.
            columns.first.resize(gathered.rows, None);
            columns.all.resize(gathered.rows, Vec::new());
        }
        let batch = gathered.finish(&p.table, &scan.reader, &schema, &widths, columns)?;
        for piece in pieces(&batch.slice(0, taken), p.query.batch_rows) {
            emit.batch(Table::Vertices, piece).await;
        }
    }

    p.warnings.extend(vertex_count_warning(&p, &scan));
    if p.part.is_some() {
        let end = VerticesEnd {
            rows: scan.vertices,
            truncated: scan.truncated,
        };
        emit.tell(Item::Vertices(end)).await;
    }
    let mut summary = Summary {
        vertices: scan.vertices,
        truncated: scan.truncated,
        levels: vec![p.query.level],
        ..Summary::default()
    };
    let kept = Arc::new(std::mem::take(&mut scan.kept));
    let resolved = match (scan.side.walk.clone(), scan.side.ids.clone()) {
        (Some(walk), Some(ids)) if counted || sequential => {
            let (reader, kept) = (Arc::clone(&scan.reader), Arc::clone(&kept));
            Some(Arc::new(
                scan.offload(move || count_objects(&reader, &walk, &kept, sequential, &ids))
                    .await?,
            ))
        }
        _ => None,
    };
    if let Some(table) = links {
        summary.links = send_links(&p, &mut scan, table, &kept, resolved.clone(), emit).await?;
        let family = p.family.as_ref();
        summary.link_rows_read = family.map_or(0, |family| family.rows_read());
        p.warnings
            .extend(family.into_iter().flat_map(|family| family.warnings()));
    }
    if let (Some(resolved), true) = (&resolved, counted && p.part.is_some()) {
        emit.tell(Item::Counts(counts(&scan.side, resolved))).await;
    }
    if let (Some(table), Some(resolved)) = (objects, resolved) {
        summary.objects = send_objects(&p, &scan.side, &table, &resolved, emit).await?;
    }
    scan.remarks();
    summary.chunks_read = scan.chunks;
    summary.cells_read = scan.cells;
    summary.warnings = p.warnings;
    summary.warnings.append(&mut scan.warnings);
    Ok(summary)
}

/// A warning where all vertices of a level were read and they are not as many as its document states: some were lost, or the
/// number is out of date (`zvf-0.9`, section 6). Zero is what some writers put there.
fn vertex_count_warning(p: &Prepared, scan: &Scan) -> Option<String> {
    let (stated, found) = (p.level.doc().vertex_count, scan.vertices);
    let all = p.query.outputs.vertices
        && p.query.bbox.is_none()
        && p.query.filter.is_none()
        && p.query.limit.is_none()
        && p.query.chunks.is_none()
        && p.query.within.is_none();
    let place = format!("level {}", p.level.number());
    count_warning(&place, ("vertex_count", stated), (found, "vertices"))
        .filter(|_| all && stated > 0)
}

/// The objects of a result, with their rows in it.
fn counts(side: &Side, resolved: &ObjectCounts) -> Vec<Count> {
    let id = |row: u32| side.ids.as_ref().map_or(-1, |ids| ids.id(u64::from(row)));
    let count = |(row, rows): &(u32, u64)| Count {
        id: id(*row),
        rows: *rows,
    };
    resolved.counts.iter().map(count).collect()
}

/// Whether objects are counted by their rows.
fn counted(p: &Prepared) -> bool {
    p.query.outputs.objects && p.level.object_index().is_some()
}

/// Whether rows are told with their objects.
fn owned(p: &Prepared) -> bool {
    p.table.has(Out::ObjectId) || p.table.has(Out::ObjectIds)
}

/// What the pass needs beside vertices.
///
/// # Errors
///
/// Link attributes that do not fit a table.
pub(crate) fn ask(p: &mut Prepared) -> Result<Ask, QueryError> {
    let (counted, owned) = (counted(p), owned(p));
    // The table of a chain is made from the counts of its levels.
    let objects = (counted && p.part.is_none()).then(|| {
        let metadata = p.table.metadata.clone();
        ObjectTable::new(&p.level, Form::Counted, metadata, &mut p.warnings)
    });
    let links = link_table(p)?;
    let index = p.level.object_index().is_some();
    let sequential = links.is_some() && p.rule == Rule::Sequential;
    let branches = links.is_some() && p.rule == Rule::Branches;
    let walk = counted || (index && (owned || sequential));
    let valued = |table: &LinkTable| {
        let family = table.family.as_ref();
        family.is_some_and(|family| !family.columns.is_empty())
    };
    let stored = |table: &&LinkTable| !sequential || !index || valued(table);
    let touch = if branches { Touch::Any } else { Touch::All };
    Ok(Ask {
        fragments: walk || sequential || branches || p.table.has(Out::Fragment),
        keep_fragments: counted || links.is_some(),
        walk,
        links: links.as_ref().filter(stored).map(|_| touch),
        objects,
        hold: 0,
        limit: p.query.limit,
        table: p.table.clone(),
    })
}

/// The link table of a query, where there can be links.
pub(crate) fn link_table(p: &Prepared) -> Result<Option<LinkTable>, QueryError> {
    let implied = p.rule != Rule::Stored;
    if !p.query.outputs.links || !(implied || p.family.is_some()) {
        return Ok(None);
    }
    // Implied links have two ends, regardless of what a stray family says.
    let family = p
        .family
        .clone()
        .filter(|family| !implied || family.width() == 2);
    LinkTable::new(family, p.table.metadata.clone()).map(Some)
}

fn own(
    chunks: &[super::requests::ChunkOut],
    side: &Side,
    owners: Option<&Owners>,
    all: bool,
    out: &mut OwnerColumns,
) {
    if let (Some(owners), Some(ids)) = (owners, &side.ids) {
        for chunk in chunks {
            owners.push(chunk, ids, all, out);
        }
    }
}

async fn send_links(
    p: &Prepared,
    scan: &mut Scan,
    table: LinkTable,
    kept: &Arc<RowMap>,
    resolved: Option<Arc<ObjectCounts>>,
    emit: &mut Emit,
) -> Result<u64, QueryError> {
    let mut sent = 0_u64;
    if p.rule == Rule::Stored {
        // Batches are made two at a time while the next cells are on their way.
        let mut waiting: std::collections::VecDeque<
            BoxFuture<'static, Result<RecordBatch, QueryError>>,
        > = std::collections::VecDeque::new();
        loop {
            let cells = scan.next_links().await?;
            let end = cells.is_none();
            if let (Some(cells), Some(family)) = (cells, table.family.clone()) {
                let (table, kept) = (table.clone(), Arc::clone(kept));
                let work = move || {
                    cells
                        .iter()
                        .try_for_each(|cell| family.check_rows(cell, |slot| kept.rows(slot)))?;
                    explicit::batch(&table, &cells, &kept)
                };
                waiting.push_back(started(scan.offload(work)).await);
            }
            while waiting.len() >= WORKERS || (end && !waiting.is_empty()) {
                let Some(batch) = waiting.pop_front() else {
                    break;
                };
                sent += send(emit, Table::Links, &batch.await?, p.query.batch_rows).await;
            }
            if end {
                return Ok(sent);
            }
        }
    }
    let mut cells: Vec<RecordCell> = Vec::new();
    while let Some(mut more) = scan.next_links().await? {
        if let Some(family) = &table.family {
            more.iter()
                .try_for_each(|cell| family.check_rows(cell, |slot| kept.rows(slot)))?;
        }
        cells.append(&mut more);
    }
    type Make = Arc<dyn Fn(Range<Slot>) -> Result<RecordBatch, QueryError> + Send + Sync>;
    let make: Make = if p.rule == Rule::Branches {
        let parents = Parents::new(table.family.as_deref(), cells)?;
        let state = Branches {
            table,
            kept: Arc::clone(kept),
            parents,
        };
        Arc::new(move |slots| state.batch(slots))
    } else {
        let stored = Stored::new(cells, |key| kept.global(key));
        let state = Sequential {
            table,
            kept: Arc::clone(kept),
            resolved,
            stored,
        };
        Arc::new(move |slots| state.batch(slots))
    };
    let ranges = ranges(kept, int::wide(p.query.batch_rows));
    let reader = Arc::clone(&scan.reader);
    let round = p.round;
    let batches = ranges.into_iter().map(move |slots| {
        let make = Arc::clone(&make);
        super::scan::offload(&reader, round, move || make(slots))
    });
    let mut batches = stream::iter(batches).buffered(WORKERS);
    while let Some(batch) = batches.try_next().await? {
        sent += send(emit, Table::Links, &batch, p.query.batch_rows).await;
    }
    Ok(sent)
}

/// Stretches of chunks with about as many kept rows as a batch has.
fn ranges(kept: &RowMap, rows: u64) -> Vec<Range<Slot>> {
    let mut ranges = Vec::new();
    let (mut start, mut sum) = (0, 0_u64);
    for (slot, chunk) in (0_u32..).zip(&kept.chunks) {
        sum += int::wide(chunk.kept.len());
        if sum >= rows {
            ranges.push(start..slot + 1);
            (start, sum) = (slot + 1, 0);
        }
    }
    let end = u32::try_from(kept.chunks.len()).unwrap_or(Slot::MAX);
    if start < end {
        ranges.push(start..end);
    }
    ranges
}

/// Sends a batch in pieces; returns its rows.
pub(crate) async fn send(emit: &mut Emit, table: Table, batch: &RecordBatch, rows: usize) -> u64 {
    for piece in pieces(batch, rows) {
        emit.batch(table, piece).await;
    }
    int::wide(batch.num_rows())
}

async fn send_objects(
    p: &Prepared,
    side: &Side,
    table: &ObjectTable,
    resolved: &ObjectCounts,
    emit: &mut Emit,
) -> Result<u64, QueryError> {
    let mut sent = 0;
    for counts in resolved.counts.chunks(p.query.batch_rows.max(1)) {
        let rows: Vec<ObjectRow> = counts
            .iter()
            .map(|(row, count)| ObjectRow {
                id: side.ids.as_ref().map_or(-1, |ids| ids.id(u64::from(*row))),
                row: Some(u64::from(*row)),
                numbers: [*count, 0, 0],
                empty: false,
            })
            .collect();
        let batch = match &side.values {
            Some(values) => table.batch(Form::Counted, &rows, values)?,
            None => {
                let first = counts.first().map_or(0, |(row, _)| u64::from(*row));
                let last = counts.last().map_or(0, |(row, _)| u64::from(*row) + 1);
                let values = table.read(first..last, p.round + 1).await?;
                table.batch(Form::Counted, &rows, &values)?
            }
        };
        sent += send(emit, Table::Objects, &batch, p.query.batch_rows).await;
    }
    Ok(sent)
}

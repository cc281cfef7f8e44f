//! Runs a query in chunk order.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::ArrayBuilder;

use super::pass::Scan;
use super::plan::{Ask, OfObjects};
use crate::QueryError;
use crate::answer::{Emit, Schemas, Summary, Table};
use crate::error::{OrBug, count_warning};
use crate::link_batches::{ranges, send_ranges, send_stored};
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
use crate::vertex_table::{Gathered, Out, OwnerColumns};
use zvf_store::format::int;

/// Runs a query that is answered in chunk order.
///
/// # Errors
///
/// I/O; malformed cells; a limit.
pub(crate) async fn run(mut p: Prepared, emit: &mut Emit) -> Result<Summary, QueryError> {
    let ask = ask(&mut p)?;
    let objects = ask.objects.clone();
    let links = link_table(&p)?;
    // In a chain, the number of rows is needed for the other levels.
    let vertices = p.query.outputs.vertices || p.part.is_some();
    let counted = counted(&p);
    let owned = owned(&p);
    let sequential = links.is_some() && p.rule == Rule::Sequential;
    let mut scan = Scan::start(&p, &ask).await?;
    emit.here = scan.here;
    let widths = scan.widths().await?;
    let schema = p.table.schema(&scan.reader, &widths)?;
    emit.schemas(Schemas {
        vertices: vertices.then(|| Arc::clone(&schema)),
        links: links.as_ref().map(|table| Arc::clone(&table.schema)),
        objects: objects.as_ref().map(|table| Arc::clone(&table.schema)),
        guessed: p.table.guessed(&scan.reader, &widths),
    })
    .await;
    if let Some(gate) = p.part.as_mut().and_then(|part| part.gate.take()) {
        // The channel is closed if no more rows are needed.
        scan.limit(gate.await.unwrap_or(0));
    }

    let mut owners = owned.then(|| scan.owners()).flatten();
    if !counted && !sequential {
        scan.side.walk = None;
    }
    let mut shared = 0_u64;
    while let Some((mut group, taken)) = scan.next().await? {
        if taken > 0 && scan.read_owners(&p, &group).await? && owned {
            owners = scan.owners();
        }
        if !vertices || taken == 0 {
            continue;
        }
        let gathered: Gathered = std::mem::take(&mut group.gathered);
        let mut columns = OwnerColumns::default();
        if owned {
            columns = OwnerColumns::with_capacity(gathered.rows);
            let all = p.table.has(Out::ObjectIds);
            if let Some(owners) = &owners {
                for (slot, chunk) in &group.chunks {
                    owners.push(&scan.reader, (*slot, chunk), all, &mut columns)?;
                }
            }
            shared = shared.saturating_add(columns.shared);
            // Rows after the limit are cut off below, so their owners are not needed.
            let more = gathered.rows.checked_sub(columns.first.len());
            let more = more.or_bug("more owners than rows")?;
            columns.first.append_nulls(more);
            if all {
                columns.all.resize(gathered.rows, Vec::new());
            }
        }
        let batch = gathered.finish(&p.table, &scan.reader, &schema, &widths, columns)?;
        let taken = batch.slice(0, taken);
        emit.send(Table::Vertices, &taken, p.query.batch_rows).await;
    }

    p.warnings.extend(vertex_count_warning(&p, &scan));
    if shared > 0 && p.table.has(Out::ObjectId) && !p.table.has(Out::ObjectIds) {
        p.warnings.push(format!(
            "level {}: {shared} vertices belong to several objects: object_id is the first of them, the column object_ids has all",
            p.level.number()
        ));
    }
    let mut summary = Summary {
        vertices: scan.vertices,
        truncated: scan.truncated,
        levels: vec![p.query.level],
        ..Summary::default()
    };
    let kept = Arc::new(std::mem::take(&mut scan.kept));
    let walk = match counted || sequential {
        true => scan.walk(&p, &kept, sequential).await?,
        false => None,
    };
    let (resolved, ids) = match walk {
        Some((walk, ids)) => {
            let (reader, kept) = (Arc::clone(&scan.reader), Arc::clone(&kept));
            let of = Arc::clone(&ids);
            let count = move || count_objects(&reader, &walk, &kept, sequential, &of);
            (Some(Arc::new(scan.workers.run(count).await?)), Some(ids))
        }
        None => (None, None),
    };
    if let Some(table) = links {
        summary.links = send_links(&p, &mut scan, table, &kept, resolved.clone(), emit).await?;
        let family = p.family.as_ref();
        summary.link_rows_read = family.map_or(0, |family| family.rows_read());
        if p.rule == Rule::Branches
            && let Some(family) = family
        {
            p.warnings.extend(family.check_parents()?);
        }
        p.warnings
            .extend(family.into_iter().flat_map(|family| family.warnings()));
    }
    if let (Some(table), Some(resolved), Some(ids)) = (objects, resolved, ids) {
        let found = resolved
            .counts
            .iter()
            .map(|(row, _)| ids.get(u64::from(*row)));
        let found: Option<Vec<i64>> = found.collect();
        let found = found.or_bug("an object without an id")?;
        let row = |((row, count), id): (&(u32, u64), i64)| ObjectRow {
            id,
            row: Some(u64::from(*row)),
            numbers: [*count, 0, 0],
        };
        let (rows, values) = (
            resolved.counts.iter().zip(found).map(row),
            scan.side.values.as_ref(),
        );
        let (round, most) = (p.round + 1, p.query.batch_rows);
        summary.objects = table.send(rows, values, round, most, emit).await?;
    }
    scan.remarks();
    summary.chunks_read = scan.chunks;
    summary.cells_read = scan.cells.saturating_add(scan.jobs.link_cells);
    summary.warnings = p.warnings;
    summary.warnings.append(&mut scan.warnings);
    Ok(summary)
}

/// A warning if all vertices of a level were read, or there are none, and their number differs from the document: vertices were lost, or the number is
/// out of date (`zvf-0.9`, section 6). Zero is ignored, because some writers never set it.
fn vertex_count_warning(p: &Prepared, scan: &Scan) -> Option<String> {
    let (stated, found) = (p.level.doc().vertex_count, scan.vertices);
    let all = p.query.outputs.vertices
        && p.query.bbox.is_none()
        && p.query.filter.is_none()
        && p.query.limit.is_none()
        && p.query.chunks.is_none()
        && p.query.within.is_none();
    let none = p.level.vertices().presence().is_empty();
    let place = format!("level {}", p.level.number());
    count_warning(&place, ("vertex_count", stated), (found, "vertices"))
        .filter(|_| (all || none) && stated > 0)
}

/// Whether the rows of objects are counted.
fn counted(p: &Prepared) -> bool {
    p.query.outputs.objects && p.level.object_index().is_some()
}

/// Whether rows are sent with their objects.
fn owned(p: &Prepared) -> bool {
    p.table.has(Out::ObjectId) || p.table.has(Out::ObjectIds)
}

/// Which data the pass reads in addition to vertices.
///
/// # Errors
///
/// Unsupported: a link attribute whose type has no Arrow type.
pub(crate) fn ask(p: &mut Prepared) -> Result<Ask, QueryError> {
    let (counted, owned) = (counted(p), owned(p));
    let objects = counted.then(|| {
        // The attributes of the chain, if the level is part of one.
        let attributes = match p.part {
            Some(_) => &[],
            None => p.level.object_attributes(),
        };
        let (number, metadata) = (p.level.number(), p.table.metadata.clone());
        ObjectTable::new(number, attributes, Form::Counted, metadata, &mut p.warnings)
    });
    let links = link_table(p)?;
    let index = p.level.object_index().is_some();
    let sequential = links.is_some() && p.rule == Rule::Sequential;
    let branches = links.is_some() && p.rule == Rule::Branches;
    let objects_by = match index {
        true if sequential => OfObjects::Order,
        true if counted => OfObjects::Rows,
        true if owned => OfObjects::Owners,
        _ => OfObjects::Nothing,
    };
    let walk = objects_by > OfObjects::Nothing;
    let valued = |table: &LinkTable| {
        let family = table.family.as_ref();
        family.is_some_and(|family| !family.columns.is_empty())
    };
    let stored = |table: &&LinkTable| !sequential || !index || valued(table);
    let touch = if branches { Touch::Any } else { Touch::All };
    Ok(Ask {
        fragments: walk || sequential || branches || p.table.has(Out::Fragment),
        keep_fragments: counted || links.is_some(),
        objects_by,
        links: links.as_ref().filter(stored).map(|_| touch),
        objects,
        hold: 0,
        limit: p.query.limit,
        table: p.table.clone(),
    })
}

/// The link table of a query, if there can be links.
pub(crate) fn link_table(p: &Prepared) -> Result<Option<LinkTable>, QueryError> {
    let implied = p.rule != Rule::Stored;
    if !p.query.outputs.links || !(implied || p.family.is_some()) {
        return Ok(None);
    }
    // Implied links have two ends, even if the store has an unrelated family.
    let family = p
        .family
        .clone()
        .filter(|family| !implied || family.width() == 2);
    LinkTable::new(family, p.table.metadata.clone()).map(Some)
}

async fn send_links(
    p: &Prepared,
    scan: &mut Scan,
    table: LinkTable,
    kept: &Arc<RowMap>,
    resolved: Option<Arc<ObjectCounts>>,
    emit: &mut Emit,
) -> Result<u64, QueryError> {
    let (rows, kept) = (p.query.batch_rows, Arc::clone(kept));
    let check = {
        let (family, kept) = (table.family.clone(), Arc::clone(&kept));
        move |cell: &RecordCell| match &family {
            Some(family) => family.check_rows(cell, |slot| kept.rows(slot)),
            None => Ok(()),
        }
    };
    if p.rule == Rule::Stored {
        let make = move |cells: &[RecordCell]| {
            cells.iter().try_for_each(&check)?;
            explicit::batch(&table, cells, &kept)
        };
        return send_stored(&mut scan.jobs, &scan.workers, make, emit, rows).await;
    }
    let cells = scan.jobs.all_links(check).await?;
    let lengths = kept.chunks.iter().map(|chunk| int::wide(chunk.kept.len()));
    let ranges = ranges(lengths, int::wide(rows));
    let slots = |range: Range<usize>| {
        let slot = |at: usize| Slot::try_from(at).unwrap_or(Slot::MAX);
        slot(range.start)..slot(range.end)
    };
    if p.rule == Rule::Branches {
        let parents = Parents::new(table.family.as_deref(), cells)?;
        let branches = Branches {
            table,
            kept,
            parents,
        };
        let make = move |range| branches.batch(slots(range));
        return send_ranges(ranges, &scan.workers, make, emit, rows).await;
    }
    let stored = Stored::new(cells, |a, b, links| {
        links.extend(kept.global(a).zip(kept.global(b)));
    });
    let sequential = Sequential {
        table,
        kept,
        resolved,
        stored,
    };
    let make = move |range| sequential.batch(slots(range));
    send_ranges(ranges, &scan.workers, make, emit, rows).await
}

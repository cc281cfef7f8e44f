//! Finds the objects with a row that satisfies the conditions.

use std::collections::HashMap;
use std::sync::Arc;

use super::select::Pick;
use crate::QueryError;
use crate::answer::Summary;
use crate::error::OrBug;
use crate::object_counts::count_objects;
use crate::prepare::Prepared;
use crate::reader::Decoded;
use crate::scan::pass::Scan;
use crate::scan::plan::{Ask, OfObjects};
use crate::vertex_table::TablePlan;

/// The data to read in the pass that finds the objects.
pub(crate) fn ask(p: &Prepared) -> Ask {
    Ask {
        fragments: true,
        keep_fragments: true,
        objects_by: OfObjects::Rows,
        links: None,
        objects: None,
        hold: p.query.memory_budget / 2,
        limit: None,
        table: TablePlan::default(),
    }
}

/// The objects with at least one row that satisfies the conditions: of the requested objects, in their order, or of all objects, in the order of
/// their rows in the object index. The chunks that were read are kept in `held`.
pub(super) async fn hits(
    p: &Prepared,
    asked: Option<Vec<Pick>>,
    summary: &mut Summary,
    held: &mut HashMap<Vec<i64>, Decoded>,
) -> Result<Vec<Pick>, QueryError> {
    let ask = ask(p);
    let mut scan = Scan::start(p, &ask).await?;
    while scan.next().await?.is_some() {}
    let kept = std::mem::take(&mut scan.kept);
    let Some((walk, ids)) = scan.walk(p, &kept, false).await? else {
        return Err(QueryError::misuse("the level has no object index"));
    };
    let (reader, table) = (Arc::clone(&scan.reader), Arc::clone(&ids));
    let resolved = scan
        .workers
        .run(move || count_objects(&reader, &walk, &kept, false, &table))
        .await?;
    scan.remarks();
    summary.chunks_read = scan.chunks;
    summary.cells_read = scan.cells;
    summary.warnings.append(&mut scan.warnings);
    for chunk in scan.held.drain(..) {
        held.insert(scan.reader.table.get(chunk.slot).to_vec(), chunk);
    }
    let hit = |row: u64| {
        resolved
            .counts
            .binary_search_by_key(&row, |(row, _)| u64::from(*row))
            .is_ok()
    };
    let picks = match asked {
        Some(picks) => picks.into_iter().filter(|pick| hit(pick.row)).collect(),
        None => resolved
            .counts
            .iter()
            .map(|(row, _)| {
                let row = u64::from(*row);
                let id = ids.get(row).or_bug("an object without an id")?;
                Ok(Pick { id, row })
            })
            .collect::<Result<_, QueryError>>()?,
    };
    Ok(picks)
}

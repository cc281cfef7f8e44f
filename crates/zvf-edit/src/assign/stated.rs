//! Checks of what the metadata of a table states about its rows.

use arrow_array::RecordBatch;
use zvf_encode::WriteError;
use zvf_encode::arrow::{DELTA, LEVEL, ORDER, SELECTED};

use crate::matching::Scope;

/// Refuses a table of a coarse level, or of links between levels, if its rows are matched by place or by order. An edit changes level 0 and the links
/// in it, which have other places and another order.
pub(super) fn check_level(table: &RecordBatch, by: &str) -> Result<(), WriteError> {
    let stated = table.schema_ref().metadata();
    if let Some(delta) = stated.get(DELTA).filter(|delta| delta.as_str() != "0") {
        let what = format!("rows by {by}");
        let found = format!("links of delta {delta}");
        let expected = "links inside level 0, which edits change: delta 0";
        return Err(WriteError::input(what, found, expected));
    }
    let Some(level) = stated.get(LEVEL).filter(|level| level.as_str() != "0") else {
        return Ok(());
    };
    let expected = "those of level 0, which edits change: a table that was queried there, \
        or one with values that are the same on level 0 (--key COLUMN)";
    Err(WriteError::input(
        format!("rows by {by}"),
        format!("rows of level {level}"),
        expected,
    ))
}

/// Refuses a table whose rows are in the order of objects, if they are matched with the order of the store.
pub(super) fn check_order(table: &RecordBatch, of: Scope) -> Result<(), WriteError> {
    if table.schema_ref().metadata().get(ORDER).map(String::as_str) != Some("object") {
        return Ok(());
    }
    let expected = match of {
        Scope::Vertex => {
            "rows in the order of chunks; --by-object-order takes rows in the order of objects"
        }
        _ => "rows in the order of the store",
    };
    Err(WriteError::input(
        "rows by order",
        "rows in the order of objects",
        expected,
    ))
}

/// Refuses links of an answer that has only a part of the vertices, or has them in another order: their ends are row numbers of that answer.
pub(super) fn check_ends(table: &RecordBatch, by: &str) -> Result<(), WriteError> {
    let stated = table.schema_ref().metadata();
    let found = if stated.contains_key(SELECTED) {
        "row numbers of a query that selected vertices"
    } else if stated.get(ORDER).is_some_and(|order| order == "object") {
        "row numbers of a query in the order of objects"
    } else {
        return Ok(());
    };
    let expected = "numbers of vertices of the store: the table of `zvf links`, the links of a query of all vertices, or object_id and vertex_0, vertex_1, …";
    Err(WriteError::input(format!("column {by}"), found, expected))
}

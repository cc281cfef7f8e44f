//! `zvf query --explain`: the planned reads of a query.

use serde_json::{Value, json};
use zvf_query::{LevelPlan, Query};
use zvf_store::Store;

use crate::context::Context;
use crate::error::Result;
use crate::output::table::{TextTable, count, counted, size};
use crate::output::{print_json, print_text};

/// Prints the plan of a query.
///
/// # Errors
///
/// The errors of the store and the documents.
pub(crate) fn run(
    url: &str,
    store: &Store,
    query: &Query,
    context: &mut Context<'_>,
) -> Result<()> {
    let levels = context.wait_at(url, query.plan(store))?;
    context.warn(&store.warnings());
    if context.common.json {
        let levels: Vec<Value> = levels.iter().map(LevelPlan::to_json).collect();
        return print_json(&json!({ "store": url, "levels": levels, "limit": query.limit }));
    }
    let mut all: String = levels.iter().map(text).collect();
    if let Some(limit) = query.limit {
        let first = counted(limit, "vertex");
        all.push_str(&format!("reading ends with the first {first}\n"));
    }
    print_text(&all)
}

fn text(level: &LevelPlan) -> String {
    let number = level.level();
    let (chunks, listed) = (level.chunks().count() as u64, level.listed());
    let mut lines = Vec::new();
    if chunks > 0 || !level.by_object() {
        lines.push(format!(
            "level {number}: {} of {}, about {} ({} decoded)",
            count(chunks),
            counted(listed, "chunk"),
            counted(level.rows(), "vertex"),
            size(level.bytes()),
        ));
    } else {
        lines.push(format!(
            "level {number}: manifests of the objects first, which determine which of {} are read",
            counted(listed, "chunk")
        ));
    }
    let mut table = TextTable::new(["array", "cells"]);
    for (array, cells) in level.cells() {
        table.row([array, count(cells)]);
    }
    if table.len() > 0 {
        lines.push(table.render(2).trim_end().to_owned());
        lines.push(format!(
            "  {} of requests, {} at a time",
            counted(level.steps().count() as u64, "step"),
            count(level.in_flight() as u64)
        ));
    }
    match (chunks > 0, level.manifests(), level.by_object()) {
        (true, true, true) => {
            lines.push("  manifests beside them, then the cells of the objects found".to_owned())
        }
        (true, true, false) => lines.push("  manifests of objects beside them".to_owned()),
        _ => {}
    }
    lines.join("\n") + "\n"
}

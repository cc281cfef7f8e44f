//! `zvf edit STORE delete --where --bbox --region`: points, or whole objects, by what they are.

use std::collections::BTreeSet;

use serde_json::json;
use zvf_edit::{Edit, EditSummary};
use zvf_query::{Column, Outputs, Query, QuerySpec, Select, Table};
use zvf_store::Names;
use zvf_write::arrow::{column, numbers};

use super::{finish, opened};
use crate::args::DeleteArgs;
use crate::commands::select;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::counted;
use crate::output::{print_json, print_text};

/// The result of the query for the rows to delete.
#[derive(Debug, Default)]
struct Hits {
    /// Chunk and row there.
    rows: Vec<(Vec<i64>, u64)>,
    ids: BTreeSet<i64>,
}

/// Deletes the selected rows; with `--dry-run` nothing is deleted, and there is no summary.
///
/// # Errors
///
/// Usage: terms that do not fit the store, vertices of objects without `--select objects`; I/O.
pub(super) fn run(
    store: &str,
    args: &DeleteArgs,
    context: &mut Context<'_>,
) -> Result<Option<EditSummary>> {
    let mut spec = QuerySpec::new();
    let terms = [("bbox", &args.bbox), ("where", &args.filter)];
    for (member, text) in terms {
        if let Some(text) = text {
            spec.set(member, text)?;
        }
    }
    let mut spec = select::region(&args.region, spec, store, context)?;
    spec.attributes = Names::None;
    spec.own_level_only = true;
    let query = spec.plain()?;
    let only_passing = query.passing.is_some() && !query.is_spatial();
    let whole = args.select.is_some() || spec.relation.is_some() || only_passing;
    if args.dry_run {
        let hits = find(store, query, whole, context)?;
        dry(store, &hits, whole, context)?;
        return Ok(None);
    }
    // No other writer changes the store between the query and the edit: the edit begins first.
    let edit = opened(store, context)?;
    let hits = match find(store, query, whole, context) {
        Ok(hits) => hits,
        Err(error) => {
            context.wait(edit.abandon())??;
            return Err(error);
        }
    };
    let make = async |edit: &mut Edit| match whole {
        true => Ok(edit
            .delete(&hits.ids.into_iter().collect::<Vec<_>>())
            .await?),
        false => Ok(edit.delete_points(&hits.rows).await?),
    };
    finish(store, edit, context, make).map(Some)
}

fn dry(store: &str, hits: &Hits, whole: bool, context: &Context<'_>) -> Result<()> {
    let (objects, points) = (hits.ids.len() as u64, hits.rows.len() as u64);
    if context.common.json {
        let ids = whole.then_some(&hits.ids);
        return print_json(
            &json!({"store": store, "dry_run": true, "vertices": points, "objects": ids}),
        );
    }
    let what = if whole {
        counted(objects, "object")
    } else {
        counted(points, "vertex")
    };
    print_text(&format!("{store}: would delete {what}\n"))
}

fn find(store: &str, mut query: Query, whole: bool, context: &mut Context<'_>) -> Result<Hits> {
    if whole {
        query.select = Select::Objects;
    } else {
        query.columns = vec![Column::Chunk, Column::Row];
    }
    query.outputs = Outputs {
        vertices: !whole,
        links: false,
        objects: whole,
    };
    let failed = |error: CliError| error.at(store);
    let opened = context.open(store, 0, query.need())?;
    let level = context.wait(opened.level(0, &query.need()))?;
    let level = level.map_err(|e| failed(e.into()))?;
    if level.object_index().is_some() != whole {
        let (found, expected) = match whole {
            true => ("whole objects", "vertices: this store has no objects"),
            false => (
                "vertices that belong to objects",
                "ids of objects, or --select objects, which deletes every object with such a vertex as a whole",
            ),
        };
        return Err(CliError::usage(format!(
            "{store}: found {found}, expected {expected}"
        )));
    }
    let mut answer = context
        .wait(zvf_query::query(&opened, query))?
        .map_err(|e| failed(e.into()))?;
    let mut hits = Hits::default();
    while let Some((table, batch)) = context.wait(answer.next())?.map_err(|e| failed(e.into()))? {
        match table {
            Table::Vertices => {
                let chunks = numbers::<i64>("chunk", column(&batch, "chunk")?)?;
                let rows = numbers::<u64>("row", column(&batch, "row")?)?;
                let axes = chunks.len().checked_div(rows.len()).unwrap_or(0);
                let chunks = chunks.chunks_exact(axes.max(1)).map(<[i64]>::to_vec);
                hits.rows.extend(chunks.zip(rows.iter().copied()));
            }
            Table::Objects => {
                let ids = numbers::<i64>("object_id", column(&batch, "object_id")?)?;
                hits.ids.extend(ids.iter());
            }
            _ => {}
        }
    }
    let warnings = answer.summary().warnings.clone();
    context.warn(&warnings);
    Ok(hits)
}

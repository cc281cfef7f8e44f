//! `zvf splits`, and `--split` of `zvf query`: a query cut into pieces.

use serde_json::json;
use zvf_query::{Query, Select, Split, Target};
use zvf_store::Names;

use super::select;
use crate::args::{SplitArg, SplitsArgs};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{TextTable, count, size};
use crate::output::{print_json, print_text};

/// Bytes of a piece where nothing is said.
const BYTES: u64 = 64 << 20;

/// Runs `zvf splits`.
///
/// # Errors
///
/// As the store and the query say.
pub(crate) fn run(args: &SplitsArgs, context: &mut Context<'_>) -> Result<()> {
    let mut query = Query {
        level: args.level,
        own_level_only: args.own_level_only,
        ignore_missing: args.ignore_missing,
        select: args.select.map_or(Select::Vertices, Select::from),
        attributes: select::names(&args.attributes)?,
        ..Query::default()
    };
    select::terms(&args.terms, &mut query)?;
    if let Some(bytes) = context.common.memory_budget {
        query.memory_budget = bytes;
    }
    let target = match (args.count, args.rows, args.bytes) {
        (Some(count), _, _) => Target::Count(count),
        (_, Some(rows), _) => Target::Rows(rows),
        (_, _, bytes) => Target::Bytes(bytes.unwrap_or(BYTES)),
    };
    let splits = cut(&args.store, &query, target, context)?;
    if context.common.json {
        return print_json(&json!({
            "store": args.store,
            "level": args.level,
            "splits": splits,
        }));
    }
    let mut table = TextTable::new(["split", "vertices", "decoded"]);
    for split in &splits {
        let name = format!("{}/{}", split.number, split.count);
        table.row([name, count(split.rows), size(split.bytes)]);
    }
    print_text(&table.render(0))
}

/// The query of one piece.
///
/// # Errors
///
/// As the store and the query say.
pub(crate) fn one(
    url: &str,
    query: &Query,
    split: SplitArg,
    context: &mut Context<'_>,
) -> Result<Query> {
    let splits = cut(url, query, Target::Count(split.count), context)?;
    let found = splits.iter().find(|one| one.number == split.number);
    let found = found.map(Split::query);
    let found = found.ok_or_else(|| {
        CliError::usage(format!(
            "--split: found {} of {}",
            split.number,
            splits.len()
        ))
    })?;
    found.map_err(|e| CliError::from(e).at(url))
}

fn cut(url: &str, query: &Query, target: Target, context: &mut Context<'_>) -> Result<Vec<Split>> {
    let mut need = select::need(query);
    need.object_attributes = Names::None;
    let store = context.open(url, query.level, need)?;
    context
        .wait(query.splits(&store, target))?
        .map_err(|e| CliError::from(e).at(url))
}

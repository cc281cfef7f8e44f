//! `zvf head`: the first rows of a store.

use serde_json::json;
use zvf_query::{Outputs, QuerySpec, Table};

use super::listing::{self, object};
use super::select;
use super::summary::titles;
use crate::args::HeadArgs;
use crate::context::Context;
use crate::error::Result;
use crate::output::table::TextTable;
use crate::output::{print_json, print_text};

/// Runs `zvf head`.
///
/// # Errors
///
/// Usage; as the store and the query say.
pub(crate) fn run(args: &HeadArgs, context: &mut Context<'_>) -> Result<()> {
    let url = args.store.as_str();
    let mut asked = QuerySpec::new();
    select::terms(&args.terms, &mut asked, url, context)?;
    select::level(&args.at, &mut asked);
    asked.limit = Some(args.rows);
    asked.tables = Outputs {
        vertices: true,
        links: false,
        objects: false,
    };
    if !args.columns.is_empty() {
        asked.set("columns", &args.columns.join(","))?;
    }
    let query = select::resolved(asked, url, context)?;
    let store = context.open(url, args.at.level, query.need())?;
    let answer = context.wait_at(url, zvf_query::query(&store, query))?;
    let read = listing::read(context, &store, answer, Table::Vertices, None, None, None);
    let listing = read.map_err(|error| error.at(url))?;
    let rows = listing
        .batches
        .iter()
        .flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch, row)));
    if context.common.json {
        let rows = rows.map(|(batch, row)| object(batch, row));
        return print_json(&json!({
            "store": url,
            "level": args.at.level,
            "levels": listing.levels,
            "rows": rows.collect::<Vec<_>>(),
            "warnings": listing.warnings,
        }));
    }
    let titles = listing.schema.as_deref().map(titles);
    let mut table = TextTable::new(titles.unwrap_or_default());
    for batch in &listing.batches {
        table.batch(batch);
    }
    print_text(&table.render(0))
}

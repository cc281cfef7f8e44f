//! `zvf splits`: a query cut into pieces.

use serde_json::json;
use zvf_query::{Select, Target};
use zvf_store::Names;

use super::select;
use crate::args::SplitsArgs;
use crate::context::Context;
use crate::error::Result;
use crate::output::table::{TextTable, count, size};
use crate::output::{print_json, print_text};

/// Default bytes of a piece.
const BYTES: u64 = 64 << 20;

/// Runs `zvf splits`.
///
/// # Errors
///
/// As the store and the query say.
pub(crate) fn run(args: &SplitsArgs, context: &mut Context<'_>) -> Result<()> {
    let mut spec = select::terms(&args.terms, &args.store, context)?;
    args.at.set(&mut spec);
    spec.select = args.select.map_or(Select::Vertices, Select::from);
    select::related(args.select, &spec)?;
    spec.set("attributes", &args.attributes)?;
    let query = select::resolved(spec, &args.store, context)?;
    let target = match (args.count, args.rows, args.bytes) {
        (Some(count), _, _) => Target::Count(count),
        (_, Some(rows), _) => Target::Rows(rows),
        (_, _, bytes) => Target::Bytes(bytes.unwrap_or(BYTES)),
    };
    let mut need = query.need();
    need.object_attributes = Names::None;
    let store = context.open(&args.store, query.level, need)?;
    let splits = context.wait_at(&args.store, query.splits(&store, target))?;
    if context.common.json {
        return print_json(&json!({
            "store": args.store,
            "level": args.at.level,
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

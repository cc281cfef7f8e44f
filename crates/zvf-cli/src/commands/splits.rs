//! `zvf splits`, and `--split` of `zvf query` and `zvf export`: a query cut into pieces.

use serde_json::json;
use zvf_convert::Format;
use zvf_convert::export::chained;
use zvf_query::{PieceOf, Query, Select, Split, Target};
use zvf_store::{Names, Store};
use zvf_write::Kind;

use super::select;
use crate::args::SplitsArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
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
    let store = open(&args.store, &query, context)?;
    let splits = cut(&store, &query, target, context)?;
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

/// The query of one piece.
///
/// # Errors
///
/// As the store and the query say.
pub(crate) fn one(
    url: &str,
    query: &Query,
    split: PieceOf,
    context: &mut Context<'_>,
) -> Result<Query> {
    let store = open(url, query, context)?;
    of_store(&store, query, split, context)
}

/// The query of one piece that becomes a file: for formats of whole objects, and for kinds with objects that are written whole, it is cut by
/// object. `select` is the requested selection, `links` whether a second table has the links.
///
/// # Errors
///
/// Usage: a file that would lack the links between pieces. The errors of the store and the query.
pub(crate) fn of_file(
    url: &str,
    query: &Query,
    (format, select, links): (Format, Option<Select>, bool),
    split: PieceOf,
    context: &mut Context<'_>,
) -> Result<Query> {
    let store = open(url, query, context)?;
    let kind = store.kind();
    let whole = match select {
        _ if query.relation.is_some() || query.passing.is_some() => true,
        Some(select) => select == Select::Objects,
        None => {
            let objects = [
                Format::Swc,
                Format::Obj,
                Format::Stl,
                Format::Trk,
                Format::Tck,
                Format::Trx,
            ];
            chained(kind) || objects.contains(&format)
        }
    };
    let holds_links = links || matches!(format, Format::Ply | Format::Npz);
    if holds_links && !whole && kind != Kind::PointCloud {
        return Err(CliError::usage(format!(
            "--split: pieces of a {kind} are cut by chunk, and a file of {} would lack the links between them, expected --select objects",
            format.name()
        )));
    }
    let mut query = query.clone();
    query.select = match (whole, select) {
        (true, _) => Select::Objects,
        (false, select) => select.unwrap_or(Select::Vertices),
    };
    of_store(&store, &query, split, context)
}

fn of_store(
    store: &Store,
    query: &Query,
    split: PieceOf,
    context: &mut Context<'_>,
) -> Result<Query> {
    context.wait_at(store.url(), query.piece(store, split))
}

fn open(url: &str, query: &Query, context: &mut Context<'_>) -> Result<Store> {
    let mut need = query.need();
    need.object_attributes = Names::None;
    context.open(url, query.level, need)
}

fn cut(
    store: &Store,
    query: &Query,
    target: Target,
    context: &mut Context<'_>,
) -> Result<Vec<Split>> {
    context.wait_at(store.url(), query.splits(store, target))
}

//! `zvf links`: the stored records of a link family.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_schema::Schema;
use serde_json::{Map, Value, json};
use zvf_convert::output::{Style, write_value};
use zvf_format::keys::format_delta;
use zvf_jobs::{Listing, json_value};
use zvf_query::Table;
use zvf_store::meta::Refinement;
use zvf_store::{Deltas, LinkFamily, Names, Need, Store};

use super::listing::{self, more};
use crate::args::LinksArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::inspect::place::key;
use crate::output::table::{TextTable, counted};
use crate::output::{print_json, print_text};

/// Runs `zvf links`.
///
/// # Errors
///
/// Usage: a level or family that does not exist. The errors of the store.
pub(crate) fn run(args: &LinksArgs, context: &mut Context<'_>) -> Result<()> {
    let url = args.store.as_str();
    zvf_jobs::table_target(args.output.as_deref())?;
    // Both `1` and `+1` are accepted.
    let delta: i32 = args.delta.parse().map_err(|_| {
        CliError::usage(format!(
            "--delta: found {:?}, expected 0, +1, -1 and the like",
            args.delta
        ))
    })?;
    let need = Need {
        link_deltas: Deltas::All,
        link_attributes: Names::All,
        ..Need::nothing()
    };
    let store = context.open(url, args.at.level, need.clone())?;
    let family = find(args, delta, &need, &store, context)?;
    let answer = context.wait_at(
        url,
        zvf_query::list_links(&store, args.at.level, delta, args.at.own_level_only),
    )?;
    let output = args.output.as_deref();
    let listing = listing::read(context, &store, answer, Table::Links, output, args.limit);
    let listing = listing.map_err(|e| e.at(url))?;
    if context.common.json {
        return print_json(&document(args, &family, &listing));
    }
    match listing.files.first() {
        Some(file) => context.remark(&format!(
            "wrote {file}: {}",
            counted(listing.count, "record")
        )),
        None => print_text(&text(args, &family, &listing))?,
    }
    Ok(())
}

/// The family of the level, or of the first level of its chain that has one.
fn find(
    args: &LinksArgs,
    delta: i32,
    need: &Need,
    store: &Store,
    context: &mut Context<'_>,
) -> Result<LinkFamily> {
    let url = args.store.as_str();
    let mut there = Vec::new();
    let mut number = args.at.level;
    loop {
        let level = context.wait_at(url, store.level(number, need))?;
        // An incomplete list would look complete.
        if let Some(refused) = level
            .refused()
            .iter()
            .find(|refused| refused.delta == Some(delta))
        {
            return Err(CliError::malformed(format!("{url}: {refused}")));
        }
        if let Some(family) = level.links(delta) {
            return Ok(family.clone());
        }
        for family in level.link_families() {
            let delta = format_delta(family.delta()).to_string();
            if !there.contains(&delta) {
                there.push(delta);
            }
        }
        let alone = args.at.own_level_only || level.doc().refinement == Refinement::Replace;
        match number.checked_add(1).filter(|_| !alone) {
            Some(next) if store.levels().contains(&next) => number = next,
            _ => break,
        }
    }
    let there = if there.is_empty() {
        "no link families".to_owned()
    } else {
        there.join(", ")
    };
    let delta = format_delta(delta);
    Err(CliError::usage(format!(
        "{url}: level {} has no links of delta {delta}, found {there}",
        args.at.level
    )))
}

/// Calls `each` with the endpoints of every record: chunk and row, in the application's order.
fn records(batch: &RecordBatch, width: usize, mut each: impl FnMut(usize, Vec<(Vec<i64>, u64)>)) {
    let list = |name: &str| {
        batch
            .column_by_name(name)
            .and_then(|column| column.as_fixed_size_list_opt())
    };
    let (Some(chunks), Some(rows)) = (list("chunks"), list("rows")) else {
        return;
    };
    for record in 0..batch.num_rows() {
        let (chunks, rows) = (chunks.value(record), rows.value(record));
        let (Some(chunks), Some(rows)) = (
            chunks.as_primitive_opt::<Int64Type>(),
            rows.as_primitive_opt::<UInt64Type>(),
        ) else {
            return;
        };
        let rank = chunks.values().len().checked_div(width).unwrap_or(0).max(1);
        let ends = chunks
            .values()
            .chunks(rank)
            .map(<[i64]>::to_vec)
            .zip(rows.values().iter().copied())
            .collect();
        each(record, ends);
    }
}

/// Names and columns of the attributes of a batch.
fn attributes(batch: &RecordBatch) -> impl Iterator<Item = (String, &dyn arrow_array::Array)> {
    let names: Vec<String> = batch
        .schema_ref()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    names
        .into_iter()
        .zip(batch.columns().iter().map(AsRef::as_ref))
        .skip(fixed(batch.schema_ref()))
}

/// The number of columns before the attributes: `chunks` and `rows`, and `level` if several levels were read.
fn fixed(schema: &Schema) -> usize {
    match schema.fields().first() {
        Some(first) if first.name() == "level" => 3,
        _ => 2,
    }
}

/// The level of a record, if several levels were read.
fn level_of(batch: &RecordBatch, row: usize) -> Option<Value> {
    match fixed(batch.schema_ref()) {
        3 => batch
            .columns()
            .first()
            .map(|column| json_value(column.as_ref(), row)),
        _ => None,
    }
}

fn document(args: &LinksArgs, family: &LinkFamily, listing: &Listing) -> Value {
    let mut links = Vec::new();
    for batch in listing.rows.iter().flat_map(|rows| &rows.batches) {
        records(batch, family.width(), |row, ends| {
            let ends: Vec<Value> = ends
                .iter()
                .map(|(chunk, row)| json!({ "chunk": chunk, "row": row }))
                .collect();
            let mut link = Map::new();
            link.extend(level_of(batch, row).map(|level| ("level".to_owned(), level)));
            link.insert("endpoints".into(), Value::Array(ends));
            link.extend(attributes(batch).map(|(name, column)| (name, json_value(column, row))));
            links.push(Value::Object(link));
        });
    }
    json!({
        "store": args.store,
        "level": args.at.level,
        "levels": listing.levels,
        "delta": family.delta(),
        "width": family.width(),
        "directed": family.directed(),
        "records": listing.total,
        "truncated": listing.count < listing.total,
        "links": if listing.files.is_empty() { Value::Array(links) } else { Value::Null },
        "files": listing.files,
        "warnings": listing.warnings,
    })
}

fn text(args: &LinksArgs, family: &LinkFamily, listing: &Listing) -> String {
    let names = listing.rows.iter().flat_map(|rows| {
        let fields = rows.schema.fields().iter().skip(fixed(&rows.schema));
        fields.map(|field| field.name().clone())
    });
    let ends = (0..family.width()).map(|k| format!("endpoint {k}"));
    let schema = listing.rows.as_ref().map(|rows| &rows.schema);
    let several = schema.is_some_and(|schema| fixed(schema) == 3);
    let head = ["record", "level"].map(str::to_owned);
    let head = head.into_iter().take(1 + usize::from(several));
    let mut table = TextTable::new(head.chain(ends).chain(names));
    for batch in listing.rows.iter().flat_map(|rows| &rows.batches) {
        records(batch, family.width(), |row, ends| {
            let ends = ends
                .iter()
                .map(|(chunk, row)| format!("{}:{row}", key(chunk)));
            let values = attributes(batch).map(|(_, column)| {
                let mut text = String::new();
                write_value(&mut text, column, row, Style::Text);
                text
            });
            let number = [table.len().to_string()];
            let level = level_of(batch, row).map(|level| level.to_string());
            let number = number.into_iter().chain(level);
            let cells: Vec<String> = number.chain(ends).chain(values).collect();
            table.row(cells);
        });
    }
    let mut out = table.render(0) + &more(listing.count, listing.total);
    let directed = if family.directed() {
        "directed"
    } else {
        "undirected"
    };
    let delta = format_delta(family.delta());
    let records = counted(listing.total, "record");
    out.push_str(&format!(
        "{}, delta {delta}: {records} of {} endpoints, {directed}\n",
        listing::chain(args.at.level, &listing.levels),
        family.width()
    ));
    out
}

//! `zvf objects`: the objects of a level, their sizes and attributes.

use arrow_array::RecordBatch;
use serde_json::{Map, Value, json};
use zvf_query::Table;
use zvf_store::meta::Refinement;
use zvf_store::{Names, Need};

use super::listing::{self, Listing, member};
use crate::args::ObjectsArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{TextTable, count, counted};
use crate::output::{print_json, print_text};

/// Runs `zvf objects`.
///
/// # Errors
///
/// Usage, when the level has no object index or the output's ending is none of a table; as the store says.
pub(crate) fn run(args: &ObjectsArgs, context: &mut Context<'_>) -> Result<()> {
    let url = args.store.as_str();
    let target = listing::format(args.output.as_deref())?;
    let need = Need {
        objects: true,
        object_attributes: Names::All,
        ..Need::nothing()
    };
    let store = context.open(url, args.level, need.clone())?;
    let level = context
        .wait(store.level(args.level, &need))?
        .map_err(|e| CliError::from(e).at(url))?;
    let answer = context
        .wait(zvf_query::list_objects(
            &store,
            args.level,
            args.own_level_only,
        ))?
        .map_err(|e| CliError::from(e).at(url))?;
    if answer.schema(Table::Objects).is_none() {
        return Err(CliError::usage(format!(
            "{url}: level {} has no object index",
            args.level
        )));
    }
    // The objects of several levels are known only when all are read.
    let alone = args.own_level_only || level.doc().refinement == Refinement::Replace;
    let total = match level.object_index().filter(|_| alone) {
        Some(index) => {
            let ids = context.wait(index.ids())?;
            Some(ids.map_err(|e| CliError::from(e).at(url))?.count())
        }
        None => None,
    };
    let listing = listing::read(
        context,
        &store,
        answer,
        Table::Objects,
        target,
        args.limit,
        total,
    )
    .map_err(|e| e.at(url))?;
    if context.common.json {
        return print_json(&document(args, &listing));
    }
    match &listing.file {
        Some(file) => context.remark(&format!(
            "wrote {}: {}",
            file.display(),
            counted(listing.rows, "object")
        )),
        None => print_text(&text(args.level, &listing))?,
    }
    Ok(())
}

fn document(args: &ObjectsArgs, listing: &Listing) -> Value {
    let objects: Vec<Value> = listing.batches.iter().flat_map(members).collect();
    json!({
        "store": args.store,
        "level": args.level,
        "levels": listing.levels,
        "total": listing.total,
        "truncated": listing.rows < listing.total,
        "objects": if listing.file.is_none() { Value::Array(objects) } else { Value::Null },
        "files": listing.file.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
        "warnings": listing.warnings,
    })
}

/// The rows of a batch as JSON objects.
fn members(batch: &RecordBatch) -> Vec<Value> {
    let schema = batch.schema();
    let row = |row: usize| {
        let mut members = Map::new();
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            members.insert(field.name().clone(), member(column.as_ref(), row));
        }
        Value::Object(members)
    };
    (0..batch.num_rows()).map(row).collect()
}

fn text(level: u32, listing: &Listing) -> String {
    let titles = listing
        .schema
        .iter()
        .flat_map(|schema| schema.fields().iter().map(|field| field.name().clone()));
    let mut table = TextTable::new(titles);
    for batch in &listing.batches {
        table.batch(batch);
    }
    let mut out = table.render(0);
    let left = listing.total.saturating_sub(listing.rows);
    if left > 0 {
        out.push_str(&format!("… {} more\n", count(left)));
    }
    out.push_str(&format!(
        "{}: {}\n",
        listing::chain(level, &listing.levels),
        counted(listing.total, "object")
    ));
    out
}

//! `zvf objects`: the objects of a level, their sizes and attributes.

use serde::ser::{Serialize, SerializeMap, Serializer};
use zvf_jobs::{Listing, TableRows};
use zvf_query::Table;
use zvf_store::meta::Refinement;
use zvf_store::{Names, Need};

use super::listing;
use crate::args::ObjectsArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{TextTable, counted};
use crate::output::{print_json, print_text};

/// Runs `zvf objects`.
///
/// # Errors
///
/// Usage, when the level has no object index or the output's ending is none of a table; as the store says.
pub(crate) fn run(args: &ObjectsArgs, context: &mut Context<'_>) -> Result<()> {
    let url = args.store.as_str();
    zvf_jobs::table_target(args.output.as_deref())?;
    let need = Need {
        objects: true,
        object_attributes: Names::All,
        ..Need::nothing()
    };
    let store = context.open(url, args.at.level, need.clone())?;
    let level = context.wait_at(url, store.level(args.at.level, &need))?;
    let answer = context.wait_at(
        url,
        zvf_query::list_objects(&store, args.at.level, args.at.own_level_only),
    )?;
    if answer.schema(Table::Objects).is_none() {
        return Err(CliError::usage(format!(
            "{url}: level {} has no object index",
            args.at.level
        )));
    }
    // The objects of several levels are known only when all are read.
    let alone = args.at.own_level_only || level.doc().refinement == Refinement::Replace;
    let total = match level.object_index().filter(|_| alone) {
        Some(index) => {
            let ids = context.wait(index.ids())?;
            Some(ids.map_err(|e| CliError::from(e).at(url))?.count())
        }
        None => None,
    };
    let progress = context.progress("rows");
    let add = |rows| progress.add(rows);
    let limits = (args.output.as_deref(), args.limit, total);
    let read = Listing::read(&store, answer, Table::Objects, limits, &add);
    let listing = context.wait_at(url, read)?;
    drop(progress);
    context.warn(&listing.warnings);
    if context.common.json {
        return print_json(&Document {
            args,
            listing: &listing,
        });
    }
    match (listing.files.first(), &listing.rows) {
        (Some(file), _) => context.remark(&format!(
            "wrote {file}: {}",
            counted(listing.count, "object")
        )),
        (None, Some(rows)) => print_text(&text(args.at.level, rows, &listing))?,
        (None, None) => {}
    }
    Ok(())
}

/// What `--json` prints. The rows are made one after another, as they are written: as values they take fifty times the memory of
/// their columns.
struct Document<'a> {
    args: &'a ObjectsArgs,
    listing: &'a Listing,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let (args, listing) = (self.args, self.listing);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("store", &args.store)?;
        map.serialize_entry("level", &args.at.level)?;
        map.serialize_entry("levels", &listing.levels)?;
        map.serialize_entry("total", &listing.total)?;
        map.serialize_entry("truncated", &(listing.count < listing.total))?;
        map.serialize_entry("objects", &listing.rows)?;
        map.serialize_entry("files", &listing.files)?;
        map.serialize_entry("warnings", &listing.warnings)?;
        map.end()
    }
}

fn text(level: u32, rows: &TableRows, listing: &Listing) -> String {
    format!(
        "{}{}{}: {}\n",
        TextTable::of(rows, TextTable::batch),
        listing::more(listing.count, listing.total),
        listing::chain(level, &listing.levels),
        counted(listing.total, "object")
    )
}

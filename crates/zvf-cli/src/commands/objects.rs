//! `zvf objects`: the objects of a level, their sizes and attributes.

use arrow_array::RecordBatch;
use serde::ser::{Serialize, SerializeMap, Serializer};
use zvf_query::Table;
use zvf_store::meta::Refinement;
use zvf_store::{Names, Need};

use super::listing::{self, Listing, object};
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
    let target = listing::format(args.output.as_deref())?;
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
        return print_json(&Document {
            args,
            listing: &listing,
        });
    }
    match &listing.file {
        Some(file) => context.remark(&format!(
            "wrote {}: {}",
            file.display(),
            counted(listing.rows, "object")
        )),
        None => print_text(&text(args.at.level, &listing))?,
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
        let files = listing.file.iter().map(|file| file.display().to_string());
        let rows = listing.file.is_none().then_some(Rows(&listing.batches));
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("store", &args.store)?;
        map.serialize_entry("level", &args.at.level)?;
        map.serialize_entry("levels", &listing.levels)?;
        map.serialize_entry("total", &listing.total)?;
        map.serialize_entry("truncated", &(listing.rows < listing.total))?;
        map.serialize_entry("objects", &rows)?;
        map.serialize_entry("files", &files.collect::<Vec<_>>())?;
        map.serialize_entry("warnings", &listing.warnings)?;
        map.end()
    }
}

/// The rows of batches as JSON objects.
struct Rows<'a>(&'a [RecordBatch]);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let rows = |batch| (0..RecordBatch::num_rows(batch)).map(move |row| object(batch, row));
        serializer.collect_seq(self.0.iter().flat_map(rows))
    }
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
    let mut out = listing.text(&table);
    out.push_str(&format!(
        "{}: {}\n",
        listing::chain(level, &listing.levels),
        counted(listing.total, "object")
    ));
    out
}

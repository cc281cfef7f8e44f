//! `zvf export --format precomputed`: the views of a store as files.

use serde_json::json;
use zvf_jobs::Staged;
use zvf_neuroglancer::{View, export_precomputed};
use zvf_store::Need;

use crate::args::ExportArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::counted;
use crate::output::{print_json, print_text};

/// Decoded bytes of one query of a view.
const BUDGET: u64 = 64 << 20;

/// Runs `zvf export STORE DIR --format precomputed`.
///
/// # Errors
///
/// Usage, for a folder with files of another program; the errors of the store, its queries and the disk.
pub(super) fn run(args: &ExportArgs, context: &mut Context<'_>) -> Result<()> {
    if args.options().at.level != 0 {
        return Err(CliError::usage(
            "--level: found another level, expected 0: views are made of level 0 and the levels that complete it",
        ));
    }
    let budget = context.common.memory_budget.unwrap_or(BUDGET);
    let store = context.open(&args.options().store, 0, Need::all())?;
    // An earlier export of the same views is replaced; views of other stores are not.
    let views = View::of(store.kind()).iter().map(|view| view.name());
    let staged = Staged::directory(args.file(), &views.collect::<Vec<_>>())?;
    let stop = crate::output::interrupt::stop();
    let shards = args.shards;
    let folder = staged.path().to_owned();
    let done = context.wait(async move {
        stop.or(export_precomputed(store, &folder, budget, shards))
            .await
    })??;
    let done = done.map_err(|error| CliError::from(error).at(&args.options().store))?;
    let place = staged.commit()?;
    let left_out = done
        .left_out
        .iter()
        .map(|name| match name.strip_prefix("axis ") {
            Some(axis) => format!("axis {axis} is left out: views have three axes of space"),
            None => format!("attribute {name} is left out: no view has values of its type"),
        });
    let rounded = done.rounded.iter().map(|name| {
        format!(
            "attribute {name} is written as float32: numbers with more digits, such as whole numbers above 16,777,216, are rounded, and those beyond 3.4e38 become infinite (0 in segment properties)"
        )
    });
    let notes = done.notes.iter().cloned();
    let warnings: Vec<String> = left_out.chain(rounded).chain(notes).collect();
    context.warn(&warnings);
    let place = place.display().to_string();
    if context.common.json {
        return print_json(&json!({
            "store": args.options().store,
            "folder": place,
            "format": "precomputed",
            "views": done.views,
            "files": done.files,
            "bytes": done.bytes,
            "warnings": warnings,
        }));
    }
    print_text(&format!(
        "{place}: precomputed {}, {}\n",
        done.views.join(" and "),
        counted(done.files, "file")
    ))
}

//! `zvf vacuum`: removes the remains of edits.

use serde_json::json;

use crate::args::VacuumArgs;
use crate::context::Context;
use crate::error::Result;
use crate::output::table::counted;
use crate::output::{print_json, print_text};

/// Runs `zvf vacuum`.
///
/// # Errors
///
/// Usage, when the store cannot be edited; as the storage says.
pub(crate) fn run(args: &VacuumArgs, context: &mut Context<'_>) -> Result<()> {
    let options = context.write_options(false);
    let store = args.store.as_str();
    let done = context.wait_at(store, zvf_edit::vacuum(store, options))?;
    if context.common.json {
        return print_json(&json!({
            "store": store,
            "rows": done.rows,
            "leftovers": done.leftovers,
            "put": done.edit.put,
            "removed": done.edit.removed,
        }));
    }
    print_text(&format!(
        "{store}: dropped {}, removed {}\n",
        counted(done.rows, "row of a deleted object"),
        counted(done.leftovers, "leftover"),
    ))
}

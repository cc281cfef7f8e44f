//! `zvf merge`: several stores as one.

use serde_json::json;
use zvf_convert::{MergeOptions, merge};
use zvf_store::{Need, Store};

use crate::args::MergeArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::counted;
use crate::output::{print_json, print_text};

/// Runs `zvf merge`.
///
/// # Errors
///
/// Usage: stores, ids or attributes that do not fit together; as the stores and the writer say.
pub(crate) fn run(args: &MergeArgs, context: &mut Context<'_>) -> Result<()> {
    let Some((out, sources)) = args.stores.split_last() else {
        return Err(CliError::usage(
            "found no stores, expected two and the new one",
        ));
    };
    let stores = sources.iter().map(|url| context.open(url, 0, Need::all()));
    let stores: Vec<Store> = stores.collect::<Result<_>>()?;
    let progress = context.steps();
    let mut options = MergeOptions::default();
    options.write = context.write_options(args.clear_leftovers);
    options.write = options.write.with_progress(move |done| progress.step(done));
    options.ids = args.ids.rule(0);
    options.query_budget = context.common.memory_budget;
    let done = context.wait(merge(&stores, out, options))??;
    context.warn(&done.notes);
    let (vertices, objects): (u64, u64) = (done.vertices.iter().sum(), done.objects.iter().sum());
    if context.common.json {
        let each = sources.iter().zip(&done.vertices).zip(&done.objects);
        let each = each.map(|((store, vertices), objects)| {
            json!({"store": store, "vertices": vertices, "objects": objects})
        });
        return print_json(&json!({
            "store": out,
            "stores": each.collect::<Vec<_>>(),
            "vertices": vertices,
            "objects": objects,
            "groups": done.groups,
            "notes": done.notes,
        }));
    }
    let mut parts = vec![counted(vertices, "vertex")];
    for (count, one) in [(objects, "object"), (done.groups, "group")] {
        if count > 0 {
            parts.push(counted(count, one));
        }
    }
    let from = counted(sources.len() as u64, "store");
    print_text(&format!("{out}: {} of {from}\n", parts.join(", ")))
}

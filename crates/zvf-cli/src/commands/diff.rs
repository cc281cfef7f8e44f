//! `zvf diff`: what differs between two stores.

use serde_json::json;
use zvf_query::compare;
use zvf_store::Need;

use super::listing;
use crate::args::DiffArgs;
use crate::context::Context;
use crate::error::{Class, CliError, Result};
use crate::output::table::{count, counted};
use crate::output::{print_json, print_text};

/// Runs `zvf diff`.
///
/// # Errors
///
/// Findings, where the stores differ; as the stores say.
pub(crate) fn run(args: &DiffArgs, context: &mut Context<'_>) -> Result<()> {
    let first = context.open(&args.first, 0, Need::nothing())?;
    let second = context.open(&args.second, 0, Need::nothing())?;
    let progress = context.progress("vertices");
    let mut read = |rows| progress.add(rows);
    let found = context.wait(compare(&first, &second, args.limit, &mut read))??;
    drop(progress);
    for store in [&first, &second] {
        context.warn(&listing::warnings(store, &[]));
    }
    if context.common.json {
        let mut document = found.to_json();
        if let Some(members) = document.as_object_mut() {
            members.insert("stores".to_owned(), json!([args.first, args.second]));
        }
        print_json(&document)?;
    } else {
        let mut out = String::new();
        for difference in &found.differences {
            out.push_str(&format!("{difference}\n"));
        }
        let left = found.total.saturating_sub(found.differences.len() as u64);
        if left > 0 {
            out.push_str(&format!("… {} more\n", count(left)));
        }
        if found.is_same() {
            let [vertices, _] = found.vertices;
            let [objects, _] = found.objects;
            let [links, _] = found.links;
            out = format!(
                "no differences: {}, {}, {}\n",
                counted(vertices, "vertex"),
                counted(objects, "object"),
                counted(links, "link")
            );
        }
        print_text(&out)?;
    }
    if found.is_same() {
        return Ok(());
    }
    let more = if found.more { " or more" } else { "" };
    let total = counted(found.total, "difference");
    let message = format!("{} and {}: {total}{more}", args.first, args.second);
    Err(CliError::new(Class::Findings, message))
}

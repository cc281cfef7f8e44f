//! `zvf group`: groups of objects, also by the labels at their ends.

use serde_json::json;
use zvf_convert::{EndLabels, LabelPairs, label_pairs};
use zvf_jobs::TableFile;
use zvf_store::Need;

use super::edit::{self, finish, opened};
use crate::args::{EditArgs, EditWhat, GroupArgs, GroupWhat};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{count, counted};
use crate::output::{print_json, print_text};

/// Runs `zvf group`.
///
/// # Errors
///
/// Usage: ids that do not exist, groups that exist already, a volume without labels or one that does not fit. The errors of the store and the volume.
pub(crate) fn run(args: &GroupArgs, context: &mut Context<'_>) -> Result<()> {
    match &args.ends {
        Some(volume) => by_ends(args, volume, context),
        None => {
            let what = EditWhat::Group(GroupWhat::Add {
                group: args.name.clone(),
                members: args.add.clone(),
            });
            let args = EditArgs {
                store: args.store.clone(),
                what,
            };
            edit::run(&args, context)
        }
    }
}

/// Finds the labels at all ends.
fn pairs(args: &GroupArgs, volume: &str, context: &mut Context<'_>) -> Result<LabelPairs> {
    let url = args.store.as_str();
    let store = context.open(url, 0, Need::nothing())?;
    let source = EndLabels {
        volume: volume.to_owned(),
        affine: args.affine.clone(),
        means: args.mean.clone(),
    };
    let options = context.options();
    let progress = context.progress("objects");
    let told = |lines| progress.add(lines);
    context.wait_at(url, label_pairs(&store, &source, &options.io, &told))
}

fn by_ends(args: &GroupArgs, volume: &str, context: &mut Context<'_>) -> Result<()> {
    let url = args.store.as_str();
    if args.name.is_empty() {
        return Err(CliError::usage("NAME: found nothing, expected a text"));
    }
    let target = zvf_jobs::table_target(args.matrix.as_deref())?;
    // The edit is opened before the query runs, so that no other writer changes the store between the two.
    let opened = opened(url, context)?;
    let start = format!("{}/", args.name);
    let prepared = pairs(args, volume, context).and_then(|found| {
        let table = found.table()?;
        let sink = match target {
            Some((path, format)) => {
                let mut sink = TableFile::create(path, format, &table.schema())?;
                sink.write(&table)?;
                Some(sink)
            }
            None => None,
        };
        Ok((found, sink))
    });
    let (found, sink) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            context.wait(opened.abandon())??;
            return Err(error);
        }
    };
    let groups = found.groups(&args.name);
    let mut replaced = 0;
    let done = finish(url, opened, context, async |edit| {
        match args.replace {
            true => replaced = edit.delete_groups_below(&start).await?,
            false => {
                let there = edit.groups().await?;
                let there = there.names().iter().find(|name| name.starts_with(&start));
                if let Some(there) = there {
                    return Err(CliError::usage(format!(
                        "{}: found the group {there}, expected none {start}..: --replace deletes them first, another NAME keeps them",
                        args.name
                    )));
                }
            }
        }
        if !groups.members().is_empty() {
            edit.add_groups(&groups).await?;
        }
        Ok(())
    })?;
    let file = sink.map(TableFile::finish).transpose()?;
    for remark in &found.remarks {
        context.remark(remark);
    }
    let mut warnings = Vec::new();
    if found.objects > 0 && found.outside == found.objects.saturating_mul(2) {
        warnings.push("every end lies outside of the volume: is the affine right?".to_owned());
        context.warn(&warnings);
    }
    let paired = found.objects.saturating_sub(found.unpaired);
    let made = found.pairs.len() as u64;
    if context.common.json {
        return print_json(&json!({
            "store": url,
            "name": args.name,
            "volume": volume,
            "objects": found.objects,
            "grouped": paired,
            "background": found.unpaired,
            "ends_outside": found.outside,
            "groups": made,
            "groups_replaced": replaced,
            "matrix": file.as_ref().map(|file| file.display().to_string()),
            "notes": found.remarks,
            "warnings": warnings,
            "put": done.put,
            "removed": done.removed,
        }));
    }
    if let Some(file) = file {
        context.remark(&format!(
            "wrote {}: {}",
            file.display(),
            counted(made, "pair")
        ));
    }
    print_text(&format!(
        "{url}: {} in {} {start}.., {} with an end in the background, {} outside of the volume\n",
        counted(paired, "object"),
        counted(made, "group"),
        count(found.unpaired),
        counted(found.outside, "end"),
    ))
}

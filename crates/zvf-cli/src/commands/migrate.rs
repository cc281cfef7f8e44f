//! `zvf migrate` and `zvf rechunk`: copies of stores, compared with what they were made from.

use std::sync::Arc;

use zvf_migrate::{MigrateOptions, Report, migrate};
use zvf_store::Need;
use zvf_write::WriteError;

use crate::args::{MigrateArgs, StorageArgs};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{count, counted};
use crate::output::{print_json, print_text};

/// Runs `zvf migrate`.
///
/// # Errors
///
/// The errors of the stores; malformed, if the verification finds a difference or, with `--strict`, if anything cannot be copied.
pub(crate) fn run(args: &MigrateArgs, context: &mut Context<'_>) -> Result<()> {
    let options = options(&args.storage, context).with_target(args.to.into());
    copy(&args.source, &args.target, options, context)
}

/// Options of a copy as the flags say.
pub(super) fn options(args: &StorageArgs, context: &Context<'_>) -> MigrateOptions {
    let mut write = context.write_options(args.clear_leftovers);
    write.journal.clone_from(&args.journal);
    let progress = Arc::new(context.progress("vertices"));
    let mut options = MigrateOptions::new()
        .with_write(write)
        .with_strict(args.strict)
        .with_unverified(context.common.no_verify)
        .with_progress(Arc::new(move |n| progress.add(n)));
    if let Some(codec) = &args.codec {
        options = options.with_compression(codec.clone());
    }
    if let Some(shards) = &args.shard_shape {
        options = options.with_shard_shape(shards.clone());
    }
    options
}

/// Copies, and reports the result.
pub(super) fn copy(
    from: &str,
    to: &str,
    options: MigrateOptions,
    context: &mut Context<'_>,
) -> Result<()> {
    let store = context.open(from, 0, Need::all())?;
    let report = context
        .wait(migrate(&store, to, options))?
        .map_err(|error| {
            // Only the comparison reads the copy; any other malformed data is in the source.
            let compared = matches!(error, WriteError::Differs { .. });
            let read = !compared && error.class() == zvf_store::Class::Malformed;
            CliError::from(error).at(if read { from } else { to })
        })?;
    for loss in &report.losses {
        context.warn(&[format!("not carried: {}: {}", loss.place, loss.what)]);
    }
    if context.common.json {
        return print_json(&report.to_json(from, to));
    }
    print_text(&text(from, to, &report))
}

fn text(from: &str, to: &str, report: &Report) -> String {
    let mut out = format!(
        "{to}: version {}, from {from}, version {}\n",
        report.to, report.from
    );
    for level in &report.levels {
        let mut parts = vec![
            counted(level.vertices, "vertex"),
            counted(level.chunks, "chunk"),
            counted(level.fragments, "fragment"),
        ];
        let more = [
            (level.objects, "object"),
            (level.links, "link"),
            (level.groups, "group"),
        ];
        parts.extend(
            more.iter()
                .filter(|(n, _)| *n > 0)
                .map(|(n, one)| counted(*n, one)),
        );
        out.push_str(&format!("  level {}: {}\n", level.level, parts.join(", ")));
    }
    for repair in &report.repairs {
        let (place, what) = (&repair.place, &repair.what);
        out.push_str(&format!(
            "  repaired: {place}: {what} ({})\n",
            count(repair.count)
        ));
    }
    for note in &report.notes {
        out.push_str(&format!("  note: {note}\n"));
    }
    if let Some(verified) = report.verified {
        let parts = [
            counted(verified.vertices, "vertex"),
            counted(verified.objects, "object"),
            counted(verified.links, "link"),
            counted(verified.values, "value"),
        ];
        out.push_str(&format!(
            "  compared: {}; no difference\n",
            parts.join(", ")
        ));
    }
    out
}

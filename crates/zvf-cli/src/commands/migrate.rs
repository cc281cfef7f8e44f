//! `zvf migrate` and `zvf rechunk`: copies of stores, compared with what they were made from.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use zvf_store::Need;
use zvf_write::{Compression, MigrateOptions, Report, migrate};

use crate::args::TargetArg;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{count, counted};
use crate::output::{print_json, print_text};

/// `zvf migrate`
#[derive(Debug, Args)]
#[command(after_help = "\
Everything goes along: all levels, objects with their ids and order, attributes, links in their direction, groups, axes, headers, \
and members that nobody knows. Chunks keep their rows. Known defects of old releases are repaired and counted; what cannot be \
carried is listed, and with --strict is an error. Then both stores are read once more and compared (left out with --no-verify). \
DST is there as a whole or not at all. With --journal a copy that was interrupted goes on where it was, while SRC is what it was.

In 0.8.1 the id of an object is the number of its row: ids below 0 or above 67108863 are an error, and ids that no object has become \
objects without vertices. Chunks below 0 have no place in shards.

Examples:
  zvf migrate old.zarrvectors new.zarrvectors --to 0.9.2
  zvf migrate s3://bucket/old.zarrvectors new.zarrvectors --to 0.9.2 --strict
  zvf migrate new.zarrvectors for-old-tools.zarrvectors --to 0.8.1
  zvf migrate old.zarrvectors s3://bucket/new.zarrvectors --to 0.9.2 --journal copy.journal
  zvf migrate old.zarrvectors new.zarrvectors --to 0.9.2 --shard-shape 8,8,8 --codec zstd --json | jq .losses")]
pub(crate) struct MigrateArgs {
    /// Path or URL of the old store
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// Path or URL of the new store; nothing may lie there
    #[arg(value_name = "DST")]
    pub(crate) target: String,
    /// Version of the new store
    #[arg(long, value_enum, value_name = "VERSION")]
    pub(crate) to: TargetArg,
    /// How it is stored, and what is an error.
    #[command(flatten)]
    pub(crate) storage: StorageArgs,
}

/// How a copy is stored, and what is an error.
#[derive(Debug, Args)]
pub(crate) struct StorageArgs {
    /// How chunks are compressed: none, zstd, zstd:LEVEL, gzip, gzip:LEVEL, blosc, or a list of Zarr codecs in JSON
    /// [default: as in SRC, where that can be told]
    #[arg(long, value_name = "CODEC")]
    pub(crate) codec: Option<Compression>,
    /// Chunks of a shard along each axis; `none`: every chunk is a file of its own [default: as in SRC]
    #[arg(long, value_name = "X,Y,..|none", value_parser = shards)]
    pub(crate) shard_shape: Option<Shards>,
    /// Fails where anything cannot be carried, instead of listing it
    #[arg(long)]
    pub(crate) strict: bool,
    /// Removes what an interrupted copy left at DST; a finished store is never touched
    #[arg(long)]
    pub(crate) clear_leftovers: bool,
    /// Keeps what is copied in FILE until DST is there: the same command goes on after an interruption
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
}

/// Chunks of a shard along each axis; none: no shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shards(Vec<u64>);

fn shards(text: &str) -> std::result::Result<Shards, String> {
    if text == "none" {
        return Ok(Shards(Vec::new()));
    }
    let numbers = text.split(',').map(|part| part.trim().parse::<u64>());
    let numbers = numbers.collect::<std::result::Result<Vec<u64>, _>>();
    match numbers {
        Ok(numbers) if numbers.iter().all(|n| *n > 0) => Ok(Shards(numbers)),
        _ => Err("expected numbers above 0, or none".to_owned()),
    }
}

/// Runs `zvf migrate`.
///
/// # Errors
///
/// As the stores say; malformed, with `--strict`, where anything cannot be carried, and where the second look finds a
/// difference.
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
    if let Some(Shards(cells)) = &args.shard_shape {
        options = options.with_shard_shape(cells.clone());
    }
    options
}

/// Copies and tells what became of it.
pub(super) fn copy(
    from: &str,
    to: &str,
    options: MigrateOptions,
    context: &mut Context<'_>,
) -> Result<()> {
    let store = context.open(from, 0, Need::all())?;
    let report = context
        .wait(migrate(&store, to, options))?
        .map_err(|error| CliError::from(error).at(to))?;
    for loss in &report.losses {
        context.warn(&[format!("not carried: {}: {}", loss.place, loss.what)]);
    }
    if context.common.json {
        return print_json(&document(from, to, &report));
    }
    print_text(&text(from, to, &report))
}

fn document(from: &str, to: &str, report: &Report) -> Value {
    let levels = report.levels.iter().map(|level| {
        json!({
            "level": level.level,
            "vertices": level.vertices,
            "chunks": level.chunks,
            "fragments": level.fragments,
            "objects": level.objects,
            "links": level.links,
            "groups": level.groups,
        })
    });
    let repairs = report.repairs.iter();
    let losses = report.losses.iter();
    json!({
        "source": from,
        "store": to,
        "from": report.from,
        "to": report.to,
        "levels": levels.collect::<Vec<_>>(),
        "repairs": repairs
            .map(|one| json!({"place": one.place, "what": one.what, "count": one.count}))
            .collect::<Vec<_>>(),
        "losses": losses
            .map(|one| json!({"place": one.place, "what": one.what}))
            .collect::<Vec<_>>(),
        "notes": report.notes,
        "verified": report.verified.map(|verified| json!({
            "vertices": verified.vertices,
            "objects": verified.objects,
            "links": verified.links,
            "values": verified.values,
        })),
    })
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

#[cfg(test)]
mod tests {
    use super::{Shards, shards};

    #[test]
    fn shapes_of_shards() {
        assert_eq!(shards("2, 4,1"), Ok(Shards(vec![2, 4, 1])));
        assert_eq!(shards("none"), Ok(Shards(Vec::new())));
        assert!(shards("2,0").is_err() && shards("").is_err() && shards("a").is_err());
    }
}

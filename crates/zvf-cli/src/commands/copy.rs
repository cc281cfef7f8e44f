//! `zvf copy`: a store byte for byte in another place.

use std::sync::Arc;

use zvf_migrate::{CopyOptions, copy};

use crate::args::CopyArgs;
use crate::context::Context;
use crate::error::Result;
use crate::output::table::{counted, size};
use crate::output::{print_json, print_text};

/// Runs `zvf copy`.
///
/// # Errors
///
/// Usage: no store at the source, one that cannot be listed, something at the target; malformed: a copy that holds something else; as the storage says.
pub(crate) fn run(args: &CopyArgs, context: &mut Context<'_>) -> Result<()> {
    let (from, to) = (args.source.as_str(), args.target.as_str());
    let progress = context.bytes();
    let options = CopyOptions::new()
        .with_write(context.write_options(args.clear_leftovers))
        .with_read_back(args.verify)
        .with_progress(Arc::new(move |done, total| progress.set(done, total)));
    let done = context.wait_at(to, copy(from, to, options))?;
    if context.common.json {
        return print_json(&done.to_json(from, to));
    }
    let mut line = format!(
        "{to}: copied {}, {}, from {from}",
        counted(done.files, "file"),
        size(done.bytes)
    );
    if done.skipped_files > 0 {
        let skipped = counted(done.skipped_files, "file");
        line.push_str(&format!("; {skipped} were there already"));
    }
    if done.read_back {
        line.push_str("; read back, no difference");
    }
    print_text(&format!("{line}\n"))
}

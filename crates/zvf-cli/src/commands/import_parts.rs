//! `zvf import --status` and `--discard-parts`: distributed writes before their commit.

use serde_json::json;
use zvf_jobs::PartsInfo;
use zvf_write::{Attempt, FinishedPart, PartStatus, PartedStore, PartsStage, PartsStatus};

use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{counted, joined};
use crate::output::{print_json, print_text};

/// The parts of a distributed write; `None` if none was begun at this address.
fn status_of(store: &str, context: &mut Context<'_>) -> Result<Option<PartsStatus>> {
    let options = context.write_options(false);
    Ok(context.wait(PartedStore::status(store, &options))??)
}

/// Runs `zvf import --status`.
///
/// # Errors
///
/// Usage: no distributed write was begun; errors of the storage.
pub(super) fn status(store: &str, context: &mut Context<'_>) -> Result<()> {
    match status_of(store, context)? {
        Some(status) => {
            let info = PartsInfo::new(store, status);
            match context.common.json {
                true => print_json(&info),
                false => print_text(&text(&info)),
            }
        }
        None => {
            let what = "no store in parts was begun there, or it was committed; `zvf info` shows what is there";
            Err(CliError::usage(format!("{store}: {what}")))
        }
    }
}

/// The state of the parts for people.
pub(super) fn text(info: &PartsInfo) -> String {
    let (store, status) = (&info.store, &info.status);
    let stage = match status.stage {
        PartsStage::Begun => "parts are written; --commit makes the store",
        PartsStage::Committing => {
            "--commit is merging its parts, or was interrupted; --commit finishes it"
        }
        PartsStage::Committed => {
            "the store is complete; --commit removes the files that are left of its parts"
        }
        PartsStage::Discarded => {
            "--discard-parts is removing its parts, or was interrupted; --discard-parts finishes it"
        }
        other => other.name(),
    };
    let mut text = format!("{store}: {stage}\n");
    let count = |state| status.names(state).len();
    let expected = match status.declared {
        true => format!(", {} declared", status.parts.len()),
        false => String::new(),
    };
    text.push_str(&format!(
        "{} finished, {} begun, {} waiting{expected}\n",
        count("finished"),
        count("begun"),
        count("waiting")
    ));
    for part in &status.parts {
        text.push_str(&format!("  {}: {}\n", part.name, state(part)));
    }
    text
}

fn state(part: &PartStatus) -> String {
    let begun = || joined(part.begun.iter().map(attempt), "; ");
    match &part.finished {
        None if part.begun.is_empty() => "waiting".to_owned(),
        None => format!("begun by {}", begun()),
        Some(found) if part.begun.is_empty() => finished(found),
        Some(found) => format!("{}; begun again by {}", finished(found), begun()),
    }
}

fn finished(found: &FinishedPart) -> String {
    format!(
        "finished, {}, {}, {}; by {} ({})",
        counted(found.vertices, "vertex"),
        counted(found.chunks, "chunk"),
        counted(found.objects, "object"),
        found.by,
        found.owner
    )
}

fn attempt(one: &Attempt) -> String {
    match &one.by {
        Some(by) if by.has_ended() => format!("{by} ({}), which has ended", one.owner),
        Some(by) => format!("{by} ({})", one.owner),
        None => one.owner.clone(),
    }
}

/// Runs `zvf import --discard-parts`.
///
/// # Errors
///
/// Usage: no distributed write was begun; errors of the storage.
pub(super) fn discard(store: &str, context: &mut Context<'_>) -> Result<()> {
    if let Some(status) = status_of(store, context)? {
        let names = status.names("finished");
        // The parts of a committed store cannot be discarded.
        if !names.is_empty() && status.stage != PartsStage::Committed {
            context.remark(&format!(
                "{store}: removing {}: {}",
                counted(names.len() as u64, "finished part"),
                names.join(", ")
            ));
        }
    }
    let options = context.write_options(false);
    let names = context.wait(PartedStore::discard(store, options))??;
    if context.common.json {
        return print_json(&json!({"store": store, "step": "discarded", "finished": names}));
    }
    let what = match names.len() {
        0 => "no part was finished".to_owned(),
        count => format!(
            "{} removed: {}",
            counted(count as u64, "finished part"),
            names.join(", ")
        ),
    };
    print_text(&format!("{store}: discarded; {what}\n"))
}

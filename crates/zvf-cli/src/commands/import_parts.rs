//! The parts of a distributed write before its commit, for people.

use zvf_jobs::PartsInfo;
use zvf_write::{Attempt, FinishedPart, PartStatus, PartsStage};

use crate::output::table::{counted, joined};

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

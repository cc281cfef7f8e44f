//! `zvf repair`: corrects documents from the cells.

use std::fmt::Write as _;

use serde_json::Value;
use zvf_format::int::wide;
use zvf_jobs::{JobReport, RepairReport, adds_root};
use zvf_validate::repair::{Applied, MemberChange, RepairPlan};
use zvf_validate::{Check, Severity};

use super::jobs;
use super::validate::totals;
use crate::args::{PlanFormat, RepairArgs};
use crate::context::Context;
use crate::error::{Class, CliError, Result};
use crate::output::table::{count, counted as counted_of, joined};
use crate::output::{print_json, print_text};

/// Runs `zvf repair`.
///
/// # Errors
///
/// Findings, as documented in the help; the errors of the job.
pub(crate) fn run(args: &RepairArgs, context: &mut Context<'_>) -> Result<()> {
    let (job, print) = args.of_job.job();
    let Some(JobReport::Repair(done)) = jobs::of_command(job.name(), &job, print, context)? else {
        return Ok(());
    };
    if context.common.json || args.format == Some(PlanFormat::Json) {
        print_json(&done)?;
    } else {
        print_text(&text(&done))?;
    }
    findings(&done).map_or(Ok(()), Err)
}

/// The error for exit code 1: the plan has changes that were not applied, or problems remain.
pub(super) fn findings(done: &RepairReport) -> Option<CliError> {
    let RepairReport::Planned { plan, applied } = done else {
        return None;
    };
    let (report, to_do) = match applied {
        Some(applied) => (&applied.report, 0),
        None => (&plan.after, plan.changes.len()),
    };
    if to_do == 0 && report.is_clean(Severity::Error) {
        return None;
    }
    let store = &plan.store;
    let message = match to_do {
        0 => format!("{store}: {} left", totals(report)),
        _ => format!(
            "{store}: {} to make, --apply makes them",
            counted(to_do, "change")
        ),
    };
    Some(CliError::new(Class::Findings, message))
}

/// A count with its noun.
fn counted(n: usize, one: &str) -> String {
    counted_of(wide(n), one)
}

/// Length in bytes of the longest value that is shown completely.
const LONGEST: usize = 60;

/// A short text of a value.
fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let text = value.to_string();
    if text.len() <= LONGEST {
        return text;
    }
    match value {
        Value::Array(list) => format!("a list of {}", count(wide(list.len()))),
        Value::Object(members) => format!("an object of {}", counted(members.len(), "member")),
        _ => {
            let end = text.floor_char_boundary(LONGEST);
            format!("{}…", text.get(..end).unwrap_or_default())
        }
    }
}

/// The plan and its result, for people.
pub(super) fn text(done: &RepairReport) -> String {
    let (plan, applied) = match done {
        RepairReport::Planned { plan, applied } => (plan, applied.as_deref()),
        RepairReport::Undone {
            store, documents, ..
        } => return format!("{store}: restored {}\n", counted(*documents, "document")),
    };
    let mut text = String::new();
    let found = totals(&plan.before);
    let _ = writeln!(text, "{}: {found}", plan.store);
    let mut before = "";
    for change in &plan.changes {
        if change.document != before {
            let _ = writeln!(text, "\n{}", change.document);
            before = &change.document;
        }
        let (old, new) = (shown(change.old.as_ref()), shown(change.new.as_ref()));
        let _ = writeln!(text, "  {}: {old} -> {new}", change.pointer);
        let _ = writeln!(text, "    {}; basis: {}", settles(change), change.why);
    }
    given_up(&mut text, plan);
    left(&mut text, plan);
    match applied {
        None if plan.changes.is_empty() => text.push_str("\nnothing to change\n"),
        None => {
            let history = usize::from(adds_root(plan));
            let documents = counted(plan.documents.len() + history, "document");
            let documents = match history {
                0 => documents,
                _ => format!("{documents}, with the entry of the repair in zarr.json"),
            };
            let changes = counted(plan.changes.len(), "change");
            let then = totals(&plan.after);
            let _ = writeln!(
                text,
                "\n{changes} in {documents}; nothing was written\nleft then: {then}"
            );
        }
        Some(applied) => changed(&mut text, applied),
    }
    text
}

fn changed(text: &mut String, applied: &Applied) {
    match &applied.backup {
        None => text.push_str("\nnothing to change\n"),
        Some(backup) => {
            let documents = counted(applied.documents, "document");
            let _ = writeln!(
                text,
                "\nchanged {documents}; the old ones are kept at {backup}"
            );
        }
    }
    let _ = writeln!(text, "left now: {}", totals(&applied.report));
}

fn settles(change: &MemberChange) -> String {
    let infos = change.checks.iter().map(|one| one.info());
    joined(
        infos.map(|info| format!("{} {}", info.code, info.title)),
        ", ",
    )
}

/// Most findings of one check that are shown.
const MOST: usize = 5;

/// Lists the lost cells that are given up: their data reads as missing.
fn given_up(text: &mut String, plan: &RepairPlan) {
    if plan.given_up.is_empty() {
        return;
    }
    let cells = counted(plan.given_up.len(), "lost cell");
    let _ = writeln!(text, "\ngiven up, {cells}: the data reads as missing");
    for one in &plan.given_up {
        let _ = writeln!(text, "  {}", one.place);
    }
}

/// Remaining findings, by check and reason.
fn left(text: &mut String, plan: &RepairPlan) {
    let mut before: Option<(Check, &str)> = None;
    let mut shown = 0;
    for one in &plan.left {
        let now = (one.finding.check, one.why.as_str());
        if before != Some(now) {
            let info = one.finding.check.info();
            let _ = writeln!(
                text,
                "\nleft alone, {} {} {}: {}",
                info.severity, info.code, info.title, one.why
            );
            before = Some(now);
            shown = 0;
        }
        shown += 1;
        if shown <= MOST {
            let finding = &one.finding;
            let _ = writeln!(
                text,
                "  {}: found {}, expected {}",
                finding.place, finding.found, finding.expected
            );
        } else if shown == MOST + 1 {
            text.push_str("  and more: `zvf validate` shows them\n");
        }
    }
}

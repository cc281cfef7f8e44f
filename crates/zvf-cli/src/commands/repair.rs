//! `zvf repair`: documents that follow from the cells are made right again.

use std::fmt::Write as _;

use serde_json::{Value, json};
use zvf_format::int::wide;
use zvf_validate::repair::{Applied, Change, Plan, RepairOptions, apply, document, plan, undo};
use zvf_validate::{Check, Depth, Severity};

use super::validate::totals;
use crate::args::{PlanFormat, RepairArgs};
use crate::context::Context;
use crate::error::{Class, CliError, Result};
use crate::output::table::{count, counted as counted_of};
use crate::output::{print_json, print_text};

/// Runs `zvf repair`.
///
/// # Errors
///
/// Findings, as the help says; usage, for an older store or an unfinished change; as the storage says.
pub(crate) fn run(args: &RepairArgs, context: &mut Context<'_>) -> Result<()> {
    let store = args.store.as_str();
    let progress = context.progress("cells");
    let mut options = RepairOptions::default()
        .with_write(context.write_options(false))
        .with_depth(Depth::from_number(args.level).unwrap_or(Depth::Multiscale))
        .with_accept_loss(args.accept_loss)
        .with_progress(move |step| progress.add(step.added));
    if let Some(only) = &args.only {
        options = options.with_only(only.clone());
    }
    if let Some(backup) = &args.undo {
        let work = undo(store, backup, args.force, &options);
        let documents = context.wait_at(store, work)?;
        if context.common.json {
            return print_json(&json!({"store": store, "backup": backup, "documents": documents}));
        }
        let restored = counted(documents, "document");
        return print_text(&format!("{store}: put back {restored}\n"));
    }
    let planned = context.wait_at(store, plan(store, &options))?;
    let applied = if args.apply {
        let work = apply(&planned, args.backup.as_deref(), &options);
        Some(context.wait_at(store, work)?)
    } else {
        None
    };
    let as_json = context.common.json || args.format == Some(PlanFormat::Json);
    if as_json {
        print_json(&document(&planned, applied.as_ref()))?;
    } else {
        print_text(&text(&planned, applied.as_ref()))?;
    }
    judge(store, &planned, applied.as_ref())
}

/// The result for the exit code.
fn judge(store: &str, plan: &Plan, applied: Option<&Applied>) -> Result<()> {
    let (report, to_do) = match applied {
        Some(applied) => (&applied.report, 0),
        None => (&plan.after, plan.changes.len()),
    };
    if to_do == 0 && report.is_clean(Severity::Error) {
        return Ok(());
    }
    let message = match to_do {
        0 => format!("{store}: {} left", totals(report)),
        _ => format!(
            "{store}: {} to make, --apply makes them",
            counted(to_do, "change")
        ),
    };
    Err(CliError::new(Class::Findings, message))
}

/// So many of something.
fn counted(n: usize, one: &str) -> String {
    counted_of(wide(n), one)
}

/// Longest value that is shown whole.
const LONGEST: usize = 60;

/// A value in few words.
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
fn text(plan: &Plan, applied: Option<&Applied>) -> String {
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
        let _ = writeln!(text, "    {}; follows from {}", settles(change), change.why);
    }
    given_up(&mut text, plan);
    left(&mut text, plan);
    match applied {
        None if plan.changes.is_empty() => text.push_str("\nnothing to change\n"),
        None => {
            let documents = counted(plan.documents.len(), "document");
            let changes = counted(plan.changes.len(), "change");
            let then = totals(&plan.after);
            let _ = writeln!(
                text,
                "\n{changes} in {documents}; nothing was written\nleft then: {then}"
            );
        }
        Some(applied) => done(&mut text, applied),
    }
    text
}

fn done(text: &mut String, applied: &Applied) {
    match &applied.backup {
        None => text.push_str("\nnothing to change\n"),
        Some(backup) => {
            let documents = counted(applied.documents, "document");
            let _ = writeln!(
                text,
                "\nchanged {documents}; as they were they are kept at {backup}"
            );
        }
    }
    let _ = writeln!(text, "left now: {}", totals(&applied.report));
}

fn settles(change: &Change) -> String {
    let codes = change.checks.iter().map(|one| {
        let info = one.info();
        format!("{} {}", info.code, info.title)
    });
    codes.collect::<Vec<_>>().join(", ")
}

/// Most findings of one check that are shown.
const MOST: usize = 5;

/// Lost cells that no list names any more.
fn given_up(text: &mut String, plan: &Plan) {
    if plan.given_up.is_empty() {
        return;
    }
    let cells = counted(plan.given_up.len(), "lost cell");
    let _ = writeln!(
        text,
        "\ngiven up, {cells}: what was in them reads as missing"
    );
    for one in &plan.given_up {
        let _ = writeln!(text, "  {}", one.place);
    }
}

/// Findings that stay, by check and reason.
fn left(text: &mut String, plan: &Plan) {
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

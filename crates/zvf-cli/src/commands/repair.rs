//! `zvf repair`: documents that follow from the cells are made right again.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use zvf_repair::{Applied, Change, Plan, RepairOptions, apply, plan, undo};
use zvf_validate::{Check, Depth, Report, Severity};

use super::validate::{told, totals};
use crate::context::Context;
use crate::error::{Class, CliError, Result};
use crate::output::table::{count, counted as counted_of};
use crate::output::{print_json, print_text};

/// `zvf repair`
#[derive(Debug, Args)]
#[command(after_help = "\
Derives presence lists, counts, bounds, what arrays repeat of their paths and the root of its levels, from the cells that are there.
Without --apply it only says what it would do. No payload is ever touched: what only a payload could settle is left, with the
reason; `zvf validate --list-checks --json` says for each check whether it is settled. Stores before 0.9 are refused: copy them
with `zvf migrate`. Documents that change are kept as they were beside the store; --undo puts them back.

Exit code 0: nothing to do, or all errors are settled; 1: without --apply, there is something to do or an error that stays; with
it, errors are left.

Examples:
  zvf repair brain.zarrvectors
  zvf repair brain.zarrvectors --apply
  zvf repair s3://bucket/brain.zarrvectors --only ZVF-L3-0012,cell-listed --apply --backup s3://bucket/kept/brain
  zvf repair brain.zarrvectors --undo brain.zarrvectors.backup-1f03a9c2b7d4e650")]
pub(crate) struct RepairArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// Does it, and looks at the store again
    #[arg(long)]
    pub(crate) apply: bool,
    /// Settles findings of these checks only, by code or name
    #[arg(long, value_name = "CHECK,..", value_delimiter = ',', value_parser = check)]
    pub(crate) only: Option<Vec<Check>>,
    /// The deepest level of checks
    #[arg(long, value_name = "1..5", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=5))]
    pub(crate) level: u8,
    /// Where documents are kept as they were [default: beside the store]
    #[arg(long, value_name = "ADDRESS", requires = "apply")]
    pub(crate) backup: Option<String>,
    /// Puts back the documents that were kept there
    #[arg(long, value_name = "BACKUP", conflicts_with_all = ["apply", "only", "format"])]
    pub(crate) undo: Option<String>,
    /// Puts them back also where they are not those that the repair wrote
    #[arg(long, requires = "undo")]
    pub(crate) force: bool,
    /// Form of the plan; --json is the same as --format json
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<PlanFormat>,
}

/// Form of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
}

/// A check by its code or name.
fn check(text: &str) -> std::result::Result<Check, String> {
    let known = Check::all();
    let named = known.iter().find(|info| info.title == text);
    let found = named.map(|info| info.check);
    found.or_else(|| Check::from_code(text)).ok_or_else(|| {
        "no check has this code or name; `zvf validate --list-checks` lists them".to_owned()
    })
}

/// Runs `zvf repair`.
///
/// # Errors
///
/// Findings, as the help says; usage, for an older store or an unfinished change; as the storage says.
pub(crate) fn run(args: &RepairArgs, context: &mut Context<'_>) -> Result<()> {
    let store = args.store.as_str();
    let at = |error: zvf_repair::RepairError| CliError::from(error).at(store);
    let mut options = RepairOptions::default()
        .with_write(context.write_options(false))
        .with_depth(Depth::from_number(args.level).unwrap_or(Depth::Multiscale))
        .with_progress(told(context));
    if let Some(only) = &args.only {
        options = options.with_only(only.clone());
    }
    if let Some(backup) = &args.undo {
        let work = undo(store, backup, args.force, &options);
        let documents = context.wait(work)?.map_err(at)?;
        if context.common.json {
            return print_json(&json!({"store": store, "backup": backup, "documents": documents}));
        }
        let restored = counted(documents, "document");
        return print_text(&format!("{store}: put back {restored}\n"));
    }
    let planned = context.wait(plan(store, &options))?.map_err(at)?;
    let applied = if args.apply {
        let work = apply(&planned, args.backup.as_deref(), &options);
        Some(context.wait(work)?.map_err(at)?)
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

/// What the exit code says.
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

/// A count as it is printed.
fn wide(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
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

/// The plan, and what was done, for people.
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

fn counts(report: &Report) -> Value {
    json!({
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "notes": report.count(Severity::Note),
    })
}

/// The plan, and what was done, for programs.
fn document(plan: &Plan, applied: Option<&Applied>) -> Value {
    let changes: Vec<Value> = plan
        .changes
        .iter()
        .map(|one| {
            let codes = one.checks.iter().map(|check| check.code().to_string());
            json!({
                "document": one.document,
                "pointer": one.pointer,
                "old": one.old,
                "new": one.new,
                "settles": codes.collect::<Vec<_>>(),
                "why": one.why,
            })
        })
        .collect();
    let left: Vec<Value> = plan
        .left
        .iter()
        .map(|one| {
            let info = one.finding.check.info();
            json!({
                "code": info.code.to_string(),
                "title": info.title,
                "severity": info.severity.to_string(),
                "place": one.finding.place.to_string(),
                "found": one.finding.found,
                "expected": one.finding.expected,
                "why": one.why,
            })
        })
        .collect();
    json!({
        "store": plan.store,
        "applied": applied.is_some(),
        "backup": applied.and_then(|one| one.backup.as_deref()),
        "documents": plan.documents.iter().map(|one| &one.key).collect::<Vec<_>>(),
        "changes": changes,
        "left": left,
        "before": counts(&plan.before),
        "after": counts(applied.map_or(&plan.after, |one| &one.report)),
    })
}

//! `zvf validate`: checks a store for errors.

use std::fmt::Write as _;
use std::path::Path;

use zvf_jobs::{JobReport, Staged, is_special};
use zvf_validate::{Check, CheckInfo, Report, Severity};

use super::jobs;
use crate::args::{ReportFormat, ValidateArgs};
use crate::context::Context;
use crate::error::{Class, CliError, Result};
use crate::output::table::{count, counted, size};
use crate::output::{print_json, print_text};

/// Runs `zvf validate`.
///
/// # Errors
///
/// Findings of the severity of `--fail-on` or higher; usage: a level or check that does not exist; I/O.
pub(crate) fn run(args: &ValidateArgs, context: &mut Context<'_>) -> Result<()> {
    let format = args.format.unwrap_or(if context.common.json {
        ReportFormat::Json
    } else {
        ReportFormat::Text
    });
    if let Some(code) = &args.explain {
        return explain(code, format);
    }
    let Some((job, print)) = args.job() else {
        return list(format);
    };
    let report = match jobs::of_command(job.name(), &job, print, context)? {
        Some(JobReport::Validate(report)) => report.0,
        _ => return Ok(()),
    };
    let document = match format {
        ReportFormat::Text => text(&report),
        ReportFormat::Json => format!("{:#}\n", zvf_validate::json(&report)),
        ReportFormat::Sarif => format!("{:#}\n", zvf_validate::sarif(&report)),
        ReportFormat::Junit => zvf_validate::junit(&report),
    };
    match &args.output {
        None => print_text(&document)?,
        Some(path) => write_file(path, &document)?,
    }
    let worst = Severity::from(args.fail_on);
    if report.is_clean(worst) {
        return Ok(());
    }
    Err(findings(&report))
}

/// The error for the findings of a report.
pub(super) fn findings(report: &Report) -> CliError {
    let message = format!("{}: {}", report.store, totals(report));
    CliError::new(Class::Findings, message)
}

/// Writes the report to a file, completely or not at all.
fn write_file(path: &Path, document: &str) -> Result<()> {
    let failed = |error: std::io::Error| CliError::file("write", path, &error);
    if is_special(path) {
        return std::fs::write(path, document).map_err(failed);
    }
    let staged = Staged::file(path)?;
    std::fs::write(staged.path(), document).map_err(failed)?;
    staged.commit()?;
    Ok(())
}

pub(super) fn totals(report: &Report) -> String {
    format!(
        "{}, {}, {}",
        counted(report.count(Severity::Error), "error"),
        counted(report.count(Severity::Warning), "warning"),
        counted(report.count(Severity::Note), "note"),
    )
}

/// The report as text, by check, with the rule and the advice of each.
pub(super) fn text(report: &Report) -> String {
    let mut text = String::new();
    let version = report.version.as_deref().unwrap_or("unknown");
    let kind = report.kind.as_deref().unwrap_or("unknown");
    let _ = writeln!(
        text,
        "{}: format {version}, {kind}, checked to level {}",
        report.store,
        report.depth.number()
    );
    for (check, times) in &report.counts {
        let CheckInfo {
            code,
            severity,
            rule,
            hint,
            source,
            ..
        } = check.info();
        let _ = writeln!(text, "\n{severity} {code}: {rule} ({source})");
        let shown = report.findings.iter().filter(|one| one.check == *check);
        let mut left = *times;
        for one in shown {
            let _ = writeln!(
                text,
                "  {}: found {}, expected {}",
                one.place, one.found, one.expected
            );
            left = left.saturating_sub(1);
        }
        if left > 0 {
            let _ = writeln!(text, "  and {} more", count(left));
        }
        let _ = writeln!(text, "  {hint}");
    }
    for skipped in &report.skipped {
        let _ = writeln!(text, "\nnot checked: {skipped}");
    }
    let seen = report.seen;
    let _ = writeln!(
        text,
        "\n{}\nchecked {}, {} ({}), {}, {}, {}",
        totals(report),
        counted(seen.documents, "document"),
        counted(seen.cells, "cell"),
        size(seen.bytes),
        counted(seen.vertices, "vertex"),
        counted(seen.links, "link"),
        counted(seen.objects, "object"),
    );
    text
}

/// A check as JSON.
fn document(info: &CheckInfo) -> serde_json::Value {
    serde_json::json!({
        "code": info.code.to_string(),
        "level": info.code.depth().number(),
        "title": info.title,
        "severity": info.severity.to_string(),
        "rule": info.rule,
        "source": info.source,
        "versions": info.versions,
        "kinds": info.kinds,
        "hint": info.hint,
        "repair": info.check.repairable().to_string(),
    })
}

/// Explains the check with a code, such as `ZVF-L3-0040`, or name, such as `link-cell`.
fn explain(code: &str, format: ReportFormat) -> Result<()> {
    let wanted = |info: &CheckInfo| {
        info.code.to_string().eq_ignore_ascii_case(code) || info.title.eq_ignore_ascii_case(code)
    };
    let Some(info) = Check::all().into_iter().find(wanted) else {
        return Err(CliError::usage(format!(
            "--explain: found {code:?}, expected a code or name that `zvf validate --list-checks` prints"
        )));
    };
    if format != ReportFormat::Text {
        return print_json(&document(&info));
    }
    let CheckInfo {
        code,
        severity,
        title,
        rule,
        hint,
        source,
        versions,
        kinds,
        ..
    } = info;
    print_text(&format!(
        "{code} {title}\n  rule      {rule}\n  severity  {severity}\n  applies   to {versions}, {kinds}\n  source    {source}\n  \
         help      {hint}\n  zvf repair settles it: {}\n",
        info.check.repairable()
    ))
}

/// The table of checks.
fn list(format: ReportFormat) -> Result<()> {
    let all = Check::all();
    if format != ReportFormat::Text {
        let rows: Vec<serde_json::Value> = all.iter().map(document).collect();
        return print_json(&serde_json::Value::from(rows));
    }
    let mut text = String::new();
    for info in all {
        let _ = writeln!(
            text,
            "{}  {:7}  {:26} {}",
            info.code,
            info.severity.to_string(),
            info.title,
            info.rule
        );
    }
    print_text(&text)
}

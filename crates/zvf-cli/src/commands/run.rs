//! Runs commands that are jobs of `zvf-jobs`, and prints their reports; `zvf run` and `zvf schema`.

use std::io::{Read, stdin};
use std::path::Path;

use zvf_jobs::{AppendReport, JobReport, Jobs, VerbatimReport};
use zvf_validate::Severity;

#[cfg(feature = "plot")]
use super::plot;
use super::{
    diff, doctor, edit, export, head, import, info, jobs, links, measure, merge, migrate, objects,
    pyramid, query, repair, resample, split, splits, stats, validate,
};
#[cfg(feature = "volumes")]
use super::{group, volume};
use crate::args::{Command, RunArgs, SchemaArgs};
use crate::context::Context;
use crate::error::{Class, CliError, Result};
#[cfg(feature = "volumes")]
use crate::output::table::count;
use crate::output::table::{counted, size};
use crate::output::{print_json, print_text};

/// Runs a command that is a job and prints its report.
///
/// # Errors
///
/// The errors of the job.
pub(super) fn command(command: &Command, context: &mut Context<'_>) -> Result<()> {
    let Some((job, print)) = command.job() else {
        return Err(defect("a command without a job"));
    };
    let name = match command {
        Command::Get(_) => "get",
        _ => job.name(),
    };
    match jobs::of_command(name, &job, print, context)? {
        Some(report) => {
            match context.common.json {
                true => print_json(&report)?,
                false => show(&report, context)?,
            }
            findings(&report).map_or(Ok(()), Err)
        }
        None => Ok(()),
    }
}

/// Prints a report as text; if its rows were written to a file, prints a line on stderr that names the file.
fn show(report: &JobReport, context: &Context<'_>) -> Result<()> {
    match report {
        JobReport::Query(done) => return query::show(done, context),
        JobReport::Rows(done) => return head::show(done, context),
        #[cfg(feature = "plot")]
        JobReport::Plot(done) => {
            plot::show(done, context);
            return Ok(());
        }
        _ => {}
    }
    let written = report.written();
    if let Some((file, count, what)) = written {
        context.remark(&format!("wrote {file}: {}", counted(count, what)));
    }
    match report {
        #[cfg(feature = "volumes")]
        JobReport::Group(_) => print_text(&text(report)?),
        _ if written.is_some() => Ok(()),
        _ => print_text(&text(report)?),
    }
}

/// The error for a report with findings.
fn findings(report: &JobReport) -> Option<CliError> {
    match report {
        JobReport::Validate(done) if !done.0.is_clean(Severity::Error) => {
            Some(validate::findings(&done.0))
        }
        JobReport::Diff(done) => diff::findings(done),
        JobReport::Repair(done) => repair::findings(done),
        _ => None,
    }
}

/// The error for a defect of this program.
#[cold]
fn defect(what: &str) -> CliError {
    let what = format!("{what}; this is a defect of zvf, please report it");
    CliError::new(Class::Bug, what)
}

/// A report as text.
fn text(report: &JobReport) -> Result<String> {
    Ok(match report {
        JobReport::Append(done) => appended(done),
        JobReport::Import(done) => import::text(done),
        JobReport::Vacuum(done) => format!(
            "{}: dropped {} of deleted objects, removed {}\n",
            done.store,
            counted(done.rows, "row"),
            counted(done.leftovers, "leftover"),
        ),
        JobReport::Edit(done) => edit::text(done),
        JobReport::Validate(done) => validate::text(&done.0),
        JobReport::Pyramid(done) => pyramid::text(done),
        JobReport::Verbatim(done) => copied(done),
        JobReport::Merge(done) => merge::text(done),
        JobReport::Resample(done) => resample::text(done),
        JobReport::Repair(done) => repair::text(done),
        JobReport::Export(done) => export::text(done),
        JobReport::Links(done) => links::text(done),
        JobReport::Split(done) => split::text(done),
        JobReport::Splits(done) => splits::text(done),
        JobReport::Create(done) => format!(
            "{}: {}, empty, positions {}\n",
            done.store, done.kind, done.position_type
        ),
        #[cfg(feature = "volumes")]
        JobReport::Sample(done) => format!(
            "{}: attribute {} of {} for {}, {} of them outside of the volume\n",
            done.store,
            done.attribute,
            done.dtype,
            counted(done.vertices, "vertex"),
            count(done.outside),
        ),
        #[cfg(feature = "volumes")]
        JobReport::Group(done) => group::text(done),
        #[cfg(feature = "volumes")]
        JobReport::VolumeInfo(done) => volume::info(done),
        #[cfg(feature = "volumes")]
        JobReport::VolumeSlice(done) => volume::sliced(done),
        #[cfg(feature = "volumes")]
        JobReport::VolumeConvert(done) => volume::converted(done),
        JobReport::Doctor(done) => doctor::text(done),
        JobReport::Stats(done) => stats::text(done),
        JobReport::Measure(done) => measure::text(done),
        JobReport::Info(done) => info::text(done),
        JobReport::Objects(done) => objects::text(done),
        JobReport::Diff(done) => diff::text(done),
        JobReport::Copy(done) => migrate::text(&done.source, &done.store, &done.report),
        _ => return Err(defect("a report without a text")),
    })
}

/// The text of the report of `append`.
fn appended(done: &AppendReport) -> String {
    let vertices = counted(done.vertices.unsigned_abs(), "vertex");
    let chunks = counted(done.chunks, "chunk");
    let objects = match done.ids.len() {
        0 => String::new(),
        1 => format!("; object {}", done.listed_ids()),
        _ => format!("; objects {}", done.listed_ids()),
    };
    format!(
        "{}: {vertices} appended, in {chunks}{objects}\n",
        done.store
    )
}

/// The text of the report of `copy`.
fn copied(done: &VerbatimReport) -> String {
    let (target, report) = (&done.target, &done.report);
    let files = counted(report.files, "file");
    let (bytes, source) = (size(report.bytes), &done.source);
    let mut line = format!("{target}: copied {files}, {bytes}, from {source}");
    if report.skipped_files > 0 {
        let skipped = counted(report.skipped_files, "file");
        line.push_str(&format!("; {skipped} were there already"));
    }
    if report.read_back {
        line.push_str("; read back, no difference");
    }
    format!("{line}\n")
}

/// Runs `zvf run`.
///
/// # Errors
///
/// I/O: the file cannot be read. Usage: a file without valid jobs. The errors of the jobs. Findings: a validation found errors, a comparison found
/// differences, or a repair left problems.
pub(super) fn run(args: &RunArgs, context: &mut Context<'_>) -> Result<()> {
    let listed = zvf_jobs::parse(read(&args.file)?.trim_start_matches('\u{feff}'))?;
    let mut reports = Vec::new();
    let mut found = None;
    let mut outcome = Ok(());
    for job in listed.as_slice() {
        match jobs::report(job, &CliError::from, context) {
            Ok(report) => {
                found = report.as_ref().and_then(findings).or(found);
                if let (Some(report), false) = (&report, context.common.json) {
                    show(report, context)?;
                }
                reports.push(report);
            }
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    match &listed {
        Jobs::List(_) if context.common.json => print_json(&reports)?,
        Jobs::One(_) if context.common.json => {
            reports.iter().flatten().try_for_each(print_json)?;
        }
        _ => {}
    }
    outcome.and(found.map_or(Ok(()), Err))
}

/// The text of a file, or of stdin.
fn read(path: &Path) -> Result<String> {
    let text = match path == Path::new("-") {
        true => {
            let mut text = String::new();
            stdin().read_to_string(&mut text).map(|_| text)
        }
        false => std::fs::read_to_string(path),
    };
    text.map_err(|error| CliError::file("read", path, &error))
}

/// Runs `zvf schema`.
///
/// # Errors
///
/// I/O.
pub(super) fn schema(args: &SchemaArgs) -> Result<()> {
    let schema = zvf_jobs::schema(args.job.as_deref());
    print_json(&schema.ok_or_else(|| defect("a job without a schema"))?)
}

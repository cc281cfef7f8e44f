//! Commands that are jobs of `zvf-jobs`, `zvf run` and `zvf schema`: how they run in a terminal, and what is printed.

use std::io::{Read, stdin};
use std::path::Path;
use std::sync::Arc;

use clap::CommandFactory;
use zvf_jobs::{Job, JobError, JobReport, Jobs};
use zvf_validate::Severity;
use zvf_write::WriteError;

use super::{edited, guarded, made, migrate, pyramid, validate};
use crate::args::{Cli, Command, RunArgs, SchemaArgs};
use crate::context::Context;
use crate::error::{Class, CliError, Result};
use crate::output::table::counted;
use crate::output::{print_json, print_text};

/// Runs a command that is a job and prints its report.
///
/// # Errors
///
/// As the job says.
pub(super) fn command(command: &Command, context: &mut Context<'_>) -> Result<()> {
    let Some((job, print)) = command.job() else {
        return Ok(());
    };
    match of_command(&job, print, context)? {
        Some(report) if context.common.json => print_json(&report),
        Some(report) => print_text(&text(&report)),
        None => Ok(()),
    }
}

/// Runs the job of a command, or prints it. `None`: there is no report.
///
/// # Errors
///
/// As the job says; options by the names of their flags.
pub(super) fn of_command(
    job: &Job,
    print: bool,
    context: &mut Context<'_>,
) -> Result<Option<JobReport>> {
    job.check().map_err(|error| by_flag(job, error))?;
    if !print {
        return report(job, context);
    }
    let document = job.to_json().map_err(|error| by_flag(job, error))?;
    print_json(&document).map(|()| None)
}

/// The error of a job that was given by flags.
fn by_flag(job: &Job, error: JobError) -> CliError {
    let JobError::Option { path, what } = error else {
        return error.into();
    };
    let member = path.split('[').next().unwrap_or(&path);
    let program = Cli::command();
    let arguments = program.find_subcommand(job.name()).into_iter();
    let flag = arguments
        .flat_map(|command| command.get_arguments())
        .find(|argument| argument.get_id() == member)
        .and_then(|argument| argument.get_long());
    match flag {
        Some(flag) => CliError::usage(format!("--{flag}: {what}")),
        None => CliError::usage(format!("{path}: {what}")),
    }
}

/// Runs a job. `None`: all is done, but something is left that no reader looks at, of which a warning was said.
fn report(job: &Job, context: &mut Context<'_>) -> Result<Option<JobReport>> {
    let mut with = zvf_jobs::Context::new()
        .with_write(context.write_options(false))
        .with_log(Arc::new(context.log()));
    if !job.unit().is_empty() {
        let progress = context.progress(job.unit());
        with = with.with_progress(Arc::new(move |done| progress.add(done)));
    }
    let done = guarded(changed(job), || {
        match context.wait(zvf_jobs::run(job, &with))? {
            Ok(report) => Ok(Some(report)),
            Err(JobError::Write { source, .. }) if is_left(job, &source) => {
                context.warn(&[source.to_string()]);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    })?;
    match &done {
        Some(JobReport::Pyramid(done)) => {
            let left_out = done.report.left_out().join(", ");
            if !left_out.is_empty() {
                context.warn(&[format!(
                    "attributes of a type that is not carried to coarse levels: {left_out}"
                )]);
            }
            context.warn(&done.report.remarks());
        }
        Some(JobReport::Copy(done)) => {
            let losses = done.report.losses.iter();
            let lost = losses.map(|loss| format!("not carried: {}: {}", loss.place, loss.what));
            context.warn(&lost.collect::<Vec<_>>());
        }
        _ => {}
    }
    Ok(done)
}

/// Whether an error says that all is done but for something that the next writer removes.
fn is_left(job: &Job, error: &WriteError) -> bool {
    match job {
        Job::Pyramid(_) => error.is_committed(),
        _ => matches!(error, WriteError::Tidying { .. }),
    }
}

/// The store that a job changes, and the command that cleans up after an interruption.
fn changed(job: &Job) -> Option<(&str, String)> {
    let store = job.changes()?;
    match job {
        Job::Migrate(options) => made(store, job.name(), options.journal.is_some()),
        Job::Rechunk(options) => made(store, job.name(), options.journal.is_some()),
        Job::Pyramid(_) => {
            let remedy = format!(
                "`zvf pyramid {store} … --clear-leftovers` removes what it left, or finishes what counts already"
            );
            Some((store, remedy))
        }
        _ => edited(store),
    }
}

/// A report for people.
fn text(report: &JobReport) -> String {
    match report {
        JobReport::Vacuum(done) => format!(
            "{}: dropped {}, removed {}\n",
            done.store,
            counted(done.rows, "row of a deleted object"),
            counted(done.leftovers, "leftover"),
        ),
        JobReport::Validate(done) => validate::text(&done.0),
        JobReport::Pyramid(done) => pyramid::text(done),
        JobReport::Copy(done) => migrate::text(&done.source, &done.store, &done.report),
        _ => String::new(),
    }
}

/// Runs `zvf run`.
///
/// # Errors
///
/// Usage: a file with something else than jobs; as the jobs say; findings, if a validation found errors.
pub(super) fn run(args: &RunArgs, context: &mut Context<'_>) -> Result<()> {
    let jobs = zvf_jobs::parse(&read(&args.file)?)?;
    let mut reports = Vec::new();
    let mut found = None;
    let mut outcome = Ok(());
    for job in jobs.as_slice() {
        match report(job, context) {
            Ok(report) => {
                if let Some(JobReport::Validate(done)) = &report
                    && !done.0.is_clean(Severity::Error)
                {
                    found = Some(validate::findings(&done.0));
                }
                if let (Some(report), false) = (&report, context.common.json) {
                    print_text(&text(report))?;
                }
                reports.push(report);
            }
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    match &jobs {
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
    print_json(&schema.ok_or_else(|| {
        CliError::new(
            Class::Bug,
            "a job without a schema; this is a defect of zvf, please report it",
        )
    })?)
}

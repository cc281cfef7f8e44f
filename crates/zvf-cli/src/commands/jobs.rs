//! How a job of `zvf-jobs` runs in a terminal, or is printed.

use std::sync::Arc;

use clap::CommandFactory;
use zvf_jobs::{Job, JobError, JobReport};
use zvf_write::WriteError;

use super::{edited, guarded, made};
use crate::args::Cli;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::print_json;

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

/// Runs a job. Returns `None` if the job is done but could not remove its temporary objects: then it printed a warning, and has no report.
///
/// # Errors
///
/// As the job says.
pub(super) fn report(job: &Job, context: &mut Context<'_>) -> Result<Option<JobReport>> {
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

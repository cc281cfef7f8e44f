//! Runs a job of `zvf-jobs` in a terminal, or prints it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use zvf_jobs::words::argument;
use zvf_jobs::{ImportReport, Job, JobError, JobEvent, JobReport, TemporaryFolder};
use zvf_write::WriteError;

use super::import;
use super::interruption::{edited, guarded, made, stepped};
use crate::args::{Cli, command_of};
use crate::context::Context;
use crate::error::{Class, CliError, Result};
use crate::output::print_json;
use crate::output::table::counted;
use crate::progress::{Progress, Shown};

/// Runs or prints the job of the command `name`. Returns `None` if there is no report.
///
/// # Errors
///
/// The errors of the job, with options named by their flags.
pub(super) fn of_command(
    name: &str,
    job: &Job,
    print: bool,
    context: &mut Context<'_>,
) -> Result<Option<JobReport>> {
    let failed = |error| by_flag(name, error);
    job.check().map_err(failed)?;
    if !print {
        return report(job, &failed, context);
    }
    print_json(&job.to_json().map_err(failed)?).map(|()| None)
}

/// Converts the error of a job that was defined by the flags of a command: members are named by their flags.
pub(super) fn by_flag(command: &str, error: JobError) -> CliError {
    let JobError::Option { mut path, mut what } = error else {
        return error.into();
    };
    let member = path.split(['[', '.']).next().unwrap_or(&path).to_owned();
    let program = Cli::described();
    let command = command_of(&program, command);
    for argument in command.iter().flat_map(|command| command.get_arguments()) {
        let Some(flag) = argument.get_long() else {
            // An argument without a flag is named without the index of the value.
            if argument.get_id() == &*member {
                path.clone_from(&member);
            }
            continue;
        };
        what = what.replace(&format!("`{}`", argument.get_id()), &format!("--{flag}"));
        if argument.get_id() == &*member {
            path = format!("--{flag}");
        }
    }
    CliError::usage(format!("{path}: {what}"))
}

/// Runs a job. Returns `None`, after a warning, if the job is done but could not remove its temporary objects.
///
/// # Errors
///
/// The errors of the job; `failed` converts errors about members.
pub(super) fn report(
    job: &Job,
    failed: &dyn Fn(JobError) -> CliError,
    context: &mut Context<'_>,
) -> Result<Option<JobReport>> {
    let given = job;
    let (mut job, _kept) = with_stdin(given)?;
    if let (Job::Stats(job), false) = (&mut job, context.common.json) {
        // Histograms are shown on request.
        job.bins.get_or_insert(0);
    }
    let job = &job;
    let with = running(job, context);
    let mut done = guarded(changed(job), || {
        match (job, context.wait(zvf_jobs::run(job, &with))?) {
            (_, Ok(report)) => Ok(Some(report)),
            (_, Err(JobError::Write { source, place }))
                if matches!(*source, WriteError::Tidying { .. }) =>
            {
                match is_edit(job) {
                    true => context.remark(&CliError::from(*source).at(&place).to_string()),
                    false => context.warn(&[source.to_string()]),
                }
                Ok(None)
            }
            (Job::Import(import), Err(error @ JobError::Write { .. })) => {
                Err(import::failure(import, error))
            }
            (_, Err(JobError::Write { source, .. }))
                if matches!(
                    *source,
                    WriteError::Busy {
                        resumable: true,
                        ..
                    }
                ) && (is_edit(job)
                    || matches!(
                        job.name(),
                        "append" | "measure" | "vacuum" | "pyramid" | "sample"
                    )) =>
            {
                let hint = match job {
                    Job::Pyramid(_) => {
                        "if its writer is dead, `zvf edit STORE resume` completes or undoes its change, and so does this command with \
                         `--clear-leftovers`"
                    }
                    _ => {
                        "if its writer is dead, `zvf edit STORE resume` completes or undoes its edit"
                    }
                };
                Err(CliError::new(Class::Busy, format!("{source}; {hint}")))
            }
            (_, Err(error)) => Err(failed(error)),
        }
    })?;
    let names = |files: &[PathBuf]| {
        files
            .iter()
            .map(|file| file.display().to_string())
            .collect()
    };
    match (given, &mut done) {
        (Job::Import(given), Some(JobReport::Import(ImportReport::Store(done)))) => {
            done.files = names(&given.files);
        }
        (Job::Append(given), Some(JobReport::Append(done))) => done.files = names(&given.files),
        _ => {}
    }
    if let Some(done) = &done {
        context.warn(done.warnings());
    }
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

/// Replaces standard input of a job by a temporary file; also returns its folder.
fn with_stdin(job: &Job) -> Result<(Job, Option<TemporaryFolder>)> {
    let mut job = job.clone();
    let (files, has_format) = match &mut job {
        Job::Import(job) => (&mut job.files, job.format.is_some()),
        Job::Append(job) => (&mut job.files, job.format.is_some()),
        _ => return Ok((job, None)),
    };
    let kept = import::from_stdin(files, has_format)?;
    Ok((job, kept))
}

/// The context of a job: the options from the flags, and progress and messages on stderr.
pub(super) fn running(job: &Job, context: &Context<'_>) -> zvf_jobs::Context {
    let (unit, shown) = (job.unit(), context.shown(job.name()));
    let counts = move || match unit {
        "bytes" => Progress::of_bytes("run", shown),
        "" => Progress::new("", Shown::Nowhere),
        unit => Progress::new(unit, shown),
    };
    // The display of a download replaces the display of counts.
    let read = Arc::new(Mutex::new(counts()));
    let show = |read: &Mutex<Progress>, change: &dyn Fn(&mut Progress)| {
        if let Ok(mut read) = read.lock() {
            change(&mut read);
        }
    };
    // After all input is read, the display of steps replaces the display of input.
    let steps = Arc::new(OnceLock::<Progress>::new());
    let (stepped, say, warn) = (Arc::clone(&steps), context.remarks(), context.remarks());
    let progress = Arc::clone(&read);
    let write = context.write_options(false).with_progress(move |step| {
        if let Some(display) = stepped.get() {
            display.step(step);
        }
    });
    zvf_jobs::Context::new()
        .with_write(write)
        .with_memory_budget(context.common.memory_budget)
        .with_progress(Arc::new(move |done| {
            show(&progress, &|read| read.add(done));
        }))
        .with_log(Arc::new(move |warning| {
            warn(&format!("warning: {warning}"))
        }))
        .with_events(Arc::new(move |event| match event {
            JobEvent::Note(note) => say(note),
            JobEvent::Downloading(url) => {
                say(&format!("downloading {url}"));
                show(&read, &|read| *read = Progress::of_bytes("download", shown));
            }
            JobEvent::Downloaded { bytes, total } => {
                show(&read, &|read| match *total == Some(*bytes) {
                    true => *read = counts(),
                    false => read.downloaded(*bytes, *total),
                })
            }
            JobEvent::ChunksChosen { spec, reason } => {
                say(&format!("{} ({reason})", import::shape(spec)));
            }
            JobEvent::Resumed { batches, vertices } => say(&format!(
                "continuing after {} and {} of the journal",
                counted(*batches, "batch"),
                counted(*vertices, "vertex")
            )),
            JobEvent::Total(total) => show(&read, &|read| read.total(*total)),
            JobEvent::Writing => {
                show(&read, &|read| read.end());
                let _ = steps.set(Progress::of_steps(shown));
            }
            _ => {}
        }))
}

/// Whether a job is a single edit of a store. `edit-resume` is not, because it finishes another edit.
fn is_edit(job: &Job) -> bool {
    let name = job.name();
    name == "group" || (name.starts_with("edit-") && name != "edit-resume")
}

/// The store that a job changes, and the command that cleans up after an interruption.
fn changed(job: &Job) -> Option<(&str, String)> {
    let store = job.changes()?;
    match job {
        Job::Copy(_) => made(store, job.name(), true),
        Job::Split(_) | Job::Create(_) | Job::Merge(_) => made(store, job.name(), false),
        Job::Resample(options) => made(store, job.name(), options.journal.is_some()),
        Job::Simplify(options) => made(store, job.name(), options.journal.is_some()),
        Job::Migrate(options) => made(store, job.name(), options.journal.is_some()),
        Job::Rechunk(options) => made(store, job.name(), options.journal.is_some()),
        Job::Import(options) if options.is_step() || options.discard_parts => Some(stepped(store)),
        Job::Import(options) => made(store, job.name(), options.journal.is_some()),
        Job::Pyramid(_) => {
            let address = argument(store);
            let remedy = format!(
                "`zvf pyramid {address} … --clear-leftovers` removes its stale files, or completes levels that are committed"
            );
            Some((store, remedy))
        }
        _ => edited(store),
    }
}

//! Jobs on whole stores and files: each is one library call, and returns its report as JSON, as the program prints it.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use zvf_jobs::{Context, Job, JobEvent, Jobs};
use zvf_store::Stop;

use crate::errors::{Failure, misuse};
use crate::run::{OnInterrupt, Progress, Raised, json_text, wait_unless};
use crate::writer::Writing;

/// Runs the jobs in `text`, which has the format of a job file. Returns the report of a single job, or a list of reports for a list of jobs.
/// `progress` is called for each job with its name and unit, and returns the callback for its counts; an exception in a callback ends the jobs.
#[pyfunction]
pub(crate) fn run_jobs(
    py: Python<'_>,
    text: &str,
    writing: Writing,
    progress: Progress,
) -> PyResult<String> {
    let jobs = zvf_jobs::parse(text).map_err(Failure::from)?;
    let stop = Stop::default();
    let context = Context::new()
        .with_write(writing.options(&stop)?)
        .with_memory_budget(writing.memory_budget())
        .with_log(Arc::new(|warning| log("warning", warning)))
        .with_events(Arc::new(log_download));
    let mut reports = Vec::new();
    for job in jobs.as_slice() {
        let raised = Raised::default();
        let context = match &progress {
            Some(begin) => {
                let callback = begin.call1(py, (job.name(), job.unit()))?;
                counted(context.clone(), callback, &raised)
            }
            None => context.clone(),
        };
        let on = match job.changes() {
            Some(_) => OnInterrupt::Ask(&stop),
            None => OnInterrupt::Drop,
        };
        let report = wait_unless(py, on, &raised, zvf_jobs::run(job, &context))?;
        for warning in report.warnings() {
            log("warning", warning);
        }
        reports.push(report);
    }
    match &jobs {
        Jobs::List(_) => json_text(&reports),
        Jobs::One(_) => json_text(&reports.first()),
    }
}

/// A context that reports counts to a callback, until the callback raises an exception.
fn counted(context: Context, callback: Py<PyAny>, raised: &Raised) -> Context {
    let raised = raised.clone();
    let total = Arc::new(Mutex::new(None));
    let known = Arc::clone(&total);
    context
        .with_progress(Arc::new(move |done| {
            let total = *total.lock().unwrap_or_else(PoisonError::into_inner);
            raised.call(&callback, done, total);
        }))
        .with_events(Arc::new(move |event| match event {
            JobEvent::Total(total) => {
                *known.lock().unwrap_or_else(PoisonError::into_inner) = Some(*total);
            }
            _ => log_download(event),
        }))
}

/// Logs a text with the Python logger `zvf`; `level` is the name of its method.
pub(crate) fn log(level: &str, text: &str) {
    Python::attach(|py| {
        let logger = py
            .import("logging")
            .and_then(|logging| logging.call_method1("getLogger", ("zvf",)));
        let logged = logger.and_then(|logger| logger.call_method1(level, ("%s", text)));
        if let Err(error) = logged {
            error.write_unraisable(py, None);
        }
    });
}

/// Logs the downloads of a job.
fn log_download(event: &JobEvent<'_>) {
    match event {
        JobEvent::Downloading(url) => log("info", &format!("downloading {url}")),
        JobEvent::Downloaded { bytes, total } => {
            let percent = total.and_then(|total| bytes.saturating_mul(100).checked_div(total));
            let percent = percent.map_or_else(String::new, |percent| format!(", {percent}%"));
            log("info", &format!("downloaded {bytes} bytes{percent}"));
        }
        _ => {}
    }
}

/// The JSON Schema of a job by its name, or of a job file.
#[pyfunction]
pub(crate) fn schema(job: Option<&str>) -> PyResult<String> {
    let schema = zvf_jobs::schema(job).ok_or_else(|| {
        let (name, names) = (job.unwrap_or_default(), Job::NAMES.join(", "));
        misuse(format!("job: found {name:?}, expected one of {names}"))
    })?;
    Ok(schema.to_string())
}

//! Jobs on whole stores and files: each is one call of its library. What it did comes back as JSON, as the program prints it.

use std::sync::Arc;

use pyo3::prelude::*;
use zvf_jobs::{Job, Jobs};
use zvf_store::Stop;

use crate::errors::{Failure, bug, misuse};
use crate::run::{OnInterrupt, Progress, report_progress, wait};
use crate::writer::Writing;

/// Runs the jobs of a text as a job file has them. Returns the report of a job, or the list of reports of a list.
#[pyfunction]
pub(crate) fn run_jobs(
    py: Python<'_>,
    text: &str,
    writing: Writing,
    progress: Progress,
) -> PyResult<String> {
    let jobs = zvf_jobs::parse(text).map_err(Failure::from)?;
    let stop = Stop::default();
    let mut context = zvf_jobs::Context::new()
        .with_write(writing.options(&stop)?)
        .with_memory_budget(writing.memory_budget())
        .with_log(Arc::new(log_warning));
    if let Some(callback) = progress {
        context = context.with_progress(Arc::new(move |done| report_progress(&callback, done)));
    }
    let mut reports = Vec::new();
    for job in jobs.as_slice() {
        let on = match job.changes() {
            Some(_) => OnInterrupt::Ask(&stop),
            None => OnInterrupt::Drop,
        };
        reports.push(wait(py, on, zvf_jobs::run(job, &context))?);
    }
    let document = match &jobs {
        Jobs::List(_) => serde_json::to_string(&reports),
        Jobs::One(_) => serde_json::to_string(&reports.first()),
    };
    document.map_err(|error| bug(&format!("a report that is no JSON: {error}")))
}

/// Passes a warning to the logger `zvf`.
fn log_warning(warning: &str) {
    Python::attach(|py| {
        let logger = py
            .import("logging")
            .and_then(|logging| logging.call_method1("getLogger", ("zvf",)));
        let said = logger.and_then(|logger| logger.call_method1("warning", ("%s", warning)));
        if let Err(error) = said {
            error.write_unraisable(py, None);
        }
    });
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

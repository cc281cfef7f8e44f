//! Jobs on whole stores and files: each is one call of its library. What it did comes back as JSON, as the program prints it.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use serde_json::json;
use zvf_convert::Format;
use zvf_convert::export::ExportOptions;
use zvf_jobs::{FileExport, Job, Jobs};
use zvf_query::{QuerySpec, Select};
use zvf_store::{Names, Need, OpenOptions, Stop};

use crate::errors::{Failure, bug, misuse};
use crate::masks::Masks;
use crate::run::{OnInterrupt, Progress, report_progress, wait};
use crate::selected::{SelectedBox, SelectedIds};
use crate::store::Access;
use crate::writer::Writing;

/// A failure at an address.
pub(crate) fn at<E: Into<Failure>>(url: &str) -> impl Fn(E) -> Failure + '_ {
    move |error| error.into().at(url)
}

/// What is written of a store.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Selection {
    level: u32,
    bbox: Option<SelectedBox>,
    place: Vec<(String, String)>,
    r#where: Option<String>,
    objects: Option<SelectedIds>,
    select: Option<String>,
    attributes: Option<Vec<String>>,
    links: Option<PathBuf>,
    faces: bool,
    keep_frame: bool,
}

impl Selection {
    /// The options without the query, and the description of that.
    fn options(&self, masks: &Masks<'_>) -> PyResult<(ExportOptions, QuerySpec)> {
        let mut spec = QuerySpec::new();
        spec.level = self.level;
        let objects = self.objects.clone().map(SelectedIds::ranges).transpose();
        spec.objects = objects.map_err(Failure::from)?;
        if let Some(bbox) = self.bbox.clone() {
            bbox.add_to(&mut spec).map_err(Failure::from)?;
        }
        for (member, text) in &self.place {
            masks.set_place(&mut spec, member, text)?;
        }
        if let Some(text) = &self.r#where {
            spec.set("where", text).map_err(Failure::from)?;
        }
        if let Some(names) = &self.attributes {
            spec.attributes = Names::List(names.clone());
        }
        let mut options = ExportOptions::default();
        spec.check().map_err(Failure::from)?;
        options.select = match self.select.as_deref() {
            None => None,
            Some("vertices") => Some(Select::Vertices),
            Some("objects") => Some(Select::Objects),
            Some(other) => {
                return Err(misuse(format!(
                    "select: found {other:?}, expected \"vertices\" or \"objects\""
                )));
            }
        };
        options.keep_frame = self.keep_frame;
        Ok((options, spec))
    }
}

/// Writes a selection of a store as a file of another format: whole or not at all.
#[pyfunction]
pub(crate) fn export(
    py: Python<'_>,
    url: String,
    file: PathBuf,
    selection: Selection,
    access: Access,
) -> PyResult<String> {
    let format = Format::of(&file).map_err(Failure::from)?;
    let reach = || {
        let open = access.options()?;
        let io = open.io.clone();
        let store = async {
            let store = zvf_store::Store::open_with(&url, open).await;
            store.map_err(at(&url))
        };
        Ok((wait(py, OnInterrupt::Drop, store)?, io))
    };
    let masks = Masks { py, open: &reach };
    let (mut options, spec) = selection.options(&masks)?;
    let open = access.options()?;
    let job = async {
        let store = zvf_store::Store::open_with(&url, open).await;
        let store = store.map_err(at(&url))?;
        options.query = spec.resolve(&store).await.map_err(at(&url))?;
        let links = selection.links.as_deref();
        let export = FileExport {
            file: &file,
            format,
            links: links.map(|links| (links, selection.faces)),
            options,
        };
        export.write(&store).await.map_err(Failure::from)
    };
    let done = wait(py, OnInterrupt::Drop, job)?;
    Ok(json!({
        "store": url,
        "file": file.display().to_string(),
        "format": format.name(),
        "vertices": done.vertices,
        "links": done.links,
        "objects": done.objects,
        "notes": done.notes,
        "warnings": done.warnings,
    })
    .to_string())
}

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

/// Options that read a whole store for a job that `stop` ends.
pub(crate) fn reading(access: &Access, stop: &Stop) -> PyResult<OpenOptions> {
    let options = access.options()?.with_stop(stop.clone());
    Ok(options.with_prefetch(0, Need::all()))
}

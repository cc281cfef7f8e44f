//! Jobs on whole stores and files: each is one call of its library. What it did comes back as JSON, as the program prints it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use serde_json::json;
use zvf_convert::export::{ExportOptions, LinksFile};
use zvf_convert::{Format, Import, ObjectIds, Options, Sink, Space};
use zvf_encode::parallel::blocking;
use zvf_jobs::{Job, Jobs};
use zvf_query::{QuerySpec, Select};
use zvf_store::writing::store_at_or_around;
use zvf_store::{Names, Need, OpenOptions, Stop};
use zvf_validate::Severity;
use zvf_validate::repair::RepairOptions;
use zvf_write::{AttributeType, Batch, Groups, NumberType, ObjectTable, StoreWriter, WriteError};

use crate::errors::{Failure, IoError, bug, misuse};
use crate::masks::Masks;
use crate::run::{OnInterrupt, Progress, report_progress, wait};
use crate::selected::{SelectedBox, SelectedIds};
use crate::store::Access;
use crate::writer::{Writing, kind_of, version_of};

/// A failure at an address.
pub(crate) fn at<E: Into<Failure>>(url: &str) -> impl Fn(E) -> Failure + '_ {
    move |error| error.into().at(url)
}

/// How the columns of tables are read.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
struct Columns {
    exclude: Vec<String>,
    nulls: Option<String>,
    delimiter: Option<String>,
    decimal: String,
    columns_in: Option<Vec<String>>,
    na: Option<Vec<String>>,
    rename: Vec<(String, String)>,
    attribute_types: Vec<(String, String)>,
    link_columns: Option<Vec<String>>,
    node_id: Option<String>,
    links_by_row: bool,
}

impl Columns {
    fn apply(&self, options: &mut Options) -> PyResult<()> {
        if let Some(text) = &self.nulls {
            let nulls = text.parse();
            options.nulls =
                nulls.map_err(|expected| misuse(format!("nulls: found {text:?}, {expected}")))?;
        }
        options.delimiter = match self.delimiter.as_deref().map(str::as_bytes) {
            None => None,
            Some([byte]) if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Some(*byte),
            Some(_) => {
                return Err(misuse(
                    "delimiter: expected one character such as ;".to_owned(),
                ));
            }
        };
        options.decimal_comma = match self.decimal.as_str() {
            "." => false,
            "," => true,
            other => {
                return Err(misuse(format!("decimal: found {other:?}, expected . or ,")));
            }
        };
        for (name, word) in &self.attribute_types {
            let kind = match word.as_str() {
                "text" => Some(AttributeType::Category),
                word => NumberType::from_name(word).map(AttributeType::Number),
            };
            let kind = kind.ok_or_else(|| {
                misuse(format!(
                    "attribute_types: found {word:?}, expected text, bool, or a type of numbers such as int64"
                ))
            })?;
            options.attribute_types.push((name.clone(), kind));
        }
        options.exclude.clone_from(&self.exclude);
        options.columns_in.clone_from(&self.columns_in);
        options.na.clone_from(&self.na);
        options.rename.clone_from(&self.rename);
        options.link_columns.clone_from(&self.link_columns);
        options.node_id.clone_from(&self.node_id);
        options.links_by_row = self.links_by_row;
        Ok(())
    }
}

/// How files of other formats are read.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Reading {
    kind: Option<String>,
    format: Option<String>,
    position: Option<Vec<String>>,
    object_column: Option<String>,
    ids: Option<String>,
    id_offset: Option<i64>,
    attributes: Option<Vec<String>>,
    edges: Option<PathBuf>,
    faces: Option<PathBuf>,
    columns: Columns,
    unit: Option<String>,
    crs: Option<String>,
    axis_types: Vec<(String, String)>,
    scale: Option<Vec<f64>>,
    affine: Option<PathBuf>,
    space: Option<String>,
    chunk_shape: Option<Vec<f64>>,
    bin_shape: Option<Vec<f64>>,
    shard_shape: Option<Vec<u64>>,
    codec: Option<String>,
    version: String,
}

impl Reading {
    fn options(&self) -> PyResult<Options> {
        let mut options = Options::default();
        options.kind = self.kind.as_deref().map(kind_of).transpose()?;
        if let Some(name) = &self.format {
            let wrong = || {
                misuse(format!(
                    "format: found {name:?}, expected one of {}",
                    endings()
                ))
            };
            options.format = Some(Format::from_name(name).ok_or_else(wrong)?);
        }
        if let Some(name) = &self.space {
            let all = [Space::Rasmm, Space::Voxelmm, Space::File];
            let found = all.into_iter().find(|space| space.name() == name);
            options.space = Some(found.ok_or_else(|| {
                let names = all.map(Space::name).join(", ");
                misuse(format!("space: found {name:?}, expected one of {names}"))
            })?);
        }
        options.ids = match (self.ids.as_deref(), self.id_offset) {
            (None | Some("kept"), None) => ObjectIds::Kept,
            (Some("new"), None) => ObjectIds::New,
            (Some("file"), None) => ObjectIds::FromFile,
            (None, Some(step)) => ObjectIds::Offset { step, first: 0 },
            (Some(_), Some(_)) => {
                return Err(misuse(
                    "id_offset: found ids as well, expected one of the two",
                ));
            }
            (Some(name), None) => {
                let expected = "kept, new or file";
                return Err(misuse(format!("ids: found {name:?}, expected {expected}")));
            }
        };
        options.position.clone_from(&self.position);
        options.object_column.clone_from(&self.object_column);
        options.attributes.clone_from(&self.attributes);
        options.edges.clone_from(&self.edges);
        options.faces.clone_from(&self.faces);
        options.unit.clone_from(&self.unit);
        options.crs.clone_from(&self.crs);
        options.axis_types.clone_from(&self.axis_types);
        options.scale.clone_from(&self.scale);
        options.affine.clone_from(&self.affine);
        self.columns.apply(&mut options)?;
        Ok(options)
    }
}

fn endings() -> String {
    Format::endings().collect::<Vec<_>>().join(", ")
}

/// A writer that ends when it is asked to.
struct Stopped<'a> {
    writer: &'a mut StoreWriter,
    stop: Stop,
}

impl Sink for Stopped<'_> {
    fn batch(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
        self.stop.check()?;
        self.writer.push(batch)
    }

    fn objects(&mut self, table: &ObjectTable<'_>) -> Result<(), WriteError> {
        self.stop.check()?;
        self.writer.push_objects(table)
    }

    fn groups(&mut self, groups: &Groups<'_>) -> Result<(), WriteError> {
        self.writer.set_groups(groups)
    }
}

/// Makes a new store from files of another format.
#[pyfunction]
pub(crate) fn import_files(
    py: Python<'_>,
    url: String,
    files: Vec<PathBuf>,
    reading: Reading,
    writing: Writing,
) -> PyResult<String> {
    let stop = Stop::default();
    let options = reading.options()?;
    let write = writing.options(&stop)?;
    let codec = reading.codec.as_deref().map(str::parse);
    let codec = codec
        .transpose()
        .map_err(|error| misuse(format!("codec: {error}")))?;
    let version = version_of(&reading.version)?;
    let job = async {
        let opened = blocking(move || Ok(Import::open(&files, &options))).await?;
        let import = opened?;
        let mut spec = import.spec().clone();
        if let Some(shape) = reading.chunk_shape {
            spec.chunk_shape = shape;
            // The bins were chosen for another chunk.
            spec.bin_shape = None;
        }
        if reading.bin_shape.is_some() {
            spec.bin_shape = reading.bin_shape;
        }
        spec.shard_shape = reading.shard_shape.into();
        spec.target = version;
        if let Some(codec) = codec {
            spec.compression = codec;
        }
        let writer = StoreWriter::create(&url, spec.clone(), write).await;
        let mut writer = writer.map_err(at(&url))?;
        let ending = stop.clone();
        let (import, read, writer) = blocking(move || {
            let mut sink = Stopped {
                writer: &mut writer,
                stop: ending,
            };
            let read = import.read(&mut sink);
            Ok((import, read, writer))
        })
        .await?;
        read?;
        let done = writer.finish().await.map_err(at(&url))?;
        let (low, high) = import.corners();
        Ok::<_, Failure>(json!({
            "store": url,
            "version": spec.target.version(),
            "format": import.format().name(),
            "kind": spec.kind.name(),
            "vertices": done.vertices,
            "chunks": done.chunks,
            "objects": import.objects(),
            "links": import.links(),
            "bounds": [low, high],
            "chunk_shape": spec.chunk_shape,
            "bin_shape": spec.bin_shape,
            "frame": import.frame(),
            "notes": import.notes(),
        }))
    };
    Ok(wait(py, OnInterrupt::Ask(&stop), job)?.to_string())
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

/// A temporary name beside a file, which is removed unless the file gets its name.
struct Partial {
    name: PathBuf,
    file: PathBuf,
}

/// Refuses a path to write to that is a store or is in the folder of one, where a file could replace a cell or a document.
fn check_outside(path: &Path) -> PyResult<()> {
    match store_at_or_around(path) {
        None => Ok(()),
        Some(store) => Err(misuse(format!(
            "{}: is in the folder of the store {}, expected a place outside of every store",
            path.display(),
            store.display()
        ))),
    }
}

impl Partial {
    fn beside(file: &Path) -> PyResult<Self> {
        check_outside(file)?;
        let wrong = || misuse(format!("{}: expected the name of a file", file.display()));
        let ending = file.file_name().ok_or_else(wrong)?.to_string_lossy();
        if file.is_dir() {
            return Err(wrong());
        }
        let name = format!(".{ending}.{}.partial", std::process::id());
        Ok(Self {
            name: file.with_file_name(name),
            file: file.to_owned(),
        })
    }

    fn commit(&self) -> PyResult<()> {
        std::fs::rename(&self.name, &self.file)
            .map_err(|error| IoError::new_err(format!("{}: {error}", self.file.display())))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Without it after a commit, and nothing can be said where it cannot be removed.
        let _ = std::fs::remove_file(&self.name);
    }
}

/// What separates the columns of a file, where it is no comma, and whether the file is packed by gzip.
fn separated(file: &Path) -> (Option<u8>, bool) {
    let name = file.to_string_lossy().to_ascii_lowercase();
    let gzip = name.ends_with(".gz");
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    (plain.ends_with(".tsv").then_some(b'\t'), gzip)
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
    (options.delimiter, options.gzip) = separated(&file);
    let staged = Partial::beside(&file)?;
    let mut second = None;
    if let Some(links) = &selection.links {
        let place = Partial::beside(links)?;
        let kind = Format::of(links).map_err(Failure::from)?;
        let mut table = LinksFile::new(kind, &place.name, selection.faces);
        (table.delimiter, table.gzip) = separated(links);
        options.links = Some(table);
        second = Some(place);
    }
    let open = access.options()?;
    let job = async {
        let store = zvf_store::Store::open_with(&url, open).await;
        let store = store.map_err(at(&url))?;
        options.query = spec.resolve(&store).await.map_err(at(&url))?;
        let done = zvf_convert::export::export(&store, format, &staged.name, &options).await;
        done.map_err(at(&url))
    };
    let done = wait(py, OnInterrupt::Drop, job)?;
    staged.commit()?;
    if let Some(second) = &second {
        second.commit()?;
    }
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

/// Says what would be repaired, and with `apply` repairs it.
#[pyfunction]
pub(crate) fn repair(
    py: Python<'_>,
    url: String,
    apply: bool,
    accept_loss: bool,
    backup: Option<String>,
    writing: Writing,
) -> PyResult<String> {
    if let Some(backup) = &backup
        && !backup.contains("://")
    {
        check_outside(Path::new(backup))?;
    }
    let stop = Stop::default();
    let options = RepairOptions::default()
        .with_write(writing.options(&stop)?)
        .with_accept_loss(accept_loss);
    let job = async {
        let plan = zvf_validate::repair::plan(&url, &options)
            .await
            .map_err(at(&url))?;
        let applied = match apply {
            true => {
                let done = zvf_validate::repair::apply(&plan, backup.as_deref(), &options).await;
                Some(done.map_err(at(&url))?)
            }
            false => None,
        };
        Ok::<_, Failure>((plan, applied))
    };
    let (plan, applied) = wait(py, OnInterrupt::Ask(&stop), job)?;
    let counts = |report: &zvf_validate::Report| {
        json!({
            "errors": report.count(Severity::Error),
            "warnings": report.count(Severity::Warning),
            "notes": report.count(Severity::Note),
        })
    };
    let changes = plan.changes.iter().map(|one| {
        json!({
            "document": one.document,
            "pointer": one.pointer,
            "old": one.old,
            "new": one.new,
            "why": one.why,
        })
    });
    let left = plan.left.iter().map(|one| {
        json!({
            "code": one.finding.check.code().to_string(),
            "place": one.finding.place.to_string(),
            "found": one.finding.found,
            "expected": one.finding.expected,
            "why": one.why,
        })
    });
    let after = applied.as_ref().map_or(&plan.after, |one| &one.report);
    Ok(json!({
        "store": url,
        "applied": applied.is_some(),
        "backup": applied.as_ref().and_then(|one| one.backup.as_deref()),
        "changes": changes.collect::<Vec<_>>(),
        "left": left.collect::<Vec<_>>(),
        "before": counts(&plan.before),
        "after": counts(after),
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

/// Measures what would make a store smaller or faster.
#[pyfunction]
pub(crate) fn doctor(py: Python<'_>, url: &str, writing: Writing) -> PyResult<String> {
    let stop = Stop::default();
    let context = zvf_jobs::Context::new().with_write(writing.options(&stop)?);
    let report = wait(py, OnInterrupt::Drop, zvf_jobs::examine(url, &context))?;
    let document = serde_json::to_string(&report);
    document.map_err(|error| bug(&format!("a report that is no JSON: {error}")))
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

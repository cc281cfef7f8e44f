//! New stores, and changes of existing stores.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use arrow_array::{RecordBatch, RecordBatchReader};
use pyo3::prelude::*;
use serde_json::{Value, json};
use zvf_convert::{moments_as_numbers, with_moments_as_numbers};
use zvf_edit::{EditSummary, Matching, Scope, SetAttribute};
use zvf_query::Measures;
use zvf_store::Stop;
use zvf_write::{
    Axis, Groups, Kind, ShardShape, StaleFiles, StoreSpec, StoreWriter, TargetVersion, WriteError,
    WriteOptions,
};

use crate::errors::{Failure, misuse};
use crate::run::{OnInterrupt, wait};
use crate::selected::SelectedIds;
use crate::store::{Access, Asked, Store};
use crate::table::{Table, foreign, stream_of};

/// A kind by its name.
///
/// # Errors
/// Misuse: a name that no kind has.
pub(crate) fn kind_of(name: &str) -> PyResult<Kind> {
    let kind = name.parse::<zvf_jobs::KindName>();
    let kind = kind.map_err(|wrong| misuse(format!("kind: {wrong}")))?;
    Ok(*kind.value())
}

/// The format version of a new store, by its text.
///
/// # Errors
/// Misuse: a version that is not written.
pub(crate) fn version_of(text: &str) -> PyResult<TargetVersion> {
    let all = [TargetVersion::V0_9_2, TargetVersion::V0_8_1];
    let found = all.into_iter().find(|one| one.version() == text);
    found.ok_or_else(|| {
        misuse(format!(
            "version: found {text:?}, expected \"0.9.2\" or \"0.8.1\""
        ))
    })
}

/// How a store is accessed and written.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Writing {
    access: Access,
    clear_leftovers: bool,
    durable: bool,
}

impl Writing {
    /// Options of a writer that ends when `stop` is requested, and that records the call of Python in the history of the store.
    ///
    /// # Errors
    /// Misuse: invalid options.
    pub(crate) fn called(&self, call: &str, stop: &Stop) -> PyResult<WriteOptions> {
        let entry = json!({"zvf": env!("CARGO_PKG_VERSION"), "call": call});
        Ok(self.options(stop)?.with_history(Some(entry)))
    }

    /// Options of a writer that ends when `stop` is requested.
    ///
    /// # Errors
    /// Misuse: invalid options.
    pub(crate) fn options(&self, stop: &Stop) -> PyResult<WriteOptions> {
        let stale_files = match self.clear_leftovers {
            true => StaleFiles::Remove,
            false => StaleFiles::Refuse,
        };
        let open = self.access.options()?.with_stop(stop.clone());
        let options = self.access.reach()?.write(open);
        Ok(options
            .with_durable(self.durable)
            .with_stale_files(stale_files))
    }

    /// The memory budget in bytes, if the caller sets one.
    pub(crate) fn memory_budget(&self) -> Option<u64> {
        self.access.memory_budget()
    }
}

/// The shape of shards: a name that [`ShardShape`] parses, or the number of cells along each axis.
#[derive(Debug, FromPyObject)]
enum Shards {
    Word(String),
    Cells(Vec<u64>),
}

impl Shards {
    /// # Errors
    /// Misuse: a name other than `auto` and `none`.
    fn shape(&self) -> PyResult<ShardShape> {
        match self {
            Self::Word(word) => word
                .parse()
                .map_err(|error| misuse(format!("shard_shape: {error}"))),
            Self::Cells(cells) => Ok(cells.clone().into()),
        }
    }
}

/// The properties of a new store that its tables do not define.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wanted {
    kind: String,
    chunk_shape: Vec<f64>,
    bin_shape: Option<Vec<f64>>,
    shard_shape: Option<Shards>,
    axes: Option<Vec<String>>,
    unit: Option<String>,
    bounds: Option<(Vec<f64>, Vec<f64>)>,
    codec: Option<String>,
    version: String,
    explicit_links: bool,
    directed_links: bool,
}

impl Wanted {
    /// The specification of the store.
    ///
    /// # Errors
    /// Misuse: properties or columns that no store can have.
    pub(crate) fn spec(
        &self,
        vertices: &Table,
        links: Option<&Table>,
        objects: Option<&Table>,
    ) -> PyResult<StoreSpec> {
        let kind = kind_of(&self.kind)?;
        let spec = StoreSpec::new(kind, self.chunk_shape.clone());
        let mut spec = spec.with_target(version_of(&self.version)?);
        // Columns of the vertices may have the names of the axes.
        let axes = self.axes.as_ref();
        let axes = axes.map(|names| names.iter().map(|name| axis(name)).collect::<Vec<_>>());
        if let Some(axes) = &axes {
            spec.axes.clone_from(axes);
        }
        spec = spec
            .with_vertex_records(&with_moments_as_numbers(&vertices.schema))
            .map_err(Failure::from)?;
        if let Some(links) = links {
            spec = spec
                .with_link_records(&with_moments_as_numbers(&links.schema))
                .map_err(Failure::from)?;
        }
        if let Some(objects) = objects {
            spec = spec
                .with_object_records(&with_moments_as_numbers(&objects.schema))
                .map_err(Failure::from)?;
            spec.objects = true;
        }
        spec.links.explicit |= self.explicit_links;
        spec.links.directed |= self.directed_links;
        if let Some(axes) = axes {
            spec.axes = axes;
            zvf_convert::check_axes(&spec.axes).map_err(Failure::from)?;
        }
        if let Some(unit) = &self.unit {
            spec = spec.with_unit(unit);
        }
        spec.bin_shape.clone_from(&self.bin_shape);
        if let Some(shards) = &self.shard_shape {
            spec.shard_shape = shards.shape()?;
        }
        spec.bounds.clone_from(&self.bounds);
        if let Some(codec) = &self.codec {
            spec.compression = codec
                .parse()
                .map_err(|error| misuse(format!("codec: {error}")))?;
        }
        Ok(spec)
    }
}

/// An axis by its name, which may be followed by its type: `t:space`.
fn axis(name: &str) -> Axis {
    match name.rsplit_once(':') {
        Some((name, kind @ ("space" | "time" | "channel"))) => Axis::new(name, kind),
        _ => Axis::named(name),
    }
}

/// Locks a value that only one thread may use at a time. A second thread gets an error, because it could wait forever.
///
/// # Errors
/// Misuse: the value is in use by another thread.
fn alone<'m, T>(mutex: &'m Mutex<Option<T>>, what: &str) -> PyResult<MutexGuard<'m, Option<T>>> {
    match mutex.try_lock() {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(misuse(format!(
            "found a {what} in use by another thread, expected one thread at a time"
        ))),
    }
}

fn ended(what: &str) -> PyErr {
    misuse(format!(
        "found a {what} that has ended, expected an open one"
    ))
}

/// All batches of a stream as one batch; `None` if the stream has no rows.
fn whole(source: &Bound<'_, PyAny>) -> PyResult<Option<RecordBatch>> {
    Ok(Some(joined(source)?).filter(|all| all.num_rows() > 0))
}

/// All batches of a stream as one batch.
fn joined(source: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let reader = stream_of(source)?;
    let schema = reader.schema();
    source.py().detach(|| {
        let batches = reader.collect::<Result<Vec<_>, _>>();
        let batches = batches.map_err(|error| foreign(&error))?;
        let all = arrow_select::concat::concat_batches(&schema, &batches);
        stored(&all.map_err(|error| foreign(&error))?)
    })
}

/// A batch with its dates and times as the numbers that a store holds.
fn stored(batch: &RecordBatch) -> PyResult<RecordBatch> {
    moments_as_numbers(batch).map_err(|error| foreign(&error))
}

/// Writes one new store, which does not exist before it is finished.
#[pyclass(frozen, module = "zvf._zvf")]
#[derive(Debug)]
pub(crate) struct Writer {
    url: String,
    stop: Stop,
    writer: Mutex<Option<StoreWriter>>,
    /// Whether all links of a batch are between vertices of this batch, as for skeletons, which are complete in one batch.
    whole: bool,
    /// An empty table with the columns of the links, for batches without links; `None` if the store has no table of links.
    no_links: Option<RecordBatch>,
}

impl Writer {
    /// A writer of a store of this kind; `links` has the columns of its links.
    pub(crate) fn of(
        url: String,
        stop: Stop,
        kind: Kind,
        writer: StoreWriter,
        links: Option<&Table>,
    ) -> Self {
        Self {
            url,
            stop,
            writer: Mutex::new(Some(writer)),
            whole: kind == Kind::Skeleton,
            no_links: links
                .map(|links| RecordBatch::new_empty(with_moments_as_numbers(&links.schema).into())),
        }
    }

    /// Pushes vertices and links to the open writer; returns the number of vertices so far.
    fn push_to(
        &self,
        py: Python<'_>,
        writer: &mut StoreWriter,
        vertices: &Bound<'_, PyAny>,
        links: Option<RecordBatch>,
    ) -> PyResult<u64> {
        let at = |error: WriteError| PyErr::from(Failure::from(error).at(&self.url));
        if self.whole && links.is_some() {
            let all = joined(vertices)?;
            py.detach(|| writer.push_records(&all, links.as_ref()).map_err(at))?;
            return Ok(writer.vertices());
        }
        let mut reader = stream_of(vertices)?;
        let schema = reader.schema();
        let mut held: Option<RecordBatch> = None;
        loop {
            py.check_signals()?;
            let next = py.detach(|| {
                let next = reader.next().transpose();
                let next = next.map_err(|error| foreign(&error))?;
                // One batch is held back, because the links are pushed with the last one.
                let last = match &next {
                    Some(_) => held.take(),
                    None => None,
                };
                if let Some(batch) = last {
                    let batch = stored(&batch)?;
                    let done = writer.push_records(&batch, self.no_links.as_ref());
                    done.map_err(at)?;
                }
                Ok::<_, PyErr>(next)
            })?;
            match next {
                Some(batch) => held = Some(batch),
                None => break,
            }
        }
        py.detach(|| {
            let empty = RecordBatch::new_empty(schema);
            let last = match (held, &links) {
                (None, None) => return Ok(()),
                (None, Some(_)) => empty,
                (Some(batch), _) => batch,
            };
            let links = links.as_ref().or(self.no_links.as_ref());
            writer.push_records(&stored(&last)?, links).map_err(at)
        })?;
        Ok(writer.vertices())
    }

    /// Discards everything that was pushed to a writer.
    fn abandoned(&self, py: Python<'_>, writer: StoreWriter) -> PyResult<()> {
        let abandon = async {
            writer.abandon().await;
            Ok::<(), Failure>(())
        };
        wait(py, OnInterrupt::Ask(&self.stop), abandon)
    }
}

#[pymethods]
impl Writer {
    /// Prepares a store. The columns of the tables define its attributes; their rows are not read.
    #[staticmethod]
    fn create(
        py: Python<'_>,
        url: String,
        wanted: Wanted,
        writing: Writing,
        vertices: PyRef<'_, Table>,
        links: Option<PyRef<'_, Table>>,
        objects: Option<PyRef<'_, Table>>,
    ) -> PyResult<Self> {
        let stop = Stop::default();
        let options = writing.called("zvf.write", &stop)?;
        let spec = wanted.spec(&vertices, links.as_deref(), objects.as_deref())?;
        let kind = spec.kind;
        let create = async {
            let writer = StoreWriter::create(&url, spec, options).await;
            writer.map_err(|error| Failure::from(error).at(&url))
        };
        let writer = wait(py, OnInterrupt::Ask(&stop), create)?;
        Ok(Self::of(url, stop, kind, writer, links.as_deref()))
    }

    /// Pushes all batches of a stream of vertices; the links are pushed with the last one. Returns the number of vertices so far.
    ///
    /// If the stream fails after some of its rows were pushed, the writer is abandoned: otherwise the store would have only these rows, or would have
    /// them twice if the stream were pushed again.
    fn push(
        &self,
        py: Python<'_>,
        vertices: &Bound<'_, PyAny>,
        links: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let links = links.map(whole).transpose()?.flatten();
        let mut guard = alone(&self.writer, "writer")?;
        let writer = guard.as_mut().ok_or_else(|| ended("writer"))?;
        let before = writer.vertices();
        let pushed = self.push_to(py, writer, vertices, links);
        let in_part = pushed.is_err() && writer.vertices() != before;
        if in_part
            && let Some(writer) = guard.take()
            && let (Err(error), Err(left)) = (&pushed, self.abandoned(py, writer))
        {
            // The error of the stream is the cause.
            let note = format!("The writer could not be abandoned: {left}");
            error.value(py).call_method1("add_note", (note,))?;
        }
        pushed
    }

    /// Pushes all batches of a stream of objects.
    fn push_objects(&self, py: Python<'_>, objects: &Bound<'_, PyAny>) -> PyResult<()> {
        let reader = stream_of(objects)?;
        let mut guard = alone(&self.writer, "writer")?;
        let writer = guard.as_mut().ok_or_else(|| ended("writer"))?;
        py.detach(|| {
            for batch in reader {
                let batch = batch.map_err(|error| foreign(&error))?;
                let done = writer.push_object_records(&stored(&batch)?);
                done.map_err(|error| Failure::from(error).at(&self.url))?;
            }
            Ok(())
        })
    }

    /// Sets the groups: names and members.
    fn set_groups(&self, py: Python<'_>, groups: Vec<(String, Vec<i64>)>) -> PyResult<()> {
        let mut guard = alone(&self.writer, "writer")?;
        let writer = guard.as_mut().ok_or_else(|| ended("writer"))?;
        let (names, members): (Vec<_>, Vec<_>) = groups.into_iter().unzip();
        py.detach(|| {
            let done = writer.set_groups(&Groups::new(members).with_names(names));
            Ok(done.map_err(|error| Failure::from(error).at(&self.url))?)
        })
    }

    /// Writes the store, and returns counts as JSON.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let writer = alone(&self.writer, "writer")?.take();
        let writer = writer.ok_or_else(|| ended("writer"))?;
        let finish = async {
            let done = writer.finish().await;
            done.map_err(|error| Failure::from(error).at(&self.url))
        };
        let done = wait(py, OnInterrupt::Ask(&self.stop), finish)?;
        Ok(json!({
            "store": self.url,
            "vertices": done.vertices,
            "chunks": done.chunks,
            "objects": done.objects,
            "links": done.links,
        })
        .to_string())
    }

    /// Discards everything that was pushed.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        let Some(writer) = alone(&self.writer, "writer")?.take() else {
            return Ok(());
        };
        self.abandoned(py, writer)
    }
}

/// How values of a table are set: see `Edit.set_attribute` of the package.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Setting {
    name: String,
    on: String,
    key: Vec<String>,
    by_order: bool,
    by_object_order: bool,
    ignore_missing: bool,
    dtype: Option<String>,
    fill: Option<String>,
    new: bool,
}

impl Setting {
    /// The arguments of the change, without the fill value.
    ///
    /// # Errors
    /// Misuse: an unknown owner or type.
    fn change(&self, table: Option<&RecordBatch>) -> PyResult<SetAttribute> {
        let all = [Scope::Vertex, Scope::Object, Scope::Link];
        let scope = all.into_iter().find(|scope| scope.plural() == self.on);
        let scope = scope.ok_or_else(|| {
            misuse(format!(
                "on: found {:?}, expected \"vertices\", \"objects\" or \"links\"",
                self.on
            ))
        })?;
        let mut matching = Matching::by_key(self.key.clone())
            .with_ignore_missing(self.ignore_missing)
            .with_new_objects(self.new);
        matching.by_order = self.by_order;
        matching.by_object_order = self.by_object_order;
        let mut change = SetAttribute::new(scope, &self.name).with_matching(matching);
        if let Some(dtype) = &self.dtype {
            let column = table.and_then(|table| table.column_by_name(&self.name));
            let channels = column.map(zvf_write::arrow::elements).transpose();
            let channels = channels
                .map_err(Failure::from)?
                .map_or(1, |(_, width)| width);
            change = change.with_type(dtype, channels).map_err(Failure::from)?;
            let field = table.and_then(|table| table.schema_ref().field_with_name(&self.name).ok());
            if let (Some(spec), Some(field)) = (&mut change.new, field) {
                let stated = zvf_write::arrow::described(spec.clone(), field);
                *spec = stated.map_err(Failure::from)?;
            }
        }
        Ok(change)
    }

    /// Adds the fill value, converted by the type of the attribute, which may be a date.
    async fn filled(
        &self,
        change: SetAttribute,
        edit: &mut zvf_edit::Edit,
    ) -> Result<SetAttribute, Failure> {
        let Some(fill) = &self.fill else {
            return Ok(change);
        };
        let known = match (&change.new, change.scope) {
            (Some(one), _) => vec![one.clone()],
            (None, Scope::Vertex) => edit.vertex_attributes(),
            (None, Scope::Object) => edit.object_attributes().await?,
            (None, Scope::Link) => edit.spec().links.attributes.clone(),
        };
        let one = known.iter().find(|one| one.name == self.name);
        let text = one.map_or_else(|| fill.clone(), |one| zvf_jobs::fill_text(one, fill));
        Ok(change.with_fill(text))
    }
}

/// A change of an existing store, made completely or not at all. Dropping it abandons the change.
#[pyclass(frozen, module = "zvf._zvf")]
#[derive(Debug)]
pub(crate) struct Edit {
    url: String,
    stop: Stop,
    edit: Mutex<Option<zvf_edit::Edit>>,
}

#[pymethods]
impl Edit {
    /// Begins a change. Other changes of the store are refused until it ends.
    #[staticmethod]
    fn begin(py: Python<'_>, url: String, writing: Writing) -> PyResult<Self> {
        let stop = Stop::default();
        let options = writing.called("zvf.edit", &stop)?;
        let open = async {
            let edit = zvf_edit::Edit::open(&url, options).await;
            edit.map_err(|error| Failure::from(error).at(&url))
        };
        let edit = wait(py, OnInterrupt::Ask(&stop), open)?;
        Ok(Self {
            url,
            stop,
            edit: Mutex::new(Some(edit)),
        })
    }

    /// Appends vertices, in the types of the store, and their links. Returns remarks: columns that the store does not have, and
    /// attributes that were not given.
    fn append(
        &self,
        py: Python<'_>,
        vertices: &Bound<'_, PyAny>,
        links: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<String>> {
        let links = links.map(whole).transpose()?.flatten();
        let vertices = joined(vertices)?;
        let mut guard = alone(&self.edit, "change")?;
        let edit = guard.as_mut().ok_or_else(|| ended("change"))?;
        // Links of an empty table of vertices are refused below, because links name rows of this table.
        if vertices.num_rows() == 0 && links.is_none() {
            return Ok(Vec::new());
        }
        let append = async {
            let done = edit.append_records(&vertices, links.as_ref()).await;
            done.map_err(|error| Failure::from(error).at(&self.url))
        };
        let fitted = wait(py, OnInterrupt::Drop, append)?;
        let lacking = [&fitted.vertices, &fitted.links];
        let mut remarks = zvf_jobs::edit_remarks(edit, &fitted.unknown, lacking);
        remarks.extend(zvf_jobs::small_chunks(edit, &self.url));
        Ok(remarks)
    }

    /// Sets the fill value of an attribute: the value of appended rows that have none.
    fn set_fill(&self, py: Python<'_>, name: &str, text: &str) -> PyResult<()> {
        let mut guard = alone(&self.edit, "change")?;
        let edit = guard.as_mut().ok_or_else(|| ended("change"))?;
        let set = async {
            let done = zvf_jobs::set_fill(edit, name, text).await;
            done.map_err(|error| Failure::from(error).at(&self.url))
        };
        wait(py, OnInterrupt::Drop, set)
    }

    /// Sets values of one attribute; returns remarks.
    fn set_attribute(
        &self,
        py: Python<'_>,
        setting: Setting,
        table: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<String>> {
        let table = table.map(joined).transpose()?;
        let change = setting.change(table.as_ref())?;
        let mut guard = alone(&self.edit, "change")?;
        let edit = guard.as_mut().ok_or_else(|| ended("change"))?;
        let set = async {
            let change = setting.filled(change, edit).await?;
            let done = edit.set_attribute(&change, table.as_ref()).await;
            let done = done.map_err(|error| Failure::from(error).at(&self.url))?;
            Ok::<_, Failure>(done.remarks(&change))
        };
        wait(py, OnInterrupt::Drop, set)
    }

    /// Sets attributes of objects. With `new`, creates the objects that do not exist.
    fn put_objects(&self, py: Python<'_>, objects: &Bound<'_, PyAny>, new: bool) -> PyResult<()> {
        let Some(objects) = whole(objects)? else {
            return Ok(());
        };
        let mut guard = alone(&self.edit, "change")?;
        let edit = guard.as_mut().ok_or_else(|| ended("change"))?;
        let put = async {
            let how = Matching::new().with_new_objects(new);
            let done = edit.put_object_records(&objects, &how).await;
            done.map_err(|error| Failure::from(error).at(&self.url))
        };
        wait(py, OnInterrupt::Drop, put)?;
        Ok(())
    }

    /// Sets attributes of objects to measures of the objects of a query; returns their number.
    fn set_measures(
        &self,
        py: Python<'_>,
        store: &Store,
        asked: Asked,
        columns: Vec<(String, String)>,
        means: Vec<String>,
    ) -> PyResult<u64> {
        let spec = store.asked(py, asked, (true, true, true))?;
        let mut guard = alone(&self.edit, "change")?;
        let edit = guard.as_mut().ok_or_else(|| ended("change"))?;
        let at = |error: Failure| error.at(&self.url);
        let set = async {
            let query = store.resolved(&spec).await?;
            let measures = Measures::start(store.inner(), query, &means).await;
            let columns = columns.iter();
            let columns = columns.map(|(measure, name)| (measure.as_str(), name.as_str()));
            let measures = measures.and_then(|measures| measures.with_columns(columns));
            let mut measures = measures.map_err(|error| at(error.into()))?;
            let set = zvf_jobs::set_measures(edit, &mut measures, &|_| ()).await;
            let set = set.map_err(|error| at(error.into()))?;
            Ok::<_, Failure>((set, measures.warnings().to_vec()))
        };
        let (set, warnings) = wait(py, OnInterrupt::Drop, set)?;
        store.log_each(&warnings);
        Ok(set)
    }

    /// Deletes objects. With `ignore_missing`, ids that the store does not have are left out.
    fn delete(&self, py: Python<'_>, ids: SelectedIds, ignore_missing: bool) -> PyResult<()> {
        let mut guard = alone(&self.edit, "change")?;
        let edit = guard.as_mut().ok_or_else(|| ended("change"))?;
        let ids = ids.existing(edit, ignore_missing).map_err(Failure::from)?;
        let delete = async {
            let done = edit.delete(&ids).await;
            done.map_err(|error| Failure::from(error).at(&self.url))
        };
        wait(py, OnInterrupt::Drop, delete)
    }

    /// Adds objects to a group, or removes them from it.
    fn change_group(
        &self,
        py: Python<'_>,
        group: &str,
        ids: SelectedIds,
        add: bool,
    ) -> PyResult<()> {
        let mut guard = alone(&self.edit, "change")?;
        let edit = guard.as_mut().ok_or_else(|| ended("change"))?;
        let ids = ids.existing(edit, false).map_err(Failure::from)?;
        let change = async {
            let done = match add {
                true => edit.add_to_group(group, &ids).await,
                false => edit.remove_from_group(group, &ids).await,
            };
            done.map_err(|error| Failure::from(error).at(&self.url))
        };
        wait(py, OnInterrupt::Drop, change)
    }

    /// Renames a group; without a name, deletes it.
    fn rename_group(&self, py: Python<'_>, group: &str, name: Option<&str>) -> PyResult<()> {
        let mut guard = alone(&self.edit, "change")?;
        let edit = guard.as_mut().ok_or_else(|| ended("change"))?;
        let change = async {
            let done = match name {
                Some(name) => edit.rename_group(group, name).await,
                None => edit.delete_group(group).await,
            };
            done.map_err(|error| Failure::from(error).at(&self.url))
        };
        wait(py, OnInterrupt::Drop, change)
    }

    /// Deletes points, each given by its chunk and its row in the chunk.
    fn delete_points(&self, py: Python<'_>, rows: Vec<(Vec<i64>, u64)>) -> PyResult<()> {
        let mut guard = alone(&self.edit, "change")?;
        let edit = guard.as_mut().ok_or_else(|| ended("change"))?;
        let delete = async {
            let done = edit.delete_points(&rows).await;
            done.map_err(|error| Failure::from(error).at(&self.url))
        };
        wait(py, OnInterrupt::Drop, delete)
    }

    /// Makes the change, and returns counts as JSON.
    fn commit(&self, py: Python<'_>) -> PyResult<String> {
        let edit = alone(&self.edit, "change")?.take();
        let edit = edit.ok_or_else(|| ended("change"))?;
        let commit = async {
            let done = edit.commit().await;
            done.map_err(|error| Failure::from(error).at(&self.url))
        };
        let done = wait(py, OnInterrupt::Ask(&self.stop), commit)?;
        Ok(summary(&self.url, &done).to_string())
    }

    /// Abandons the change.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        let Some(edit) = alone(&self.edit, "change")?.take() else {
            return Ok(());
        };
        let abandon = async {
            let done = edit.abandon().await;
            done.map_err(|error| Failure::from(error).at(&self.url))
        };
        wait(py, OnInterrupt::Ask(&self.stop), abandon)
    }
}

impl Drop for Edit {
    /// Abandons a change that was neither made nor abandoned: otherwise its marker would block every other change as long as the process runs.
    fn drop(&mut self) {
        let edit = self.edit.get_mut();
        let Some(edit) = edit.unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        // While the interpreter shuts down this is not possible; the marker stays, and the next change of the store takes it over.
        Python::try_attach(|py| {
            let abandon = async {
                edit.abandon().await.ok();
                Ok::<(), Failure>(())
            };
            wait(py, OnInterrupt::Ask(&self.stop), abandon).ok();
        });
    }
}

fn summary(url: &str, done: &EditSummary) -> Value {
    json!({
        "store": url,
        "vertices": done.vertices,
        "objects": done.objects,
        "groups": done.groups,
        "links": done.links,
        "chunks": done.chunks,
        "put": done.put,
        "removed": done.removed,
    })
}

//! Stores, and the answers to queries.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use futures::TryFutureExt;
use futures::future::{Either, select};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use zvf_jobs::StoreInfo;
use zvf_jobs::words::fold;
use zvf_query::{Column, GroupRef, LevelPlan, Outputs, Query, QuerySpec, Summary};
use zvf_store::{IoOptions, OpenOptions};

use crate::dataset::{self, Flat};
use crate::errors::{Failure, bug, misuse};
use crate::flat::Flatten;
use crate::masks::Masks;
use crate::run::{OnInterrupt, Progress, Raised, json_text, runtime, wait, wait_unless};
use crate::selected::{SelectedBox, SelectedIds};
use crate::splits;
use crate::statistics;
use crate::table::{Table, stream_capsule};
use crate::trace::TraceFile;

/// Interval between checks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// How a store is accessed: the flags that every command of the program takes.
#[derive(Debug, Clone, Default, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Access {
    anonymous: bool,
    concurrency: Option<usize>,
    retries: Option<u32>,
    timeout: Option<f64>,
    verify: bool,
    memory_budget: Option<u64>,
    storage: Vec<(String, String)>,
    trace_io: Option<PathBuf>,
}

impl Access {
    /// Options of a job, whose requests are not recorded.
    ///
    /// # Errors
    /// Misuse: `trace_io`; as [`reach`](Self::reach).
    pub(crate) fn options(&self) -> PyResult<OpenOptions> {
        if self.trace_io.is_some() {
            return Err(misuse(
                "trace_io: found it for a job, expected it only with `zvf.open` and readers of stores: `zvf --trace-io` records the requests of a command",
            ));
        }
        Ok(self.reach()?.open())
    }

    /// How storage is accessed.
    ///
    /// # Errors
    /// Misuse: a concurrency of 0; an invalid timeout.
    pub(crate) fn reach(&self) -> PyResult<zvf_jobs::Access> {
        if self.concurrency == Some(0) {
            return Err(misuse("concurrency: found 0, expected at least 1"));
        }
        let time = |seconds| {
            let time = zvf_jobs::Access::seconds(seconds);
            time.map_err(|expected| misuse(format!("timeout: found {seconds}, {expected}")))
        };
        Ok(zvf_jobs::Access {
            anonymous: self.anonymous,
            concurrency: self.concurrency,
            retries: self.retries,
            timeout: self.timeout.map(time).transpose()?,
            verify: self.verify,
            memory_budget: self.memory_budget,
            store_options: self.storage.clone(),
        })
    }

    /// Opens the file of `trace_io`, if the caller names one.
    fn trace(&self) -> PyResult<Option<Arc<TraceFile>>> {
        let file = self.trace_io.as_deref().map(TraceFile::new);
        Ok(file.transpose()?.map(Arc::new))
    }

    /// The memory budget in bytes, if the caller sets one.
    pub(crate) fn memory_budget(&self) -> Option<u64> {
        self.memory_budget
    }
}

/// An open store: a snapshot of its documents.
#[pyclass(frozen, module = "zvf._zvf")]
#[derive(Debug, Clone)]
pub(crate) struct Store {
    store: zvf_store::Store,
    memory_budget: Option<u64>,
    trace: Option<Arc<TraceFile>>,
    /// How volumes of masks are read.
    io: IoOptions,
    /// Warnings that were logged.
    logged: Arc<Mutex<Vec<String>>>,
}

/// Opens a store.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, url: String, access: Access) -> PyResult<Store> {
    let mut options = access.reach()?.open();
    let memory_budget = access.memory_budget();
    let trace = access.trace()?;
    if let Some(trace) = &trace {
        options = options.with_trace(trace.record());
    }
    let io = options.io.clone();
    let opened = async {
        let store = zvf_store::Store::open_with(&url, options).await;
        store.map_err(|error| Failure::from(error).at(&url))
    };
    let opened = wait(py, OnInterrupt::Drop, opened);
    if let Some(trace) = &trace {
        trace.write()?;
    }
    Ok(Store {
        store: opened?,
        memory_budget,
        trace,
        io,
        logged: Arc::default(),
    })
}

/// The terms of a query: the members of `zvf.Query`, in Python's types.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    level: u32,
    bbox: Option<SelectedBox>,
    place: Vec<(String, String)>,
    r#where: Option<String>,
    objects: Option<SelectedIds>,
    groups: Option<Vec<Group>>,
    limit: Option<u64>,
    select: String,
    columns: Option<Vec<String>>,
    own_level_only: bool,
    ignore_missing: bool,
    batch_rows: usize,
}

/// A group, by its number or its name.
#[derive(Debug, FromPyObject)]
enum Group {
    Number(u64),
    Name(String),
}

impl Asked {
    /// The description of the query.
    fn spec(
        self,
        (vertices, links, objects): (bool, bool, bool),
        masks: &Masks<'_>,
    ) -> PyResult<QuerySpec> {
        let mut spec = QuerySpec::new();
        spec.level = self.level;
        let ids = self.objects.map(SelectedIds::ranges).transpose();
        spec.objects = ids.map_err(Failure::from)?;
        spec.limit = self.limit;
        spec.own_level_only = self.own_level_only;
        spec.ignore_missing = self.ignore_missing;
        spec.batch_rows = self.batch_rows;
        spec.tables = Outputs {
            vertices,
            links,
            objects,
        };
        if let Some(bbox) = self.bbox {
            bbox.add_to(&mut spec).map_err(Failure::from)?;
        }
        for (member, text) in &self.place {
            masks.set_place(&mut spec, member, text)?;
        }
        spec.select = self.select.parse().map_err(Failure::from)?;
        if let Some(text) = &self.r#where {
            spec.set("where", text).map_err(Failure::from)?;
        }
        if let Some(columns) = &self.columns {
            spec.columns = column_list(columns)?;
        }
        let groups = self
            .groups
            .map(|groups| groups.into_iter().map(GroupRef::from));
        spec.groups = groups.map(Iterator::collect);
        spec.check().map_err(Failure::from)?;
        Ok(spec)
    }
}

impl From<Group> for GroupRef {
    fn from(group: Group) -> Self {
        match group {
            Group::Number(number) => Self::Number(number),
            // A text is a name, never a number.
            Group::Name(name) => Self::Word(format!("name:{name}")),
        }
    }
}

#[pymethods]
impl Store {
    #[getter]
    fn url(&self) -> &str {
        self.store.url()
    }

    #[getter]
    fn kind(&self) -> String {
        self.store.kind().to_string()
    }

    #[getter]
    fn levels(&self) -> Vec<u32> {
        self.store.levels().to_vec()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.store.warnings()
    }

    /// The report of the job `info`, as JSON.
    fn info(&self, py: Python<'_>) -> PyResult<String> {
        let url = self.store.url();
        let info = StoreInfo::of(&self.store).map_err(|e| Failure::from(e).at(url));
        json_text(&wait(py, OnInterrupt::Drop, info)?)
    }

    /// Starts a query; `outputs` states which of the tables vertices, links and objects it returns.
    fn query(&self, py: Python<'_>, asked: Asked, outputs: (bool, bool, bool)) -> PyResult<Answer> {
        let spec = self.asked(py, asked, outputs)?;
        let start = async {
            let query = self.resolved(&spec).await?;
            let answer = zvf_query::query(&self.store, query).await;
            answer.map_err(|error| Failure::from(error).at(self.store.url()))
        };
        let answer = wait(py, OnInterrupt::Drop, start)?;
        Ok(self.answer(answer))
    }

    /// The flat table of a query.
    fn flat(&self, py: Python<'_>, asked: Asked) -> PyResult<Flat> {
        let spec = self.asked(py, asked, (true, false, false))?;
        let query = wait(py, OnInterrupt::Drop, self.resolved(&spec))?;
        let flat = Flat::of(py, self, query)?;
        self.log_not_read();
        if let Some(trace) = &self.trace {
            trace.write()?;
        }
        Ok(flat)
    }

    /// The reads that a query would do at each level, as JSON.
    fn plan(&self, py: Python<'_>, asked: Asked) -> PyResult<String> {
        let spec = self.asked(py, asked, (true, true, true))?;
        let plan = async {
            let query = self.resolved(&spec).await?;
            let plan = query.plan(&self.store).await;
            plan.map_err(|error| Failure::from(error).at(self.store.url()))
        };
        let plan = wait(py, OnInterrupt::Drop, plan)?;
        let levels = plan.iter().map(LevelPlan::to_json);
        Ok(levels.collect::<serde_json::Value>().to_string())
    }

    /// Statistics of the rows of a query, as JSON: one section, or one for each object or group.
    fn stats(&self, py: Python<'_>, asked: Asked, wanted: statistics::Wanted) -> PyResult<String> {
        let (spec, wanted) = (self.asked(py, asked, (true, false, true))?, wanted.spec()?);
        let work = async {
            let query = self.resolved(&spec).await?;
            let found = statistics::sections(&self.store, query, wanted).await;
            found.map_err(|error| error.at(self.store.url()))
        };
        let (found, warnings) = wait(py, OnInterrupt::Drop, work)?;
        self.log_not_read();
        self.log_each(&warnings);
        json_text(&found)
    }

    /// Lists the objects of a level that satisfy a condition, in an order.
    fn objects(
        &self,
        py: Python<'_>,
        level: u32,
        own_level_only: bool,
        condition: Option<String>,
        sort: Vec<String>,
        limit: Option<u64>,
    ) -> PyResult<Table> {
        let mut job = zvf_jobs::ObjectsJob::default();
        (job.at.level, job.at.own_level_only) = (level, own_level_only);
        (job.r#where, job.sort, job.limit) = (condition, sort, limit);
        let context = zvf_jobs::Context::new().with_memory_budget(self.memory_budget);
        let done = wait(py, OnInterrupt::Drop, job.of_store(&self.store, &context))?;
        self.log_not_read();
        let rows = done.objects.ok_or_else(|| bug("a list without rows"))?;
        Ok(Table {
            schema: rows.schema,
            batches: rows.batches,
        })
    }

    /// Measures the objects of a query, with the means of some attributes.
    fn measure(&self, py: Python<'_>, asked: Asked, means: Vec<String>) -> PyResult<Table> {
        let spec = self.asked(py, asked, (true, true, true))?;
        let work = async {
            let query = self.resolved(&spec).await?;
            let found = statistics::measures(&self.store, query, &means).await;
            found.map_err(|error| error.at(self.store.url()))
        };
        let (found, warnings) = wait(py, OnInterrupt::Drop, work)?;
        self.log_not_read();
        self.log_each(&warnings);
        Ok(found)
    }

    /// The last rows of a query.
    fn tail(&self, py: Python<'_>, asked: Asked, rows: u64) -> PyResult<Table> {
        let spec = self.asked(py, asked, (true, false, false))?;
        let work = async {
            let query = self.resolved(&spec).await?;
            let found = zvf_query::last_rows(&self.store, query, rows).await;
            found.map_err(|error| Failure::from(error).at(self.store.url()))
        };
        let found = wait(py, OnInterrupt::Drop, work)?;
        self.log_not_read();
        Ok(Table::from(found))
    }

    /// Rows of a query that are drawn at random.
    fn sample_rows(&self, py: Python<'_>, asked: Asked, rows: u64, seed: u64) -> PyResult<Table> {
        let spec = self.asked(py, asked, (true, false, false))?;
        let work = async {
            let query = self.resolved(&spec).await?;
            let found = zvf_query::sample_rows(&self.store, query, rows, seed).await;
            found.map_err(|error| Failure::from(error).at(self.store.url()))
        };
        let found = wait(py, OnInterrupt::Drop, work)?;
        self.log_not_read();
        Ok(Table::from(found))
    }

    /// Cuts a query into splits, by one of `count`, `rows` and `bytes`, and returns each as JSON.
    fn splits(&self, py: Python<'_>, asked: Asked, by: &str, size: u64) -> PyResult<Vec<String>> {
        let target = splits::target(by, size)?;
        let spec = self.asked(py, asked, (true, true, true))?;
        let cut = async {
            let query = self.resolved(&spec).await?;
            let splits = query.splits(&self.store, target).await;
            splits.map_err(|error| Failure::from(error).at(self.store.url()))
        };
        splits::written(&wait(py, OnInterrupt::Drop, cut)?)
    }

    /// Starts a split of a query as a flat table of these columns.
    fn flat_split(&self, py: Python<'_>, split: &str, columns: Vec<String>) -> PyResult<Answer> {
        dataset::split(py, self, splits::read(split)?, &columns)
    }

    /// Starts a split of a query; the store must be the one that was queried.
    fn run_split(
        &self,
        py: Python<'_>,
        split: &str,
        columns: Option<Vec<String>>,
    ) -> PyResult<Answer> {
        let mut split = splits::read(split)?;
        if let Some(columns) = columns {
            split = split.with_columns(&column_list(&columns)?);
        }
        let start = async {
            let answer = split.run(&self.store).await;
            answer.map_err(|error| Failure::from(error).at(self.store.url()))
        };
        let answer = wait(py, OnInterrupt::Drop, start)?;
        Ok(self.answer(answer))
    }
}

impl Store {
    pub(crate) fn inner(&self) -> &zvf_store::Store {
        &self.store
    }

    /// Logs each warning about data of the store that is not read, once.
    fn log_not_read(&self) {
        self.log_each(&self.store.not_read());
    }

    /// Logs warnings, each once.
    pub(crate) fn log_each(&self, warnings: &[String]) {
        for warning in warnings {
            let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
            if logged.contains(warning) {
                continue;
            }
            logged.push(warning.clone());
            drop(logged);
            crate::jobs::log("warning", &format!("{}: {warning}", self.store.url()));
        }
    }

    /// The description of a query, with the memory budget of the store.
    pub(crate) fn asked(
        &self,
        py: Python<'_>,
        asked: Asked,
        outputs: (bool, bool, bool),
    ) -> PyResult<QuerySpec> {
        let open = || Ok((self.store.clone(), self.io.clone()));
        let masks = Masks { py, open: &open };
        let mut spec = asked.spec(outputs, &masks)?;
        if let Some(bytes) = self.memory_budget {
            spec.memory_budget = bytes;
        }
        Ok(spec)
    }

    /// Resolves the description of a query for this store.
    pub(crate) async fn resolved(&self, spec: &QuerySpec) -> Result<Query, Failure> {
        let query = spec.resolve(&self.store).await;
        query.map_err(|error| Failure::from(error).at(self.store.url()))
    }

    /// Wraps a running query. Logs the warnings so far about data that is not read.
    pub(crate) fn answer(&self, answer: zvf_query::Answer) -> Answer {
        self.log_not_read();
        Answer {
            schemas: [
                zvf_query::Table::Vertices,
                zvf_query::Table::Links,
                zvf_query::Table::Objects,
            ]
            .map(|table| answer.schema(table).cloned()),
            store: self.clone(),
            state: Mutex::new(State {
                answer: Some(answer),
                busy: false,
                summary: None,
            }),
            flat: None,
        }
    }
}

/// Columns by their names.
///
/// # Errors
/// Misuse: no name, or an empty one.
fn column_list(columns: &[String]) -> PyResult<Vec<Column>> {
    if columns.is_empty() {
        return Err(misuse("columns: found none, expected at least one"));
    }
    let parsed = columns.iter().map(|name| name.parse::<Column>());
    Ok(parsed.collect::<Result<_, _>>().map_err(Failure::from)?)
}

/// A running query, which reads its batches on demand.
#[pyclass(frozen, module = "zvf._zvf")]
#[derive(Debug)]
pub(crate) struct Answer {
    schemas: [Option<SchemaRef>; 3],
    store: Store,
    state: Mutex<State>,
    /// Converts batches of vertices to flat batches, if these are requested.
    flat: Option<Arc<Flatten>>,
}

#[derive(Debug)]
struct State {
    answer: Option<zvf_query::Answer>,
    /// Whether a call that has not returned yet holds the answer.
    busy: bool,
    summary: Option<Summary>,
}

/// The index of a table in arrays of all three.
fn place(table: zvf_query::Table) -> usize {
    match table {
        zvf_query::Table::Vertices => 0,
        zvf_query::Table::Links => 1,
        zvf_query::Table::Objects => 2,
    }
}

impl Answer {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn url(&self) -> &str {
        self.store.store.url()
    }

    /// Keeps the summary of an answer that ended, and logs its warnings.
    fn ended(&self, summary: Summary) {
        self.store.log_each(&summary.warnings);
        self.lock().summary = Some(summary);
    }

    /// Takes the answer out, so that a call that waits for a batch does not hold the lock; `None` if it has ended.
    ///
    /// # Errors
    /// Misuse: another thread waits for a batch. `None` would look like the end of the answer.
    fn take(&self) -> PyResult<Option<zvf_query::Answer>> {
        let mut state = self.lock();
        if state.busy {
            return Err(misuse(format!(
                "{}: found a query in use by another thread, expected one thread at a time",
                self.url()
            )));
        }
        state.busy = state.answer.is_some();
        Ok(state.answer.take())
    }

    /// Puts the answer back, or ends it.
    fn put(&self, answer: Option<zvf_query::Answer>) {
        let mut state = self.lock();
        state.busy = false;
        state.answer = answer;
    }

    /// The answer with flat batches instead of batches of vertices.
    #[must_use]
    pub(crate) fn flat(mut self, flat: Flatten) -> Self {
        self.schemas[0] = Some(Arc::clone(flat.schema()));
        self.flat = Some(Arc::new(flat));
        self
    }

    /// A batch as the caller gets it.
    fn made(&self, batch: RecordBatch) -> Result<RecordBatch, Failure> {
        match &self.flat {
            Some(flat) => flat.apply(&batch),
            None => Ok(batch),
        }
    }

    /// Appends the requests so far to the trace file, if there is one.
    fn traced(&self) -> PyResult<()> {
        match &self.store.trace {
            Some(trace) => trace.write(),
            None => Ok(()),
        }
    }
}

#[pymethods]
impl Answer {
    /// The next batch and the number of its table: 0 vertices, 1 links, 2 objects; None at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<(usize, Table)>> {
        let Some(mut answer) = self.take()? else {
            return Ok(None);
        };
        let step = async {
            let next = answer.next().await;
            let next = next.map_err(|error| Failure::from(error).at(self.url()))?;
            Ok::<_, Failure>((next, answer))
        };
        let done = wait(py, OnInterrupt::Drop, step);
        // A failure or an interrupt ends the answer.
        let (next, answer) = done.inspect_err(|_| self.put(None))?;
        let Some((table, batch)) = next else {
            self.put(None);
            self.ended(answer.summary().clone());
            self.traced()?;
            return Ok(None);
        };
        self.put(Some(answer));
        let batch = py.detach(|| self.made(batch))?;
        let batch = Table {
            schema: batch.schema(),
            batches: vec![batch],
        };
        Ok(Some((place(table), batch)))
    }

    /// An empty table with the columns of one of the tables; None if the answer does not have it.
    fn empty(&self, table: usize) -> Option<Table> {
        let schema = self.schemas.get(table)?.clone()?;
        Some(Table {
            schema,
            batches: Vec::new(),
        })
    }

    /// Reads the remaining batches of all tables: vertices, links, objects. `progress` is called with the number of vertices of each batch;
    /// an exception that it raises ends the query.
    #[pyo3(signature = (progress = None))]
    fn collect(&self, py: Python<'_>, progress: Progress) -> PyResult<[Option<Table>; 3]> {
        let mut tables = self.schemas.clone().map(|schema| {
            schema.map(|schema| Table {
                schema,
                batches: Vec::new(),
            })
        });
        let Some(mut answer) = self.take()? else {
            return Ok(tables);
        };
        let raised = Raised::default();
        let all = async {
            while let Some((table, batch)) = answer
                .next()
                .await
                .map_err(|error| Failure::from(error).at(self.url()))?
            {
                if let (zvf_query::Table::Vertices, Some(callback)) = (table, &progress)
                    && !raised.call(callback, batch.num_rows() as u64, None)
                {
                    break;
                }
                if let Some(Some(table)) = tables.get_mut(place(table)) {
                    table.batches.push(self.made(batch)?);
                }
            }
            Ok::<_, Failure>(answer.summary().clone())
        };
        let summary = wait_unless(py, OnInterrupt::Drop, &raised, all);
        self.put(None);
        self.ended(summary?);
        self.traced()?;
        Ok(tables)
    }

    /// Counts, levels, chunks and cells read, warnings. None before the end of the answer.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(summary) = self.lock().summary.clone() else {
            return Ok(None);
        };
        let found = PyDict::new(py);
        found.set_item("vertices", summary.vertices)?;
        found.set_item("links", summary.links)?;
        found.set_item("objects", summary.objects)?;
        found.set_item("levels", summary.levels)?;
        found.set_item("chunks_read", summary.chunks_read)?;
        found.set_item("cells_read", summary.cells_read)?;
        found.set_item("truncated", summary.truncated)?;
        found.set_item("warnings", summary.warnings)?;
        Ok(Some(found))
    }

    /// Ends the query.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let answer = self.take()?;
        self.put(None);
        // Requests in flight are dropped with the interpreter detached.
        py.detach(|| drop(answer));
        self.traced()
    }

    /// The batches of one table as a stream, which takes over the answer. Batches of other tables are read and discarded.
    fn stream<'py>(&self, py: Python<'py>, table: usize) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = self.schemas.get(table).cloned().flatten();
        let answer = self.take()?;
        self.put(None);
        let (Some(schema), Some(answer)) = (schema, answer) else {
            return Err(misuse(format!(
                "{}: the answer has ended, or has no such table",
                self.url()
            )));
        };
        let threading = py.import("threading")?;
        let main = threading.call_method0("main_thread")?;
        let is_main = threading.call_method0("current_thread")?.is(&main);
        let reader = Batches {
            answer: Some(answer),
            schema,
            table,
            main: is_main.then(|| std::thread::current().id()),
            store: self.store.clone(),
            flat: self.flat.clone(),
        };
        stream_capsule(py, Box::new(reader))
    }
}

/// One table of an answer as a reader of batches, which consumers call from any thread, attached to the interpreter or not.
struct Batches {
    answer: Option<zvf_query::Answer>,
    schema: SchemaRef,
    table: usize,
    /// The main thread, if the stream was made there: no other thread can check for signals.
    main: Option<ThreadId>,
    store: Store,
    flat: Option<Arc<Flatten>>,
}

impl Batches {
    fn is_on_main(&self) -> bool {
        self.main == Some(std::thread::current().id())
    }

    /// Logs the warnings of an answer that ended. Another thread must not wait for the interpreter, because the main thread may hold it and wait.
    fn log(&self, warnings: Vec<String>) {
        let store = self.store.clone();
        if self.is_on_main() {
            store.log_each(&warnings);
        } else if !warnings.is_empty() {
            drop(std::thread::spawn(move || {
                Python::try_attach(|_| store.log_each(&warnings))
            }));
        }
    }

    fn step(&mut self) -> Result<Option<RecordBatch>, String> {
        let watched = self.is_on_main();
        let Some(answer) = &mut self.answer else {
            return Ok(None);
        };
        let runtime = runtime().map_err(|error| error.to_string())?;
        let table = self.table;
        let url = self.store.store.url();
        runtime.block_on(async {
            let mut next = Box::pin(async {
                while let Some((of, batch)) = answer.next().await? {
                    if place(of) == table {
                        return Ok(Some(batch));
                    }
                }
                Ok::<_, zvf_query::QueryError>(None)
            });
            loop {
                match select(next.as_mut(), pin!(tokio::time::sleep(SIGNAL_INTERVAL))).await {
                    Either::Left((done, _)) => {
                        return done.map_err(|error| format!("{url}: {}", fold(&error)));
                    }
                    Either::Right(_) if watched && interrupted() => {
                        return Err("interrupted".to_owned());
                    }
                    Either::Right(_) => {}
                }
            }
        })
    }
}

/// Whether the handler of a signal raised an exception. An Arrow stream cannot pass the exception on, so the interrupt is raised
/// again, for the code after the consumer's.
fn interrupted() -> bool {
    Python::attach(|py| {
        if py.check_signals().is_ok() {
            return false;
        }
        // If this fails, the caller gets only the exception of the consumer.
        let _ = py
            .import("_thread")
            .and_then(|module| module.call_method0("interrupt_main"));
        true
    })
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut step = self.step();
        if !matches!(step, Ok(Some(_))) {
            let answer = self.answer.take().filter(|_| step.is_ok());
            if let Some(answer) = answer {
                self.log(answer.summary().warnings.clone());
            }
            if let (Ok(None), Some(trace)) = (&step, &self.store.trace)
                && let Err(error) = trace.write()
            {
                step = Err(error.to_string());
            }
        }
        let step = step.and_then(|batch| match (batch, &self.flat) {
            (Some(batch), Some(flat)) => flat
                .apply(&batch)
                .map(Some)
                .map_err(|e| PyErr::from(e).to_string()),
            (batch, _) => Ok(batch),
        });
        step.map_err(ArrowError::ComputeError).transpose()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

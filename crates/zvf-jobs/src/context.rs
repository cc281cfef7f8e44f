//! The context of a job: storage, limits, progress and warnings.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use zvf_convert::export::ExportProgress;
use zvf_encode::{StaleFiles, StoreSpec, WriteOptions};
use zvf_query::Query;
use zvf_store::io::SaveProgress;
use zvf_store::{Need, Store};
use zvf_validate::ValidationStep;

use crate::JobError;
use crate::error::Result;

/// Called with the number of units that were completed since the last call: see [`Job::unit`](crate::Job::unit).
pub type JobProgress = Arc<dyn Fn(u64) + Send + Sync>;

/// Called with a warning while a job runs.
pub type JobLog = Arc<dyn Fn(&str) + Send + Sync>;

/// A decision or a step of a running job.
#[derive(Debug)]
#[non_exhaustive]
pub enum JobEvent<'e> {
    /// A note for the user about the result: data that is not stored, or an automatic choice that an option can change. Also in the report.
    Note(&'e str),
    /// Chunks were chosen by the data.
    ChunksChosen {
        /// The store, with the shape of its chunks and bins.
        spec: &'e StoreSpec,
        /// The reason.
        reason: &'e str,
    },
    /// A whole file is downloaded from this URL before it is read.
    Downloading(&'e str),
    /// A file is being downloaded: reported at each further percent, or MiB if the server states no length, and at the end.
    Downloaded {
        /// Bytes received so far; fewer than in the previous event if the download restarted after a failure.
        bytes: u64,
        /// Size of the file as the server states it, `None` if it does not; in the last event, the bytes received.
        total: Option<u64>,
    },
    /// The job continues an interrupted one from its journal.
    Resumed {
        /// Batches of the journal.
        batches: u64,
        /// Vertices in them.
        vertices: u64,
    },
    /// The total of the units that [`JobProgress`] counts. A later event replaces it.
    Total(u64),
    /// From now on [`WriteOptions::with_progress`] reports the progress, not [`JobProgress`].
    Writing,
}

/// Called with the decisions and steps of a job.
pub type JobEvents = Arc<dyn Fn(&JobEvent<'_>) + Send + Sync>;

/// How a job reaches storage, its limits, and where its progress and warnings go.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Context {
    /// Memory and threads for writing. Its member [`open`](WriteOptions::open) has the options for reading and requests: the backend with its
    /// credentials, limits, retries, trace and the request to stop. Jobs have options of their own for stale files and the journal, which replace the
    /// ones here. Without [`verify`](zvf_store::io::IoOptions::verify), copies are not compared either.
    pub write: WriteOptions,
    /// Limit on the decoded bytes of a query in memory at once, and on the bytes of vertex ids that an import keeps to resolve the links of tables.
    /// `None`: the defaults of [`QuerySpec::memory_budget`](zvf_query::QuerySpec::memory_budget) and [`zvf_convert::FileLimits::ids`].
    pub memory_budget: Option<u64>,
    progress: Option<JobProgress>,
    log: Option<JobLog>,
    events: Option<JobEvents>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("write", &self.write)
            .finish_non_exhaustive()
    }
}

impl Context {
    /// Local stores and public ones, with the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces [`write`](Self::write).
    #[must_use]
    pub fn with_write(mut self, write: WriteOptions) -> Self {
        self.write = write;
        self
    }

    /// Replaces [`memory_budget`](Self::memory_budget).
    #[must_use]
    pub fn with_memory_budget(mut self, bytes: Option<u64>) -> Self {
        self.memory_budget = bytes;
        self
    }

    /// Reports progress.
    #[must_use]
    pub fn with_progress(mut self, progress: JobProgress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Reports warnings while the job runs. Those about its result are in the report.
    #[must_use]
    pub fn with_log(mut self, log: JobLog) -> Self {
        self.log = Some(log);
        self
    }

    /// Reports the decisions and steps of the job. Notes are also in the report.
    #[must_use]
    pub fn with_events(mut self, events: JobEvents) -> Self {
        self.events = Some(events);
        self
    }

    /// The same context, with an entry for the history of the store that is written.
    pub(crate) fn recording(&self, entry: Option<Value>) -> Self {
        let mut context = self.clone();
        context.write.history = entry;
        context
    }

    /// Options that write a store; `clear` removes the files of an interrupted writer.
    pub(crate) fn writing(&self, clear: bool) -> WriteOptions {
        let stale = match clear {
            true => StaleFiles::Remove,
            false => StaleFiles::Refuse,
        };
        let mut write = self.write.clone().with_stale_files(stale);
        write.journal = None;
        write
    }

    /// Opens a store; the documents of one level are requested along with the root.
    pub(crate) async fn open(&self, store: &str, level: u32, need: Need) -> Result<Store> {
        let open = self.write.open.clone().with_prefetch(level, need);
        let opened = Store::open_with(store, open).await;
        opened.map_err(JobError::store(store))
    }

    pub(crate) fn progress(&self) -> JobProgress {
        self.progress.clone().unwrap_or_else(|| Arc::new(|_| {}))
    }

    /// Reports the total of what [`progress`](Self::progress) counts.
    pub(crate) fn total(&self, total: u64) {
        self.event(&JobEvent::Total(total));
    }

    /// Reports the number of rows as the total, if the query selects all rows of a level whose document states the number.
    pub(crate) async fn total_of(&self, store: &Store, query: &Query) -> Result<()> {
        let rows = query.stated_rows(store).await;
        if let Some(rows) = rows.map_err(JobError::query(store.url()))? {
            self.total(rows);
        }
        Ok(())
    }

    /// Reports the rows that an export reads.
    pub(crate) fn exported(&self) -> ExportProgress {
        let run = self.clone();
        let progress = self.progress();
        let before = Mutex::new((0, None));
        ExportProgress::to(move |read, total| {
            let mut before = before.lock().unwrap_or_else(PoisonError::into_inner);
            let (known, stated) = std::mem::replace(&mut *before, (read, total));
            drop(before);
            if let Some(total) = total.filter(|_| total != stated) {
                run.total(total);
            }
            progress(read.saturating_sub(known));
        })
    }

    /// Reports the cells that a validation checked and, as the total, the cells of all steps that have begun.
    pub(crate) fn checked(&self) -> impl Fn(&ValidationStep) + Send + Sync + 'static {
        let (context, progress) = (self.clone(), self.progress());
        let known = Mutex::new((String::new(), 0_u64));
        move |step| {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.0 != step.what {
                *known = (step.what.clone(), known.1.saturating_add(step.all));
                context.total(known.1);
            }
            drop(known);
            progress(step.added);
        }
    }

    /// Reports how much of a file was downloaded, except the end, which the caller reports.
    pub(crate) fn downloads(&self) -> SaveProgress {
        let (events, last) = (self.events.clone(), AtomicU64::new(0));
        Arc::new(move |bytes, total| {
            let step = match total {
                Some(total) => bytes.saturating_mul(100).checked_div(total).unwrap_or(100),
                None => bytes >> 20,
            };
            let is_end = total == Some(bytes);
            if last.swap(step, Ordering::Relaxed) != step
                && !is_end
                && let Some(events) = &events
            {
                events(&JobEvent::Downloaded { bytes, total });
            }
        })
    }

    pub(crate) fn warn(&self, warning: &str) {
        if let Some(log) = &self.log {
            log(warning);
        }
    }

    pub(crate) fn event(&self, event: &JobEvent<'_>) {
        if let Some(events) = &self.events {
            events(event);
        }
    }
}

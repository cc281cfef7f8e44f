//! What a job runs with that is no part of it.

use std::fmt;
use std::sync::Arc;

use zvf_encode::{StaleFiles, WriteOptions};

/// Called with the number of units that were done since the last call: see [`Job::unit`](crate::Job::unit).
pub type JobProgress = Arc<dyn Fn(u64) + Send + Sync>;

/// Called with a warning while a job runs.
pub type JobLog = Arc<dyn Fn(&str) + Send + Sync>;

/// What a job runs with that is no part of it: how storage is reached, limits, and where progress and warnings go.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Context {
    /// Memory and threads of what is written, and, in [`open`](WriteOptions::open), the backend with its credentials, limits, retries, trace and the request to
    /// stop. Stale files and the journal are options of jobs, which replace what is here. Without
    /// [`verify`](zvf_store::io::IoOptions::verify) copies are not compared, either.
    pub write: WriteOptions,
    progress: Option<JobProgress>,
    log: Option<JobLog>,
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

    /// Options that write a store; `clear` removes what an interrupted writer left.
    pub(crate) fn writing(&self, clear: bool) -> WriteOptions {
        let stale = match clear {
            true => StaleFiles::Remove,
            false => StaleFiles::Refuse,
        };
        let mut write = self.write.clone().with_stale_files(stale);
        write.journal = None;
        write
    }

    pub(crate) fn progress(&self) -> JobProgress {
        self.progress.clone().unwrap_or_else(|| Arc::new(|_| {}))
    }

    pub(crate) fn warn(&self, warning: &str) {
        if let Some(log) = &self.log {
            log(warning);
        }
    }
}

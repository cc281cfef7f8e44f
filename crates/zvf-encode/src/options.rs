//! How a store is written: memory, threads, temporary files, durability, and the backend.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use zvf_store::OpenOptions;

use crate::level::progress::{Progress, Watch};
use crate::transaction::lease::LEASE;
use crate::transaction::marker::StaleFiles;

/// How a store is written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Bytes of pushed data that are held in memory; more data goes to temporary files. Default 256 MiB.
    ///
    /// In addition, memory holds for each thread one chunk (or shard) with its cells, and the attributes of objects.
    pub memory_budget: usize,
    /// The folder for temporary files. Default: the system's folder for them.
    pub temporary_folder: Option<PathBuf>,
    /// Threads that encode chunks. Default: one per core.
    pub threads: usize,
    /// How the files of an interrupted writer are treated.
    pub stale_files: StaleFiles,
    /// Whether the files of a local store are synced to the disk before its root is written. Default true.
    ///
    /// If false, a crash of the program still leaves the store unchanged or complete; a loss of power may not.
    pub durable: bool,
    /// A file that stores pushed batches until the store exists. A writer that is created with the same file and the same specification continues
    /// after the last batch in the file: `StoreWriter::batches` of `zvf-write` returns their number. Default: none.
    ///
    /// A copy (`zvf-migrate`) records its written chunks there, and continues after them.
    ///
    /// Cost: the bytes of all batches on that disk, and one sync per batch unless [`durable`](Self::durable) is false.
    pub journal: Option<PathBuf>,
    /// How long the marker of a change of an existing store keeps other writers away after it was last renewed. After that, the next writer finishes
    /// the change or rolls it back. A writer renews its marker four times in this span. Default 60 s.
    pub lease: Duration,
    /// The entry for the history of the store: a description of the operation, in the terms of the caller. Default: none; then no entry is added.
    pub history: Option<Value>,
    /// Receives the progress of the write.
    pub watch: Watch,
    /// The backend: credentials, an object store of the caller, concurrency, retries.
    pub open: OpenOptions,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            memory_budget: 256 << 20,
            temporary_folder: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            stale_files: StaleFiles::default(),
            durable: true,
            journal: None,
            lease: LEASE,
            history: None,
            watch: Watch::default(),
            open: OpenOptions::new(),
        }
    }
}

impl WriteOptions {
    /// The folder for temporary files: the chosen one, else the system's.
    pub fn folder(&self) -> PathBuf {
        let chosen = self.temporary_folder.clone();
        chosen.unwrap_or_else(std::env::temp_dir)
    }

    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces [`memory_budget`](Self::memory_budget).
    #[must_use]
    pub fn with_memory_budget(mut self, bytes: usize) -> Self {
        self.memory_budget = bytes;
        self
    }

    /// Replaces [`temporary_folder`](Self::temporary_folder).
    #[must_use]
    pub fn with_temporary_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.temporary_folder = Some(folder.into());
        self
    }

    /// Replaces [`threads`](Self::threads).
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Replaces [`stale_files`](Self::stale_files).
    #[must_use]
    pub fn with_stale_files(mut self, stale_files: StaleFiles) -> Self {
        self.stale_files = stale_files;
        self
    }

    /// Replaces [`durable`](Self::durable).
    #[must_use]
    pub fn with_durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// Replaces [`journal`](Self::journal).
    #[must_use]
    pub fn with_journal(mut self, file: impl Into<PathBuf>) -> Self {
        self.journal = Some(file.into());
        self
    }

    /// Replaces [`lease`](Self::lease).
    #[must_use]
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Replaces [`history`](Self::history).
    #[must_use]
    pub fn with_history(mut self, entry: Option<Value>) -> Self {
        self.history = entry;
        self
    }

    /// Calls `watch` whenever some of the level is written: often, from the writing thread, so it must be quick.
    #[must_use]
    pub fn with_progress(mut self, watch: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.watch = Watch(Some(Arc::new(watch)));
        self
    }

    /// Replaces [`open`](Self::open).
    #[must_use]
    pub fn with_open(mut self, open: OpenOptions) -> Self {
        self.open = open;
        self
    }
}

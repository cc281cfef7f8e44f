//! The writer: create, push, finish.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use zvf_store::OpenOptions;

use crate::batch::{Batch, Groups, ObjectTable};
use crate::commit;
use crate::finish::{self, LevelInput, Summary};
use crate::journal::{Call, Journal};
use crate::lease::LEASE;
use crate::marker::StaleFiles;
use crate::objects::{Tables, checked_groups};
use crate::parts::part::Part;
use crate::progress::{Progress, Watch};
use crate::route::Router;
use crate::spec::StoreSpec;
use crate::target::Target;
use crate::{WriteError, inside};

/// How a store is written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Bytes of pushed data that are held in memory; what is more waits in temporary files. Default 256 MiB.
    ///
    /// Beside it there are, for each thread, one chunk (or shard) with its cells, and the attributes of objects.
    pub memory_budget: usize,
    /// Where temporary files go. Default: the system's folder for them.
    pub temporary_folder: Option<PathBuf>,
    /// Threads that encode chunks. Default: one a core.
    pub threads: usize,
    /// What is done with what an interrupted writer left.
    pub stale_files: StaleFiles,
    /// Whether a local store is on the disk, and not only handed to the system, before it exists. Default true.
    ///
    /// Without, a crash of the program still leaves the store as before or complete; a loss of power may not.
    pub durable: bool,
    /// A file that keeps what is pushed until the store exists. A writer that is created with the same file and the same
    /// specification goes on after the last batch that was taken: [`StoreWriter::batches`] says how many there were.
    /// Default: none.
    ///
    /// A copy (`zvf-migrate`) keeps there which chunks it wrote, and goes on after them.
    ///
    /// Costs the bytes of all batches on that disk, and one sync a batch unless [`durable`](Self::durable) is false.
    pub journal: Option<PathBuf>,
    /// How long the marker of a change of a store that exists keeps others away after the last sign of life of its writer:
    /// after that the next writer finishes the change, or takes it back. A writer gives such a sign four times as often.
    /// Default 60 s.
    pub lease: Duration,
    pub(crate) watch: Watch,
    /// The backend: credentials, an object store of the caller's, concurrency, retries.
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
            watch: Watch::default(),
            open: OpenOptions::new(),
        }
    }
}

impl WriteOptions {
    /// The folder for temporary files: the one that was chosen, else the system's.
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

    /// Calls `watch` whenever some of [`finish`](StoreWriter::finish) is done: often, from the thread that writes, so it has
    /// to be quick.
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

/// Writes one new store of one level.
///
/// Nothing lies at the address before [`finish`](Self::finish), and no store before its last step: see the crate's page.
/// A writer that is dropped leaves nothing.
#[derive(Debug)]
pub struct StoreWriter {
    target: Arc<Target>,
    address: String,
    spec: Arc<StoreSpec>,
    options: WriteOptions,
    router: Router,
    tables: Tables,
    groups: Groups<'static>,
    /// Tables of objects that were taken.
    taken: u64,
    journal: Option<Journal>,
    /// The part that is written, of a store of several.
    part: Option<Part>,
    broken: Option<String>,
}

impl StoreWriter {
    /// Prepares a new store.
    ///
    /// # Cost
    /// Two requests and one listing. Nothing is written.
    ///
    /// # Errors
    /// Misuse: a specification that contradicts itself, an address that is none, something that lies there. I/O.
    pub fn create<'a>(
        address: &'a str,
        spec: StoreSpec,
        options: WriteOptions,
    ) -> BoxFuture<'a, Result<Self, WriteError>> {
        Box::pin(async move {
            spec.check()?;
            let (place, open, stale_files) = (
                address.to_owned(),
                options.open.clone(),
                options.stale_files,
            );
            let durable = options.durable;
            let target = blocking(move || {
                let target = Target::new(&place, &open, durable)?;
                inside::check(&place, &open)?;
                commit::check(&target, &place, stale_files)?;
                Ok(target)
            })
            .await?;
            let mut writer = Self::new(Arc::new(target), address.to_owned(), spec, options);
            if let Some(path) = writer.options.journal.clone() {
                writer = blocking(move || writer.replay(&path)).await?;
            }
            Ok(writer)
        })
    }

    fn new(target: Arc<Target>, address: String, spec: StoreSpec, options: WriteOptions) -> Self {
        let folder = options.folder();
        Self {
            target,
            address,
            journal: None,
            part: None,
            router: Router::new(&spec, options.memory_budget, &folder)
                .with_threads(options.threads),
            tables: Tables::new(&spec),
            groups: Groups::default(),
            taken: 0,
            spec: Arc::new(spec),
            options,
            broken: None,
        }
    }

    /// A writer of one part of a store.
    pub(crate) fn of_part(
        target: Arc<Target>,
        address: String,
        spec: StoreSpec,
        options: WriteOptions,
        part: Part,
    ) -> Self {
        Self {
            part: Some(part),
            ..Self::new(target, address, spec, options)
        }
    }

    /// Takes what a journal keeps, and keeps it open.
    fn replay(mut self, path: &Path) -> Result<Self, WriteError> {
        let (spec, durable) = (Arc::clone(&self.spec), self.options.durable);
        let journal = Journal::open(path, &spec, durable, |call| match call {
            Call::Batch(batch) => self.push(&batch),
            Call::Objects(table) => self.push_objects(&table),
            Call::Groups(groups) => self.set_groups(&groups),
        })?;
        self.journal = Some(journal);
        Ok(self)
    }

    /// Notes a failure after which it is not known what the writer holds.
    fn note<T>(&mut self, done: Result<T, WriteError>) -> Result<T, WriteError> {
        if let Err(error @ (WriteError::Io { .. } | WriteError::Limit { .. })) = &done {
            self.broken = Some(error.to_string());
        }
        done
    }

    /// Keeps a call that was taken.
    fn keep(&mut self, call: &Call<'_>) -> Result<(), WriteError> {
        let journal = self.journal.as_mut();
        let done = journal.map_or(Ok(()), |journal| journal.keep(call));
        self.note(done)
    }

    fn skip(&mut self, call: &Call<'_>) -> Result<bool, WriteError> {
        let journal = self.journal.as_mut();
        journal.map_or(Ok(false), |journal| journal.skip(call))
    }

    /// Passes over a batch that the [journal](WriteOptions::journal) has: for a caller that starts over and pushes everything
    /// again, in the same order. `false`: it is new, and has to be pushed.
    ///
    /// # Cost
    /// One copy of the batch.
    ///
    /// # Errors
    /// Misuse: the journal has something else in this place, as a checksum tells. The writer is of no further use.
    pub fn skip_batch(&mut self, batch: &Batch<'_>) -> Result<bool, WriteError> {
        self.skip(&Call::Batch(Cow::Borrowed(batch)))
    }

    /// As [`skip_batch`](Self::skip_batch), of a table of objects.
    ///
    /// # Errors
    /// As [`skip_batch`](Self::skip_batch).
    pub fn skip_objects(&mut self, table: &ObjectTable<'_>) -> Result<bool, WriteError> {
        self.skip(&Call::Objects(Cow::Borrowed(table)))
    }

    /// As [`skip_batch`](Self::skip_batch), of groups.
    ///
    /// # Errors
    /// As [`skip_batch`](Self::skip_batch).
    pub fn skip_groups(&mut self, groups: &Groups<'_>) -> Result<bool, WriteError> {
        self.skip(&Call::Groups(Cow::Borrowed(groups)))
    }

    /// Whether everything that the journal had when the writer was created came again: a caller that starts over and is done
    /// asks, since what is left did not come from what it gave.
    #[must_use]
    pub fn is_caught_up(&self) -> bool {
        self.journal.as_ref().is_none_or(Journal::is_passed)
    }

    /// Takes a batch of vertices.
    ///
    /// # Cost
    /// O(vertices), and writes to temporary files where the memory budget is spent: a caller that must not wait for a disk
    /// calls it elsewhere.
    ///
    /// # Errors
    /// Misuse: a batch that does not fit the specification, by column and row; nothing of it was taken, and the writer
    /// goes on. I/O on temporary files: the writer is of no further use.
    pub fn push(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
        self.usable()?;
        let done = self.router.push(&self.spec, batch);
        self.note(done)?;
        self.keep(&Call::Batch(Cow::Borrowed(batch)))
    }

    /// Takes a table of objects. Objects of which no vertex ever comes exist without vertices.
    ///
    /// # Errors
    /// Misuse: a table that does not fit, or an object that has a row already; nothing of it was taken.
    pub fn push_objects(&mut self, table: &ObjectTable<'_>) -> Result<(), WriteError> {
        self.usable()?;
        self.tables.push(&self.spec, table)?;
        self.taken += 1;
        self.keep(&Call::Objects(Cow::Borrowed(table)))
    }

    /// Sets the groups. A second call replaces them.
    ///
    /// # Errors
    /// Misuse: names or attributes that do not fit the number of groups. Whether members exist is seen at the end.
    pub fn set_groups(&mut self, groups: &Groups<'_>) -> Result<(), WriteError> {
        self.usable()?;
        if self.part.is_some() {
            let expected = "none: PartedStore::commit takes them";
            return Err(WriteError::input("groups of a part", "some", expected));
        }
        self.groups = checked_groups(&self.spec, groups)?;
        self.keep(&Call::Groups(Cow::Borrowed(groups)))
    }

    /// Vertices that were taken so far: the number of the next one, for
    /// [links between batches](Batch::with_links_between_batches).
    #[must_use]
    pub fn vertices(&self) -> u64 {
        self.router.vertices
    }

    /// Batches that were taken so far, those of a [journal](WriteOptions::journal) included: the number of the next one.
    #[must_use]
    pub fn batches(&self) -> u64 {
        self.router.batches
    }

    /// Tables of objects that were taken so far, those of a [journal](WriteOptions::journal) included.
    #[must_use]
    pub fn tables(&self) -> u64 {
        self.taken
    }

    fn usable(&self) -> Result<(), WriteError> {
        match &self.broken {
            Some(what) => Err(WriteError::Broken { what: what.clone() }),
            None => Ok(()),
        }
    }

    /// Gives the writer up. One of a part removes the note that the part was begun; any other one left nothing.
    pub fn abandon(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            if let Some(part) = self.part {
                let target = self.target;
                let abandon = move || {
                    part.abandon(&target);
                    Ok(())
                };
                // What stays is removed with the commit.
                let _ = blocking(abandon).await;
            }
        })
    }

    /// Writes the store.
    ///
    /// # Cost
    /// Every cell is encoded and written once, on several threads; memory as [`WriteOptions::memory_budget`] says.
    ///
    /// # Errors
    /// Misuse: no vertices and no bounds; chains whose vertices come in pieces; groups with members that do not exist; a
    /// place that is taken meanwhile. I/O. No store is there after an error, unless [`WriteError::is_committed`].
    pub fn finish(self) -> BoxFuture<'static, Result<Summary, WriteError>> {
        Box::pin(async move {
            self.usable()?;
            let folder = self.options.folder();
            let (target, address) = (self.target, self.address);
            let stale_files = self.options.stale_files;
            let input = LevelInput {
                spec: self.spec,
                router: self.router,
                tables: self.tables,
                groups: self.groups,
                folder,
                budget: self.options.memory_budget,
                threads: self.options.threads,
                watch: self.options.watch,
            };
            let (journal, part) = (self.journal, self.part);
            blocking(move || {
                let summary = match part {
                    Some(part) => part.write(input, &target, &address)?,
                    None => finish::write(input, &target, &address, stale_files)?,
                };
                // The store is complete, so the journal is not needed any more.
                journal.map_or(Ok(()), Journal::done)?;
                Ok(summary)
            })
            .await
        })
    }
}

/// Runs blocking work beside the tasks that drive futures.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WriteError> + Send + 'static,
) -> Result<T, WriteError> {
    // Boxed, so that the runtime's code is compiled once and not for each closure.
    let (to, result) = tokio::sync::oneshot::channel();
    let work: Box<dyn FnOnce() + Send> = Box::new(move || drop(to.send(work())));
    let broken = |what: String| WriteError::Broken { what };
    let ended = tokio::task::spawn_blocking(work).await;
    ended.map_err(|error| broken(error.to_string()))?;
    result.await.map_err(|error| broken(error.to_string()))?
}

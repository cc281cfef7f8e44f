//! Verbatim copies: every object of a store, byte for byte.
//!
//! ```text
//! zvf-unfinished.json   marker with a hash of the root of the source: a later run takes it over
//! objects               all except the root, several at a time
//! zvf-copied/…          records of copied, durable objects, and their checksums: a later run skips them
//! ── both places are listed: the source is unchanged, the sizes agree ──
//! zarr.json             the copy exists
//! ```

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use zvf_encode::error::{OrBug, internal};
use zvf_encode::parallel::blocking;
use zvf_encode::target::{Target, is_temporary, unique};
use zvf_encode::transaction::new_store::COPIED;
use zvf_encode::transaction::{MARKER, ROOT, new_store};
use zvf_encode::{WriteError, WriteOptions};
use zvf_format::int::wide;
use zvf_format::keys::parse_level;
use zvf_meta::RootDoc;
use zvf_store::writing::is_part_of_store;
use zvf_store::{Class, IoError, ObjectState, ObjectStates, OpenOptions, RawStore, StoreError};

/// Called with the number of bytes copied so far, and of all bytes of the store.
pub type CopyProgress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// How a store is copied verbatim.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CopyOptions {
    /// The backend of the copy, the memory for objects in flight, stale files, durability.
    pub write: WriteOptions,
    /// The backend of the source, if it differs. Default: the backend of the copy.
    pub source: Option<OpenOptions>,
    /// Whether every object of the copy is read back and compared with the checksum of the bytes that were read from the source.
    pub read_back: bool,
    /// Reports the progress.
    pub progress: Option<CopyProgress>,
}

impl std::fmt::Debug for CopyOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyOptions")
            .field("write", &self.write)
            .field("source", &self.source)
            .field("read_back", &self.read_back)
            .finish_non_exhaustive()
    }
}

impl CopyOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn source_open(&self) -> &OpenOptions {
        self.source.as_ref().unwrap_or(&self.write.open)
    }

    /// Replaces [`write`](Self::write).
    #[must_use]
    pub fn with_write(mut self, write: WriteOptions) -> Self {
        self.write = write;
        self
    }

    /// Replaces [`source`](Self::source).
    #[must_use]
    pub fn with_source(mut self, source: OpenOptions) -> Self {
        self.source = Some(source);
        self
    }

    /// Replaces [`read_back`](Self::read_back).
    #[must_use]
    pub fn with_read_back(mut self, read_back: bool) -> Self {
        self.read_back = read_back;
        self
    }

    /// Replaces [`progress`](Self::progress).
    #[must_use]
    pub fn with_progress(mut self, progress: CopyProgress) -> Self {
        self.progress = Some(progress);
        self
    }
}

/// The result of a verbatim copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct CopiedFiles {
    /// Objects of the store.
    pub files: u64,
    /// Bytes of the store.
    pub bytes: u64,
    /// Objects that an earlier run had copied.
    #[serde(rename = "skipped")]
    pub skipped_files: u64,
    /// Bytes of these objects.
    pub skipped_bytes: u64,
    /// Whether all objects were read back and compared.
    #[serde(rename = "verified")]
    pub read_back: bool,
}

/// Copies every object of a store, byte for byte, to an unused address.
///
/// Names that begin with `.zvf-` are temporary files of writers, and not part of a store. The source must have a root document and no active
/// writer; the contents of its objects are not checked.
///
/// # Cost
/// Each object is read once and written once, as many at a time as [`IoOptions::concurrency`](zvf_store::IoOptions::concurrency)
/// allows; the source is listed twice, the copy once. Objects above 16 MiB pass through a temporary file, in ranges. Memory:
/// [`WriteOptions::memory_budget`], at least 32 MiB, and about 150 bytes per object.
///
/// # Resuming
/// After an interruption or an I/O error, the same call continues the copy, even in another program. It skips objects that are recorded as copied, if
/// their state at the source and their size in the copy are as recorded. The root is written last, so that readers find no incomplete store.
///
/// # Errors
/// [`StoreError::NoStore`]: no store at `source`. [`WriteError::Busy`]: another program is changing it, or writes the same copy.
/// [`WriteError::Exists`]: something else is at `address`. Misuse: the source cannot be listed, or its root is that of another Zarr node.
/// Malformed: the root is not UTF-8, or the listing has no vertices of a level.
/// [`IoError::SourceChanged`]: the source changed in the meantime; the copied objects are removed. [`WriteError::Differs`]: an object of the copy
/// differs from the bytes that were written. I/O.
pub fn copy<'a>(
    source: &'a str,
    address: &'a str,
    options: CopyOptions,
) -> BoxFuture<'a, Result<CopiedFiles, WriteError>> {
    Box::pin(async move {
        let from = RawStore::open(source, &options.source_open().io)?;
        let (root, listed) = of_source(&from, source).await?;
        let write = options.write.clone();
        let target = Target::new(address, &write.open, write.durable)?;
        let target = Arc::new(target);
        let to = RawStore::open(address, &write.open.io)?;
        let (mark, there) = {
            let (target, address, root) = (target.clone(), address.to_owned(), root.clone());
            blocking(move || begin(&target, &address, &write, &root)).await?
        };
        let job = VerbatimCopy::new((from, source), to, target.clone(), listed, options);
        let done = if there && !job.options.read_back {
            Ok(job.whole())
        } else {
            job.run().await
        };
        let done = match done {
            Ok(done) => done,
            Err(error) => {
                let stays = error.class() == Class::Io && !is_changed(&error);
                let left = move || {
                    if stays {
                        job.records.flush(&job.target)?;
                    } else {
                        new_store::abandon(&job.target, &mark);
                    }
                    Ok(())
                };
                // The first failure is reported.
                let _ = blocking(left).await;
                return Err(error);
            }
        };
        let address = address.to_owned();
        blocking(move || match there {
            true => new_store::tidy(&target, &address, &mark, Some(COPIED)),
            false => new_store::commit(&target, &address, root, &mark, Some(COPIED)),
        })
        .await?;
        Ok(done)
    })
}

/// Largest part of an object that is in memory; larger objects pass through a temporary file.
const PART: u64 = 16 << 20;

/// Memory of an object that is uploaded from a file.
const UPLOAD: u64 = 2 * PART;

/// Bytes of one permit.
const UNIT: u64 = 1024;

/// Shortest time between records of copied objects: each record costs a sync of the file system.
const EVERY: Duration = Duration::from_secs(1);

fn is_changed(error: &WriteError) -> bool {
    matches!(error, WriteError::Store(source) if source.is_changed())
}

#[cold]
fn changed(key: &str, first: String, now: String) -> WriteError {
    let key = key.to_owned();
    IoError::SourceChanged { key, first, now }.into()
}

/// Describes a state for error messages.
fn told(state: &ObjectState) -> String {
    let etag = state.etag.as_deref().unwrap_or("none");
    format!("{} bytes with etag {etag}", state.size)
}

/// Whether two states may have the same content. If one has no etag, only the sizes are compared.
fn same(first: &ObjectState, now: &ObjectState) -> bool {
    let tags = first.etag.as_ref().zip(now.etag.as_ref());
    first.size == now.size && tags.is_none_or(|(first, now)| first == now)
}

/// All objects of a place.
async fn list(place: &RawStore, address: &str) -> Result<ObjectStates, WriteError> {
    let found = place.objects().await?;
    found.ok_or_else(|| {
        let expected = "a folder or a bucket: the keys of all objects of a store do not follow from its documents; `zvf migrate` copies the contents";
        WriteError::input(address, "a server without listings", expected)
    })
}

/// The root of the source, and its other objects.
async fn of_source(from: &RawStore, source: &str) -> Result<(String, ObjectStates), WriteError> {
    let missing = || StoreError::no_root(source);
    let root = from.read(ROOT).await?.ok_or_else(missing)?;
    if !is_part_of_store(&root) {
        let found = "zarr.json of another Zarr node";
        return Err(WriteError::input(source, found, "the root of a store"));
    }
    let mut listed = list(from, source).await?;
    if listed.iter().any(|(key, _)| key == MARKER) {
        let found = from.read(MARKER).await?;
        return Err(WriteError::held(source, MARKER, found.as_deref()));
    }
    check_listing(from, &root, &listed).await?;
    // If an edit was committed after the root was read, the listing may not match the root.
    check_root(from, &root).await?;
    listed.retain(|(key, _)| {
        let record = key.strip_prefix(COPIED);
        !is_temporary(key) && !record.is_some_and(|rest| rest.starts_with('/'))
    });
    let root = String::from_utf8(root.into());
    let root =
        root.map_err(|_| WriteError::data(ROOT, "bytes that are not UTF-8", "a JSON document"))?;
    Ok((root, listed))
}

/// Fails if the listing has no vertices of a level. The copy would lack them, and a comparison with the listing would find no difference. A level that
/// the root names, but that does not exist, is not an error here: `zvf validate` reports it. A root that cannot be parsed is not checked.
async fn check_listing(
    from: &RawStore,
    root: &[u8],
    listed: &ObjectStates,
) -> Result<(), WriteError> {
    let Ok(doc) = RootDoc::parse(root) else {
        return Ok(());
    };
    let datasets = doc.multiscales.entries.iter().flat_map(|one| &one.datasets);
    let mut levels: BTreeSet<u32> = datasets.filter_map(|one| parse_level(&one.path)).collect();
    levels.insert(0);
    for level in levels {
        let vertices = format!("{level}/vertices");
        if listed.iter().any(|(key, _)| key.starts_with(&vertices)) {
            continue;
        }
        let document = format!("{level}/zarr.json");
        if level > 0 && from.read(&document).await?.is_none() {
            continue;
        }
        check_root(from, root).await?;
        let expected = "the vertices of every level of zarr.json; `zvf validate` checks the store";
        return Err(WriteError::data(
            vertices,
            "no such objects in the listing",
            expected,
        ));
    }
    Ok(())
}

/// Fails if the root of the source is no longer the one that was read.
async fn check_root(from: &RawStore, root: &[u8]) -> Result<(), WriteError> {
    let now = from.read(ROOT).await?;
    if now.as_deref() == Some(root) {
        return Ok(());
    }
    let size = |bytes: &[u8]| format!("{} bytes", bytes.len());
    let now = now.as_deref().map_or_else(|| "none".to_owned(), size);
    Err(changed(ROOT, size(root), now))
}

/// Continues an interrupted copy of the same root, or begins a new one; returns the marker, and whether the root exists.
fn begin(
    target: &Target,
    address: &str,
    write: &WriteOptions,
    root: &str,
) -> Result<(Vec<u8>, bool), WriteError> {
    new_store::check_address(address, &write.open)?;
    let digest = Sha256::digest(root.as_bytes());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let details = json!({ "copy": format!("sha256:{digest}") });
    let stored = target.read(ROOT)?;
    let there = stored.as_deref() == Some(root.as_bytes());
    if (stored.is_none() || there)
        && let Some(mark) = new_store::resume(target, address, &details)?
    {
        target.remove_temporary()?;
        return Ok((mark, there));
    }
    let mark = new_store::begin(target, address, write.stale_files, details)?;
    Ok((mark, false))
}

/// An object that was copied.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct CopiedObject {
    key: String,
    size: u64,
    /// The validator at the source.
    etag: Option<String>,
    crc32c: u32,
}

/// The records of copied objects, written to objects of their own once the copies are durable.
#[derive(Debug, Default)]
struct CopyRecords {
    /// By key: valid records of earlier runs, and of this one.
    all: std::sync::Mutex<HashMap<String, CopiedObject>>,
    waiting: std::sync::Mutex<Vec<CopiedObject>>,
}

impl CopyRecords {
    /// Records of earlier runs. Records that cannot be parsed are ignored, and their objects are copied again.
    fn read(target: &Target) -> Result<Vec<CopiedObject>, WriteError> {
        let mut found = Vec::new();
        for key in target.keys_below(COPIED)? {
            let bytes = target.read(&key)?.unwrap_or_default();
            let records: Vec<CopiedObject> = serde_json::from_slice(&bytes).unwrap_or_default();
            found.extend(records);
        }
        Ok(found)
    }

    fn add(&self, record: CopiedObject, new: bool) {
        if new {
            lock(&self.waiting).push(record.clone());
        }
        lock(&self.all).insert(record.key.clone(), record);
    }

    /// Makes the copied objects durable, and records them.
    fn flush(&self, target: &Target) -> Result<(), WriteError> {
        let waiting = std::mem::take(&mut *lock(&self.waiting));
        if waiting.is_empty() {
            return Ok(());
        }
        target.barrier()?;
        let key = format!("{COPIED}/{:016x}.json", unique());
        let bytes = serde_json::to_vec(&waiting).or_bug("records of copied objects")?;
        target.put(vec![(key, bytes)])
    }
}

/// Ignores poisoning: the guarded values are valid after every statement.
fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// One copy.
struct VerbatimCopy {
    from: RawStore,
    source: String,
    to: RawStore,
    target: Arc<Target>,
    /// All objects of the source.
    listed: ObjectStates,
    /// Their bytes.
    total: u64,
    records: Arc<CopyRecords>,
    room: Semaphore,
    /// Number of all permits.
    permits: u64,
    /// Largest number of bytes of a request.
    part: u64,
    failed: AtomicBool,
    options: CopyOptions,
}

impl VerbatimCopy {
    fn new(
        (from, source): (RawStore, &str),
        to: RawStore,
        target: Arc<Target>,
        listed: ObjectStates,
        options: CopyOptions,
    ) -> Self {
        let (from_limits, to_limits) = (
            &options.source_open().io.limits,
            &options.write.open.io.limits,
        );
        let part = from_limits.cell_bytes.min(to_limits.cell_bytes);
        let permits = wide(options.write.memory_budget).max(UPLOAD) / UNIT;
        let permits = permits.min(wide(Semaphore::MAX_PERMITS)).min(1 << 31);
        Self {
            from,
            source: source.to_owned(),
            to,
            target,
            total: listed.iter().map(|(_, state)| state.size).sum(),
            listed,
            records: Arc::default(),
            room: Semaphore::new(usize::try_from(permits).unwrap_or(Semaphore::MAX_PERMITS)),
            permits,
            part: part.clamp(1, PART),
            failed: AtomicBool::new(false),
            options,
        }
    }

    /// The report if an earlier run wrote everything, including the root.
    fn whole(&self) -> CopiedFiles {
        CopiedFiles {
            files: wide(self.listed.len()),
            bytes: self.total,
            skipped_files: wide(self.listed.len()),
            skipped_bytes: self.total,
            read_back: false,
        }
    }

    fn concurrency(&self) -> usize {
        self.options.write.open.io.concurrency.max(1)
    }

    /// Copies and checks everything except the root.
    async fn run(&self) -> Result<CopiedFiles, WriteError> {
        let mut report = CopiedFiles {
            files: wide(self.listed.len()),
            bytes: self.total,
            ..CopiedFiles::default()
        };
        let target = self.target.clone();
        let recorded = blocking(move || CopyRecords::read(&target)).await?;
        let mut stored = HashMap::new();
        if !recorded.is_empty() {
            let found = list(&self.to, "copy").await?;
            stored.extend(found.into_iter().map(|(key, state)| (key, state.size)));
        }
        let mut recorded: HashMap<String, CopiedObject> = recorded
            .into_iter()
            .map(|record| (record.key.clone(), record))
            .collect();
        let (mut left, mut done) = (Vec::new(), 0);
        for (at, (key, state)) in self.listed.iter().enumerate() {
            if key == ROOT {
                done += state.size;
                continue;
            }
            let record = recorded.remove(key).filter(|record| {
                let was = (record.size, &record.etag);
                was == (state.size, &state.etag) && stored.get(key) == Some(&state.size)
            });
            match record {
                Some(record) => {
                    report.skipped_files += 1;
                    report.skipped_bytes += state.size;
                    done += state.size;
                    self.records.add(record, false);
                }
                None => left.push(at),
            }
        }
        self.report(done);
        let transfers = left.into_iter().map(|at| self.one(at));
        let transfers = futures::stream::iter(transfers).buffer_unordered(self.concurrency());
        let mut transfers = std::pin::pin!(transfers);
        let (mut outcome, mut last) = (Ok(()), Instant::now());
        // After a failure, transfers in flight are awaited, so that nothing is written after the error is returned.
        while let Some(one) = transfers.next().await {
            match one {
                Ok(Some(record)) => {
                    done += record.size;
                    self.records.add(record, true);
                    self.report(done);
                }
                Ok(None) => {}
                Err(error) => outcome = outcome.and(Err(error)),
            }
            if outcome.is_ok() && last.elapsed() >= EVERY {
                let (records, target) = (self.records.clone(), self.target.clone());
                let flushed = blocking(move || records.flush(&target)).await;
                self.failed.fetch_or(flushed.is_err(), Ordering::Relaxed);
                outcome = flushed;
                last = Instant::now();
            }
        }
        outcome?;
        self.check_source().await?;
        self.check_copy().await?;
        if self.options.read_back {
            self.read_back().await?;
            report.read_back = true;
        }
        Ok(report)
    }

    fn report(&self, done: u64) {
        if let Some(progress) = &self.options.progress {
            progress(done, self.total);
        }
    }

    /// Copies one object; does nothing after a failure.
    async fn one(&self, at: usize) -> Result<Option<CopiedObject>, WriteError> {
        let (key, state) = self.listed.get(at).or_bug("an object that is not listed")?;
        if self.failed.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let done = self.transfer(key, state).await;
        self.failed.fetch_or(done.is_err(), Ordering::Relaxed);
        Ok(Some(CopiedObject {
            key: key.to_owned(),
            size: state.size,
            etag: state.etag.clone(),
            crc32c: done?,
        }))
    }

    /// Waits until an object of size `size` fits into memory.
    async fn room(&self, size: u64) -> tokio::sync::SemaphorePermit<'_> {
        let needed = match size <= self.part {
            true => size,
            false => UPLOAD,
        };
        let permits = needed.div_ceil(UNIT).clamp(1, self.permits);
        let permits = u32::try_from(permits).unwrap_or(u32::MAX);
        loop {
            // The semaphore is never closed.
            if let Ok(permit) = self.room.acquire_many(permits).await {
                return permit;
            }
        }
    }

    /// Copies the bytes of one object; returns their checksum.
    async fn transfer(&self, key: &str, state: &ObjectState) -> Result<u32, WriteError> {
        let _room = self.room(state.size).await;
        let target = self.target.clone();
        if state.size <= self.part {
            let bytes = read_part(&self.from, key, state, (0, self.part)).await?;
            let sum = crc32c::crc32c(&bytes);
            let object = (key.to_owned(), Vec::from(bytes));
            blocking(move || target.put_unseen(vec![object])).await?;
            return Ok(sum);
        }
        let (name, folder) = (key.to_owned(), self.options.write.folder());
        let made = blocking(move || target.create_file(&name, &folder));
        let (mut file, path) = made.await?;
        let (mut at, mut sum) = (0, 0);
        while at < state.size {
            let bytes = read_part(&self.from, key, state, (at, self.part)).await?;
            at += wide(bytes.len());
            sum = crc32c::crc32c_append(sum, &bytes);
            let place = path.to_path_buf();
            file = blocking(move || {
                let written = file.write_all(&bytes);
                written.map_err(|error| WriteError::io(place, error))?;
                Ok(file)
            })
            .await?;
        }
        drop(file);
        let (name, target) = (key.to_owned(), self.target.clone());
        blocking(move || target.put_file(&name, path)).await?;
        Ok(sum)
    }

    /// Lists the source again; fails if its objects changed.
    async fn check_source(&self) -> Result<(), WriteError> {
        let (_, now) = of_source(&self.from.renewed(), &self.source).await?;
        check_unchanged(&self.listed, &now)
    }

    /// Lists the copy; fails if a size differs. Removes objects that an earlier run copied and the source no longer has.
    async fn check_copy(&self) -> Result<(), WriteError> {
        let found = list(&self.to, "copy").await?;
        let foreign = check_sizes(&self.listed, &found)?;
        let target = self.target.clone();
        blocking(move || foreign.iter().try_for_each(|key| target.remove(key))).await
    }

    /// Reads the copy, and compares checksums.
    async fn read_back(&self) -> Result<(), WriteError> {
        let compared = (0..self.listed.len()).map(|at| self.compare(at));
        let compared = futures::stream::iter(compared).buffer_unordered(self.concurrency());
        let mut compared = std::pin::pin!(compared);
        while let Some(one) = compared.next().await {
            one?;
        }
        Ok(())
    }

    async fn compare(&self, at: usize) -> Result<(), WriteError> {
        let (key, state) = self.listed.get(at).or_bug("an object that is not listed")?;
        if key == ROOT {
            return Ok(());
        }
        let size = state.size;
        let record = lock(&self.records.all).get(key).cloned();
        let expected = record.or_bug("an object without a record")?.crc32c;
        let _room = self.room(size).await;
        let state = ObjectState::of_size(size);
        let (mut at, mut sum) = (0, 0);
        while at < size {
            let bytes = read_part(&self.to, key, &state, (at, self.part)).await?;
            at += wide(bytes.len());
            sum = crc32c::crc32c_append(sum, &bytes);
        }
        match sum == expected {
            true => Ok(()),
            false => Err(differs(
                key,
                format!("checksum {sum:08x}"),
                format!("{expected:08x}"),
            )),
        }
    }
}

/// Compares two listings of the source.
fn check_unchanged(first: &ObjectStates, now: &ObjectStates) -> Result<(), WriteError> {
    let before: HashMap<&str, &ObjectState> = named(first).collect();
    for (key, state) in named(now) {
        match before.get(key) {
            Some(before) if same(before, state) => {}
            Some(before) => return Err(changed(key, told(before), told(state))),
            None => return Err(changed(key, "absent".to_owned(), told(state))),
        }
    }
    let now: HashSet<&str> = named(now).map(|(key, _)| key).collect();
    let gone = named(first).find(|(key, _)| !now.contains(key));
    gone.map_or(Ok(()), |(key, state)| {
        Err(changed(key, told(state), "absent".to_owned()))
    })
}

/// Compares a listing of the copy with one of the source; returns the keys that only the copy has.
fn check_sizes(listed: &ObjectStates, found: &ObjectStates) -> Result<Vec<String>, WriteError> {
    let sizes: HashMap<&str, u64> = named(found).map(|(key, state)| (key, state.size)).collect();
    for (key, state) in named(listed).filter(|(key, _)| *key != ROOT) {
        let size = sizes.get(key).copied();
        if size != Some(state.size) {
            let found = size.map_or("nothing".to_owned(), |size| format!("{size} bytes"));
            return Err(differs(key, found, format!("{} bytes", state.size)));
        }
    }
    let listed: HashSet<&str> = named(listed).map(|(key, _)| key).collect();
    let own = |key: &str| key == MARKER || key.split('/').next() == Some(COPIED);
    let foreign = named(found).map(|(key, _)| key);
    let foreign = foreign.filter(|key| !listed.contains(key) && !own(key));
    Ok(foreign.map(str::to_owned).collect())
}

fn named(objects: &ObjectStates) -> impl Iterator<Item = (&str, &ObjectState)> {
    objects.iter().map(|(key, state)| (key.as_str(), state))
}

#[cold]
fn differs(key: &str, found: String, expected: String) -> WriteError {
    WriteError::Differs {
        place: key.to_owned(),
        what: format!("the copy has {found}, expected {expected}"),
    }
}

/// Reads at most `most` bytes of an object from `at` on; fails if its state is not the listed one.
async fn read_part(
    place: &RawStore,
    key: &str,
    state: &ObjectState,
    (at, most): (u64, u64),
) -> Result<Bytes, WriteError> {
    let gone = || changed(key, told(state), "absent, or an external link".to_owned());
    if state.size == 0 {
        // An empty object has no ranges to request.
        let now = place.state(key).await?.ok_or_else(gone)?;
        return match same(state, &now) {
            true => Ok(Bytes::new()),
            false => Err(changed(key, told(state), told(&now))),
        };
    }
    let end = state.size.min(at.saturating_add(most));
    internal!(at < end, "a part of {key} from {at} to {end}");
    let part = place.read_range(key, at..end).await?.ok_or_else(gone)?;
    if !same(state, &part.state) {
        return Err(changed(key, told(state), told(&part.state)));
    }
    match wide(part.bytes.len()) == end - at {
        true => Ok(part.bytes),
        false => Err(changed(
            key,
            told(state),
            format!("{} bytes of {at} to {end}", part.bytes.len()),
        )),
    }
}

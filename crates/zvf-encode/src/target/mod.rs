//! Where objects are put: a folder of a local disk, or a prefix of an object store.
//!
//! [`Target`] writes, reads, replaces and removes objects by key; [`Below`] is the part of it below a group; a [`Stage`] collects objects in a folder
//! that readers do not use, until a transaction copies them to their keys.

mod local;
mod remote;
mod stage;

pub(crate) use local::TEMPORARY;
pub use local::is_temporary;
pub use stage::{Stage, StagedObjects};

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, fs};

use object_store::ObjectStore;
use tempfile::TempPath;
use tokio::runtime::Handle;
use zvf_store::writing::WriteLocation;
use zvf_store::{OpenOptions, Stop};

use crate::WriteError;
use crate::lock::lock;

/// The part of a store below one group: keys are relative to it.
#[derive(Debug)]
pub struct Below<'t> {
    target: &'t Target,
    group: String,
    stage: Option<&'t Stage>,
    tally: Option<&'t ObjectTally>,
    unseen: bool,
}

impl<'t> Below<'t> {
    /// Puts objects; existing ones are replaced.
    ///
    /// # Errors
    /// I/O; as [`Target::may_write`].
    pub fn put(&self, objects: Vec<ObjectPut>) -> Result<(), WriteError> {
        if let Some(tally) = self.tally {
            objects.iter().for_each(|object| tally.add(object));
        }
        let whole = |(key, bytes)| (format!("{}/{key}", self.group), bytes);
        let objects = objects.into_iter().map(whole).collect();
        match self.stage {
            None if self.unseen => self.target.put_unseen(objects),
            None => self.target.put(objects),
            Some(stage) => stage.put(self.target, objects),
        }
    }

    /// Reads an object, if it exists.
    ///
    /// # Errors
    /// I/O; interrupted.
    pub fn read(&self, key: &str) -> Result<Option<Vec<u8>>, WriteError> {
        self.target.read(&format!("{}/{key}", self.group))
    }

    /// The same part, but its objects are put into a stage.
    pub fn staged(self, stage: &'t Stage) -> Self {
        Self {
            stage: Some(stage),
            ..self
        }
    }

    /// The same part; all objects that are put are counted.
    pub fn tallied(self, tally: &'t ObjectTally) -> Self {
        Self {
            tally: Some(tally),
            ..self
        }
    }

    /// The same part, hidden from readers until one of its documents is put: objects need not replace others atomically.
    pub fn unseen(self) -> Self {
        Self {
            unseen: true,
            ..self
        }
    }
}

/// How many objects were put, and a checksum of all of them that does not depend on their order.
#[derive(Debug, Default)]
pub struct ObjectTally {
    count: AtomicU64,
    sum: AtomicU64,
}

impl ObjectTally {
    fn add(&self, (key, bytes): &ObjectPut) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(checksum(key, bytes), Ordering::Relaxed);
    }

    /// How many objects were put.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The sum of the [checksums](checksum) of these objects.
    pub fn sum(&self) -> u64 {
        self.sum.load(Ordering::Relaxed)
    }
}

/// A checksum of an object: of its key and its bytes.
pub fn checksum(key: &str, bytes: &[u8]) -> u64 {
    let (key, sum) = (crc32c::crc32c(key.as_bytes()), crc32c::crc32c(bytes));
    let both = (u64::from(key) << 32) | u64::from(sum);
    // Mixed, so that the checksums of several objects do not cancel each other out.
    let mixed = (both ^ (both >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

/// Checks whether this program may still write: another program may have taken over its work.
struct Fence {
    address: String,
    holds: Box<dyn Fn() -> bool + Send + Sync>,
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// The marker of a new store: while this program is paused, another one may replace the marker and write the store.
#[derive(Debug, Clone)]
struct Guard {
    address: String,
    key: String,
    mark: Arc<HeldMark>,
    /// When the marker was last found at the key, by two clocks: one may stop while the machine sleeps, the other may be set.
    seen: (Instant, SystemTime),
}

/// Objects whose requests are sent together.
const TOGETHER: usize = 256;

/// The markers that writers in this process hold.
static HELD: Mutex<BTreeSet<Vec<u8>>> = Mutex::new(BTreeSet::new());

/// A marker that a writer in this process holds, until this is dropped.
#[derive(Debug)]
struct HeldMark(Vec<u8>);

impl HeldMark {
    fn new(mark: &[u8]) -> Self {
        lock(&HELD).insert(mark.to_vec());
        Self(mark.to_vec())
    }
}

impl Drop for HeldMark {
    fn drop(&mut self) {
        lock(&HELD).remove(&self.0);
    }
}

/// Whether a writer in this process holds a marker.
pub(crate) fn is_held(mark: &[u8]) -> bool {
    lock(&HELD).contains(mark)
}

/// How long a marker is trusted after it was read.
pub(crate) const TRUST: Duration = Duration::from_secs(2);

/// An object and the state in which it was read. It is replaced only if it is still in this state.
#[derive(Debug, Clone)]
pub struct SeenObject {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The version of the backend; a local file is identified by its bytes.
    version: Option<object_store::UpdateVersion>,
    /// When it was put, by the clock of the backend; `None` if the caller did not need it.
    pub(crate) modified: Option<SystemTime>,
}

impl SeenObject {
    fn remote(meta: &object_store::ObjectMeta, bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            version: Some(object_store::UpdateVersion {
                e_tag: meta.e_tag.clone(),
                version: meta.version.clone(),
            }),
            modified: Some(meta.last_modified.into()),
        }
    }

    fn local(bytes: Vec<u8>, modified: Option<SystemTime>) -> Self {
        Self {
            bytes,
            version: None,
            modified,
        }
    }
}

/// The place of one store. All calls block, so they must not be made from asynchronous tasks; see [`blocking`](crate::parallel::blocking).
#[derive(Debug)]
pub struct Target {
    place: Where,
    stop: Stop,
    fence: OnceLock<Fence>,
    guard: Mutex<Option<Guard>>,
}

#[derive(Debug)]
enum Where {
    Local(local::Local),
    Remote(remote::RemoteTarget),
}

impl Target {
    /// Resolves an address. With `durable`, [`barrier`](Self::barrier) waits for the local disk.
    ///
    /// # Errors
    /// Misuse: an address without a known backend, or of a web server; a backend that cannot be created, an object store outside of a tokio runtime.
    pub fn new(address: &str, options: &OpenOptions, durable: bool) -> Result<Self, WriteError> {
        let is_web = address.starts_with("http://") || address.starts_with("https://");
        if is_web && options.io.object_store.is_none() {
            let expected = "a folder, s3://, gs:// or az://: stores on web servers can only be read (`zvf copy` copies one)";
            return Err(WriteError::input(
                address,
                "the address of a web server",
                expected,
            ));
        }
        let place = match WriteLocation::of(address, &options.io)? {
            WriteLocation::Folder(folder) => Where::Local(local::Local::new(folder, durable)),
            WriteLocation::Prefix { store, prefix } => {
                let handle = runtime()?;
                Where::Remote(remote::RemoteTarget::new(store, prefix, handle, options))
            }
        };
        let stop = options.io.stop.clone();
        Ok(Self {
            place,
            stop,
            fence: OnceLock::new(),
            guard: Mutex::default(),
        })
    }

    /// Another prefix of an object store.
    pub(crate) fn of_prefix(
        store: &Arc<dyn ObjectStore>,
        prefix: &str,
        options: &OpenOptions,
    ) -> Result<Self, WriteError> {
        let (store, prefix) = (Arc::clone(store), prefix.to_owned());
        Ok(Self {
            place: Where::Remote(remote::RemoteTarget::new(
                store,
                prefix,
                runtime()?,
                options,
            )),
            stop: options.io.stop.clone(),
            fence: OnceLock::new(),
            guard: Mutex::default(),
        })
    }

    /// Makes all later puts and moves fail as soon as `holds` returns false.
    pub fn fence(&self, address: &str, holds: impl Fn() -> bool + Send + Sync + 'static) {
        // A second call is from the same program.
        let _ = self.fence.set(Fence {
            address: address.to_owned(),
            holds: Box::new(holds),
        });
    }

    /// Checks that this program was not asked to stop, and that no other program has taken over its work.
    ///
    /// # Errors
    /// Interrupted; [`WriteError::Lost`]; [`WriteError::Busy`] if another writer replaced the marker of a new store; I/O.
    pub fn may_write(&self) -> Result<(), WriteError> {
        self.stop.check()?;
        match self.fence.get() {
            Some(fence) if !(fence.holds)() => Err(WriteError::Lost {
                store: fence.address.clone(),
            }),
            _ => self.is_guarded(),
        }
    }

    /// Makes later puts and moves check, every few seconds and after a pause of this program, whether the object at `key` still has these bytes.
    pub(crate) fn guard(&self, address: &str, key: &str, bytes: &[u8]) {
        *lock(&self.guard) = Some(Guard {
            address: address.to_owned(),
            key: key.to_owned(),
            mark: Arc::new(HeldMark::new(bytes)),
            seen: (Instant::now(), SystemTime::now()),
        });
    }

    /// Ends the checks of the marker: the store is complete, or several programs write to it.
    pub fn unguard(&self) {
        *lock(&self.guard) = None;
    }

    fn is_guarded(&self) -> Result<(), WriteError> {
        let now = (Instant::now(), SystemTime::now());
        let passed = |(instant, time): (Instant, SystemTime)| {
            let by_wall = now.1.duration_since(time).unwrap_or_default();
            now.0.duration_since(instant).max(by_wall)
        };
        let due = |guard: &&Guard| passed(guard.seen) >= TRUST;
        let guard = lock(&self.guard).as_ref().filter(due).cloned();
        let Some(guard) = guard else {
            return Ok(());
        };
        if self.read(&guard.key)?.as_ref() != Some(&guard.mark.0) {
            let what = format!(
                "another writer has taken over this address ({}), and nothing more was written",
                guard.key
            );
            return Err(WriteError::busy(&guard.address, what));
        }
        if let Some(guard) = lock(&self.guard).as_mut() {
            guard.seen = now;
        }
        Ok(())
    }

    /// Returns the part below a group.
    pub fn below(&self, group: impl Into<String>) -> Below<'_> {
        Below {
            target: self,
            group: group.into(),
            stage: None,
            tally: None,
            unseen: false,
        }
    }

    /// Puts objects; existing ones are replaced.
    ///
    /// # Errors
    /// I/O; as [`Target::may_write`].
    pub fn put(&self, objects: Vec<ObjectPut>) -> Result<(), WriteError> {
        match &self.place {
            Where::Local(local) => objects.into_iter().try_for_each(|(key, bytes)| {
                self.may_write()?;
                local.put(&key, &bytes)
            }),
            Where::Remote(remote) => self.few(objects, |some| remote.put(some)),
        }
    }

    /// Passes on a few items at a time, and checks before that the marker is still there: many requests take longer than it is trusted.
    fn few<T>(
        &self,
        items: Vec<T>,
        mut pass: impl FnMut(Vec<T>) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let mut rest = items.into_iter();
        loop {
            let some: Vec<T> = rest.by_ref().take(TOGETHER).collect();
            if some.is_empty() {
                return Ok(());
            }
            self.may_write()?;
            pass(some)?;
        }
    }

    /// Puts objects of arrays that have no document yet. Documents among them are visible as soon as they exist.
    pub fn put_unseen(&self, objects: Vec<ObjectPut>) -> Result<(), WriteError> {
        match &self.place {
            Where::Local(local) => objects.into_iter().try_for_each(|(key, bytes)| {
                self.may_write()?;
                match key.ends_with("zarr.json") {
                    true => local.put(&key, &bytes),
                    false => local.put_unseen(&key, &bytes),
                }
            }),
            Where::Remote(_) => self.put(objects),
        }
    }

    /// Creates a file whose content [`put_file`](Self::put_file) puts at a key: next to the final file on a local disk, else in `folder`.
    pub fn create_file(
        &self,
        key: &str,
        folder: &Path,
    ) -> Result<(fs::File, TempPath), WriteError> {
        self.may_write()?;
        match &self.place {
            Where::Local(local) => local.create_file(key),
            Where::Remote(_) => {
                let made = tempfile::NamedTempFile::new_in(folder);
                let made = made.map_err(|e| WriteError::io(folder, e))?;
                Ok(made.into_parts())
            }
        }
    }

    /// Puts the content of a file that [`create_file`](Self::create_file) made for the key; no reader requests the object yet.
    ///
    /// # Errors
    /// I/O; as [`Target::may_write`].
    pub fn put_file(&self, key: &str, file: TempPath) -> Result<(), WriteError> {
        self.may_write()?;
        match &self.place {
            Where::Local(local) => local.put_file(key, file),
            Where::Remote(remote) => remote.put_file(key, &file),
        }
    }

    /// Moves objects that no document refers to yet, each to another key. On an object store they are copied, and
    /// the originals remain. An object that was moved before is skipped.
    pub fn move_unseen(&self, moves: Vec<(String, String)>) -> Result<(), WriteError> {
        match &self.place {
            Where::Local(local) => moves.into_iter().try_for_each(|(from, to)| {
                self.may_write()?;
                local.rename(&from, &to)
            }),
            Where::Remote(remote) => self.few(moves, |some| remote.copy(some)),
        }
    }

    /// Copies durable objects, each to another key, where existing ones are replaced, as long as `may_write` allows it. Files are copied one after the
    /// other, and the program may be paused between any two of them; the requests of an object store are sent together. The bytes are not
    /// transferred: a server copies them, and on a disk a file gets a second name, unless the backend can do neither.
    ///
    /// # Errors
    /// I/O, also if an object to be copied does not exist; interrupted; the errors of `may_write`.
    pub(crate) fn copy_while(
        &self,
        copies: Vec<(String, String)>,
        may_write: impl Fn() -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        match &self.place {
            Where::Local(local) => copies.into_iter().try_for_each(|(from, to)| {
                may_write()?;
                local.copy(&from, &to)
            }),
            Where::Remote(remote) => {
                may_write()?;
                remote.copy(copies)
            }
        }
    }

    /// Puts an object if there is none at the key; returns `false` if there is one.
    pub fn put_new(&self, key: &str, bytes: Vec<u8>) -> Result<bool, WriteError> {
        Ok(self.put_new_seen(key, bytes)?.is_some())
    }

    /// Like [`put_new`](Self::put_new), for an object that will be replaced later; `None` if there is one.
    pub(crate) fn put_new_seen(
        &self,
        key: &str,
        bytes: Vec<u8>,
    ) -> Result<Option<SeenObject>, WriteError> {
        match &self.place {
            Where::Local(local) => {
                let made = local.put_new(key, &bytes)?;
                Ok(made.then(|| SeenObject::local(bytes, None)))
            }
            Where::Remote(remote) => remote.put_new(key, bytes),
        }
    }

    /// Reads an object that will be replaced later.
    pub fn see(&self, key: &str) -> Result<Option<SeenObject>, WriteError> {
        match &self.place {
            Where::Local(local) => {
                let modified = local.modified(key)?;
                let bytes = local.read(key)?;
                Ok(bytes.map(|bytes| SeenObject::local(bytes, modified)))
            }
            Where::Remote(remote) => remote.see(key),
        }
    }

    /// Replaces an object in the state that was seen; `None` if its state has changed.
    pub(crate) fn replace(
        &self,
        key: &str,
        seen: &SeenObject,
        bytes: Vec<u8>,
    ) -> Result<Option<SeenObject>, WriteError> {
        match &self.place {
            Where::Local(local) => {
                let done = local.replace(key, &seen.bytes, &bytes)?;
                Ok(done.then(|| SeenObject::local(bytes, None)))
            }
            Where::Remote(remote) => remote.replace(key, seen, bytes),
        }
    }

    /// Replaces an object in the state that was seen; `None` if its state has changed. If several programs saw the same state, at most one succeeds.
    ///
    /// A file cannot be compared and replaced in one step. So the file is moved away, in which only one program can succeed, and compared; the new file is
    /// put if none exists at the key.
    pub(crate) fn take_over(
        &self,
        key: &str,
        seen: &SeenObject,
        bytes: Vec<u8>,
    ) -> Result<Option<SeenObject>, WriteError> {
        match &self.place {
            Where::Local(local) => {
                if !local.take_away(key, &seen.bytes)? {
                    return Ok(None);
                }
                self.put_new_seen(key, bytes)
            }
            Where::Remote(remote) => remote.replace(key, seen, bytes),
        }
    }

    /// The current time of the backend's clock: puts `key`, or a temporary file, reads its time and removes it.
    pub(crate) fn now(&self, key: &str) -> Result<Option<SystemTime>, WriteError> {
        match &self.place {
            Where::Local(local) => local.now(),
            Where::Remote(remote) => {
                remote.put(vec![(key.to_owned(), Vec::new())])?;
                let seen = remote.see(key)?;
                remote.remove(key)?;
                Ok(seen.and_then(|seen| seen.modified))
            }
        }
    }

    /// Waits until all objects that were put are durable. Without `durable`, files of a local store are not synced.
    pub fn barrier(&self) -> Result<(), WriteError> {
        match &self.place {
            Where::Local(local) => local.barrier(),
            // A put is durable when the server has answered.
            Where::Remote(_) => Ok(()),
        }
    }

    /// Whether there is an object.
    pub fn exists(&self, key: &str) -> Result<bool, WriteError> {
        match &self.place {
            Where::Local(local) => local.exists(key),
            Where::Remote(remote) => remote.exists(key),
        }
    }

    /// Reads an object; `None` if there is none.
    pub fn read(&self, key: &str) -> Result<Option<Vec<u8>>, WriteError> {
        match &self.place {
            Where::Local(local) => local.read(key),
            Where::Remote(remote) => remote.read(key),
        }
    }

    /// Reads objects, several at a time from an object store; `None` for missing ones.
    ///
    /// # Errors
    /// I/O.
    pub fn read_all(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, WriteError> {
        match &self.place {
            Where::Local(local) => keys.iter().map(|key| local.read(key)).collect(),
            Where::Remote(remote) => remote.read_all(keys),
        }
    }

    /// The keys of all objects, and of temporary files.
    pub fn keys(&self) -> Result<Vec<String>, WriteError> {
        match &self.place {
            Where::Local(local) => local.keys_below(""),
            Where::Remote(remote) => remote.keys_below(""),
        }
    }

    /// The keys of all objects below a group, and of temporary files.
    pub fn keys_below(&self, group: &str) -> Result<Vec<String>, WriteError> {
        match &self.place {
            Where::Local(local) => local.keys_below(group),
            Where::Remote(remote) => remote.keys_below(group),
        }
    }

    /// Removes the temporary files of interrupted programs.
    pub fn remove_temporary(&self) -> Result<(), WriteError> {
        let Where::Local(local) = &self.place else {
            return Ok(());
        };
        let keys = local.keys_below("")?;
        keys.iter()
            .filter(|key| local.is_temporary_of_others(key))
            .try_for_each(|key| local.remove(key))
    }

    /// Like [`remove_temporary`](Self::remove_temporary), for the files next to the root document: a program that is interrupted before it puts its
    /// marker leaves them. Lists one folder.
    pub(crate) fn remove_temporary_beside_root(&self) -> Result<(), WriteError> {
        match &self.place {
            Where::Local(local) => local.remove_temporary_beside_root(),
            Where::Remote(_) => Ok(()),
        }
    }

    /// The key of any existing object.
    pub(crate) fn any(&self) -> Result<Option<String>, WriteError> {
        match &self.place {
            Where::Local(local) => local.any(),
            Where::Remote(remote) => remote.any(),
        }
    }

    /// Names of the objects directly below a group, in no order.
    pub(crate) fn names(&self, group: &str) -> Result<Vec<String>, WriteError> {
        match &self.place {
            Where::Local(local) => local.names(group),
            Where::Remote(remote) => remote.names(group),
        }
    }

    /// Removes an object; a missing object is not an error.
    pub fn remove(&self, key: &str) -> Result<(), WriteError> {
        match &self.place {
            Where::Local(local) => local.remove(key),
            Where::Remote(remote) => remote.remove(key),
        }
    }

    /// Removes an object if it holds these bytes; returns `false` if it holds other bytes. A missing object is not an error.
    pub fn remove_own(&self, key: &str, bytes: &[u8]) -> Result<bool, WriteError> {
        match &self.place {
            Where::Local(local) => match local.read(key)? {
                None => Ok(true),
                Some(found) if found == bytes => local.remove(key).map(|()| true),
                Some(_) => Ok(false),
            },
            Where::Remote(remote) => remote.remove_own(key, bytes),
        }
    }

    /// Removes the folders of objects that no longer exist, if they are empty.
    pub fn prune<'k>(&self, keys: impl Iterator<Item = &'k str>) {
        match &self.place {
            Where::Local(local) => local.prune(keys),
            // There are no folders.
            Where::Remote(_) => {}
        }
    }

    /// Removes every object below a group; it is not an error if there are none.
    pub fn remove_below(&self, group: &str) -> Result<(), WriteError> {
        match &self.place {
            Where::Local(local) => local.remove_below(group),
            Where::Remote(remote) => remote.remove_below(group),
        }
    }

    /// Removes every object except `last`, then `last`.
    pub fn clear(&self, last: &str) -> Result<(), WriteError> {
        self.clear_others(last)?;
        self.remove(last)?;
        self.unmake();
        Ok(())
    }

    /// Removes the folders that this writer created, if they are empty.
    pub(crate) fn unmake(&self) {
        match &self.place {
            Where::Local(local) => local.unmake(),
            // There are no folders.
            Where::Remote(_) => {}
        }
    }

    /// Refuses keys that must be neither written nor removed, before a change is committed.
    ///
    /// # Errors
    /// [`WriteError::Linked`]; I/O.
    pub(crate) fn check<'k>(
        &self,
        mut keys: impl Iterator<Item = &'k str>,
    ) -> Result<(), WriteError> {
        match &self.place {
            Where::Local(local) => keys.try_for_each(|key| local.check(key)),
            // There are no links.
            Where::Remote(_) => Ok(()),
        }
    }

    /// Removes every object except `last`.
    pub(crate) fn clear_others(&self, last: &str) -> Result<(), WriteError> {
        match &self.place {
            Where::Local(local) => local.clear(last),
            Where::Remote(remote) => remote.clear(last),
        }
    }
}

/// The runtime that sends the requests to object stores.
fn runtime() -> Result<Handle, WriteError> {
    Handle::try_current().map_err(|_| {
        let expected = "a tokio runtime, which sends the requests";
        WriteError::input("object store", "a thread without a runtime", expected)
    })
}

/// Returns a random number.
pub fn unique() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
}

/// An object to be put: its key below the store, and its bytes.
pub type ObjectPut = (String, Vec<u8>);

/// Payloads of cells, by chunk.
pub type Payloads<'c> = Vec<(&'c [i64], Vec<u8>)>;

/// The object with the document of a node.
pub fn node(path: impl fmt::Display, json: String) -> ObjectPut {
    (format!("{path}/zarr.json"), json.into_bytes())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::ObjectStore;
    use object_store::memory::InMemory;
    use zvf_store::OpenOptions;

    use super::Target;
    use crate::WriteError;

    #[test]
    fn a_bucket_without_a_runtime_is_refused() {
        let bucket = Arc::new(InMemory::new()) as Arc<dyn ObjectStore>;
        let options = OpenOptions::new().with_object_store(bucket);
        let target = Target::new("memory:///", &options, true);
        assert!(
            matches!(target, Err(WriteError::Input { .. })),
            "{target:?}"
        );
        assert!(Target::new("some/folder", &OpenOptions::new(), true).is_ok());
    }
    #[test]
    fn a_barrier_does_not_meet_files_that_are_being_written() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a.zv");
        let target = Target::new(folder.to_str().unwrap(), &OpenOptions::new(), true).unwrap();
        let target = &target;
        let write = move |writer: u32| {
            (0..200).try_for_each(|number| {
                let object = vec![(format!("{writer}/{number}"), vec![7; 100])];
                match number % 2 {
                    0 => target.put(object),
                    _ => target.put_unseen(object),
                }
            })
        };
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| scope.spawn(move || write(writer)))
                .collect();
            while writers.iter().any(|writer| !writer.is_finished()) {
                target.barrier().unwrap();
            }
            for writer in writers {
                writer.join().unwrap().unwrap();
            }
        });
        target.barrier().unwrap();
    }
}

//! A prefix of an object store.
//!
//! Requests of writers, including removals, are retried like requests of readers ([`WriteRequests`]).

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, PutResult,
    UpdateVersion,
};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use zvf_store::writing::{BackendAnswer, WriteRequests};
use zvf_store::{IoError, OpenOptions, StoreError};

use crate::WriteError;
use crate::target::{ObjectPut, SeenObject};

#[derive(Debug)]
pub(crate) struct RemoteTarget {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    handle: Handle,
    /// One semaphore for all threads: separate limits would multiply.
    slots: Semaphore,
    concurrency: usize,
    requests: WriteRequests,
}

/// How often a prefix is listed and cleared, because new objects may appear in the meantime.
const SWEEPS: usize = 8;

/// How often a conditional put is attempted if it is refused, but the object does not exist any more.
const ROUNDS: usize = 4;

impl RemoteTarget {
    pub(crate) fn new(
        store: Arc<dyn ObjectStore>,
        prefix: String,
        handle: Handle,
        options: &OpenOptions,
    ) -> Self {
        let concurrency = options.io.concurrency.max(1);
        Self {
            store,
            prefix,
            handle,
            slots: Semaphore::new(concurrency),
            concurrency,
            requests: WriteRequests::new(&options.io),
        }
    }

    /// The path of a key, in which names are unchanged, without escaping.
    fn path(&self, key: &str) -> Result<Path, WriteError> {
        let whole = match (self.prefix.as_str(), key) {
            ("", key) => key.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, key) => format!("{prefix}/{key}"),
        };
        Path::parse(&whole).map_err(|source| WriteError::Backend {
            key: key.to_owned(),
            source: source.into(),
        })
    }

    /// Sends a request with a body of `size` bytes. All of its retries use the same permit.
    async fn send<T, F: Future<Output = Result<T, Error>>>(
        &self,
        key: &str,
        size: usize,
        send: impl FnMut(u32) -> F,
    ) -> Result<BackendAnswer<T>, WriteError> {
        // The semaphore is never closed.
        let _slot = self.slots.acquire().await;
        Ok(self.requests.send(key, size, send).await?)
    }

    async fn get(&self, key: &str) -> Result<Option<(ObjectMeta, bytes::Bytes)>, WriteError> {
        let path = self.path(key)?;
        let _slot = self.slots.acquire().await;
        Ok(self.requests.read(&self.store, key, &path).await?)
    }

    async fn list(&self, prefix: &Path) -> Result<Vec<Path>, WriteError> {
        let prefix = (!prefix.is_root()).then_some(prefix);
        let _slot = self.slots.acquire().await;
        let found = self.requests.list(&self.store, prefix).await?;
        Ok(found.into_iter().map(|meta| meta.location).collect())
    }

    /// Runs up to `concurrency` jobs at a time. After a failure no further job is started, and running jobs are awaited, so nothing changes after the
    /// error is returned.
    async fn all<J>(&self, jobs: impl Iterator<Item = J>) -> Result<(), WriteError>
    where
        J: Future<Output = Result<(), WriteError>>,
    {
        let failed = AtomicBool::new(false);
        let failed = &failed;
        let jobs = jobs.map(|job| async move {
            if failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            let done = job.await;
            failed.fetch_or(done.is_err(), Ordering::Relaxed);
            done
        });
        futures::stream::iter(jobs)
            .buffer_unordered(self.concurrency)
            .fold(Ok(()), |all, one| async { all.and(one) })
            .await
    }

    /// Puts objects.
    pub(crate) fn put(&self, objects: Vec<ObjectPut>) -> Result<(), WriteError> {
        let puts = objects.into_iter();
        let puts = puts.map(|(key, bytes)| async move { self.put_one(&key, bytes).await });
        self.handle.block_on(self.all(puts))
    }

    async fn put_one(&self, key: &str, bytes: Vec<u8>) -> Result<(), WriteError> {
        let (path, size, payload) = (self.path(key)?, bytes.len(), PutPayload::from(bytes));
        let put = self.send(key, size, |_| self.store.put(&path, payload.clone()));
        put.await?
            .map(|_| ())
            .map_err(|source| refused(key, source))
    }

    /// Puts the content of a file, in parts if it is large.
    pub(crate) fn put_file(&self, key: &str, file: &std::path::Path) -> Result<(), WriteError> {
        let path = self.path(key)?;
        let put = async {
            // The semaphore is never closed.
            let _slot = self.slots.acquire().await;
            let store = self.store.as_ref();
            self.requests.put_file(store, key, &path, file).await
        };
        let answer = self.handle.block_on(put)?;
        answer.map_err(|source| refused(key, source))
    }

    /// Copies objects, on the server if it supports that.
    pub(crate) fn copy(&self, copies: Vec<(String, String)>) -> Result<(), WriteError> {
        let copies = copies.into_iter();
        let copies = copies.map(|(from, to)| async move { self.copy_one(&from, &to).await });
        self.handle.block_on(self.all(copies))
    }

    async fn copy_one(&self, from: &str, to: &str) -> Result<(), WriteError> {
        let (source, path) = (self.path(from)?, self.path(to)?);
        let copied = self.send(to, 0, |_| self.store.copy(&source, &path));
        match copied.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(source)) => Err(refused(from, source)),
            // The backend does not support copies, or denies them: the object is read and written instead.
            Err(WriteError::Store(StoreError::Io(
                IoError::NotSupported { .. } | IoError::Denied { .. },
            ))) => match self.get(from).await? {
                Some((_, bytes)) => self.put_one(to, bytes.to_vec()).await,
                None => Err(WriteError::data(from, "nothing", "the object to copy")),
            },
            Err(error) => Err(error),
        }
    }

    pub(crate) fn put_new(
        &self,
        key: &str,
        bytes: Vec<u8>,
    ) -> Result<Option<SeenObject>, WriteError> {
        let path = self.path(key)?;
        let payload = PutPayload::from(bytes.clone());
        let options = || PutOptions::from(PutMode::Create);
        self.handle.block_on(async {
            for _ in 0..ROUNDS {
                let put = self.send(key, bytes.len(), |_| {
                    self.store.put_opts(&path, payload.clone(), options())
                });
                match put.await? {
                    Ok(done) => return Ok(Some(seen(bytes, done))),
                    Err(Error::AlreadyExists { .. }) => {}
                    Err(source) => return Err(refused(key, source)),
                }
                // An earlier attempt may have succeeded although its answer was lost: the object then has our bytes.
                match self.get(key).await? {
                    Some((meta, found)) if found == bytes => {
                        return Ok(Some(SeenObject::remote(&meta, found.to_vec())));
                    }
                    Some(_) => return Ok(None),
                    // The owner of the object has removed it in the meantime.
                    None => {}
                }
            }
            Ok(None)
        })
    }

    pub(crate) fn see(&self, key: &str) -> Result<Option<SeenObject>, WriteError> {
        let found = self.handle.block_on(self.get(key))?;
        Ok(found.map(|(meta, bytes)| SeenObject::remote(&meta, bytes.to_vec())))
    }

    pub(crate) fn replace(
        &self,
        key: &str,
        before: &SeenObject,
        bytes: Vec<u8>,
    ) -> Result<Option<SeenObject>, WriteError> {
        let path = self.path(key)?;
        let payload = PutPayload::from(bytes.clone());
        let version = before.version.clone().unwrap_or(UpdateVersion {
            e_tag: None,
            version: None,
        });
        let options = || PutOptions::from(PutMode::Update(version.clone()));
        let put = self.handle.block_on(self.send(key, bytes.len(), |_| async {
            let put = self.store.put_opts(&path, payload.clone(), options()).await;
            put.map_err(|error| match error {
                // 409: another conditional put is running, and may fail, so this request is retried. The original error has the status in its text, and
                // would not be retried.
                Error::AlreadyExists { .. } => Error::Generic {
                    store: "object store",
                    source: "another conditional put of the object is running".into(),
                },
                other => other,
            })
        }));
        match put? {
            Ok(done) => Ok(Some(seen(bytes, done))),
            Err(Error::Precondition { .. } | Error::NotFound { .. }) => {
                // An earlier attempt may have succeeded although its answer was lost: the object then has our bytes.
                let found = self.see(key)?;
                Ok(found.filter(|found| found.bytes == bytes))
            }
            Err(source) => Err(refused(key, source)),
        }
    }

    pub(crate) fn remove_below(&self, group: &str) -> Result<(), WriteError> {
        let prefix = self.path(group)?;
        self.handle.block_on(async {
            let found = self.list(&prefix).await?;
            self.remove_all(found).await
        })
    }

    pub(crate) fn exists(&self, key: &str) -> Result<bool, WriteError> {
        let path = self.path(key)?;
        let head = self.send(key, 0, |_| self.store.head(&path));
        match self.handle.block_on(head)? {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(source) => Err(refused(key, source)),
        }
    }

    pub(crate) fn read(&self, key: &str) -> Result<Option<Vec<u8>>, WriteError> {
        let found = self.handle.block_on(self.get(key))?;
        Ok(found.map(|(_, bytes)| bytes.to_vec()))
    }

    pub(crate) fn read_all(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, WriteError> {
        let reads = keys.iter().map(|key| self.get(key));
        let reads = futures::stream::iter(reads).buffered(self.concurrency);
        let found: Vec<_> = self.handle.block_on(reads.try_collect())?;
        let bytes = |found: Option<(_, bytes::Bytes)>| found.map(|(_, bytes)| bytes.to_vec());
        Ok(found.into_iter().map(bytes).collect())
    }

    /// The keys below a group; all keys of the store if `group` is empty.
    pub(crate) fn keys_below(&self, group: &str) -> Result<Vec<String>, WriteError> {
        let prefix = self.path(group)?;
        let found = self.handle.block_on(self.list(&prefix))?;
        let below = match self.prefix.as_str() {
            "" => String::new(),
            prefix => format!("{prefix}/"),
        };
        let short = |path: &Path| Some(path.as_ref().strip_prefix(&below)?.to_owned());
        let mut keys: Vec<String> = found.iter().filter_map(short).collect();
        keys.sort_unstable();
        Ok(keys)
    }

    pub(crate) fn any(&self) -> Result<Option<String>, WriteError> {
        let prefix = self.path("")?;
        let prefix = (!prefix.is_root()).then_some(&prefix);
        let first = self.send(&self.prefix, 0, |_| async {
            self.store.list(prefix).try_next().await
        });
        match self.handle.block_on(first)? {
            Ok(first) => Ok(first.map(|meta| meta.location.to_string())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(source) => Err(refused(&self.prefix, source)),
        }
    }

    pub(crate) fn names(&self, group: &str) -> Result<Vec<String>, WriteError> {
        let prefix = self.path(group)?;
        let listed = self.send(group, 0, |_| self.store.list_with_delimiter(Some(&prefix)));
        let objects = match self.handle.block_on(listed)? {
            Ok(listed) => listed.objects,
            Err(Error::NotFound { .. }) => Vec::new(),
            Err(source) => return Err(refused(group, source)),
        };
        let names = objects
            .iter()
            .filter_map(|meta| meta.location.filename().map(str::to_owned));
        Ok(names.collect())
    }

    pub(crate) fn remove(&self, key: &str) -> Result<(), WriteError> {
        let path = self.path(key)?;
        self.handle.block_on(self.remove_one(&path))
    }

    /// Removes an object if it has these bytes; returns false if it has other bytes. Removals cannot be conditional, so the object is read before each
    /// attempt: an earlier attempt may have succeeded, and another writer may have put a new object since.
    pub(crate) fn remove_own(&self, key: &str, bytes: &[u8]) -> Result<bool, WriteError> {
        let path = self.path(key)?;
        let is_other = AtomicBool::new(false);
        let removed = self.send(key, 0, |_| async {
            let found = self.store.get(&path).await?.bytes().await?;
            let is_own = found == bytes;
            is_other.store(!is_own, Ordering::Relaxed);
            match is_own {
                true => self.store.delete(&path).await,
                false => Ok(()),
            }
        });
        gone(key, self.handle.block_on(removed)?)?;
        Ok(!is_other.into_inner())
    }

    async fn remove_one(&self, path: &Path) -> Result<(), WriteError> {
        let key = path.as_ref();
        gone(key, self.send(key, 0, |_| self.store.delete(path)).await?)
    }

    /// Removes objects.
    async fn remove_all(&self, paths: Vec<Path>) -> Result<(), WriteError> {
        self.all(paths.iter().map(|path| self.remove_one(path)))
            .await
    }

    /// Removes every object except `last`, and lists again until only `last` is left.
    pub(crate) fn clear(&self, last: &str) -> Result<(), WriteError> {
        let (prefix, last) = (self.path("")?, self.path(last)?);
        self.handle.block_on(async {
            for sweep in 0..=SWEEPS {
                let mut found = self.list(&prefix).await?;
                found.retain(|path| *path != last);
                if found.is_empty() {
                    return Ok(());
                }
                if sweep < SWEEPS {
                    self.remove_all(found).await?;
                }
            }
            let found = "objects that were added while others were removed";
            Err(WriteError::input(prefix, found, "no other writer"))
        })
    }
}

/// The state of an object that was put.
fn seen(bytes: Vec<u8>, done: PutResult) -> SeenObject {
    SeenObject {
        bytes,
        version: Some(UpdateVersion {
            e_tag: done.e_tag,
            version: done.version,
        }),
        modified: None,
    }
}

/// The answer to a removal; a missing object is not an error.
fn gone(key: &str, answer: BackendAnswer<()>) -> Result<(), WriteError> {
    match answer {
        Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
        Err(source) => Err(refused(key, source)),
    }
}

#[cold]
fn refused(key: &str, source: Error) -> WriteError {
    WriteError::Backend {
        key: key.to_owned(),
        source,
    }
}

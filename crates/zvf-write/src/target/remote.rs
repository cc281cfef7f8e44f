//! A prefix of an object store.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion,
};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use zvf_store::{OpenOptions, Retry};

use crate::WriteError;
use crate::int::wide;
use crate::shard::Object;
use crate::target::Seen;

#[derive(Debug)]
pub(crate) struct Remote {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    handle: Handle,
    /// One for all threads: a limit inside a limit would multiply.
    requests: Semaphore,
    concurrency: usize,
    retry: Retry,
    timeout: Duration,
}

/// Bytes a second that a body may take at the least, beside the time-out.
const SLOWEST: u64 = 256 << 10;

impl Remote {
    pub(crate) fn new(
        store: Arc<dyn ObjectStore>,
        prefix: String,
        handle: Handle,
        options: &OpenOptions,
    ) -> Self {
        let concurrency = options.concurrency.max(1);
        Self {
            store,
            prefix,
            handle,
            requests: Semaphore::new(concurrency),
            concurrency,
            retry: options.retry,
            timeout: options.request_timeout,
        }
    }

    /// Names are taken as they are: no part of them is escaped.
    fn path(&self, key: &str) -> Result<Path, WriteError> {
        let whole = if self.prefix.is_empty() {
            key.to_owned()
        } else {
            format!("{}/{key}", self.prefix)
        };
        Path::parse(&whole).map_err(|source| WriteError::Backend {
            key: key.to_owned(),
            source: source.into(),
        })
    }

    /// Sends a request with a body of `size` bytes until it is answered, for as long as trying again may help.
    async fn retried<T, F: Future<Output = Result<T, Error>>>(
        &self,
        key: &str,
        size: usize,
        mut send: impl FnMut() -> F,
    ) -> Result<T, WriteError> {
        let patience = Duration::from_secs(wide(size) / SLOWEST).saturating_add(self.timeout);
        let mut pause = self.retry.first_pause;
        let mut tries = 1;
        loop {
            // The semaphore is never closed.
            let slot = self.requests.acquire().await;
            let answer = tokio::time::timeout(patience, send()).await;
            drop(slot);
            let error = match answer {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(error)) => error,
                Err(elapsed) => Error::Generic {
                    store: "object store",
                    source: Box::new(elapsed),
                },
            };
            if tries >= self.retry.attempts || !may_pass(&error) {
                return Err(WriteError::Backend {
                    key: key.to_owned(),
                    source: error,
                });
            }
            tokio::time::sleep(pause).await;
            pause = pause
                .saturating_mul(2)
                .min(self.retry.longest_pause)
                .max(Duration::from_millis(1));
            tries = tries.saturating_add(1);
        }
    }

    pub(crate) fn put(&self, objects: Vec<Object>) -> Result<(), WriteError> {
        let puts = objects.into_iter().map(|(key, bytes)| async move {
            let size = bytes.len();
            let (path, payload) = (self.path(&key)?, PutPayload::from(bytes));
            self.retried(&key, size, || self.store.put(&path, payload.clone()))
                .await
                .map(|_| ())
        });
        let all = futures::stream::iter(puts)
            .buffer_unordered(self.concurrency)
            .try_collect();
        self.handle.block_on(all)
    }

    pub(crate) fn put_new(&self, key: &str, bytes: Vec<u8>) -> Result<bool, WriteError> {
        let path = self.path(key)?;
        let payload = PutPayload::from(bytes.clone());
        let options = || PutOptions::from(PutMode::Create);
        self.handle.block_on(async {
            let put = self
                .retried(key, 0, || {
                    self.store.put_opts(&path, payload.clone(), options())
                })
                .await;
            match put {
                Ok(_) => Ok(true),
                Err(WriteError::Backend {
                    source: Error::AlreadyExists { .. },
                    ..
                }) => {
                    // An earlier try may have come through although its answer was lost: then the object is ours.
                    let found = self
                        .retried(key, 0, || async {
                            self.store.get(&path).await?.bytes().await
                        })
                        .await?;
                    Ok(found == bytes)
                }
                Err(error) => Err(error),
            }
        })
    }

    pub(crate) fn see(&self, key: &str) -> Result<Option<Seen>, WriteError> {
        let path = self.path(key)?;
        let found = self.retried(key, 0, || async {
            let found = self.store.get(&path).await?;
            let version = UpdateVersion {
                e_tag: found.meta.e_tag.clone(),
                version: found.meta.version.clone(),
            };
            Ok((version, found.bytes().await?))
        });
        match self.handle.block_on(found) {
            Ok((version, bytes)) => Ok(Some(Seen {
                bytes: bytes.to_vec(),
                version: Some(version),
            })),
            Err(WriteError::Backend {
                source: Error::NotFound { .. },
                ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn replace(
        &self,
        key: &str,
        seen: &Seen,
        bytes: Vec<u8>,
    ) -> Result<Option<Seen>, WriteError> {
        let path = self.path(key)?;
        let payload = PutPayload::from(bytes.clone());
        let version = seen.version.clone().unwrap_or(UpdateVersion {
            e_tag: None,
            version: None,
        });
        let options = || PutOptions::from(PutMode::Update(version.clone()));
        let put = self.handle.block_on(self.retried(key, 0, || {
            self.store.put_opts(&path, payload.clone(), options())
        }));
        match put {
            Ok(done) => Ok(Some(Seen {
                bytes,
                version: Some(UpdateVersion {
                    e_tag: done.e_tag,
                    version: done.version,
                }),
            })),
            Err(WriteError::Backend {
                source: Error::Precondition { .. } | Error::NotFound { .. },
                ..
            }) => {
                // An earlier try may have come through although its answer was lost: then the object is ours.
                let found = self.see(key)?;
                Ok(found.filter(|found| found.bytes == bytes))
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn remove_below(&self, group: &str) -> Result<(), WriteError> {
        let prefix = self.path(group)?;
        let removed = self.handle.block_on(async {
            let listed = self.store.list(Some(&prefix));
            listed
                .map_ok(|meta| meta.location)
                .try_for_each_concurrent(self.concurrency, |path| async move {
                    self.store.delete(&path).await
                })
                .await
        });
        removed.map_err(|source| WriteError::Backend {
            key: group.to_owned(),
            source,
        })
    }

    pub(crate) fn exists(&self, key: &str) -> Result<bool, WriteError> {
        let path = self.path(key)?;
        let found = self
            .handle
            .block_on(self.retried(key, 0, || self.store.head(&path)));
        match found {
            Ok(_) => Ok(true),
            Err(WriteError::Backend {
                source: Error::NotFound { .. },
                ..
            }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn read(&self, key: &str) -> Result<Option<Vec<u8>>, WriteError> {
        let path = self.path(key)?;
        let found = self.retried(key, 0, || async {
            self.store.get(&path).await?.bytes().await
        });
        match self.handle.block_on(found) {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(WriteError::Backend {
                source: Error::NotFound { .. },
                ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn all(&self) -> Result<(Option<Path>, String), WriteError> {
        let parsed = Path::parse(&self.prefix);
        let parsed = parsed.map_err(|source| WriteError::Backend {
            key: self.prefix.clone(),
            source: source.into(),
        })?;
        let prefix = (!self.prefix.is_empty()).then_some(parsed);
        Ok((prefix, self.prefix.clone()))
    }

    /// Keys below a group; below the store itself, if it has no name.
    pub(crate) fn keys_below(&self, group: &str) -> Result<Vec<String>, WriteError> {
        let (prefix, name) = self.all()?;
        let part = match group {
            "" => prefix.clone(),
            group => Some(self.path(group)?),
        };
        let listed = self.handle.block_on(async {
            let listed = self.store.list(part.as_ref());
            listed
                .map_ok(|meta| meta.location.to_string())
                .try_collect::<Vec<String>>()
                .await
        });
        let mut keys = listed.map_err(|source| WriteError::Backend { key: name, source })?;
        let below = prefix.map_or(String::new(), |prefix| format!("{prefix}/"));
        keys.retain_mut(|key| match key.strip_prefix(below.as_str()) {
            Some(short) => {
                *key = short.to_owned();
                true
            }
            None => false,
        });
        keys.sort_unstable();
        Ok(keys)
    }

    pub(crate) fn any(&self) -> Result<Option<String>, WriteError> {
        let (prefix, name) = self.all()?;
        let first = self
            .handle
            .block_on(async { self.store.list(prefix.as_ref()).next().await.transpose() });
        let first = first.map_err(|source| WriteError::Backend { key: name, source })?;
        Ok(first.map(|meta| meta.location.to_string()))
    }

    pub(crate) fn names(&self, group: &str) -> Result<Vec<String>, WriteError> {
        let prefix = self.path(group)?;
        let listed = self.retried(group, 0, || self.store.list_with_delimiter(Some(&prefix)));
        let objects = self.handle.block_on(listed)?.objects;
        let names = objects
            .iter()
            .filter_map(|meta| meta.location.filename().map(str::to_owned));
        Ok(names.collect())
    }

    pub(crate) fn remove(&self, key: &str) -> Result<(), WriteError> {
        let path = self.path(key)?;
        match self
            .handle
            .block_on(self.retried(key, 0, || self.store.delete(&path)))
        {
            Err(WriteError::Backend {
                source: Error::NotFound { .. },
                ..
            }) => Ok(()),
            other => other,
        }
    }

    pub(crate) fn clear(&self, last: &str) -> Result<(), WriteError> {
        let (prefix, name) = self.all()?;
        let last = self.path(last)?;
        let removed = self.handle.block_on(async {
            let listed = self
                .store
                .list(prefix.as_ref())
                .map_ok(|meta| meta.location);
            let others = listed.try_filter(|path| futures::future::ready(*path != last));
            others
                .try_for_each_concurrent(self.concurrency, |path| async move {
                    self.store.delete(&path).await
                })
                .await
        });
        removed.map_err(|source| WriteError::Backend { key: name, source })
    }
}

/// Whether another try may go better: what the backend cannot say for sure is tried again.
fn may_pass(error: &Error) -> bool {
    matches!(error, Error::Generic { .. } | Error::JoinError { .. })
}

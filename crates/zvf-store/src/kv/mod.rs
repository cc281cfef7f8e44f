//! Objects by key, from the local disk or from an object store.
//!
//! One limit on requests in flight and one on bytes in flight hold for everything a store does.

#[cfg(feature = "http")]
pub(crate) mod checked;
mod flight;
mod folder;
mod list;
pub(crate) mod local;
mod pass;
mod pins;
mod remote;
mod retry;
mod sort;
mod steady;
mod task;
mod verify;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::location::Location;
use crate::raw::Usage;
use crate::trace::Method;
use crate::writing::Redo;
use crate::{IoTrace, Limits, Merge, OpenOptions, Stop, StoreError};

pub(crate) use folder::Folder;
pub use pass::{Listing, ObjectPart, ObjectState};
pub(crate) use pins::{Pins, Role, State};
pub(crate) use remote::Remote;
pub use retry::{Answer, Requests, Retry};
pub(crate) use steady::Steady;
pub(crate) use task::{Handover, blocking, driven};

/// Which part of an object is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Ask {
    /// All of it.
    Whole,
    /// The first so many bytes, or more where more comes along.
    Prefix(u64),
    /// The last so many bytes, or more where more comes along, or all of it when it is shorter.
    Suffix(u64),
    /// Exactly these bytes.
    Range(Range<u64>),
}

/// Part of an object.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) bytes: Bytes,
    /// Where `bytes` starts in the object.
    pub(crate) start: u64,
    /// Bytes of the whole object.
    pub(crate) size: u64,
    pub(crate) etag: Option<String>,
}

impl Object {
    /// The part of a whole object that was asked for; what may come with more stays whole, since it is there already.
    fn part(mut self, ask: &Ask) -> Self {
        if let Ask::Range(range) = ask {
            let bound = |at: u64| {
                usize::try_from(at)
                    .unwrap_or(usize::MAX)
                    .min(self.bytes.len())
            };
            let (from, to) = (bound(range.start), bound(range.end));
            self.bytes = self.bytes.slice(from..to.max(from));
            self.start = range.start;
        }
        self
    }
}

/// A question to the store's tree, asked together with others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Question {
    /// The bytes of a document.
    Document(String),
    /// The names of the folders below a prefix.
    Names(String),
    /// As [`Names`](Self::Names), of a folder that has one child for each chunk.
    Cells(String),
    /// The keys of all objects below a prefix, relative to it.
    Keys(String),
}

/// The answer to a [`Question`].
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Document(Option<Object>),
    /// `None`: the backend cannot list.
    Names(Option<Vec<String>>),
}

#[derive(Debug, Clone)]
pub(crate) enum Backend {
    Local(Arc<Folder>),
    Remote(Remote),
}

/// A keyed view of the place where the store lies. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Kv {
    pub(crate) backend: Backend,
    slots: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    memory_units: u32,
    pub(crate) limits: Arc<Limits>,
    pub(crate) trace: IoTrace,
    /// When neighbouring ranges become one request.
    pub(crate) merge: Merge,
    pub(crate) pins: Arc<Pins>,
    /// What is read in the place of objects that lie there.
    drafts: Arc<BTreeMap<String, Bytes>>,
    stop: Stop,
}

/// Unit of the byte semaphore.
const UNIT: u64 = 4096;

impl Kv {
    pub(crate) fn open(address: &str, options: &OpenOptions) -> Result<Self, StoreError> {
        Ok(Self::at(Location::resolve(address, options)?, options))
    }

    /// The keys of a place.
    pub(crate) fn at(location: Location, options: &OpenOptions) -> Self {
        let (backend, merge) = match location {
            Location::Local(root) => (Backend::Local(Arc::new(Folder::new(root))), Merge::DISK),
            Location::Remote {
                store,
                prefix,
                backs,
            } => {
                let remote = Remote::new(store, prefix, backs, options);
                (Backend::Remote(remote), backs.merge)
            }
        };
        let concurrency = options.concurrency.clamp(1, 4096);
        let units = (options.limits.in_flight_bytes / UNIT).clamp(1, u64::from(u32::MAX >> 4));
        let memory_units = u32::try_from(units).unwrap_or(u32::MAX >> 4);
        Self {
            backend,
            slots: Arc::new(Semaphore::new(concurrency)),
            memory: Arc::new(Semaphore::new(usize::try_from(memory_units).unwrap_or(1))),
            memory_units,
            limits: Arc::new(options.limits.clone()),
            trace: options.trace.clone(),
            merge: options.merge.unwrap_or(merge),
            pins: Arc::new(Pins::new(options.verify)),
            drafts: Arc::clone(&options.drafts),
            stop: options.stop.clone(),
        }
    }

    /// What is read in the place of an object.
    fn draft(&self, key: &str, ask: &Ask) -> Option<Object> {
        let bytes = self.drafts.get(key)?.clone();
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let whole = Object {
            bytes,
            start: 0,
            size,
            etag: None,
        };
        Some(whole.part(ask))
    }

    /// The same place under the redo log of an edit, with nothing pinned yet.
    pub(crate) fn under(mut self, redo: Redo, options: &OpenOptions) -> Self {
        self.backend = match &self.backend {
            Backend::Local(folder) => Backend::Local(Arc::new(folder.under(redo))),
            Backend::Remote(remote) => Backend::Remote(remote.under(redo)),
        };
        self.pins = Arc::new(Pins::new(options.verify));
        self
    }

    /// The edit whose redo log this is under.
    pub(crate) fn edit(&self) -> Option<String> {
        let redo = match &self.backend {
            Backend::Local(folder) => folder.redo(),
            Backend::Remote(remote) => remote.redo.as_deref(),
        };
        redo.map(|redo| redo.id().to_owned())
    }

    /// The redo log of an edit; `None` when it is not there: it was carried out meanwhile.
    pub(crate) async fn redo_of(&self, id: &str) -> Result<Option<Redo>, StoreError> {
        let (key, cap) = (Redo::manifest_of(id), Cap::document(&self.limits));
        match self.get(2, &key, Ask::Whole, cap).await? {
            Some(manifest) => Redo::parse(id, &manifest.bytes).map(Some),
            None => Ok(None),
        }
    }

    /// Whether keys are files of the local disk.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.backend, Backend::Local(_))
    }

    /// Whether listings are answered.
    pub(crate) fn can_list(&self) -> bool {
        match &self.backend {
            Backend::Local(_) => true,
            Backend::Remote(remote) => remote.lists(),
        }
    }

    /// Waits for a free request slot.
    pub(crate) async fn slot(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        self.stop.check()?;
        Arc::clone(&self.slots)
            .acquire_owned()
            .await
            .map_err(|_| StoreError::misuse("the store was closed while it was read"))
    }

    /// A request slot, if one is free now.
    pub(crate) fn free_slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).try_acquire_owned().ok()
    }

    /// Waits until `bytes` more may be on their way.
    async fn room(&self, bytes: u64) -> Result<OwnedSemaphorePermit, StoreError> {
        let units = u32::try_from(bytes.div_ceil(UNIT))
            .unwrap_or(u32::MAX)
            .clamp(1, self.memory_units);
        Arc::clone(&self.memory)
            .acquire_many_owned(units)
            .await
            .map_err(|_| StoreError::misuse("the store was closed while it was read"))
    }

    /// Reads an object or part of it; `None` when it does not exist.
    pub(crate) async fn get(
        &self,
        round: u32,
        key: &str,
        ask: Ask,
        limit: Cap,
    ) -> Result<Option<Object>, StoreError> {
        let (kv, key) = (self.clone(), key.to_owned());
        driven(async move { kv.get_polled(round, &key, ask, limit).await }).await
    }

    /// As [`get`](Self::get), for callers that are polled until they are done: see [`driven`].
    pub(crate) async fn get_polled(
        &self,
        round: u32,
        key: &str,
        ask: Ask,
        limit: Cap,
    ) -> Result<Option<Object>, StoreError> {
        if let Some(draft) = self.draft(key, &ask) {
            return Ok(Some(draft));
        }
        match &self.backend {
            Backend::Local(root) => {
                let (root, key, trace) = (Arc::clone(root), key.to_owned(), self.trace.clone());
                let slot = self.slot().await?;
                blocking(move || {
                    let _slot = slot;
                    local::read(&root, round, &key, &ask, limit, &trace)
                })
                .await?
            }
            Backend::Remote(remote) => {
                // What a request may go through is large, and callers keep many of them on the stack.
                Box::pin(remote.get(self, round, key, ask, limit, Role::Content)).await
            }
        }
    }

    /// Adds up the objects below a prefix; `None` when the backend cannot list.
    pub(crate) async fn usage(
        &self,
        round: u32,
        prefix: &str,
    ) -> Result<Option<Usage>, StoreError> {
        match &self.backend {
            Backend::Remote(remote) => {
                let (kv, remote, prefix) = (self.clone(), remote.clone(), prefix.to_owned());
                driven(async move { remote.usage(&kv, round, &prefix).await }).await
            }
            Backend::Local(root) => {
                let slot = self.slot().await?;
                let start = self.trace.start();
                let (root, key, limit) = (
                    Arc::clone(root),
                    prefix.to_owned(),
                    self.limits.cells_per_query,
                );
                let sum = move || {
                    let mut usage = Usage::default();
                    local::usage(&root, &key, &mut usage, limit, 0).map(|()| Some(usage))
                };
                let usage = blocking(sum).await?;
                drop(slot);
                let count = usage
                    .as_ref()
                    .ok()
                    .and_then(Option::as_ref)
                    .map(|usage| usage.objects);
                self.trace
                    .record(start, round, Method::List, prefix, (None, None), count);
                usage
            }
        }
    }

    /// Answers independent questions together: one blocking task on a local disk, concurrent requests elsewhere.
    pub(crate) async fn ask_all(
        &self,
        round: u32,
        questions: Vec<Question>,
    ) -> Result<Vec<(Question, Result<Reply, StoreError>)>, StoreError> {
        let kv = self.clone();
        driven(async move { kv.ask_all_polled(round, questions).await }).await
    }

    async fn ask_all_polled(
        &self,
        round: u32,
        mut questions: Vec<Question>,
    ) -> Result<Vec<(Question, Result<Reply, StoreError>)>, StoreError> {
        let mut drafted = Vec::new();
        if !self.drafts.is_empty() {
            questions.retain(|question| {
                let Question::Document(key) = question else {
                    return true;
                };
                let draft = self.draft(key, &Ask::Whole);
                let is_draft = draft.is_some();
                drafted.extend(draft.map(|one| (question.clone(), Ok(Reply::Document(Some(one))))));
                !is_draft
            });
        }
        let mut answers = self.ask_backend(round, questions).await?;
        answers.append(&mut drafted);
        Ok(answers)
    }

    async fn ask_backend(
        &self,
        round: u32,
        questions: Vec<Question>,
    ) -> Result<Vec<(Question, Result<Reply, StoreError>)>, StoreError> {
        match &self.backend {
            Backend::Local(root) => {
                let (root, kv) = (Arc::clone(root), self.clone());
                let slot = self.slot().await?;
                blocking(move || {
                    let _slot = slot;
                    questions
                        .into_iter()
                        .map(|q| {
                            let reply = local::answer(&root, round, &q, &kv);
                            (q, reply)
                        })
                        .collect()
                })
                .await
            }
            Backend::Remote(remote) => {
                let all = questions.into_iter().map(|q| async move {
                    let reply = remote.answer(self, round, &q).await;
                    (q, reply)
                });
                Ok(futures::future::join_all(all).await)
            }
        }
    }
}

/// A limit on the bytes of one object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cap {
    pub(crate) what: &'static str,
    pub(crate) bytes: u64,
}

impl Cap {
    pub(crate) fn cell(limits: &Limits) -> Self {
        Self {
            what: "cell_bytes",
            bytes: limits.cell_bytes,
        }
    }

    pub(crate) fn document(limits: &Limits) -> Self {
        Self {
            what: "document_bytes",
            bytes: limits.document_bytes,
        }
    }

    pub(crate) fn check(self, key: &str, bytes: u64) -> Result<(), StoreError> {
        if bytes > self.bytes {
            Err(StoreError::limit(key, self.what, bytes, self.bytes))
        } else {
            Ok(())
        }
    }
}

/// Whether `name` can stand as one segment of a key: it names something inside its parent and nothing else.
pub(crate) fn is_segment(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0'])
}

/// Refuses a name that would leave its folder.
pub(crate) fn check_segment(parent: &str, name: &str) -> Result<(), StoreError> {
    if is_segment(name) {
        Ok(())
    } else {
        Err(StoreError::misuse(format!(
            "{parent}: {name:?} cannot be the name of an array"
        )))
    }
}

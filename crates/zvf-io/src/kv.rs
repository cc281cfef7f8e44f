//! Objects by key below one address: on the local disk, in an object store, or fetched by the calling program.
//!
//! All clones of a handle share one limit on requests in flight and one on bytes in flight.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};

use crate::caller_objects::CallerObjects;
use crate::context::Context;
use crate::folder::Folder;
use crate::local;
use crate::location::Location;
#[cfg(feature = "backends")]
use crate::remote::Remote;
use crate::task::{blocking, driven, on_worker};
use crate::versions::SnapshotRole;
use crate::{Ask, Cap, IoError, IoOptions, Merge, Method, Object, Overlay, Question, Reply, Usage};
use zvf_grid::int::wide;

/// Number of local folders whose sizes are summed concurrently.
const FOLDERS: usize = 4;

/// The storage of an address.
#[derive(Debug, Clone)]
pub enum Backend {
    /// Files below a folder of the local disk.
    Local(Arc<Folder>),
    /// A prefix of an object store.
    #[cfg(feature = "backends")]
    Remote(Remote),
    /// Objects that the calling program fetches.
    Caller(CallerObjects),
}

/// A keyed view of one address, for requests of one round ([`Kv::in_round`]). Cheap to clone.
///
/// Dereferences to its [`Context`]: limits, trace, request slots.
#[derive(Debug, Clone)]
pub struct Kv {
    backend: Backend,
    context: Context,
    /// Objects that replace stored ones.
    drafts: Arc<BTreeMap<String, Bytes>>,
}

impl Deref for Kv {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}

/// Questions with their replies.
pub type Replies = Vec<(Question, Result<Reply, IoError>)>;

impl Kv {
    /// Resolves an address, a path or a URL. Sends nothing.
    ///
    /// # Errors
    /// Misuse: an invalid address, or one of a backend that is not compiled in.
    pub fn open(address: &str, options: &IoOptions) -> Result<Self, IoError> {
        if let Some(store) = options.only_caller_store(address)? {
            let backend = Backend::Caller(CallerObjects::new(store));
            return Ok(Self::of(backend, Merge::WEB, options));
        }
        Ok(Self::at(Location::resolve(address, options)?, options))
    }

    /// A view of a location.
    pub(crate) fn at(location: Location, options: &IoOptions) -> Self {
        let (backend, merge) = match location {
            Location::Local(root) => (Backend::Local(Arc::new(Folder::new(root))), Merge::DISK),
            #[cfg(feature = "backends")]
            Location::Remote {
                store,
                prefix,
                backs,
            } => {
                let remote = Remote::new(store, prefix, backs, options);
                (Backend::Remote(remote), backs.merge)
            }
        };
        Self::of(backend, merge, options)
    }

    fn of(backend: Backend, merge: Merge, options: &IoOptions) -> Self {
        Self {
            backend,
            context: Context::new(options, merge),
            drafts: Arc::clone(&options.drafts),
        }
    }

    /// A view of the same address, with another round for the requests in the trace.
    #[must_use]
    pub fn in_round(&self, round: u32) -> Self {
        Self {
            backend: self.backend.clone(),
            context: self.context.in_round(round),
            drafts: Arc::clone(&self.drafts),
        }
    }

    /// A view of the same address under an overlay, without observed versions.
    #[must_use]
    pub fn under(mut self, overlay: Overlay, verify: bool) -> Self {
        self.backend = match &self.backend {
            Backend::Local(folder) => Backend::Local(Arc::new(folder.under(overlay))),
            #[cfg(feature = "backends")]
            Backend::Remote(remote) => Backend::Remote(remote.under(overlay)),
            Backend::Caller(caller) => Backend::Caller(caller.under(overlay)),
        };
        self.without_versions(verify)
    }

    /// A view of the same address without observed versions; changes are detected if `verify` is set.
    #[must_use]
    pub fn without_versions(mut self, verify: bool) -> Self {
        self.context = self.context.without_versions(verify);
        self
    }

    /// A view of the same address that resolves the path of a local folder again, without observed versions and without detecting changes.
    #[must_use]
    pub fn reopened(mut self) -> Self {
        if let Backend::Local(folder) = &self.backend {
            self.backend = Backend::Local(Arc::new(folder.reopened()));
        }
        self.without_versions(false)
    }

    /// Whether a local folder is still at its path: it was not moved, and not replaced by another folder or link. True for other backends, and on
    /// systems where folders have no handles.
    ///
    /// # Errors
    /// Misuse: there is no runtime, or it was shut down.
    pub fn is_at_its_path(&self) -> BoxFuture<'_, Result<bool, IoError>> {
        Box::pin(async move {
            match &self.backend {
                Backend::Local(folder) => {
                    let folder = Arc::clone(folder);
                    blocking(move || folder.is_at_its_path()).await
                }
                #[cfg(feature = "backends")]
                Backend::Remote(_) => Ok(true),
                Backend::Caller(_) => Ok(true),
            }
        })
    }

    /// The storage of the address.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// The id of the overlay.
    pub fn overlay(&self) -> Option<&str> {
        self.replaced().map(Overlay::id)
    }

    fn replaced(&self) -> Option<&Overlay> {
        match &self.backend {
            Backend::Local(folder) => folder.overlay(),
            #[cfg(feature = "backends")]
            Backend::Remote(remote) => remote.overlay(),
            Backend::Caller(caller) => caller.overlay(),
        }
    }

    /// Reads the root again if an absent object belongs to the overlay. Fails if the root changed: the edit was completed meanwhile, and its objects are
    /// now at their own keys.
    async fn check_absent(&self, key: &str) -> Result<(), IoError> {
        if self.replaced().is_some_and(|own| own.put().contains(key)) {
            let root = Question::Document("zarr.json".to_owned());
            for (_, reply) in self.ask_backend(vec![root]).await? {
                reply?;
            }
        }
        Ok(())
    }

    /// Whether keys are files of the local disk.
    pub fn is_local(&self) -> bool {
        matches!(self.backend, Backend::Local(_))
    }

    /// Whether listings are supported, as far as is known.
    pub fn can_list(&self) -> bool {
        match &self.backend {
            Backend::Local(_) => true,
            #[cfg(feature = "backends")]
            Backend::Remote(remote) => remote.lists(),
            Backend::Caller(_) => false,
        }
    }

    /// The draft of an object, which is read instead of the stored one.
    fn draft(&self, key: &str, ask: &Ask) -> Option<Object> {
        let bytes = self.drafts.get(key)?.clone();
        let size = wide(bytes.len());
        let whole = Object {
            bytes,
            start: 0,
            size,
            etag: None,
        };
        Some(whole.part(ask))
    }

    /// Runs file operations on a worker thread, with a request slot.
    pub(crate) async fn on_disk<R: Send + 'static>(
        &self,
        root: &Arc<Folder>,
        work: impl FnOnce(&Folder, &Context) -> R + Send + 'static,
    ) -> Result<R, IoError> {
        let (root, context) = (Arc::clone(root), self.context.clone());
        let slot = self.slot().await?;
        on_worker(move || {
            let _slot = slot;
            work(&root, &context)
        })
        .await
    }

    /// Reads an object or part of it; `None` when it does not exist.
    ///
    /// # Cost
    /// One request; identical requests of concurrent callers are sent once.
    ///
    /// # Errors
    /// I/O; malformed: a folder, a pipe or a device; limit: more bytes than `limit` allows.
    pub fn get(
        &self,
        key: &str,
        ask: Ask,
        limit: Cap,
    ) -> BoxFuture<'static, Result<Option<Object>, IoError>> {
        let (kv, key) = (self.clone(), key.to_owned());
        Box::pin(driven(async move { kv.get_polled(&key, ask, limit).await }))
    }

    /// As [`get`](Self::get), for callers that poll the future until it is done: see [`driven`].
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_polled<'a>(
        &'a self,
        key: &'a str,
        ask: Ask,
        limit: Cap,
    ) -> BoxFuture<'a, Result<Option<Object>, IoError>> {
        Box::pin(async move {
            if let Some(draft) = self.draft(key, &ask) {
                return Ok(Some(draft));
            }
            let found = match &self.backend {
                Backend::Local(root) => {
                    let key = key.to_owned();
                    let read = move |root: &Folder, context: &Context| {
                        local::read(root, context, &key, &ask, limit)
                    };
                    self.on_disk(root, read).await?
                }
                #[cfg(feature = "backends")]
                Backend::Remote(remote) => {
                    remote
                        .get(&self.context, key, ask, limit, SnapshotRole::Content)
                        .await
                }
                Backend::Caller(caller) => {
                    caller
                        .get(&self.context, key, ask, limit, SnapshotRole::Content)
                        .await
                }
            }?;
            if found.is_none() {
                self.check_absent(key).await?;
            }
            Ok(found)
        })
    }

    /// Counts the objects below a prefix and their bytes; `None` when the backend cannot list.
    ///
    /// # Errors
    /// I/O; limit: more objects than [`Limits::cells_per_query`](crate::Limits::cells_per_query).
    pub fn usage<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Option<Usage>, IoError>> {
        Box::pin(async move {
            match &self.backend {
                Backend::Caller(_) => Ok(None),
                #[cfg(feature = "backends")]
                Backend::Remote(remote) => {
                    let (context, remote) = (self.context.clone(), remote.clone());
                    let prefix = prefix.to_owned();
                    driven(async move { remote.usage(&context, &prefix).await }).await
                }
                Backend::Local(root) => {
                    let slot = self.slot().await?;
                    let start = self.trace().start();
                    let usage = self.local_usage(root, prefix).await;
                    drop(slot);
                    let count = usage.as_ref().ok().map(|usage| usage.objects);
                    self.record(start, Method::List, prefix, (None, None), count);
                    usage.map(Some)
                }
            }
        })
    }

    /// As [`usage`](Self::usage). Lists the folders of the prefix concurrently, since each may be an array of thousands of files.
    async fn local_usage(&self, root: &Arc<Folder>, prefix: &str) -> Result<Usage, IoError> {
        let cap = Cap::cells(self.limits());
        let (folder, key) = (Arc::clone(root), prefix.to_owned());
        let first = blocking(move || local::folder_usage(&folder, &key, cap));
        let (mut usage, folders) = first.await??;
        let below = folders.into_iter().map(|key| {
            let root = Arc::clone(root);
            blocking(move || local::usage(&root, &key, cap, 1))
        });
        let mut below = stream::iter(below).buffer_unordered(FOLDERS);
        while let Some(one) = below.next().await {
            usage.merge(prefix, one??, cap)?;
        }
        Ok(usage)
    }

    /// Answers independent questions together: on one worker thread for a local disk, by concurrent requests elsewhere.
    ///
    /// # Errors
    /// I/O: the work was cancelled. The error of a single question is in its reply.
    pub fn ask_all(
        &self,
        questions: Vec<Question>,
    ) -> BoxFuture<'static, Result<Replies, IoError>> {
        let kv = self.clone();
        Box::pin(driven(async move { kv.ask_all_polled(questions).await }))
    }

    async fn ask_all_polled(&self, mut questions: Vec<Question>) -> Result<Replies, IoError> {
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
        let mut answers = self.ask_backend(questions).await?;
        if self.replaced().is_some() {
            for (question, reply) in &mut answers {
                if let (Question::Document(key), Ok(Reply::Document(None))) = (question, &*reply)
                    && let Err(error) = self.check_absent(key).await
                {
                    *reply = Err(error);
                }
            }
        }
        answers.append(&mut drafted);
        Ok(answers)
    }

    async fn ask_backend(&self, questions: Vec<Question>) -> Result<Replies, IoError> {
        match &self.backend {
            Backend::Local(root) => {
                let work = move |root: &Folder, context: &Context| {
                    let replies = questions.into_iter().map(|q| {
                        let reply = local::answer(root, context, &q);
                        (q, reply)
                    });
                    replies.collect()
                };
                self.on_disk(root, work).await
            }
            #[cfg(feature = "backends")]
            Backend::Remote(remote) => {
                let all = questions.into_iter().map(|q| async move {
                    let reply = remote.answer(&self.context, &q).await;
                    (q, reply)
                });
                Ok(futures::future::join_all(all).await)
            }
            Backend::Caller(caller) => {
                let all = questions.into_iter().map(|q| async move {
                    let reply = caller.answer(&self.context, &q).await;
                    (q, reply)
                });
                Ok(futures::future::join_all(all).await)
            }
        }
    }
}

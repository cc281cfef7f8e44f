//! Stores whose objects the calling program fetches: reading without a runtime, threads, or the clients of this crate.
//!
//! The readers of this workspace are futures. [`CallerRun`] polls a future on the thread of its caller until it needs objects. The caller fetches
//! them by any means, and continues. All requests of one round are returned together.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_channel::oneshot;

use crate::tasks::Tasks;
use crate::{Ask, Cap, IoError, Object};

/// A store whose objects the calling program fetches: a page in a browser, firmware, a test. Cheap to clone; clones share it.
///
/// Set it as [`IoOptions::caller_store`](crate::IoOptions::caller_store). The address of a store is then only a name in messages, and keys are
/// relative to the root of the store. Listings are not supported. The caller retries requests and limits their time.
///
/// ```
/// use zvf_io::{Ask, CallerStore, Cap, IoError, IoOptions, Kv, Object};
///
/// # fn main() -> Result<(), IoError> {
/// let store = CallerStore::new();
/// let kv = Kv::open("example", &IoOptions::new().with_caller_store(store.clone()))?;
/// // Any function of a key and a range.
/// let file = b"0123456789";
/// let part = store.wait(kv.get("a", Ask::Range(2..5), Cap::cell(kv.limits())), |fetch| {
///     let range = fetch.ask.of(10);
///     let bytes = file[range.start as usize..range.end as usize].to_vec();
///     Ok((fetch.key == "a").then(|| Object::new(bytes, range.start, 10)))
/// })??;
/// assert_eq!(part.ok_or(IoError::misuse("no object"))?.bytes, "234");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct CallerStore(Arc<CallerInner>);

#[derive(Debug, Default)]
struct CallerInner {
    tasks: Arc<Tasks>,
    /// Whether a run is active.
    busy: AtomicBool,
    wanted: Mutex<CallerRequests>,
}

/// Requests that the caller must answer.
#[derive(Debug, Default)]
struct CallerRequests {
    next: u64,
    /// Requests that were not returned to the caller yet.
    new: Vec<u64>,
    waiting: BTreeMap<u64, (ObjectFetch, oneshot::Sender<FetchResult>)>,
}

pub(crate) type FetchResult = Result<Option<Object>, IoError>;

/// A request for an object, or for a part of it, that the caller must answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectFetch {
    /// The id of this request for [`CallerRun::answer`].
    pub id: u64,
    /// The key of the object, relative to the root of the store.
    pub key: String,
    /// The requested part. The whole object is a valid answer, too.
    pub ask: Ask,
    /// Largest number of bytes that this part may have.
    pub most: u64,
    /// The number of its round, from 1; requests of a round depend only on answers of earlier ones.
    pub round: u32,
}

/// The state of a [`CallerRun`].
#[derive(Debug)]
pub enum CallerStep<T> {
    /// Objects that are needed, in any order. Each is returned once; the list is empty if the caller must answer earlier requests first.
    Fetch(Vec<ObjectFetch>),
    /// The result.
    Done(T),
}

/// A future that waits for objects from its caller, see [`CallerStore::run`].
pub struct CallerRun<'f, T> {
    store: CallerStore,
    /// `None` once the future has ended.
    future: Option<Pin<Box<dyn Future<Output = T> + 'f>>>,
}

impl<T> std::fmt::Debug for CallerRun<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallerRun").finish_non_exhaustive()
    }
}

impl<T> Drop for CallerRun<'_, T> {
    fn drop(&mut self) {
        // Drops the tasks that the future started.
        self.future = None;
        self.store.0.tasks.reap();
        // Streams that read ahead may outlive this run: the next one returns their requests again.
        let mut wanted = self.store.wanted();
        wanted.new = wanted.waiting.keys().copied().collect();
        drop(wanted);
        self.store.0.busy.store(false, Ordering::SeqCst);
    }
}

impl CallerStore {
    /// A store without requests.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts to run a future that reads from this store. The future may borrow, and need not be [`Send`].
    ///
    /// # Errors
    /// Misuse: another run of this store has not ended.
    pub fn run<'f, T>(
        &self,
        future: impl Future<Output = T> + 'f,
    ) -> Result<CallerRun<'f, T>, IoError> {
        if self.0.busy.swap(true, Ordering::SeqCst) {
            return Err(IoError::misuse(
                "another run of this store has not ended: a caller store has one run at a time",
            ));
        }
        Ok(CallerRun {
            store: self.clone(),
            future: Some(Box::pin(future)),
        })
    }

    /// Runs a future to its end; `fetch` returns the requested objects, and `None` for objects that do not exist.
    ///
    /// # Errors
    /// As [`run`](Self::run) and [`CallerRun::step`]. An error of `fetch` becomes the result of that request.
    pub fn wait<T>(
        &self,
        future: impl Future<Output = T>,
        mut fetch: impl FnMut(&ObjectFetch) -> Result<Option<Object>, IoError>,
    ) -> Result<T, IoError> {
        let mut run = self.run(future)?;
        loop {
            match run.step()? {
                CallerStep::Done(value) => return Ok(value),
                CallerStep::Fetch(wanted) => {
                    for one in wanted {
                        run.answer(one.id, fetch(&one))?;
                    }
                }
            }
        }
    }

    fn wanted(&self) -> MutexGuard<'_, CallerRequests> {
        self.0.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a request to the caller and waits for the answer.
    pub(crate) async fn fetch(&self, key: &str, ask: &Ask, cap: Cap, round: u32) -> FetchResult {
        let runs = Tasks::current().is_some_and(|now| Arc::ptr_eq(&now, &self.0.tasks));
        if !runs {
            return Err(IoError::misuse(
                "a caller store is read inside `CallerStore::run` or `CallerStore::wait` of the same store",
            ));
        }
        let (id, answer) = self.want(key, ask, cap, round);
        let _pending = Pending { store: self, id };
        answer.await.map_err(|_| IoError::Bug {
            what: "a request of the caller was dropped",
        })?
    }

    /// Adds a request for the next step; returns its id and the receiver of the answer.
    fn want(
        &self,
        key: &str,
        ask: &Ask,
        cap: Cap,
        round: u32,
    ) -> (u64, oneshot::Receiver<FetchResult>) {
        let (to, answer) = oneshot::channel();
        let mut wanted = self.wanted();
        let id = wanted.next;
        wanted.next = id.wrapping_add(1);
        let fetch = ObjectFetch {
            id,
            key: key.to_owned(),
            ask: ask.clone(),
            most: cap.most,
            round,
        };
        wanted.waiting.insert(id, (fetch, to));
        wanted.new.push(id);
        (id, answer)
    }
}

/// Removes a request when its future is dropped.
struct Pending<'s> {
    store: &'s CallerStore,
    id: u64,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let mut wanted = self.store.wanted();
        wanted.waiting.remove(&self.id);
        wanted.new.retain(|id| *id != self.id);
    }
}

impl<T> CallerRun<'_, T> {
    /// Runs until the future ends or waits for objects.
    ///
    /// # Errors
    /// Misuse: the future waits for something other than objects of this store, or has already ended.
    pub fn step(&mut self) -> Result<CallerStep<T>, IoError> {
        let Some(future) = &mut self.future else {
            return Err(IoError::misuse("the run has ended already"));
        };
        if let Some(value) = self.store.0.tasks.poll(future.as_mut()) {
            self.future = None;
            return Ok(CallerStep::Done(value));
        }
        let mut wanted = self.store.wanted();
        if wanted.waiting.is_empty() {
            return Err(IoError::misuse(
                "the future waits for something other than objects of this store",
            ));
        }
        let new = std::mem::take(&mut wanted.new);
        let new = new.iter().filter_map(|id| wanted.waiting.get(id));
        Ok(CallerStep::Fetch(
            new.map(|(fetch, _)| fetch.clone()).collect(),
        ))
    }

    /// Answers a request: with the object or the requested part of it, or with `None` if it does not exist. If the request was dropped, so is the
    /// answer.
    ///
    /// # Errors
    /// Misuse: no request has this id.
    pub fn answer(
        &mut self,
        id: u64,
        object: Result<Option<Object>, IoError>,
    ) -> Result<(), IoError> {
        let mut wanted = self.store.wanted();
        if id >= wanted.next {
            return Err(IoError::misuse(format!("no request has the id {id}")));
        }
        if let Some((_, to)) = wanted.waiting.remove(&id) {
            // Sending fails if the future was dropped and no longer needs the answer.
            let _ = to.send(object);
        }
        Ok(())
    }
}

//! Objects that the program fetches itself: reading without a runtime, without threads, and without a client of this crate.
//!
//! The readers of this workspace are futures. Here a future is polled on the thread of its caller until it waits for objects; the caller
//! fetches them by any means and goes on. All requests of one round are handed out together.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::channel::oneshot;

use crate::context::Context;
use crate::overlay::placed;
use crate::single_flight::SingleFlight;
use crate::tasks::Tasks;
use crate::versions::{Pinned, Role, State, changed, told};
use crate::{Ask, Cap, IoError, Method, Object, Overlay, Question, Reply};
use zvf_grid::int::wide;

/// A store whose objects the calling program fetches: a page in a browser, firmware, a test. Cheap to clone; clones share it.
///
/// Set it as [`IoOptions::caller_store`](crate::IoOptions::caller_store). The address of a store is then a name in messages, and keys are relative
/// to the root of the store. Nothing is listed. The caller retries, and limits the time of a request.
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
pub struct CallerStore(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    tasks: Arc<Tasks>,
    /// Whether a run has begun and not ended.
    busy: AtomicBool,
    wanted: Mutex<Wanted>,
}

/// What the caller was asked for, and will be.
#[derive(Debug, Default)]
struct Wanted {
    next: u64,
    /// Requests that were not handed out yet.
    new: Vec<u64>,
    waiting: BTreeMap<u64, (ObjectFetch, oneshot::Sender<Fetched>)>,
}

type Fetched = Result<Option<Object>, IoError>;

/// A part of an object that the caller has to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectFetch {
    /// Names this request in [`CallerRun::answer`].
    pub id: u64,
    /// The object, relative to the root of the store.
    pub key: String,
    /// The part of it. The whole object is a correct answer, too.
    pub ask: Ask,
    /// Most bytes that are accepted of this part: larger ones need not be fetched.
    pub most: u64,
    /// The dependent round of requests that it belongs to, from 1.
    pub round: u32,
}

/// The state of a [`CallerRun`].
#[derive(Debug)]
pub enum CallerStep<T> {
    /// These objects are needed, in any order. Each is handed out once; the list is empty if earlier ones have to be answered first.
    Fetch(Vec<ObjectFetch>),
    /// The result.
    Done(T),
}

/// A future that waits for objects from its caller, see [`CallerStore::run`].
pub struct CallerRun<'f, T> {
    store: CallerStore,
    /// `None` once it ended.
    future: Option<Pin<Box<dyn Future<Output = T> + 'f>>>,
}

impl<T> std::fmt::Debug for CallerRun<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallerRun").finish_non_exhaustive()
    }
}

impl<T> Drop for CallerRun<'_, T> {
    fn drop(&mut self) {
        // What the future started is dropped with it.
        self.future = None;
        self.store.0.tasks.reap();
        // What a stream reads ahead is asked for again when it goes on.
        let mut wanted = self.store.wanted();
        wanted.new = wanted.waiting.keys().copied().collect();
        drop(wanted);
        self.store.0.busy.store(false, Ordering::SeqCst);
    }
}

impl CallerStore {
    /// A store of which nothing was requested.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins to run a future that reads from this store. It may borrow, and need not be [`Send`].
    ///
    /// # Errors
    /// Misuse: another run of this store has not ended.
    pub fn run<'f, T>(
        &self,
        future: impl Future<Output = T> + 'f,
    ) -> Result<CallerRun<'f, T>, IoError> {
        if self.0.busy.swap(true, Ordering::SeqCst) {
            return Err(IoError::misuse(
                "another run of this store has not ended: a store that its caller fetches answers one call at a time",
            ));
        }
        Ok(CallerRun {
            store: self.clone(),
            future: Some(Box::pin(future)),
        })
    }

    /// Runs a future to its end; `fetch` returns the objects that it needs, and `None` for one that does not exist.
    ///
    /// # Errors
    /// As [`run`](Self::run) and [`CallerRun::step`]. An error of `fetch` is the answer to that request.
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

    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.0.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a request to the caller and waits for the answer.
    async fn fetch(&self, key: &str, ask: &Ask, cap: Cap, round: u32) -> Fetched {
        let runs = Tasks::current().is_some_and(|now| Arc::ptr_eq(&now, &self.0.tasks));
        if !runs {
            return Err(IoError::misuse(
                "a store that its caller fetches is read by `CallerStore::run` or `CallerStore::wait` of the same store",
            ));
        }
        let (id, answer) = self.want(key, ask, cap, round);
        let _pending = Pending { store: self, id };
        answer.await.map_err(|_| IoError::Bug {
            what: "a request of the caller was dropped",
        })?
    }

    /// Notes a request for the next step; returns its id and the answer on its way.
    fn want(
        &self,
        key: &str,
        ask: &Ask,
        cap: Cap,
        round: u32,
    ) -> (u64, oneshot::Receiver<Fetched>) {
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

/// Takes a request back when nobody waits for it any more.
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
    /// Misuse: the future waits for something else than objects of this store, or it ended before.
    pub fn step(&mut self) -> Result<CallerStep<T>, IoError> {
        let Some(future) = &mut self.future else {
            return Err(IoError::misuse("the run ended before"));
        };
        if let Some(value) = self.store.0.tasks.poll(future.as_mut()) {
            self.future = None;
            return Ok(CallerStep::Done(value));
        }
        let mut wanted = self.store.wanted();
        if wanted.waiting.is_empty() {
            return Err(IoError::misuse(
                "the future waits for something else than objects of this store",
            ));
        }
        let new = std::mem::take(&mut wanted.new);
        let new = new.iter().filter_map(|id| wanted.waiting.get(id));
        Ok(CallerStep::Fetch(
            new.map(|(fetch, _)| fetch.clone()).collect(),
        ))
    }

    /// Answers a request: the object or the requested part of it, `None` if it does not exist. An answer that is not needed any more is
    /// dropped.
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
            // Nobody waits for it any more, if it is not received.
            let _ = to.send(object);
        }
        Ok(())
    }
}

/// A [`CallerStore`] under an overlay, with its requests in flight.
#[derive(Debug, Clone)]
pub struct CallerObjects {
    store: CallerStore,
    flights: Arc<SingleFlight<(String, Ask, u64), Option<Object>>>,
    overlay: Option<Arc<Overlay>>,
}

impl CallerObjects {
    pub(crate) fn new(store: CallerStore) -> Self {
        Self {
            store,
            flights: Arc::default(),
            overlay: None,
        }
    }

    /// The same store under an overlay. Objects that were requested without it are requested again.
    pub(crate) fn under(&self, overlay: Overlay) -> Self {
        Self {
            overlay: Some(Arc::new(overlay)),
            ..Self::new(self.store.clone())
        }
    }

    /// The overlay that objects are read under.
    pub(crate) fn overlay(&self) -> Option<&Overlay> {
        self.overlay.as_deref()
    }

    /// Reads an object or part of it, once for all who ask for the same at one time.
    pub(crate) async fn get(
        &self,
        context: &Context,
        key: &str,
        ask: Ask,
        cap: Cap,
        role: Role,
    ) -> Result<Option<Object>, IoError> {
        let id = (key.to_owned(), ask.clone(), cap.most);
        let work = Box::pin(async {
            let object = self.send(context, key, &ask, cap).await?;
            if let Some(object) = &object {
                let versions = context.versions();
                versions.note(key, &state_of(object), role, &object.bytes)?;
            }
            Ok(object)
        });
        self.flights.share(id, work).await
    }

    /// Has one request answered by the caller, and checks the answer.
    async fn send(
        &self,
        context: &Context,
        key: &str,
        ask: &Ask,
        cap: Cap,
    ) -> Result<Option<Object>, IoError> {
        let Some(place) = placed(self.overlay(), key) else {
            return Ok(None);
        };
        let _slot = context.slot().await?;
        let _room = match ask {
            Ask::Whole => None,
            Ask::Prefix(n) | Ask::Suffix(n) => Some(context.room(*n).await?),
            Ask::Range(range) => {
                let length = range.end.saturating_sub(range.start);
                cap.check(key, length)?;
                Some(context.room(length).await?)
            }
        };
        let start = context.trace().start();
        let answer = self.store.fetch(&place, ask, cap, context.round()).await;
        let answer = answer.and_then(|object| {
            let checked = |object: Object| object.wanted(key, ask, cap);
            object.map(checked).transpose()
        });
        if context.trace().is_on() {
            let (bytes, failed) = match &answer {
                Ok(object) => (object.as_ref().map(|object| wide(object.bytes.len())), None),
                Err(error) => (None, Some(error.to_string())),
            };
            let outcome = (bytes, 1, failed);
            context.record_try(start, Method::Get, key, ask.traced(), outcome);
        }
        answer
    }

    /// Answers one question about the tree. Nothing can be listed.
    pub(crate) async fn answer(
        &self,
        context: &Context,
        question: &Question,
    ) -> Result<Reply, IoError> {
        let Question::Document(key) = question else {
            return Ok(Reply::Names(None));
        };
        let cap = question.cap(context.limits());
        let reply = self
            .get(context, key, Ask::Whole, cap, Role::Document)
            .await;
        if let Ok(None) | Err(IoError::Denied { .. }) = reply {
            context.versions().note_absent(key)?;
        }
        reply.map(Reply::Document)
    }

    /// Reads one document again, which was in the state `first` or absent.
    pub(crate) async fn look(
        &self,
        context: &Context,
        key: &str,
        first: Option<&Pinned>,
    ) -> Result<(), IoError> {
        let cap = Cap::document(context.limits());
        let now = match self.send(context, key, &Ask::Whole, cap).await {
            Err(IoError::Denied { .. }) if first.is_none() => return Ok(()),
            now => now?,
        };
        let state = now.as_ref().map(state_of);
        let before = first.map(|first| &first.state);
        if state.as_ref() != before {
            return Err(changed(key, told(before), told(state.as_ref())));
        }
        match (first, now) {
            (Some(first), Some(now)) if !context.versions().same_bytes(first, &now.bytes) => {
                Err(changed(key, &first.state, &"other bytes"))
            }
            _ => Ok(()),
        }
    }
}

/// The state of an object, as far as the caller states it.
fn state_of(object: &Object) -> State {
    State {
        etag: object.etag.clone(),
        modified: 0,
        size: object.size,
    }
}

impl Object {
    /// A part of an object of `size` bytes that begins at `start`; the whole, if it begins at 0 and has all bytes.
    pub fn new(bytes: impl Into<Bytes>, start: u64, size: u64) -> Self {
        Self {
            bytes: bytes.into(),
            start,
            size,
            etag: None,
        }
    }

    /// A whole object.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let size = wide(bytes.len());
        Self::new(bytes, 0, size)
    }

    /// The same with the validator of its content, by which changes are detected.
    #[must_use]
    pub fn with_etag(mut self, etag: impl Into<String>) -> Self {
        self.etag = Some(etag.into());
        self
    }

    /// The requested part of an answer, which may have more.
    fn wanted(mut self, key: &str, ask: &Ask, cap: Cap) -> Result<Self, IoError> {
        let wanted = ask.of(self.size);
        let end = self.start.checked_add(wide(self.bytes.len()));
        let inside = self.start <= wanted.start
            && end.is_some_and(|end| wanted.end <= end && end <= self.size);
        let place = inside.then(|| {
            let at = |byte: u64| usize::try_from(byte.checked_sub(self.start)?).ok();
            Some(at(wanted.start)?..at(wanted.end)?)
        });
        let Some(place) = place.flatten().filter(|place| place.start <= place.end) else {
            return Err(IoError::backend(
                key,
                format!(
                    "{} bytes from {} on of {} came, asked for were {} to {}",
                    self.bytes.len(),
                    self.start,
                    self.size,
                    wanted.start,
                    wanted.end
                ),
            ));
        };
        cap.check(key, wide(place.len()))?;
        self.bytes = self.bytes.slice(place);
        self.start = wanted.start;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{CallerStep, CallerStore};
    use crate::{Ask, Cap, Class, IoError, IoOptions, IoTrace, Kv, Limits, Object, Overlay};

    const FILE: &[u8] = b"0123456789";

    fn open(store: &CallerStore) -> Kv {
        let options = IoOptions::new().with_caller_store(store.clone());
        Kv::open("test", &options).unwrap()
    }

    /// Reads a part of an object; the caller answers `object`.
    fn read(ask: Ask, object: Object) -> Result<Option<Object>, IoError> {
        let store = CallerStore::new();
        let kv = open(&store);
        let get = kv.get("a", ask, Cap::cell(kv.limits()));
        store.wait(get, |_| Ok(Some(object.clone()))).unwrap()
    }

    #[test]
    fn answers_are_cut_to_what_was_asked_for_and_checked() {
        let whole = || Object::whole(FILE);
        for (ask, expected) in [
            (Ask::Whole, "0123456789"),
            (Ask::Prefix(3), "012"),
            (Ask::Suffix(3), "789"),
            (Ask::Suffix(30), "0123456789"),
            (Ask::Range(2..5), "234"),
            (Ask::Range(8..50), "89"),
            (Ask::Range(50..60), ""),
        ] {
            let range = ask.of(10);
            let bytes = &FILE[range.start as usize..range.end as usize];
            let exact = Object::new(bytes, range.start, 10);
            for answer in [whole(), exact] {
                let found = read(ask.clone(), answer).unwrap().unwrap();
                assert_eq!(found.bytes, expected);
                assert_eq!((found.start, found.size), (range.start, 10));
            }
        }
        for (ask, wrong) in [
            (Ask::Whole, Object::new(&FILE[..9], 0, 10)),
            (Ask::Whole, Object::new(FILE, 1, 10)),
            (Ask::Whole, Object::new(FILE, 0, 9)),
            (Ask::Range(2..5), Object::new(&FILE[2..4], 2, 10)),
            (Ask::Range(2..5), Object::new(&FILE[3..5], 3, 10)),
            (Ask::Suffix(3), Object::new(&FILE[..3], 0, 10)),
            (Ask::Range(2..5), Object::new(FILE, u64::MAX, u64::MAX)),
        ] {
            let error = read(ask.clone(), wrong).unwrap_err();
            assert_eq!(error.class(), Class::Io, "{ask:?}");
            assert!(error.to_string().contains("asked for were"), "{error}");
        }
    }

    #[test]
    fn limits_hold() {
        let store = CallerStore::new();
        let limits = Limits {
            cell_bytes: 4,
            ..Limits::default()
        };
        let options = IoOptions::new().with_caller_store(store.clone());
        let kv = Kv::open("test", &options.with_limits(limits)).unwrap();
        for ask in [Ask::Whole, Ask::Suffix(5), Ask::Range(0..5)] {
            let get = kv.get("a", ask, Cap::cell(kv.limits()));
            let found = store.wait(get, |one| {
                assert_eq!(one.most, 4);
                Ok(Some(Object::whole(FILE)))
            });
            assert_eq!(found.unwrap().unwrap_err().class(), Class::Limit);
        }
    }

    #[test]
    fn equal_requests_are_one_and_all_of_a_round_come_together() {
        let (store, trace) = (CallerStore::new(), IoTrace::on());
        let options = IoOptions::new().with_caller_store(store.clone());
        let kv = Kv::open(
            "test",
            &options.with_trace(trace.clone()).with_concurrency(3),
        )
        .unwrap();
        let get = |key: &str| kv.get(key, Ask::Whole, Cap::cell(kv.limits()));
        let all = ["a", "b", "a", "c", "d"].map(get);
        let mut run = store.run(futures::future::join_all(all)).unwrap();
        let mut seen = Vec::new();
        let found = loop {
            match run.step().unwrap() {
                CallerStep::Done(found) => break found,
                CallerStep::Fetch(wanted) => {
                    seen.push(wanted.iter().map(|one| one.key.clone()).collect::<String>());
                    for one in wanted {
                        let object = (one.key != "c").then(|| Object::whole(one.key));
                        run.answer(one.id, Ok(object)).unwrap();
                    }
                }
            }
        };
        // Three at one time.
        assert_eq!(seen, ["abc", "d"]);
        let found: Vec<Option<Object>> = found.into_iter().map(Result::unwrap).collect();
        let found = found
            .iter()
            .map(|one| one.as_ref().map(|one| &one.bytes[..]));
        let expected = [Some("a"), Some("b"), Some("a"), None, Some("d")];
        assert!(found.eq(expected.map(|one| one.map(str::as_bytes))));
        assert_eq!(trace.take().len(), 4);
        assert!(run.step().is_err(), "it ended");
    }

    #[test]
    fn requests_can_be_answered_one_by_one() {
        let store = CallerStore::new();
        let kv = open(&store);
        let get = |key: &str| kv.get(key, Ask::Whole, Cap::cell(kv.limits()));
        let both = futures::future::try_join(get("a"), get("b"));
        let mut run = store.run(both).unwrap();
        let CallerStep::Fetch(wanted) = run.step().unwrap() else {
            panic!("nothing is asked for")
        };
        run.answer(wanted[1].id, Ok(None)).unwrap();
        assert!(matches!(run.step().unwrap(), CallerStep::Fetch(more) if more.is_empty()));
        let denied = IoError::misuse("no");
        run.answer(wanted[0].id, Err(denied)).unwrap();
        // The second answer to a request is dropped; an id that was never given is an error.
        run.answer(wanted[0].id, Ok(None)).unwrap();
        assert_eq!(run.answer(7, Ok(None)).unwrap_err().class(), Class::Misuse);
        assert!(
            matches!(run.step().unwrap(), CallerStep::Done(Err(error)) if error.to_string() == "no")
        );
    }

    #[test]
    fn a_request_that_outlives_its_run_is_asked_for_again() {
        let store = CallerStore::new();
        let kv = open(&store);
        let mut get = kv.get("a", Ask::Whole, Cap::cell(kv.limits()));
        for _ in 0..2 {
            let mut run = store.run(&mut get).unwrap();
            let asked = run.step().unwrap();
            assert!(matches!(asked, CallerStep::Fetch(wanted) if wanted.len() == 1));
        }
        let found = store.wait(&mut get, |_| Ok(Some(Object::whole(FILE))));
        assert_eq!(found.unwrap().unwrap().unwrap().bytes, FILE);
        // A request whose future is gone is not.
        let get = kv.get("b", Ask::Whole, Cap::cell(kv.limits()));
        assert!(matches!(
            store.run(get).unwrap().step().unwrap(),
            CallerStep::Fetch(_)
        ));
        let error = store.run(std::future::pending::<()>()).unwrap().step();
        assert_eq!(error.unwrap_err().class(), Class::Misuse);
    }

    #[test]
    fn what_was_read_in_two_states_is_a_change() {
        let store = CallerStore::new();
        let kv = open(&store);
        let mut etag = 0;
        let mut get = || {
            etag += 1;
            let get = kv.get("a", Ask::Whole, Cap::cell(kv.limits()));
            let object = Object::whole(FILE).with_etag(format!("{}", etag / 3));
            store.wait(get, |_| Ok(Some(object.clone()))).unwrap()
        };
        assert!(get().is_ok() && get().is_ok());
        assert!(get().unwrap_err().is_changed());
    }

    #[test]
    fn staged_objects_are_read_instead_of_others() {
        let store = CallerStore::new();
        let keys = |key: &str| BTreeSet::from([key.to_owned()]);
        let overlay = Overlay::new("x".to_owned(), keys("a"), keys("b"));
        let kv = open(&store).under(overlay, true);
        let get = |key: &str| {
            let get = kv.get(key, Ask::Whole, Cap::cell(kv.limits()));
            let key = |one: &super::ObjectFetch| Ok(Some(Object::whole(one.key.clone())));
            let found = store.wait(get, key).unwrap().unwrap();
            found.map(|object| object.bytes)
        };
        assert_eq!(get("a").unwrap(), "zvf-edit-x/a");
        assert_eq!(get("b"), None);
        assert_eq!(get("c").unwrap(), "c");
    }

    #[test]
    fn a_wrong_use_is_told() {
        let store = CallerStore::new();
        let kv = open(&store);
        let get = || kv.get("a", Ask::Whole, Cap::cell(kv.limits()));
        // Neither a run of another store nor a runtime answers.
        let other = CallerStore::new();
        let error = other.wait(get(), |_| Ok(None)).unwrap().unwrap_err();
        assert!(error.to_string().contains("of the same store"), "{error}");
        let error = futures::executor::block_on(get()).unwrap_err();
        assert_eq!(error.class(), Class::Misuse);
        // One run at a time; the next may begin when it is dropped.
        let run = store.run(get()).unwrap();
        assert_eq!(store.run(get()).unwrap_err().class(), Class::Misuse);
        drop(run);
        assert!(store.wait(get(), |_| Ok(None)).unwrap().unwrap().is_none());
        let never = store.wait(std::future::pending::<()>(), |_| Ok(None));
        assert_eq!(never.unwrap_err().class(), Class::Misuse);
        // It is no place for single files and uploads.
        let options = IoOptions::new().with_caller_store(store);
        assert!(crate::location::Location::resolve("a", &options).is_err());
    }

    #[cfg(feature = "backends")]
    #[test]
    fn two_sources_are_misuse() {
        let bucket = std::sync::Arc::new(object_store::memory::InMemory::new());
        let options = IoOptions::new().with_caller_store(CallerStore::new());
        let error = Kv::open("a", &options.with_object_store(bucket)).unwrap_err();
        assert_eq!(error.class(), Class::Misuse);
    }
}

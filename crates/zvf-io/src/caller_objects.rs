//! Passes the requests of readers to a [`CallerStore`]: request slots, single-flight, trace, versions, overlay.

use std::sync::Arc;

use bytes::Bytes;

use crate::context::Context;
use crate::overlay::placed;
use crate::single_flight::SingleFlight;
use crate::versions::{Pinned, ReportedState, SnapshotRole, changed, state_text};
use crate::{Ask, CallerStore, Cap, IoError, Method, Object, Overlay, Question, Reply};
use zvf_grid::int::wide;

/// What identical requests have in common: key, part, byte limit and snapshot.
type Identity = (String, Ask, u64, usize);

/// A [`CallerStore`] under an overlay, with its pending requests.
#[derive(Debug, Clone)]
pub struct CallerObjects {
    store: CallerStore,
    flights: Arc<SingleFlight<Identity, Option<Object>>>,
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

    /// The same store under an overlay. Objects that were requested before are requested again.
    pub(crate) fn under(&self, overlay: Overlay) -> Self {
        Self {
            overlay: Some(Arc::new(overlay)),
            ..Self::new(self.store.clone())
        }
    }

    /// The overlay through which objects are read.
    pub(crate) fn overlay(&self) -> Option<&Overlay> {
        self.overlay.as_deref()
    }

    /// Reads an object or part of it; identical concurrent requests of one snapshot are sent once.
    pub(crate) async fn get(
        &self,
        context: &Context,
        key: &str,
        ask: Ask,
        cap: Cap,
        role: SnapshotRole,
    ) -> Result<Option<Object>, IoError> {
        let id = (key.to_owned(), ask.clone(), cap.most, context.snapshot());
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

    /// Sends one request to the caller, and checks the answer.
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

    /// Answers one question about the tree. Listings are not supported.
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
            .get(context, key, Ask::Whole, cap, SnapshotRole::Document)
            .await;
        if let Ok(None) | Err(IoError::Denied { .. }) = reply {
            context.versions().note_absent(key)?;
        }
        reply.map(Reply::Document)
    }

    /// Reads one document again and compares it with its earlier state `first`; `None`: it was absent.
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
            return Err(changed(key, state_text(before), state_text(state.as_ref())));
        }
        match (first, now) {
            (Some(first), Some(now)) if !context.versions().same_bytes(first, &now.bytes) => {
                Err(changed(key, &first.state, &"other bytes"))
            }
            _ => Ok(()),
        }
    }
}

/// The state of an object, as far as the caller reports it.
fn state_of(object: &Object) -> ReportedState {
    ReportedState {
        etag: object.etag.clone(),
        modified: 0,
        size: object.size,
    }
}

impl Object {
    /// Bytes of an object of `size` bytes, from byte `start` on; the whole object if `start` is 0 and `bytes` has
    /// `size` bytes.
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

    /// The same object with its ETag, from which changes are detected.
    #[must_use]
    pub fn with_etag(mut self, etag: impl Into<String>) -> Self {
        self.etag = Some(etag.into());
        self
    }

    /// Cuts the requested part out of an answer, which may have more bytes.
    pub(crate) fn wanted(mut self, key: &str, ask: &Ask, cap: Cap) -> Result<Self, IoError> {
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
                    "received {} bytes from byte {} of {}, requested bytes {} to {}",
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

    use crate::{
        Ask, CallerStep, CallerStore, Cap, Class, IoError, IoOptions, IoTrace, Kv, Limits, Object,
        Overlay, Question,
    };

    const FILE: &[u8] = b"0123456789";

    fn open(store: &CallerStore) -> Kv {
        let options = IoOptions::new().with_caller_store(store.clone());
        Kv::open("test", &options).unwrap()
    }

    /// Reads a part of an object; the caller answers with `object`.
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
            assert!(error.to_string().contains("requested bytes"), "{error}");
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
        // At most three requests at the same time.
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
        // The second answer to a request is dropped; an unknown id is an error.
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
        // A request whose future was dropped is not issued again.
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
            let key = |one: &crate::ObjectFetch| Ok(Some(Object::whole(one.key.clone())));
            let found = store.wait(get, key).unwrap().unwrap();
            found.map(|object| object.bytes)
        };
        assert_eq!(get("a").unwrap(), "zvf-edit-x/a");
        assert_eq!(get("b"), None);
        assert_eq!(get("c").unwrap(), "c");
    }

    #[test]
    fn a_staged_object_that_is_gone_is_a_change_if_the_root_changed() {
        let store = CallerStore::new();
        let put = BTreeSet::from(["a".to_owned(), "d/zarr.json".to_owned()]);
        let overlay = Overlay::new("x".to_owned(), put, BTreeSet::new());
        for (now, is_change) in [("1", false), ("2", true)] {
            let kv = open(&store).under(overlay.clone(), true);
            let fetch = |one: &crate::ObjectFetch, etag: &str| {
                let root = Object::whole(FILE).with_etag(etag);
                Ok((one.key == "zarr.json").then_some(root))
            };
            let ask = |key: &str, etag: &str| {
                let question = Question::Document(key.to_owned());
                let asked = kv.ask_all(vec![question]);
                let replies = store.wait(asked, |one| fetch(one, etag)).unwrap().unwrap();
                replies.into_iter().next().unwrap().1
            };
            ask("zarr.json", "1").unwrap();
            let changed = |error: IoError| error.is_changed();
            assert_eq!(ask("d/zarr.json", now).is_err_and(changed), is_change);
            assert!(ask("e/zarr.json", now).is_ok());
            let get = kv.get("a", Ask::Whole, Cap::cell(kv.limits()));
            let got = store.wait(get, |one| fetch(one, now)).unwrap();
            assert_eq!(got.is_err_and(changed), is_change);
        }
    }

    #[test]
    fn a_wrong_use_is_told() {
        let store = CallerStore::new();
        let kv = open(&store);
        let get = || kv.get("a", Ask::Whole, Cap::cell(kv.limits()));
        // Neither a run of another store nor a runtime can answer.
        let other = CallerStore::new();
        let error = other.wait(get(), |_| Ok(None)).unwrap().unwrap_err();
        assert!(error.to_string().contains("of the same store"), "{error}");
        let error = futures::FutureExt::now_or_never(get())
            .unwrap()
            .unwrap_err();
        assert_eq!(error.class(), Class::Misuse);
        // Only one run at a time; the next may begin when it is dropped.
        let run = store.run(get()).unwrap();
        assert_eq!(store.run(get()).unwrap_err().class(), Class::Misuse);
        drop(run);
        assert!(store.wait(get(), |_| Ok(None)).unwrap().unwrap().is_none());
        let never = store.wait(std::future::pending::<()>(), |_| Ok(None));
        assert_eq!(never.unwrap_err().class(), Class::Misuse);
        // The store does not support single files and uploads.
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

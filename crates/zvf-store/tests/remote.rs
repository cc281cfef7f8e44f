//! Backends that fail now and then, answer wrongly, or support less than others: what is retried, for how long, and the final error. Time is paused:
//! pauses and timeouts pass at once and are exact.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};
use tokio::time::Instant;
use zvf_store::{
    CellWant, Class, IoError, IoTrace, Merge, Method, Need, OpenOptions, RawStore, Retry, Store,
    StoreError,
};

use crate::requests::big_shard;
use crate::support::{Files, all_cells, bundled, dump, memory, open_memory};

/// A request, and its number among the requests of the same kind and key, from 1.
pub(crate) struct Call<'a> {
    pub(crate) key: &'a str,
    pub(crate) kind: &'static str,
    pub(crate) nth: u32,
}

/// What happens to a request.
pub(crate) enum Fate {
    Pass,
    Fail(Error),
    Hang,
    /// The body stops after this number of bytes; then an error, silence, or the end follows.
    Cut(usize, After),
    /// The body continues after its end.
    Long,
    /// The answer states that it begins one byte later than requested.
    Shifted,
    Wait(Duration),
}

/// Makes a new fate for each request.
type Make = fn() -> Fate;

pub(crate) enum After {
    Error,
    Silence,
    End,
}

type Decide = Box<dyn Fn(&Call<'_>) -> Fate + Send + Sync>;

/// A backend whose answers a test decides.
pub(crate) struct Unsteady {
    inner: Arc<dyn ObjectStore>,
    decide: Decide,
    calls: Mutex<HashMap<(String, &'static str), u32>>,
}

impl Unsteady {
    pub(crate) fn new(
        inner: Arc<dyn ObjectStore>,
        decide: impl Fn(&Call<'_>) -> Fate + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            inner,
            decide: Box::new(decide),
            calls: Mutex::default(),
        })
    }

    pub(crate) fn fate(&self, key: &str, kind: &'static str) -> Fate {
        let nth = {
            let mut calls = self.calls.lock().unwrap();
            let nth = calls.entry((key.to_owned(), kind)).or_default();
            *nth += 1;
            *nth
        };
        (self.decide)(&Call { key, kind, nth })
    }

    /// The number of requests of a kind.
    pub(crate) fn count(&self, kind: &str, part: &str) -> u32 {
        let calls = self.calls.lock().unwrap();
        calls
            .iter()
            .filter(|((key, k), _)| *k == kind && key.contains(part))
            .map(|(_, n)| *n)
            .sum()
    }
}

impl fmt::Display for Unsteady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unsteady")
    }
}

impl fmt::Debug for Unsteady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unsteady")
    }
}

pub(crate) fn failed(what: &str) -> Error {
    Error::Generic {
        store: "unsteady",
        source: what.to_owned().into(),
    }
}

/// The error of an HTTP client for an unsuccessful answer.
pub(crate) fn answered(status: &str) -> Error {
    failed(&format!(
        "Error performing GET in 2ms - Server returned non-2xx status code: {status}: no"
    ))
}

pub(crate) fn unsupported(what: &str) -> Error {
    Error::NotSupported {
        source: what.to_owned().into(),
    }
}

pub(crate) fn denied() -> Error {
    Error::PermissionDenied {
        path: String::new(),
        source: "not for you".into(),
    }
}

#[async_trait]
impl ObjectStore for Unsteady {
    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(unsupported("read only"))
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(unsupported("read only"))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let kind = match (&options.range, options.head) {
            (_, true) => "head",
            (None, _) => "whole",
            (Some(GetRange::Suffix(_)), _) => "suffix",
            (Some(_), _) => "range",
        };
        let cut = |result: GetResult, bytes: Bytes, after: Option<After>| {
            let mut parts = vec![Ok(bytes)];
            if let Some(After::Error) = &after {
                parts.push(Err(failed("connection reset by peer")));
            }
            let body = futures::stream::iter(parts);
            let body = match after {
                Some(After::Silence) => body.chain(futures::stream::pending()).boxed(),
                _ => body.boxed(),
            };
            GetResult {
                payload: GetResultPayload::Stream(body),
                ..result
            }
        };
        let open = || self.inner.get_opts(location, options.clone());
        let split = |result: GetResult| async move {
            let (meta, range) = (result.meta.clone(), result.range.clone());
            let attributes = result.attributes.clone();
            let bytes = result.bytes().await?;
            let empty = GetResult {
                payload: GetResultPayload::Stream(futures::stream::empty().boxed()),
                meta,
                range,
                attributes,
                extensions: Default::default(),
            };
            Ok::<_, Error>((empty, bytes))
        };
        match self.fate(location.as_ref(), kind) {
            Fate::Pass => open().await,
            Fate::Fail(error) => Err(error),
            Fate::Hang => std::future::pending().await,
            Fate::Wait(time) => {
                tokio::time::sleep(time).await;
                open().await
            }
            Fate::Cut(at, after) => {
                let (result, bytes) = split(open().await?).await?;
                Ok(cut(result, bytes.slice(..at.min(bytes.len())), Some(after)))
            }
            Fate::Long => {
                let (result, bytes) = split(open().await?).await?;
                let longer = [bytes.as_ref(), b"more"].concat();
                Ok(cut(result, longer.into(), None))
            }
            Fate::Shifted => {
                let mut result = open().await?;
                result.range = result.range.start + 1..result.range.end + 1;
                Ok(result)
            }
        }
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        futures::stream::once(async { Err(unsupported("read only")) }).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.fate(prefix.map_or("", Path::as_ref), "list") {
            Fate::Fail(error) => futures::stream::once(async { Err(error) }).boxed(),
            // A page, and then the connection breaks.
            Fate::Cut(at, _) => self
                .inner
                .list(prefix)
                .take(at)
                .chain(futures::stream::once(async { Err(failed("reset")) }))
                .boxed(),
            _ => self.inner.list(prefix),
        }
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let page = match self.fate(prefix.map_or("", Path::as_ref), "list") {
            Fate::Cut(at, _) => at,
            _ => usize::MAX,
        };
        let rest = self.inner.list_with_offset(prefix, offset);
        match page {
            usize::MAX => rest,
            at => rest
                .take(at)
                .chain(futures::stream::once(async { Err(failed("reset")) }))
                .boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        match self.fate(prefix.map_or("", Path::as_ref), "folders") {
            Fate::Fail(error) => Err(error),
            Fate::Hang => std::future::pending().await,
            _ => self.inner.list_with_delimiter(prefix).await,
        }
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(unsupported("read only"))
    }
}

pub(crate) fn on(backend: &Arc<Unsteady>) -> OpenOptions {
    let backend: Arc<dyn ObjectStore> = Arc::<Unsteady>::clone(backend);
    OpenOptions::new().with_object_store(backend)
}

pub(crate) async fn open(backend: &Arc<Unsteady>) -> std::result::Result<Store, StoreError> {
    Store::open_with("memory:///", on(backend)).await
}

/// One object, read from a backend with this fate.
pub(crate) async fn read_one(
    options: impl FnOnce(OpenOptions) -> OpenOptions,
    fate: impl Fn(u32) -> Fate + Send + Sync + 'static,
) -> (
    std::result::Result<Option<Bytes>, StoreError>,
    u32,
    Duration,
) {
    let files = Files::from([("a/b".to_owned(), vec![7; 5000])]);
    let backend = Unsteady::new(memory(&files).await, move |call| fate(call.nth));
    let store = RawStore::open("memory:///", &options(on(&backend)).io).unwrap();
    let start = Instant::now();
    let result = store.read("a/b").await;
    (result, backend.count("whole", "a/b"), start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_tried_again() {
    let fates: [Make; 9] = [
        || Fate::Fail(answered("503 Service Unavailable")),
        || Fate::Fail(answered("500 Internal Server Error")),
        || Fate::Fail(answered("429 Too Many Requests")),
        || Fate::Fail(failed("connection reset by peer")),
        || Fate::Cut(4999, After::Error),
        || Fate::Cut(17, After::End),
        || Fate::Cut(0, After::Silence),
        || Fate::Long,
        || Fate::Shifted,
    ];
    for (i, fate) in fates.into_iter().enumerate() {
        // Four failures and a success are five tries.
        let (result, tries, time) = read_one(
            |o| o.with_request_timeout(Duration::from_secs(5)),
            move |nth| if nth < 5 { fate() } else { Fate::Pass },
        )
        .await;
        assert_eq!(result.unwrap().unwrap(), vec![7; 5000], "{i}");
        assert_eq!(tries, 5, "{i}");
        // The pauses are at most 0.1 + 0.2 + 0.4 + 0.8 s; a silent body times out after 5 s.
        let silent = Duration::from_secs(if i == 6 { 20 } else { 0 });
        assert!(
            time >= silent && time <= silent + Duration::from_millis(1600),
            "{i}: {time:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_pass_is_tried_once() {
    let fates: [(Make, &str); 5] = [
        (|| Fate::Fail(answered("400 Bad Request")), "400"),
        (|| Fate::Fail(answered("409 Conflict")), "409"),
        (|| Fate::Fail(denied()), "denied"),
        (|| Fate::Fail(answered("403 Forbidden")), "denied"),
        (
            || Fate::Fail(failed("invalid peer certificate")),
            "certificate",
        ),
    ];
    for (fate, said) in fates {
        let (result, tries, time) = read_one(|o| o, move |_| fate()).await;
        let error = result.unwrap_err();
        assert_eq!((tries, time), (1, Duration::ZERO), "{error}");
        assert!(
            !error.is_transient() && error.class() == Class::Io,
            "{error}"
        );
        assert_eq!(error.is_denied(), said == "denied", "{error}");
        assert!(error.to_string().contains(said), "{error}");
        assert!(!error.to_string().contains("tried"), "{error}");
    }
    let absent = Error::NotFound {
        path: String::new(),
        source: "gone".into(),
    };
    let absent = Mutex::new(Some(absent));
    let (result, tries, _) = read_one(
        |o| o,
        move |_| Fate::Fail(absent.lock().unwrap().take().unwrap()),
    )
    .await;
    assert_eq!((result.unwrap(), tries), (None, 1));
}

#[tokio::test(start_paused = true)]
async fn tries_end_and_the_error_says_how_often_and_how_long() {
    let fate = |_| Fate::Fail(answered("503 Service Unavailable"));
    let (result, tries, time) = read_one(|o| o, fate).await;
    let error = result.unwrap_err();
    assert_eq!(tries, 5);
    assert!(time <= Duration::from_millis(1500), "{time:?}");
    assert!(error.is_transient() && error.class() == Class::Io);
    let text = error.to_string();
    assert!(
        text.contains("a/b") && text.contains("503") && text.contains("tried 5 times in"),
        "{text}"
    );
    let StoreError::Io(IoError::Backend {
        tries: 5, elapsed, ..
    }) = error
    else {
        panic!("{text}")
    };
    assert!(elapsed.abs_diff(time) < Duration::from_millis(10));

    let (result, tries, time) = read_one(|o| o.with_retry(Retry::never()), fate).await;
    assert_eq!((tries, time), (1, Duration::ZERO));
    assert!(result.unwrap_err().is_transient());
}

#[tokio::test(start_paused = true)]
async fn a_silent_backend_is_given_up_at_the_deadline() {
    // Each try may take 30 s and all together 60: the second one ends at the deadline.
    let (result, tries, time) = read_one(|o| o, |_| Fate::Hang).await;
    let error = result.unwrap_err();
    assert_eq!(tries, 2, "{error}");
    assert!(
        time >= Duration::from_secs(59) && time <= Duration::from_secs(61),
        "{time:?}"
    );
    assert!(
        error.is_transient() && error.to_string().contains("within"),
        "{error}"
    );

    let quick = |o: OpenOptions| {
        o.with_request_timeout(Duration::from_secs(2))
            .with_retry(Retry::default().with_deadline(Duration::from_secs(7)))
    };
    for body in [false, true] {
        let fate = move |_| match body {
            true => Fate::Cut(100, After::Silence),
            false => Fate::Hang,
        };
        let (result, tries, time) = read_one(quick, fate).await;
        let error = result.unwrap_err();
        // Timers count milliseconds: the fourth try may end one before the deadline, and a fifth begin.
        assert!((3..=5).contains(&tries), "{tries} {error}");
        assert!(time <= Duration::from_millis(7100), "{time:?}");
        assert!(error.is_transient(), "{error}");
    }
    // A pause that would end after the deadline is not started.
    let eager = |o: OpenOptions| {
        o.with_retry(
            Retry::default()
                .with_attempts(1000)
                .with_pauses(Duration::from_secs(1), Duration::from_secs(1))
                .with_deadline(Duration::from_secs(10)),
        )
    };
    let (result, tries, time) = read_one(eager, |_| Fate::Fail(failed("reset"))).await;
    // Timers count milliseconds, and round up.
    assert!(
        result.is_err() && tries > 10 && time <= Duration::from_millis(10_100),
        "{tries} {time:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_no_silent_one() {
    let slow = |_| Fate::Wait(Duration::from_secs(29));
    let (result, tries, time) = read_one(|o| o, slow).await;
    assert!(result.unwrap().is_some());
    assert_eq!((tries, time), (1, Duration::from_secs(29)));
}

#[tokio::test(start_paused = true)]
async fn every_try_is_in_the_trace() {
    let trace = IoTrace::on();
    let with = trace.clone();
    let fate = |nth| match nth {
        1 => Fate::Fail(answered("503 Slow Down")),
        2 => Fate::Cut(10, After::End),
        _ => Fate::Pass,
    };
    read_one(move |o| o.with_trace(with), fate).await.0.unwrap();
    let requests = trace.take();
    let attempts: Vec<u32> = requests.iter().map(|r| r.attempt).collect();
    assert_eq!(attempts, [1, 2, 3]);
    let said = |i: usize| requests[i].failed.as_deref().unwrap_or_default();
    assert!(
        said(0).contains("503") && said(1).contains("received 10 bytes"),
        "{requests:?}"
    );
    assert_eq!(requests[2].failed, None);
    assert_eq!((requests[0].bytes, requests[2].bytes), (None, Some(5000)));
    assert!(
        requests
            .iter()
            .all(|r| r.method == Method::Get && r.round == 1)
    );
}

#[tokio::test(start_paused = true)]
async fn whole_stores_read_the_same_when_every_request_fails_once() {
    for case in ["points_4d_sharded", "points_ids", "streamlines", "graph"] {
        let files = bundled(case);
        let expected = dump(&open_memory(&files).await).await;
        let backend = Unsteady::new(memory(&files).await, |call| match (call.nth, call.kind) {
            (1, "whole" | "suffix") => Fate::Cut(3, After::Error),
            (1, _) => Fate::Fail(failed("reset")),
            _ => Fate::Pass,
        });
        let store = open(&backend).await.unwrap();
        assert_eq!(dump(&store).await, expected, "{case}");
        store.verify(9).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_listing_that_fails_is_an_error_and_one_that_is_refused_is_not() {
    let files = bundled("points_ids");
    let fails = Unsteady::new(memory(&files).await, |call| match call.kind {
        "folders" if call.key.ends_with("vertex_attributes") => Fate::Fail(failed("reset")),
        _ => Fate::Pass,
    });
    let error = open(&fails).await.unwrap_err();
    assert!(
        error.is_transient() && error.to_string().contains("tried 5 times"),
        "{error}"
    );
    assert_eq!(fails.count("folders", "vertex_attributes"), 5);

    for (error, asked) in [
        (denied as fn() -> Error, 1),
        (|| unsupported("no lists"), 1),
        (|| answered("501 Not Implemented"), 1),
        (|| answered("403 Forbidden"), 1),
    ] {
        let refuses = Unsteady::new(memory(&files).await, move |call| match call.kind {
            "folders" | "list" => Fate::Fail(error()),
            _ => Fate::Pass,
        });
        let options = on(&refuses).with_prefetch(0, Need::nothing());
        let store = Store::open_with("memory:///", options).await.unwrap();
        assert_eq!(store.levels(), open_memory(&files).await.levels());
        // The names are known: nothing more is listed.
        let before = refuses.count("folders", "");
        assert!(before >= asked);
        let level = store.level(0, &Need::all()).await.unwrap();
        assert_eq!(refuses.count("folders", ""), before);
        let cells = store.fetch(3, all_cells(level.vertices())).await.unwrap();
        assert!(!cells.is_empty() && cells.iter().all(Option::is_some));
        assert!(
            store.warnings().iter().any(|w| w.contains("cannot list")),
            "{:?}",
            store.warnings()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_listing_goes_on_where_it_broke_off() {
    let files: Files = (0..1000)
        .map(|i| (format!("x/{i:05}"), vec![0; i]))
        .collect();
    // 33 pages break off after 30 objects: far more failures than one request may have.
    let backend = Unsteady::new(memory(&files).await, |call| match call.nth {
        ..34 => Fate::Cut(30, After::Error),
        _ => Fate::Pass,
    });
    let store = RawStore::open("memory:///", &on(&backend).io).unwrap();
    let usage = store.usage("x").await.unwrap().unwrap();
    assert_eq!((usage.objects, usage.bytes), (1000, 999 * 500));
    assert_eq!(backend.count("list", "x"), 34);
}

/// The requests to a backend without suffix ranges, for a store with shards.
async fn shard_requests(
    decide: impl Fn(&Call<'_>) -> Fate + Send + Sync + 'static,
    shards: usize,
) -> Arc<Unsteady> {
    let files = bundled("points_4d_sharded");
    let expected = dump(&open_memory(&files).await).await;
    let backend = Unsteady::new(memory(&files).await, decide);
    let store = open(&backend).await.unwrap();
    let level = store.level(0, &Need::nothing()).await.unwrap();
    let wants = all_cells(level.vertices());
    let chunks: Vec<Vec<i64>> = wants.iter().map(|w| w.chunk.to_vec()).collect();
    assert!(wants.len() > shards);
    let cells = store.fetch(3, wants).await.unwrap();
    for (chunk, cell) in chunks.into_iter().zip(cells) {
        assert_eq!(expected[&("0/vertices".to_owned(), chunk)], cell);
    }
    backend
}

#[tokio::test(start_paused = true)]
async fn without_suffix_ranges_a_shard_costs_one_head_more() {
    let shards = bundled("points_4d_sharded")
        .keys()
        .filter(|k| k.starts_with("0/vertices/c/"))
        .count();
    let shards_u32 = u32::try_from(shards).unwrap();
    let azure = shard_requests(
        |call| match call.kind {
            "suffix" => Fate::Fail(unsupported("no suffix ranges")),
            _ => Fate::Pass,
        },
        shards,
    )
    .await;
    assert_eq!(azure.count("head", "vertices/c/"), shards_u32);
    assert_eq!(azure.count("range", "vertices/c/"), shards_u32);
    assert_eq!(azure.count("whole", "vertices/c/"), 0);
    // All shards were requested at once, before the first refusal arrived; later requests remember it.
    assert!(azure.count("suffix", "") <= shards_u32);
}

#[tokio::test(start_paused = true)]
async fn silence_to_a_head_is_not_followed_by_other_ways_to_ask() {
    let files = bundled("points_4d_sharded");
    let backend = Unsteady::new(memory(&files).await, |call| match call.kind {
        "suffix" => Fate::Fail(unsupported("no suffix ranges")),
        "head" => Fate::Hang,
        _ => Fate::Pass,
    });
    let store = open(&backend).await.unwrap();
    let level = store.level(0, &Need::nothing()).await.unwrap();
    let want = all_cells(level.vertices()).remove(0);
    let error = store.fetch(3, vec![want]).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    let asked = ["range", "whole"].map(|k| backend.count(k, "vertices/c/"));
    assert_eq!(asked, [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn without_any_ranges_objects_come_whole() {
    let (files, cells) = big_shard();
    let backend = Unsteady::new(memory(&files).await, |call| match call.kind {
        "suffix" | "range" => Fate::Fail(answered("416 Range Not Satisfiable")),
        _ => Fate::Pass,
    });
    let store = open(&backend).await.unwrap();
    let level = store.level(0, &Need::nothing()).await.unwrap();
    for (round, (chunk, bytes)) in (3..).zip(&cells) {
        let want = CellWant::new(level.vertices(), chunk.as_slice());
        let found = store.fetch(round, vec![want]).await.unwrap();
        assert_eq!(found[0].as_deref(), Some(bytes.as_slice()));
    }
    // Suffix, HEAD and range, whole: the cost occurs once, and the whole shard is cached with its index.
    let asked = ["suffix", "head", "range", "whole"].map(|k| backend.count(k, "vertices/c/"));
    assert_eq!(asked, [1, 1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn two_numbers_say_when_ranges_are_merged() {
    let (files, cells) = big_shard();
    for (merge, most) in [
        (
            Merge {
                gap: 0,
                most: 1 << 30,
            },
            8,
        ),
        (
            Merge {
                gap: 1 << 20,
                most: 1 << 30,
            },
            1,
        ),
        (
            Merge {
                gap: 1 << 20,
                most: 600 << 10,
            },
            8,
        ),
    ] {
        let backend = Unsteady::new(memory(&files).await, |_| Fate::Pass);
        let options = on(&backend).with_merge(merge);
        let store = Store::open_with("memory:///", options).await.unwrap();
        let level = store.level(0, &Need::nothing()).await.unwrap();
        // A column of the shard: its cells are 7 cells of 64 KiB apart.
        let wants = (0..8)
            .map(|x| CellWant::new(level.vertices(), [x, 0]))
            .collect();
        let found = store.fetch(3, wants).await.unwrap();
        for (x, bytes) in found.iter().enumerate() {
            assert_eq!(bytes.as_deref(), Some(cells[x * 8].1.as_slice()));
        }
        assert!(backend.count("range", "vertices") <= most, "{merge:?}");
        if merge.gap == 0 {
            assert_eq!(backend.count("range", "vertices"), 8);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn identical_requests_in_flight_are_sent_once() {
    let files = bundled("points_ids");
    let backend = Unsteady::new(memory(&files).await, |_| Fate::Wait(Duration::from_secs(1)));
    let store = open(&backend).await.unwrap();
    let level = store.level(0, &Need::nothing()).await.unwrap();
    let wants = all_cells(level.vertices());
    let count = u32::try_from(wants.len()).unwrap();
    let reads = (0..10).map(|_| {
        let (store, wants) = (store.clone(), wants.clone());
        tokio::spawn(async move { store.fetch(3, wants).await.unwrap() })
    });
    let all: Vec<_> = futures::future::join_all(reads).await;
    let first = all[0].as_ref().unwrap();
    assert!(all.iter().all(|cells| cells.as_ref().unwrap() == first));
    assert_eq!(backend.count("whole", "0/vertices/c/"), count);
    // One caller that is dropped while others wait does not disturb them.
    let spawn = || {
        let (store, wants) = (store.clone(), wants.clone());
        tokio::spawn(async move { store.fetch(4, wants).await.unwrap() })
    };
    let (one, two) = (spawn(), spawn());
    tokio::time::sleep(Duration::from_millis(500)).await;
    one.abort();
    assert_eq!(&two.await.unwrap(), first);
}

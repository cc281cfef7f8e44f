//! Counts the dependent rounds of requests of a query: by the trace, and by the clock of a slow backend.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use zvf_query::{BBox, Query, Select};
use zvf_store::{IoTrace, OpenOptions, Store};

use crate::support::ask;

const DELAY: Duration = Duration::from_millis(100);

/// A slow backend that records the requested keys.
#[derive(Debug)]
pub(crate) struct Slow {
    inner: InMemory,
    /// Whether listings are answered.
    lists: bool,
    keys: Mutex<Vec<String>>,
}

impl Slow {
    /// A backend with these files.
    pub(crate) async fn of(files: BTreeMap<String, Vec<u8>>, lists: bool) -> Self {
        let inner = InMemory::new();
        for (key, bytes) in files {
            let path = Path::parse(key).unwrap();
            inner.put(&path, bytes.into()).await.unwrap();
        }
        Self {
            inner,
            lists,
            keys: Mutex::default(),
        }
    }
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("slow")
    }
}

fn read_only() -> object_store::Error {
    object_store::Error::NotSupported {
        source: "read only".into(),
    }
}

#[async_trait]
impl ObjectStore for Slow {
    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(read_only())
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(read_only())
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.keys
            .lock()
            .unwrap()
            .push(format!("{location} {:?} {}", options.range, options.head));
        tokio::time::sleep(DELAY).await;
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        futures::stream::once(async { Err(read_only()) }).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.lists {
            true => self.inner.list(prefix),
            false => futures::stream::once(async { Err(read_only()) }).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        tokio::time::sleep(DELAY).await;
        match self.lists {
            true => self.inner.list_with_delimiter(prefix).await,
            false => Err(read_only()),
        }
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(read_only())
    }
}

/// Runs one query on a store that was never opened before; returns rounds by the clock and by the trace. The round at the end
/// that checks whether the store changed is not counted.
async fn cold(case: &str, query: Query) -> (u32, u32) {
    cold_and(case, query, false).await
}

async fn cold_and(case: &str, query: Query, verify: bool) -> (u32, u32) {
    let slow = Arc::new(Slow::of(zvf_testkit::files(case).unwrap(), true).await);
    let trace = IoTrace::on();
    let start = tokio::time::Instant::now();
    let backend: Arc<Slow> = Arc::clone(&slow);
    let options = OpenOptions::new()
        .with_object_store(backend)
        .with_trace(trace.clone())
        .with_verify(verify)
        .with_concurrency(4096);
    let store = Store::open_with("memory:///", options).await.unwrap();
    ask(&store, query).await.unwrap();
    let rounds = start.elapsed().as_secs_f64() / DELAY.as_secs_f64();
    assert!(
        (rounds - rounds.round()).abs() < 0.05,
        "{case}: {rounds} is no whole number of rounds"
    );
    let keys = slow.keys.lock().unwrap();
    let once: BTreeSet<&String> = keys.iter().collect();
    assert_eq!(
        once.len(),
        keys.len(),
        "{case}: something was asked for twice"
    );
    (rounds.round() as u32, trace.counts().rounds)
}

#[tokio::test(start_paused = true)]
async fn a_cold_box_takes_three_rounds() {
    for name in zvf_testkit::cases().unwrap() {
        for asked in zvf_testkit::case(&name).unwrap().queries {
            let bbox = BBox::new(asked.lo, asked.hi).unwrap();
            let (clock, trace) = cold(
                &name,
                Query {
                    bbox: Some(bbox),
                    ..Query::default()
                },
            )
            .await;
            assert!(
                clock <= 3 && trace <= 3,
                "{name}: {clock} rounds by the clock, {trace} by the trace"
            );
        }
        let (clock, trace) = cold(&name, Query::default()).await;
        assert!(
            clock <= 3 && trace <= 3,
            "{name}, all: {clock} rounds by the clock, {trace} by the trace"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_cold_object_takes_four_rounds() {
    for name in zvf_testkit::cases().unwrap() {
        let case = zvf_testkit::case(&name).unwrap();
        let Some(id) = case.objects.keys().next() else {
            continue;
        };
        let (clock, trace) = cold(
            &name,
            Query {
                objects: Some(vec![*id]),
                ..Query::default()
            },
        )
        .await;
        assert!(
            clock <= 4 && trace <= 4,
            "{name}: {clock} rounds by the clock, {trace} by the trace"
        );
        let all = Query {
            objects: Some(case.objects.keys().copied().collect()),
            ..Query::default()
        };
        let (clock, trace) = cold(&name, all).await;
        assert!(
            clock <= 4 && trace <= 4,
            "{name}, all objects: {clock} by the clock, {trace} by the trace"
        );
        if let Some(group) = case.groups.keys().next() {
            let (clock, trace) = cold(
                &name,
                Query {
                    groups: Some(vec![*group]),
                    ..Query::default()
                },
            )
            .await;
            assert!(
                clock <= 4 && trace <= 4,
                "{name}, a group: {clock} by the clock, {trace} by the trace"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whole_objects_of_a_box_read_no_cell_twice() {
    for name in [
        "streamlines",
        "real_tractogram",
        "graph",
        "lines",
        "points_ids",
    ] {
        let asked = zvf_testkit::case(name).unwrap().queries.swap_remove(4);
        let bbox = BBox::new(asked.lo, asked.hi).unwrap();
        // The objects are known once the cells of the box are read; reading their other cells takes one more round.
        let query = Query {
            bbox: Some(bbox),
            select: Select::Objects,
            ..Query::default()
        };
        let (clock, _) = cold(name, query).await;
        assert!(clock <= 4, "{name}: {clock} rounds");
    }
}

#[tokio::test(start_paused = true)]
async fn whether_the_store_changed_is_one_round_at_the_end() {
    for name in ["streamlines", "real_synapses"] {
        let objects = Query {
            objects: Some(vec![
                *zvf_testkit::case("streamlines")
                    .unwrap()
                    .objects
                    .keys()
                    .next()
                    .unwrap(),
            ]),
            ..Query::default()
        };
        let query = if name == "streamlines" {
            objects
        } else {
            Query::default()
        };
        let (clock, trace) = cold(name, query.clone()).await;
        let (all, traced) = cold_and(name, query, true).await;
        assert_eq!((all, traced), (clock + 1, trace + 1), "{name}");
    }
}

#[tokio::test]
async fn arrays_of_links_that_the_order_of_rows_implies_are_not_read() {
    let files = zvf_testkit::files("streamlines").unwrap();
    let arrays = |key: &String| key.starts_with("0/links/0/") && key != "0/links/0/zarr.json";
    assert!(
        files.keys().any(arrays),
        "the store has links between chunks"
    );
    let trace = IoTrace::on();
    let options = OpenOptions::new().with_trace(trace.clone());
    let store = crate::support::open(&files, options).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert!(!got.links().is_empty());
    assert_eq!(got.all.summary.warnings, Vec::<String>::new());
    let read: Vec<String> = trace.take().into_iter().map(|one| one.key).collect();
    assert_eq!(read.iter().find(|key| arrays(key)), None);
}

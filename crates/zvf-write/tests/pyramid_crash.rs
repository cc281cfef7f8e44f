//! A writer of levels that dies at any of its writes: the store is unchanged, or has all levels.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, UpdateVersion};
use zvf_encode::target::Target;
use zvf_encode::transaction::{LEASE, Settled, settle};
use zvf_pyramid::{
    CrossLevel, LevelReport, LevelStep, Method, PyramidSpec, build_pyramid, remove_pyramid,
};
use zvf_query::Query;
use zvf_store::{Class, Need, OpenOptions, Retry};
use zvf_write::{Kind, StaleFiles, StoreSpec, WriteError, WriteOptions};

use crate::model::Model;
use crate::support::{self, ADDRESS, Memory, ask, column};
use zvf_testkit::faults::Dying;
use zvf_testkit::sample::Sample;

const ROOT: &str = "zarr.json";

type Files = BTreeMap<String, Vec<u8>>;

async fn copy(files: &Files) -> Memory {
    let memory = Memory::default();
    for (key, bytes) in files {
        let at = Path::from(format!("some/points.zarrvectors/{key}"));
        memory.0.put(&at, bytes.clone().into()).await.unwrap();
    }
    memory
}

async fn add(
    backend: Arc<dyn ObjectStore>,
    spec: &PyramidSpec,
    stale_files: StaleFiles,
) -> Result<Vec<LevelReport>, WriteError> {
    let mut open = OpenOptions::new().with_object_store(backend);
    open.io.retry = Retry::never();
    open.io.concurrency = 1;
    let options = WriteOptions::new()
        .with_open(open)
        .with_stale_files(stale_files)
        .with_threads(1);
    let done = build_pyramid(ADDRESS, spec, &options, Arc::new(|_| ())).await;
    done.map(|report| report.levels)
}

/// Everything that a reader sees of level 0, even if there are other levels.
async fn level_0(memory: &Memory) -> Vec<String> {
    let store = memory.open().await;
    store.level(0, &Need::all()).await.unwrap();
    let got = ask(&store, Query::default()).await;
    let mut seen = column(&got.vertices, "position");
    seen.extend(column(&got.vertices, "n"));
    seen.extend(got.links().into_iter().map(|link| format!("{link:?}")));
    seen
}

/// The levels; each can be read.
async fn levels(memory: &Memory) -> Vec<(u32, usize)> {
    let store = memory.open().await;
    let mut found = Vec::new();
    for &level in store.levels() {
        let query = Query {
            level,
            ..Query::default()
        };
        found.push((level, ask(&store, query).await.vertices.num_rows()));
    }
    found
}

async fn every_write(base: &Files, spec: &PyramidSpec) {
    let clean = copy(base).await;
    let before = level_0(&clean).await;
    let reports = add(clean.0.clone(), spec, StaleFiles::Refuse)
        .await
        .unwrap();
    let complete = clean.files().await;
    let all = levels(&clean).await;
    assert_eq!(all.len(), reports.len() + 1);
    let only = vec![(0, all[0].1)];
    let mut committed = 0;
    let sample = Sample::new("writes of levels");
    for through in [false, true] {
        for writes in sample.some(1.., 4) {
            let memory = copy(base).await;
            let dying = Dying::new(memory.0.clone(), writes, through);
            let done = add(Arc::new(dying), spec, StaleFiles::Refuse).await;
            assert_eq!(level_0(&memory).await, before, "write {writes}");
            let files = memory.files().await;
            let found = levels(&memory).await;
            if found == all {
                committed += 1;
                for (key, bytes) in &complete {
                    assert_eq!(files.get(key), Some(bytes), "{key}, write {writes}");
                }
            } else {
                assert_eq!(found, only, "write {writes}");
                assert!(done.is_err());
                memory.check_sound().await;
                for (key, bytes) in base {
                    assert_eq!(files.get(key), Some(bytes), "{key}, write {writes}");
                }
                if files.contains_key("zvf-unfinished.json") {
                    let told = add(memory.0.clone(), spec, StaleFiles::Refuse)
                        .await
                        .unwrap_err();
                    assert!(matches!(told, WriteError::Busy { .. }), "{told}");
                }
                add(memory.0.clone(), spec, StaleFiles::Remove)
                    .await
                    .unwrap();
                assert_eq!(unfenced(memory.files().await), complete, "write {writes}");
            }
            if done.is_ok() {
                assert!(writes > 20, "{writes} writes");
                break;
            }
            if found == all {
                // Only the marker is left: it is removed, and the levels stay.
                let told = add(memory.0.clone(), spec, StaleFiles::Remove)
                    .await
                    .unwrap_err();
                assert!(told.to_string().contains("levels [0, 1, 2]"), "{told}");
                assert_eq!(memory.files().await, complete);
            }
        }
    }
    assert!(committed >= if sample.is_whole() { 3 } else { 2 });
}

/// The same files, with a root that does not state that levels were rolled back.
fn unfenced(mut files: Files) -> Files {
    if let Some(root) = files.get_mut(ROOT) {
        *root = support::unfenced(root);
    }
    files
}

fn spec(method: Method) -> PyramidSpec {
    PyramidSpec::new([LevelStep::new(1.0), LevelStep::new(2.0)]).with_method(method)
}

/// A writer that was considered dead has read the root, and replaces it if it is unchanged.
#[tokio::test]
async fn levels_that_were_taken_back_cannot_be_committed_late() {
    let memory = Memory::default();
    let positions = (0..30).map(|n| vec![f64::from(n % 7) * 6.0, f64::from(n)]);
    let store = StoreSpec::new(Kind::PointCloud, [20.0; 2]);
    Model::new(store, positions.collect())
        .write(memory.options())
        .await;
    let dying = Dying::new(memory.0.clone(), 10, false);
    let good = spec(Method::Reference);
    add(Arc::new(dying), &good, StaleFiles::Refuse)
        .await
        .unwrap_err();
    assert!(memory.files().await.contains_key("zvf-unfinished.json"));
    let root = Path::from(format!("some/points.zarrvectors/{ROOT}"));
    let read = memory.0.head(&root).await.unwrap();
    // With a refused specification, nothing happens except the removal of stale files.
    let bad = PyramidSpec::new([LevelStep::new(-1.0)]);
    add(memory.0.clone(), &bad, StaleFiles::Remove)
        .await
        .unwrap_err();
    assert!(!memory.files().await.contains_key("zvf-unfinished.json"));
    let seen = UpdateVersion {
        e_tag: read.e_tag,
        version: read.version,
    };
    let late = memory
        .0
        .put_opts(&root, "{}".into(), PutMode::Update(seen).into());
    assert!(matches!(
        late.await,
        Err(object_store::Error::Precondition { .. })
    ));
}

#[tokio::test]
async fn a_crash_at_every_single_write_of_the_reference_method() {
    let memory = Memory::default();
    let positions = (0..30).map(|n| vec![f64::from(n % 7) * 6.0, f64::from(n)]);
    let store = StoreSpec::new(Kind::PointCloud, [20.0; 2]);
    Model::new(store, positions.collect())
        .write(memory.options())
        .await;
    let spec = spec(Method::Reference).with_cross_level(CrossLevel::Explicit, 2);
    every_write(&memory.files().await, &spec).await;
}

#[tokio::test]
async fn a_crash_at_every_single_write_of_the_density_method() {
    let memory = Memory::default();
    let positions = (0..24).map(|n| vec![f64::from(n % 5) * 7.0, f64::from(n)]);
    let mut model = Model::new(StoreSpec::new(Kind::Graph, [20.0; 2]), positions.collect());
    model.ids = Some((0..24).map(|n| n / 8).collect());
    model.links = (0..23).map(|n| vec![n, n + 1]).collect();
    model.write(memory.options()).await;
    every_write(&memory.files().await, &spec(Method::Density)).await;
}

#[tokio::test]
async fn levels_of_two_writers_at_once_are_those_of_one() {
    let memory = Memory::default();
    let positions = (0..300).map(|n| vec![f64::from(n % 17) * 3.0, f64::from(n)]);
    let store = StoreSpec::new(Kind::PointCloud, [20.0; 2]);
    Model::new(store, positions.collect())
        .write(memory.options())
        .await;
    let (one, two) = (spec(Method::Density), spec(Method::Reference));
    let (a, b) = tokio::join!(
        add(memory.0.clone(), &one, StaleFiles::Refuse),
        add(memory.0.clone(), &two, StaleFiles::Refuse)
    );
    assert_eq!(
        [a.is_ok(), b.is_ok()].iter().filter(|ok| **ok).count(),
        1,
        "{a:?} {b:?}"
    );
    let counts: Vec<u64> = a.or(b).unwrap().iter().map(|one| one.vertices).collect();
    let found: Vec<u64> = levels(&memory)
        .await
        .iter()
        .skip(1)
        .map(|(_, rows)| *rows as u64)
        .collect();
    assert_eq!(found, counts);
    assert!(!memory.files().await.contains_key("zvf-unfinished.json"));
}

async fn points(memory: &Memory) {
    let positions = (0..30).map(|n| vec![f64::from(n % 7) * 6.0, f64::from(n)]);
    let store = StoreSpec::new(Kind::PointCloud, [20.0; 2]);
    Model::new(store, positions.collect())
        .write(memory.options())
        .await;
}

/// Another program takes the change over while levels are made: at once, or so long before the next write that the marker was to be renewed.
#[tokio::test(flavor = "multi_thread")]
async fn levels_whose_change_was_taken_over_do_not_become_visible() {
    for late in [false, true] {
        let memory = Memory::default();
        points(&memory).await;
        let before = level_0(&memory).await;
        let open = memory.open_options();
        let target = tokio::task::spawn_blocking(move || Target::new(ADDRESS, &open, false));
        let target = Arc::new(target.await.unwrap().unwrap());
        let taken = AtomicBool::new(false);
        let take_over = move |_: u64| {
            if taken.swap(true, Ordering::Relaxed) {
                return;
            }
            let target = Arc::clone(&target);
            let other = std::thread::spawn(move || settle(&target, ADDRESS, LEASE).unwrap());
            assert_eq!(other.join().unwrap(), Settled::TakenBack);
            if late {
                std::thread::sleep(Duration::from_millis(400));
            }
        };
        let mut options = memory.options().with_threads(1);
        if late {
            options = options.with_lease(Duration::from_millis(400));
        }
        let spec = spec(Method::Density);
        let done = build_pyramid(ADDRESS, &spec, &options, Arc::new(take_over)).await;
        let refused = done.unwrap_err();
        assert_eq!(refused.class(), Class::Busy, "{refused}");
        let files = memory.files().await;
        assert!(!files.contains_key("1/zarr.json"), "late: {late}");
        if late {
            let coarse = files.keys().find(|key| key.starts_with("1/"));
            assert_eq!(coarse, None);
        }
        assert_eq!(level_0(&memory).await, before);
    }
}

/// What a program without a marker has left of a level can be removed.
#[tokio::test]
async fn levels_that_cannot_be_read_can_be_removed() {
    let memory = Memory::default();
    points(&memory).await;
    let files = memory.files().await;
    let linked = spec(Method::Reference).with_cross_level(CrossLevel::Explicit, 2);
    add(memory.0.clone(), &linked, StaleFiles::Refuse)
        .await
        .unwrap();
    memory.remove("1/vertices/zarr.json").await;
    remove_pyramid(ADDRESS, &memory.options()).await.unwrap();
    let left = memory.files().await;
    assert!(left.keys().eq(files.keys()), "{left:?}");
    memory.check_sound().await;
}

/// A damaged root names levels whose files are lost: that they are named does not mean that a writer of new levels has committed them.
#[tokio::test(flavor = "multi_thread")]
async fn levels_of_a_dead_writer_are_removed_although_the_root_names_some() {
    let memory = Memory::default();
    points(&memory).await;
    let spec = spec(Method::Density);
    add(memory.0.clone(), &spec, StaleFiles::Refuse)
        .await
        .unwrap();
    let mut files = memory.files().await;
    files.retain(|key, _| !key.starts_with("1/") && !key.starts_with("2/"));
    let memory = copy(&files).await;
    let dying = Dying::new(memory.0.clone(), 10, false);
    add(Arc::new(dying), &spec, StaleFiles::Refuse)
        .await
        .unwrap_err();
    let begun = memory.files().await;
    assert!(begun.contains_key("zvf-unfinished.json") && begun.len() > files.len() + 1);
    let open = memory.open_options();
    let settled = tokio::task::spawn_blocking(move || {
        let target = Arc::new(Target::new(ADDRESS, &open, false).unwrap());
        settle(&target, ADDRESS, LEASE).unwrap()
    });
    assert_eq!(settled.await.unwrap(), Settled::TakenBack);
    let left = memory.files().await;
    assert!(left.keys().eq(files.keys()), "{left:?}");
}

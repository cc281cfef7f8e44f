//! A change of existing levels that dies at any of its writes: readers see the old or the new levels, and the next run continues.

use std::sync::Arc;

use object_store::{ObjectStore, ObjectStoreExt, path::Path};
use zvf_edit::Edit;
use zvf_pyramid::{
    CrossLevel, Existing, LevelStep, Method, PyramidReport, PyramidSpec, build_pyramid,
    refresh_pyramid, remove_pyramid,
};
use zvf_query::Query;
use zvf_store::{Need, OpenOptions, Retry};
use zvf_testkit::faults::Dying;
use zvf_testkit::sample::Sample;
use zvf_write::{Kind, StaleFiles, StoreSpec, WriteError, WriteOptions};

use crate::model::Model;
use crate::pyramid::family;
use crate::pyramid_again::{assert_same, build, contents, copy};
use crate::support::{ADDRESS, Memory, ask, column};

#[derive(Debug, Clone)]
enum Work {
    Refresh,
    Remove,
    Build(PyramidSpec),
}

async fn run(
    work: &Work,
    backend: Arc<dyn ObjectStore>,
    stale_files: StaleFiles,
) -> Result<PyramidReport, WriteError> {
    let mut open = OpenOptions::new().with_object_store(backend);
    open.io.retry = Retry::never();
    open.io.concurrency = 1;
    let options = WriteOptions::new()
        .with_open(open)
        .with_stale_files(stale_files)
        .with_threads(1);
    let nobody = Arc::new(|_: u64| ());
    match work {
        Work::Refresh => refresh_pyramid(ADDRESS, &options, nobody).await,
        Work::Remove => remove_pyramid(ADDRESS, &options).await,
        Work::Build(spec) => build_pyramid(ADDRESS, spec, &options, nobody).await,
    }
}

/// Everything that a reader sees: vertices and links of every level, and links between levels.
async fn seen(memory: &Memory) -> Vec<String> {
    let store = memory.open().await;
    let mut seen = Vec::new();
    for &level in store.levels() {
        store.level(level, &Need::all()).await.unwrap();
        let query = Query {
            level,
            ..Query::default()
        };
        let got = ask(&store, query).await;
        seen.push(format!("level {level}"));
        seen.extend(column(&got.vertices, "position"));
        if let Some(links) = &got.links {
            seen.extend(column(links, "vertices"));
        }
        for delta in [-2, -1, 1, 2] {
            seen.push(format!("{:?}", family(memory, level, delta).await));
        }
    }
    seen
}

/// The groups that another reader takes for levels: groups named by a number.
async fn groups(memory: &Memory) -> Vec<String> {
    let files = memory.files().await;
    let levels = files
        .keys()
        .filter_map(|key| key.strip_suffix("/zarr.json"));
    let coarse = levels.filter(|name| name.parse::<u32>().is_ok_and(|level| level > 0));
    coarse.map(str::to_owned).collect()
}

async fn every_write(base: &Memory, work: &Work) {
    let clean = copy(base).await;
    let old = seen(&clean).await;
    run(work, clean.0.clone(), StaleFiles::Refuse)
        .await
        .unwrap();
    let (complete, new) = (contents(&clean).await, seen(&clean).await);
    assert_ne!(old, new);
    let (mut finished, mut taken_back, mut hidden) = (0, 0, 0);
    let sample = Sample::new("writes of levels again");
    for through in [false, true] {
        for writes in sample.some(1.., 10) {
            let memory = copy(base).await;
            let dying = Dying::new(memory.0.clone(), writes, through);
            let done = run(work, Arc::new(dying), StaleFiles::Refuse).await;
            let found = seen(&memory).await;
            assert!(found == old || found == new, "write {writes}");
            if let Err(error) = &done {
                assert!(!error.is_committed() || found == new, "write {writes}");
                hidden += usize::from(found == new && groups(&memory).await.is_empty());
            }
            let marked = memory.files().await.contains_key("zvf-unfinished.json");
            if marked {
                let told = run(work, memory.0.clone(), StaleFiles::Refuse).await;
                assert!(matches!(told, Err(WriteError::Busy { .. })), "{told:?}");
            }
            if found == new {
                finished += 1;
                // Only the interrupted run can continue; its error is ignored, since the same work may be invalid for the new state.
                if marked {
                    let _ = run(work, memory.0.clone(), StaleFiles::Remove).await;
                }
            } else {
                taken_back += 1;
                run(work, memory.0.clone(), StaleFiles::Remove)
                    .await
                    .unwrap();
            }
            let after = contents(&memory).await;
            // Added levels are added once more.
            let keep = matches!(work, Work::Build(spec) if spec.existing == Existing::Keep);
            if !(keep && marked && found == new) {
                assert_same(&after, &complete);
            }
            if done.is_ok() {
                assert!(writes > 8, "{writes} writes");
                break;
            }
        }
    }
    // A level is hidden while its cells change.
    let all = finished >= 5 && taken_back >= 5 && hidden > 0;
    assert!(
        all || !sample.is_whole(),
        "{finished} {taken_back} {hidden}"
    );
}

fn spec(method: Method) -> PyramidSpec {
    PyramidSpec::new([LevelStep::new(1.0), LevelStep::new(2.0)])
        .with_method(method)
        .with_cross_level(CrossLevel::Explicit, 2)
}

/// An edited store with outdated levels, of points or of a graph.
async fn edited(method: Method) -> Memory {
    let memory = Memory::default();
    let positions = (0..24).map(|n| vec![f64::from(n % 5) * 7.0, f64::from(n)]);
    let kind = match method {
        Method::Reference => Kind::PointCloud,
        _ => Kind::Graph,
    };
    let mut store = StoreSpec::new(kind, [20.0; 2]);
    store.objects = true;
    let mut model = Model::new(store, positions.collect());
    model.ids = Some((0..24).map(|n| n / 8).collect());
    if kind == Kind::Graph {
        model.links = (0..23).map(|n| vec![n, n + 1]).collect();
    }
    model.write(memory.options()).await;
    build(&memory, &spec(method)).await.unwrap();
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    edit.delete(&[1]).await.unwrap();
    edit.commit().await.unwrap();
    memory
}

#[tokio::test]
async fn a_crash_at_every_single_write_of_a_refresh() {
    for method in [Method::Density, Method::Reference] {
        every_write(&edited(method).await, &Work::Refresh).await;
    }
}

#[tokio::test]
async fn a_crash_at_every_single_write_of_a_removal() {
    every_write(&edited(Method::Density).await, &Work::Remove).await;
}

#[tokio::test]
async fn a_crash_at_every_single_write_of_a_replacement() {
    let steps = [LevelStep::new(3.0)];
    let spec = PyramidSpec::new(steps).with_existing(Existing::Replace);
    every_write(&edited(Method::Density).await, &Work::Build(spec)).await;
}

#[tokio::test]
async fn a_crash_at_every_single_write_of_a_level_on_top() {
    let memory = edited(Method::Density).await;
    run(&Work::Refresh, memory.0.clone(), StaleFiles::Refuse)
        .await
        .unwrap();
    let spec = PyramidSpec::new([LevelStep::new(3.0)]).with_existing(Existing::Keep);
    every_write(&memory, &Work::Build(spec)).await;
}

#[tokio::test]
async fn a_store_that_changed_meanwhile_is_not_touched() {
    let memory = edited(Method::Density).await;
    let other = memory.clone();
    let at = Path::from("some/points.zarrvectors/zarr.json");
    let mut open = OpenOptions::new().with_object_store(memory.0.clone());
    open.io.retry = Retry::never();
    let options = WriteOptions::new().with_open(open).with_threads(1);
    // Another program writes the root while the levels are made: after the first progress report.
    let handle = tokio::runtime::Handle::current();
    let once = std::sync::Once::new();
    let foreign = Arc::new(move |_: u64| {
        once.call_once(|| {
            handle.block_on(async {
                let root = other.0.get(&at).await.unwrap().bytes().await.unwrap();
                let text = String::from_utf8(root.to_vec()).unwrap();
                other.0.put(&at, format!("{text}\n").into()).await.unwrap();
            });
        });
    });
    let told = refresh_pyramid(ADDRESS, &options, foreign)
        .await
        .unwrap_err();
    assert!(
        matches!(told, WriteError::Changed { .. } | WriteError::Store { .. }),
        "{told:?}"
    );
    let files = memory.files().await;
    assert!(
        files.keys().all(|key| !key.starts_with("zvf-")),
        "{:?}",
        files.keys()
    );
    // Levels are unchanged: outdated.
    assert!(memory.open().await.root().extra.contains_key("zvf_stale"));
}

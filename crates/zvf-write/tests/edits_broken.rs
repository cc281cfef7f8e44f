//! Edits that are interrupted, that meet another writer, or that a store does not support.

use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::{Value, json};
use zvf_edit::{At, Edit, EditSummary, Resumed};
use zvf_query::Query;
use zvf_store::{Class, Need, OpenOptions, Retry, Store, StoreError};
use zvf_write::{
    AttributeSpec, Batch, Kind, NumberType, StaleFiles, StoreSpec, StoreWriter, Values, WriteError,
    WriteOptions,
};

use crate::edited::Model;
use crate::edited_draw::{Draw, spec};
use crate::support::{ADDRESS, Memory, ask, column};
use zvf_testkit::faults::Dying;
use zvf_testkit::sample::Sample;

fn options(backend: Arc<dyn ObjectStore>) -> WriteOptions {
    let mut open = OpenOptions::new().with_object_store(backend);
    open.io.retry = Retry::never();
    open.io.concurrency = 1;
    WriteOptions::new().with_open(open).with_threads(1)
}

/// An edit that adds, deletes, moves and sets, and puts objects into groups.
async fn edit(
    model: &mut Model,
    draw: &mut Draw,
    memory: &Memory,
    options: WriteOptions,
) -> Result<EditSummary, WriteError> {
    let order = model.order(memory).await;
    let mut edit = Edit::open(ADDRESS, options).await?;
    // All operations are made on the model, even if the edit fails.
    let mut failed = None;
    for (at, what) in [3, 0, 2, 6, 11, 11].into_iter().enumerate() {
        let done = model
            .step(&mut edit, what, draw, (at == 0).then_some(&order))
            .await;
        failed = failed.or(done.err());
    }
    match failed {
        Some(error) => Err(error),
        None => edit.commit().await,
    }
}

async fn vertices(memory: &Memory) -> usize {
    ask(&memory.open().await, Query::default())
        .await
        .vertices
        .num_rows()
}

/// A store with a seed for which the edit changes the number of vertices.
pub(crate) async fn store(which: usize) -> (Memory, Model, Draw) {
    sharded_store(which, 0).await
}

/// Like `store`, with shards of `shards` chunks along each component of keys; 0: as drawn from the seed.
async fn sharded_store(which: usize, shards: u64) -> (Memory, Model, Draw) {
    let mut seed = 0;
    loop {
        let mut draw = Draw(seed);
        seed += 1;
        let memory = Memory::default();
        let mut spec = spec(which, &mut draw);
        if shards > 0 {
            spec.shard_shape = vec![shards; spec.key_rank()].into();
        }
        let mut model = Model::new(spec);
        model.write(&memory, &mut draw).await;
        let (before, clone) = (model.count(), draw.clone());
        let (trial, mut other) = (Memory::default(), model.clone());
        copy(&memory, &trial).await;
        edit(&mut other, &mut draw, &trial, trial.options())
            .await
            .unwrap();
        other.check(&trial).await;
        if other.count() != before {
            return (memory, model, clone);
        }
    }
}

async fn copy(from: &Memory, to: &Memory) {
    for (key, bytes) in from.files().await {
        let path = Path::from(format!("some/points.zarrvectors/{key}"));
        to.0.put(&path, bytes.into()).await.unwrap();
    }
}

#[tokio::test]
async fn a_crash_at_every_single_write_leaves_the_old_store_or_the_new_one() {
    let (mut old_ones, mut named, mut finished) = (0, 0, 0);
    let sample = Sample::new("writes of an edit");
    let stores = [
        (0, 0),
        (0, 2),
        (2, 0),
        (2, 3),
        (3, 0),
        (3, 2),
        (6, 0),
        (12, 0),
    ];
    for (which, shards) in stores {
        let (base, model, draw) = sharded_store(which, shards).await;
        for through in [false, true] {
            for writes in sample.some(1.., 12) {
                let memory = Memory::default();
                copy(&base, &memory).await;
                let dying = Dying::new(memory.0.clone(), writes, through);
                let (mut new, mut draw) = (model.clone(), draw.clone());
                let done = edit(&mut new, &mut draw, &memory, options(Arc::new(dying))).await;
                let there = vertices(&memory).await != model.count();
                match &done {
                    Ok(_) => assert!(there),
                    Err(error) if error.is_committed() => assert!(there, "{error}"),
                    Err(_) => {}
                }
                // The model contains the operations that an edit skipped after an early failure.
                let wanted = if there { &new } else { &model };
                wanted.check_answers(&memory).await;
                let root = memory.files().await.remove("zarr.json").unwrap();
                let names = String::from_utf8(root).unwrap().contains("\"zvf_edit\"");
                let marked = memory.files().await.contains_key("zvf-unfinished.json");
                if marked {
                    let busy = Edit::open(ADDRESS, memory.options()).await.unwrap_err();
                    assert!(matches!(busy, WriteError::Busy { .. }), "{busy}");
                }
                let resumed = Edit::resume(ADDRESS, memory.options()).await.unwrap();
                match resumed {
                    Resumed::Finished => {
                        // Including an edit that was applied and whose marker was left.
                        assert!(there && (names || marked));
                        named += usize::from(names);
                    }
                    Resumed::TakenBack => old_ones += usize::from(!there),
                    Resumed::Nothing => {
                        assert!(!marked && !names);
                        finished += 1;
                    }
                    other => panic!("{other:?}"),
                }
                wanted.check(&memory).await;
                assert_eq!(
                    Edit::resume(ADDRESS, memory.options()).await.unwrap(),
                    Resumed::Nothing
                );
                if done.is_ok() {
                    assert!(writes > 15, "{writes} writes");
                    break;
                }
            }
        }
    }
    assert!(finished > 3, "{finished}");
    assert!(
        !sample.is_whole() || old_ones > 20 && named > 20,
        "{old_ones} {named}"
    );
}

/// A store with an edit that was committed and not completed, and the model after the edit.
async fn pending() -> (Memory, Model) {
    let (base, model, draw) = store(3).await;
    for writes in 1..200 {
        let memory = Memory::default();
        copy(&base, &memory).await;
        let dying = Dying::new(memory.0.clone(), writes, true);
        let (mut new, mut draw) = (model.clone(), draw.clone());
        let done = edit(&mut new, &mut draw, &memory, options(Arc::new(dying))).await;
        if matches!(done, Err(WriteError::Pending { .. })) {
            return (memory, new);
        }
    }
    panic!("no edit died after its commit");
}

#[tokio::test]
async fn an_edit_that_is_completed_meanwhile_is_a_change_and_no_damage() {
    let (memory, new) = pending().await;
    let options = memory.open_options().with_prefetch(0, Need::nothing());
    let store = Store::open_with(ADDRESS, options).await.unwrap();
    let resumed = Edit::resume(ADDRESS, memory.options()).await.unwrap();
    assert_eq!(resumed, Resumed::Finished);
    let error = store.level(0, &Need::all()).await.unwrap_err();
    assert!(
        matches!(&error, StoreError::Io(error) if error.is_changed()),
        "{error}"
    );
    new.check(&memory).await;
}

#[tokio::test]
async fn a_resume_that_dies_can_be_resumed() {
    let (interrupted, new) = pending().await;
    for writes in 1.. {
        let memory = Memory::default();
        copy(&interrupted, &memory).await;
        let dying = Dying::new(memory.0.clone(), writes, false);
        let done = Edit::resume(ADDRESS, options(Arc::new(dying))).await;
        new.check_answers(&memory).await;
        // The next edit may complete it as well.
        let again = Edit::open(
            ADDRESS,
            memory.options().with_stale_files(StaleFiles::Remove),
        )
        .await
        .unwrap();
        again.abandon().await.unwrap();
        new.check(&memory).await;
        if done.is_ok() {
            assert!(writes > 5);
            break;
        }
    }
}

#[tokio::test]
async fn another_writer_is_noticed_and_nothing_of_theirs_is_replaced() {
    let (memory, mut model, mut draw) = store(1).await;
    let before = model.clone();
    let order = model.order(&memory).await;
    let mut first = Edit::open(ADDRESS, memory.options()).await.unwrap();
    let second = Edit::open(ADDRESS, memory.options()).await.unwrap_err();
    assert!(matches!(second, WriteError::Busy { .. }), "{second}");
    model
        .step(&mut first, 3, &mut draw, Some(&order))
        .await
        .unwrap();
    model.step(&mut first, 0, &mut draw, None).await.unwrap();
    // A foreign writer changes the root in the meantime.
    let root = Path::from("some/points.zarrvectors/zarr.json");
    let bytes = memory.files().await.remove("zarr.json").unwrap();
    let mut document: Value = serde_json::from_slice(&bytes).unwrap();
    document["attributes"]["theirs"] = json!(7);
    let theirs = document.to_string().into_bytes();
    memory.0.put(&root, theirs.clone().into()).await.unwrap();
    let error = first.commit().await.unwrap_err();
    assert!(!error.is_committed(), "{error}");
    assert_eq!(memory.files().await["zarr.json"], theirs);
    before.check(&memory).await;
    // Unknown metadata survives an edit.
    let mut third = Edit::open(ADDRESS, memory.options()).await.unwrap();
    let mut after = before.clone();
    after.step(&mut third, 0, &mut draw, None).await.unwrap();
    third.commit().await.unwrap();
    after.check(&memory).await;
    let root: Value = serde_json::from_slice(&memory.files().await["zarr.json"]).unwrap();
    assert_eq!(root["attributes"]["theirs"], json!(7));
}

#[tokio::test]
async fn an_edit_that_was_taken_over_fails() {
    let (memory, model, mut draw) = store(1).await;
    let mut slow = Edit::open(ADDRESS, memory.options()).await.unwrap();
    let mut lost = model.clone();
    lost.step(&mut slow, 0, &mut draw, None).await.unwrap();
    assert_eq!(
        Edit::resume(ADDRESS, memory.options()).await.unwrap(),
        Resumed::TakenBack
    );
    let error = slow.commit().await.unwrap_err();
    assert!(!error.is_committed(), "{error}");
    model.check(&memory).await;
}

#[tokio::test]
async fn hostile_names_and_manifests_are_errors() {
    let (memory, _, _) = store(0).await;
    let put = async |key: &str, bytes: Vec<u8>| {
        let path = Path::from(format!("some/points.zarrvectors/{key}"));
        memory.0.put(&path, bytes.into()).await.unwrap();
    };
    let root = memory.files().await.remove("zarr.json").unwrap();
    let named = |id: Value| {
        let mut document: Value = serde_json::from_slice(&root).unwrap();
        document["attributes"]["zvf_edit"] = id;
        document.to_string().into_bytes()
    };
    for id in [
        json!("../up"),
        json!(""),
        json!(1),
        json!(["x"]),
        json!("y".repeat(500)),
        json!("nothing"),
    ] {
        put("zarr.json", named(id.clone())).await;
        let error = Store::open_with(ADDRESS, memory.open_options())
            .await
            .unwrap_err();
        assert!(error.to_string().len() < 400, "{error}");
        assert!(Edit::resume(ADDRESS, memory.options()).await.is_err());
        assert!(Edit::open(ADDRESS, memory.options()).await.is_err(), "{id}");
    }
    put("zarr.json", named(json!("a1"))).await;
    let many: Vec<String> = (0..100_000).map(|n| format!("0/vertices/c/{n}")).collect();
    for (manifest, opens) in [
        (
            json!({"edit": "a1", "put": ["../../x"], "removed": []}).to_string(),
            false,
        ),
        (
            json!({"edit": "a1", "put": ["zarr.json"], "removed": []}).to_string(),
            false,
        ),
        (
            json!({"edit": "a1", "put": ["zvf-edit-a1/x"], "removed": []}).to_string(),
            false,
        ),
        (
            json!({"edit": "b2", "put": [], "removed": []}).to_string(),
            false,
        ),
        ("[".repeat(100_000), false),
        (String::new(), false),
        // Objects that do not exist are reported as missing, and nothing else.
        (
            json!({"edit": "a1", "put": ["0/vertices/zarr.json"], "removed": []}).to_string(),
            true,
        ),
        (
            json!({"edit": "a1", "put": many, "removed": ["0/zarr.json"]}).to_string(),
            true,
        ),
    ] {
        put("zvf-edit-a1/manifest.json", manifest.into_bytes()).await;
        let opened = Store::open_with(ADDRESS, memory.open_options()).await;
        assert_eq!(opened.is_ok(), opens);
        if let Ok(store) = opened {
            let level = store.level(0, &zvf_store::Need::all()).await;
            assert!(level.is_err());
        }
        assert!(Edit::resume(ADDRESS, memory.options()).await.is_err());
    }
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_the_store_stays() {
    let (memory, model, _) = store(3).await;
    let batch = |ids: Vec<i64>| {
        let rows = ids.len();
        Batch::new(vec![0.5_f64; rows * model.spec.dims()])
            .with_object_ids(ids)
            .with_attribute("n", vec![5_i64; rows])
            .with_attribute("vector", vec![0.0_f32; 2 * rows])
            .with_attribute("word", Values::texts(vec!["x"; rows]))
    };
    let refused = async |what: &str, error: WriteError| {
        assert!(error.to_string().contains(what), "{error}");
        model.check(&memory).await;
    };
    macro_rules! refuse {
        ($what:expr, |$edit:ident| $work:expr) => {{
            let mut $edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
            let error = $work.await.unwrap_err();
            // After an operation that failed, nothing is committed.
            let broken = $edit.commit().await.unwrap_err();
            assert!(matches!(broken, WriteError::Broken { .. }), "{broken}");
            refused($what, error).await;
        }};
    }
    refuse!("object 123", |edit| edit.delete(&[123]));
    refuse!("object 77", |edit| edit.append(&batch(vec![77])));
    refuse!("positions", |edit| edit.append(&Batch::new(vec![1.0_f64])));
    refuse!("vertex 9999", |edit| edit.move_vertices(
        At::Rows(&[9999]),
        &Values::from(vec![0.0; model.spec.dims()])
    ));
    refuse!("NaN", |edit| edit.move_vertices(
        At::Rows(&[0]),
        &Values::from(vec![f64::NAN; model.spec.dims()])
    ));
    refuse!("twice", |edit| edit.move_vertices(
        At::Rows(&[0, 0]),
        &Values::from(vec![0.0; 2 * model.spec.dims()])
    ));
    refuse!("attribute color", |edit| edit.set_vertex_attribute(
        "color",
        At::All,
        &Values::from(vec![1_u8])
    ));
    refuse!("attribute vector", |edit| edit.set_vertex_attribute(
        "vector",
        At::Rows(&[0]),
        &Values::from(vec![1.0_f32])
    ));
    refuse!("word", |edit| edit.add_vertex_attribute(
        AttributeSpec::category("word"),
        &Values::texts(["x"])
    ));
    refuse!("size", |edit| edit.add_object_attribute(
        AttributeSpec::number("size", NumberType::F32)
    ));
    // An edit without a change leaves no trace.
    let before = memory.files().await;
    let nothing = Edit::open(ADDRESS, memory.options())
        .await
        .unwrap()
        .commit()
        .await
        .unwrap();
    assert_eq!(nothing, EditSummary::default());
    assert_eq!(memory.files().await, before);
    let missing = Edit::open("memory:///some/where.else", memory.options())
        .await
        .unwrap_err();
    let absent = matches!(missing, WriteError::Store(StoreError::NoStore { .. }));
    assert!(absent && missing.class() == Class::Io, "{missing}");
}

#[tokio::test]
async fn a_folder_is_edited_as_a_bucket_is() {
    let folder = tempfile::tempdir().unwrap();
    let address = folder
        .path()
        .join("lines.zarrvectors")
        .to_string_lossy()
        .into_owned();
    let spec = StoreSpec::new(Kind::Streamline, [10.0; 2]);
    let mut writer = StoreWriter::create(&address, spec, WriteOptions::new())
        .await
        .unwrap();
    let rows = vec![1.0_f32, 1.0, 9.0, 1.0, 12.0, 1.0, 3.0, 3.0];
    writer
        .push(&Batch::new(rows).with_object_runs(vec![(1, 3), (2, 1)]))
        .unwrap();
    writer.finish().await.unwrap();
    let mut edit = Edit::open(&address, WriteOptions::new()).await.unwrap();
    edit.delete(&[2]).await.unwrap();
    edit.append(&Batch::new(vec![-1.0_f32, 1.0]).with_object_ids(vec![1]))
        .await
        .unwrap();
    let summary = edit.commit().await.unwrap();
    assert_eq!(
        (
            summary.vertices,
            summary.objects,
            summary.chunks,
            summary.links
        ),
        (0, 2, 2, 1)
    );
    let store = Store::open(&address).await.unwrap();
    let got = ask(
        &store,
        Query {
            objects: Some(vec![1]),
            ..Query::default()
        },
    )
    .await;
    assert_eq!(
        column(&got.vertices, "position"),
        ["1.0 1.0", "9.0 1.0", "12.0 1.0", "-1.0 1.0"]
    );
    assert_eq!(store.root().zarr_vectors.bounds.0, [-1.0, 1.0]);
    let left: Vec<_> = std::fs::read_dir(&address)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

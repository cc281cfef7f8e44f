//! Deleted objects: what is left of them, which ids may be used again, and what a vacuum removes.

use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStoreExt;
use object_store::path::Path;
use serde_json::{Value, json};
use zvf_edit::Edit;
use zvf_encode::target::Target;
use zvf_encode::transaction::{LEASE, Settled, settle};
use zvf_pyramid::{LevelStep, Method, PyramidSpec};
use zvf_query::{Query, Table, list_objects};
use zvf_store::OpenOptions;
use zvf_testkit::faults::{Fault, Sort, Trouble, Unsteady};
use zvf_write::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, WriteOptions};

use crate::edits_broken::store;
use crate::support::{ADDRESS, Memory, ask, column};

#[tokio::test]
async fn a_vacuum_removes_what_nobody_asks_for_and_nothing_else() {
    let (memory, model, _) = store(3).await;
    let before = memory.files().await;
    let dims = "/9".repeat(model.spec.dims());
    let left = [
        format!("0/vertices/c{dims}"),
        format!(
            "0/links/0/{}/c{dims}",
            ["0"; 3][..model.spec.dims()].join(".")
        ),
        "0/object_index/manifests/c/7".to_owned(),
        "0/object_attributes/size/c/1".to_owned(),
        "zvf-edit-01d/0/vertices/zarr.json".to_owned(),
        "0/vertices/c/.zvf-12-3".to_owned(),
    ];
    let theirs = [
        "notes.txt",
        "0/mine/c/0",
        "mine/zarr.json.bak",
        "zvf-edit-notes/a.txt",
    ]
    .map(str::to_owned);
    for key in left.iter().chain(&theirs) {
        let path = Path::from(format!("some/points.zarrvectors/{key}"));
        memory.0.put(&path, vec![1_u8].into()).await.unwrap();
    }
    let done = zvf_edit::vacuum(ADDRESS, memory.options()).await.unwrap();
    assert_eq!((done.rows, done.leftovers), (0, left.len() as u64));
    let mut after = memory.files().await;
    for key in &theirs {
        assert!(after.remove(key).is_some(), "{key}");
    }
    assert_eq!(after, before);
    model.check_answers(&memory).await;
}

/// A vacuum that is taken over while it waits removes nothing more: the keys may be those of a later edit.
#[tokio::test(flavor = "multi_thread")]
async fn a_vacuum_that_was_taken_over_removes_nothing_more() {
    let (memory, model, _) = store(3).await;
    let dims = "/9".repeat(model.spec.dims());
    let left = [
        format!("0/vertices/c{dims}"),
        "zvf-edit-01d/0/zarr.json".to_owned(),
    ];
    for key in &left {
        memory.put(key, vec![1]).await;
    }
    let late = Trouble::Before(Fault::Delay(Duration::from_millis(1500)));
    let slow = Unsteady::new(memory.0.clone(), Sort::Delete, late, 0..1);
    let options = WriteOptions::new()
        .with_open(OpenOptions::new().with_object_store(Arc::new(slow)))
        .with_lease(Duration::from_millis(400));
    let vacuum = tokio::spawn(zvf_edit::vacuum(ADDRESS, options));
    while !memory.files().await.contains_key("zvf-unfinished.json") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let open = memory.open_options();
    let take_over = move || {
        let target = Arc::new(Target::new(ADDRESS, &open, false).unwrap());
        settle(&target, ADDRESS, LEASE).unwrap()
    };
    let settled = tokio::task::spawn_blocking(take_over).await.unwrap();
    assert_eq!(settled, Settled::TakenBack);
    vacuum.await.unwrap().unwrap_err();
    assert!(memory.files().await.contains_key(&left[1]));
}

#[tokio::test]
async fn an_object_that_comes_back_is_no_longer_deleted() {
    let (memory, mut model, mut draw) = store(1).await;
    let mut first = Edit::open(ADDRESS, memory.options()).await.unwrap();
    first
        .put_objects(&zvf_write::ObjectTable::new(vec![900]))
        .await
        .unwrap();
    first.commit().await.unwrap();
    let mut second = Edit::open(ADDRESS, memory.options()).await.unwrap();
    second.delete(&[900]).await.unwrap();
    second.commit().await.unwrap();
    // Operation 6 gives object 900 a size again.
    let mut third = Edit::open(ADDRESS, memory.options()).await.unwrap();
    model.step(&mut third, 6, &mut draw, None).await.unwrap();
    third.commit().await.unwrap();
    let done = zvf_edit::vacuum(ADDRESS, memory.options()).await.unwrap();
    assert_eq!(done.rows, 0);
    model.check(&memory).await;
}

/// Changes the document of the index, and updates the owner column to match the new document.
async fn change_index(memory: &Memory, change: impl FnOnce(&mut Value)) {
    let key = "0/object_index/zarr.json";
    let bytes = memory.files().await.remove(key).unwrap();
    let mut document: Value = serde_json::from_slice(&bytes).unwrap();
    change(&mut document["attributes"]);
    let bytes = document.to_string().into_bytes();
    let column = "0/fragment_attributes/object_id/zarr.json";
    let stored = memory.files().await.remove(column).unwrap();
    let mut doc = zvf_meta::ArrayDoc::parse(&stored).unwrap();
    zvf_store::owners::state_owners_of(&mut doc.attributes, &bytes);
    for (key, bytes) in [(key, bytes), (column, doc.to_json().into_bytes())] {
        let path = Path::from(format!("some/points.zarrvectors/{key}"));
        memory.0.put(&path, bytes.into()).await.unwrap();
    }
}

#[tokio::test]
async fn lists_of_deleted_objects_are_not_believed() {
    let (memory, model, mut draw) = store(1).await;
    for list in [
        json!("77"),
        json!([77, "x"]),
        json!({}),
        json!(vec![77; 100_000]),
    ] {
        change_index(&memory, |index| index["zvf_deleted"] = list).await;
        let store = memory.open().await;
        let error = store.level(0, &zvf_store::Need::all()).await.unwrap_err();
        assert_eq!(error.class(), zvf_store::Class::Malformed, "{error}");
        assert!(error.to_string().contains("zvf_deleted"), "{error}");
        assert!(Edit::open(ADDRESS, memory.options()).await.is_err());
    }
    // Ids without a row have no effect; the next list still has at most as many ids as the index has rows.
    let rows = model.clone();
    change_index(&memory, |index| index["zvf_deleted"] = json!([123, 456])).await;
    rows.check_answers(&memory).await;
    let mut edited = model.clone();
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    edited.step(&mut edit, 2, &mut draw, None).await.unwrap();
    edit.commit().await.unwrap();
    edited.check(&memory).await;
}

#[tokio::test]
async fn an_object_that_comes_back_has_no_values_of_the_one_that_was_deleted() {
    let memory = Memory::default();
    // No number marks absence in a table whose objects all have a value.
    let spec = StoreSpec::new(Kind::Polyline, [10.0; 2])
        .with_object_attribute(AttributeSpec::number("size", NumberType::U8));
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let rows = |ids: &[i64]| Batch::new(vec![1.0_f32; ids.len() * 2]).with_object_ids(ids.to_vec());
    writer.push(&rows(&[1, 2])).unwrap();
    let sizes = vec![11_u8, 22];
    let table = zvf_write::ObjectTable::new(vec![1, 2]).with_attribute("size", sizes);
    writer.push_objects(&table).unwrap();
    writer.finish().await.unwrap();
    for again in [false, true] {
        let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
        if again {
            edit.append(&rows(&[2, 3])).await.unwrap();
        } else {
            edit.delete(&[2]).await.unwrap();
        }
        edit.commit().await.unwrap();
    }
    let got = ask(&memory.open().await, by_object())
        .await
        .objects
        .unwrap();
    assert_eq!(column(&got, "object_id"), ["1", "2", "3"]);
    // As for a new object.
    let sizes = column(&got, "size");
    assert_eq!(sizes[0], "11");
    assert_eq!(sizes[1], sizes[2]);
}

fn by_object() -> Query {
    Query {
        select: zvf_query::Select::Objects,
        ..Query::default()
    }
}

#[tokio::test]
async fn fragments_that_two_objects_name_are_refused() {
    let memory = Memory::default();
    let spec =
        StoreSpec::new(Kind::Polyline, [10.0; 2]).with_compression(zvf_write::Compression::None);
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let batch = Batch::new(vec![1.0_f32, 1.0, 2.0, 2.0]).with_object_ids(vec![1, 2]);
    writer.push(&batch).unwrap();
    writer.finish().await.unwrap();
    // Both manifests become the first one: they differ only in the number of the fragment.
    let key = "0/object_index/manifests/c/0";
    let bytes = memory.files().await.remove(key).unwrap();
    let lengths: Vec<usize> = {
        let (first, rest) = bytes[4..].split_first_chunk::<4>().unwrap();
        let first = u32::from_le_bytes(*first) as usize;
        let second = rest[first..].first_chunk::<4>().unwrap();
        vec![first, u32::from_le_bytes(*second) as usize]
    };
    assert_eq!(lengths[0], lengths[1]);
    let mut damaged = bytes.clone();
    damaged.copy_within(8..8 + lengths[0], 12 + lengths[0]);
    assert_ne!(damaged, bytes);
    let path = Path::from(format!("some/points.zarrvectors/{key}"));
    memory.0.put(&path, damaged.into()).await.unwrap();
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    let error = edit.delete(&[1, 2]).await.unwrap_err();
    assert!(error.to_string().contains("name twice"), "{error}");
    edit.abandon().await.unwrap();
}

#[tokio::test]
async fn coarse_levels_do_not_bring_deleted_objects_back() {
    for method in [Method::Reference, Method::Density] {
        let memory = Memory::default();
        let spec = StoreSpec::new(Kind::Polyline, [10.0; 2]);
        let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
            .await
            .unwrap();
        let positions: Vec<f32> = (0..24).map(|at| at as f32).collect();
        let runs = vec![(1, 4), (2, 4), (3, 4)];
        writer
            .push(&Batch::new(positions).with_object_runs(runs))
            .unwrap();
        writer.finish().await.unwrap();
        let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
        edit.delete(&[2]).await.unwrap();
        edit.commit().await.unwrap();
        let spec = PyramidSpec::new(vec![LevelStep::new(2.0)]).with_method(method);
        crate::pyramid::build(&memory, &spec).await.unwrap();
        let opened = memory.open().await;
        for level in [0, 1] {
            let list = list_objects(&opened, level, false).await.unwrap();
            let list = list.collect().await.unwrap().table(Table::Objects).unwrap();
            assert_eq!(
                column(&list.unwrap(), "object_id"),
                ["1", "3"],
                "{method:?}"
            );
        }
    }
}

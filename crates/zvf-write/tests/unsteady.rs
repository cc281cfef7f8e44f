//! Requests that fail once or permanently: a store has the state before or after the change, is never locked permanently, and nothing is left that no
//! command can remove.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use object_store::path::Path;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_edit::{At, Edit, EditSummary, Resumed};
use zvf_query::{Column, Query};
use zvf_store::{OpenOptions, Retry, Store};
use zvf_testkit::faults::{Fault, Sort, Trouble, Unsteady};
use zvf_write::{
    AttributeSpec, Batch, Kind, NumberType, StaleFiles, StoreSpec, StoreWriter, Values, WriteError,
    WriteOptions,
};

use crate::support::{ADDRESS, Memory, ask, column};

const SORTS: [Sort; 8] = [
    Sort::Put,
    Sort::PutNew,
    Sort::Replace,
    Sort::Copy,
    Sort::Delete,
    Sort::List,
    Sort::Get,
    Sort::Head,
];

fn troubles() -> [Trouble; 4] {
    [
        Trouble::Before(Fault::Unavailable),
        Trouble::Before(Fault::TooMany),
        Trouble::Before(Fault::Reset),
        Trouble::After,
    ]
}

fn through(backend: Arc<dyn ObjectStore>) -> WriteOptions {
    let pauses = Retry::default()
        .with_attempts(3)
        .with_pauses(Duration::ZERO, Duration::ZERO);
    let open = OpenOptions::new()
        .with_object_store(backend)
        .with_retry(pauses);
    WriteOptions::new().with_open(open).with_threads(1)
}

fn batch(ids: &[i64]) -> Batch {
    let owners: Vec<i64> = ids.iter().flat_map(|id| [*id, *id]).collect();
    let rows: Vec<f32> = ids
        .iter()
        .flat_map(|id| [*id as f32 * 4.0, 1.0, *id as f32 * 4.0, 15.0])
        .collect();
    let n: Vec<i64> = owners.clone();
    Batch::new(rows)
        .with_object_ids(owners)
        .with_attribute("n", n)
}

async fn write(options: WriteOptions) -> Result<(), WriteError> {
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2])
        .with_objects()
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I64));
    let mut writer = StoreWriter::create(ADDRESS, spec, options).await?;
    writer.push(&batch(&[1, 2, 3, 4]))?;
    writer.finish().await.map(|_| ())
}

async fn change(options: WriteOptions) -> Result<EditSummary, WriteError> {
    let mut edit = Edit::open(ADDRESS, options).await?;
    let mut done = edit.delete(&[2]).await;
    if done.is_ok() {
        done = edit.append(&batch(&[7])).await;
    }
    match done {
        Ok(()) => edit.commit().await,
        Err(error) => {
            edit.abandon().await?;
            Err(error)
        }
    }
}

async fn ids(memory: &Memory) -> BTreeSet<String> {
    let query = Query {
        columns: vec![Column::Position, Column::ObjectId],
        ..Query::default()
    };
    let answer = ask(&memory.open().await, query).await;
    let ids = column(&answer.vertices, "object_id");
    assert_eq!(ids.len(), 8, "two vertices for each of four objects");
    ids.into_iter().collect()
}

fn set(ids: [i64; 4]) -> BTreeSet<String> {
    ids.map(|id| id.to_string()).into()
}

/// The objects that writers leave in the store.
async fn notes(memory: &Memory) -> Vec<String> {
    let keys = memory.files().await.into_keys();
    keys.filter(|key| key.starts_with("zvf-")).collect()
}

async fn made() -> Memory {
    let memory = Memory::default();
    write(memory.options()).await.unwrap();
    memory
}

/// Number of requests of a kind that a change makes.
async fn count(sort: Sort) -> u64 {
    let backend = Unsteady::new(made().await.0, sort, Trouble::After, 0..0);
    change(through(Arc::new(backend.clone()))).await.unwrap();
    backend.came()
}

#[tokio::test]
async fn an_edit_succeeds_whichever_request_fails_once() {
    let mut tried = 0;
    for sort in SORTS {
        for which in 0..count(sort).await {
            // Late requests are similar to early ones.
            if which > 6 && which % 5 > 0 {
                continue;
            }
            for trouble in troubles() {
                let memory = made().await;
                let named = format!("{sort:?} {which}, {trouble:?}");
                let backend = Unsteady::new(memory.0.clone(), sort, trouble, which..which + 1);
                if let Err(error) = change(through(Arc::new(backend))).await {
                    panic!("{named}: {error}");
                }
                assert_eq!(ids(&memory).await, set([1, 3, 4, 7]), "{named}");
                assert_eq!(notes(&memory).await, Vec::<String>::new(), "{named}");
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

#[tokio::test]
async fn an_edit_waits_for_other_conditional_puts() {
    for sort in [Sort::PutNew, Sort::Replace] {
        let requests = count(sort).await;
        assert!(requests > 0, "{sort:?}");
        for which in 0..requests {
            let memory = made().await;
            let conflict = Trouble::Before(Fault::Conflict);
            let backend = Unsteady::new(memory.0.clone(), sort, conflict, which..which + 1);
            if let Err(error) = change(through(Arc::new(backend))).await {
                panic!("{sort:?} {which}: {error}");
            }
            assert_eq!(ids(&memory).await, set([1, 3, 4, 7]), "{sort:?} {which}");
        }
    }
}

/// Where copies are not allowed, objects are read and put.
#[tokio::test]
async fn an_edit_needs_no_copies_by_the_backend() {
    let memory = made().await;
    let denied = Trouble::Before(Fault::Denied);
    let backend = Unsteady::new(memory.0.clone(), Sort::Copy, denied, 0..u64::MAX);
    change(through(Arc::new(backend.clone()))).await.unwrap();
    assert!(backend.came() > 0);
    assert_eq!(ids(&memory).await, set([1, 3, 4, 7]));
    assert_eq!(notes(&memory).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_edit_whose_requests_fail_for_good_leaves_the_old_store_or_the_new_one() {
    let (mut old, mut new, mut left) = (0, 0, 0);
    for sort in SORTS {
        for which in 0..count(sort).await {
            if which > 6 && which % 5 > 0 {
                continue;
            }
            for trouble in troubles() {
                let memory = made().await;
                let named = format!("{sort:?} from {which} on, {trouble:?}");
                let backend = Unsteady::new(memory.0.clone(), sort, trouble, which..u64::MAX);
                let done = change(through(Arc::new(backend))).await;
                let found = ids(&memory).await;
                let counts = found == set([1, 3, 4, 7]);
                assert!(counts || found == set([1, 2, 3, 4]), "{named}: {found:?}");
                match &done {
                    Ok(_) => assert!(counts, "{named}"),
                    Err(error) if error.is_committed() => assert!(counts, "{named}: {error}"),
                    Err(_) => {}
                }
                if let Err(WriteError::Tidying { .. }) = done {
                    left += 1;
                    // A completed edit does not block the next one.
                    let next = Edit::open(ADDRESS, memory.options()).await;
                    next.unwrap().abandon().await.unwrap();
                }
                Edit::resume(ADDRESS, memory.options()).await.unwrap();
                let again = Edit::resume(ADDRESS, memory.options()).await.unwrap();
                assert_eq!(again, Resumed::Nothing, "{named}");
                assert_eq!(ids(&memory).await, found, "{named}");
                assert_eq!(notes(&memory).await, Vec::<String>::new(), "{named}");
                if counts {
                    new += 1;
                } else {
                    old += 1;
                }
            }
        }
    }
    assert!(old > 50 && new > 50 && left > 5, "{old} {new} {left}");
}

#[tokio::test]
async fn a_new_store_whose_requests_fail_for_good_is_there_or_can_be_written_again() {
    for sort in SORTS {
        let backend = Unsteady::new(Memory::default().0, sort, Trouble::After, 0..0);
        write(through(Arc::new(backend.clone()))).await.unwrap();
        for which in (0..backend.came()).filter(|which| *which < 8 || which % 7 == 0) {
            for trouble in troubles() {
                for once in [true, false] {
                    let named = format!("{sort:?} {which}, {trouble:?}, once: {once}");
                    let memory = Memory::default();
                    let end = if once { which + 1 } else { u64::MAX };
                    let trouble = trouble.clone();
                    let backend = Unsteady::new(memory.0.clone(), sort, trouble, which..end);
                    let done = write(through(Arc::new(backend))).await;
                    let there = Store::open_with(ADDRESS, memory.open_options())
                        .await
                        .is_ok();
                    match done {
                        Ok(()) => assert!(there, "{named}"),
                        Err(error) => {
                            assert!(!once, "{named}: {error}");
                            assert!(there || !error.is_committed(), "{named}: {error}");
                        }
                    }
                    if !there {
                        let again = memory.options().with_stale_files(StaleFiles::Remove);
                        write(again).await.unwrap();
                    }
                    assert_eq!(ids(&memory).await, set([1, 2, 3, 4]), "{named}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_fails_waits_for_its_own_requests_and_leaves_nothing() {
    for which in 0..12 {
        let memory = Memory::default();
        let slow = ThrottleConfig {
            wait_put_per_call: Duration::from_millis(15),
            ..ThrottleConfig::default()
        };
        // An `Arc` of the memory, so that late writes are seen.
        let shared: Arc<dyn ObjectStore> = memory.0.clone();
        let slow: Arc<dyn ObjectStore> = Arc::new(ThrottledStore::new(shared, slow));
        let denied = Trouble::Before(Fault::Denied);
        let backend = Unsteady::new(slow, Sort::Put, denied, which..which + 1);
        let error = write(through(Arc::new(backend))).await.unwrap_err();
        assert!(error.to_string().contains("denied"), "{error}");
        // Longer than any put takes.
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(
            memory.files().await.into_keys().collect::<Vec<_>>(),
            Vec::<String>::new()
        );
        write(memory.options()).await.unwrap();
    }
}

#[tokio::test]
async fn orphans_go_when_asked_for_and_nothing_else_does() {
    let memory = Memory::default();
    let path = |key: &str| Path::from(format!("some/points.zarrvectors/{key}"));
    for key in [
        "0/vertices/c/0/0",
        "0/vertex_fragments/c/1/6/2",
        "0/zarr.json",
    ] {
        memory.0.put(&path(key), "x".into()).await.unwrap();
    }
    let told = write(memory.options()).await.unwrap_err().to_string();
    assert!(told.contains("left by an interrupted writer"), "{told}");
    let remove = || memory.options().with_stale_files(StaleFiles::Remove);
    for foreign in ["notes.txt", "0/pictures/1.png", "1.csv"] {
        memory.0.put(&path(foreign), "theirs".into()).await.unwrap();
        let told = write(remove()).await.unwrap_err().to_string();
        assert!(
            told.contains(foreign) && told.contains("nothing was removed"),
            "{told}"
        );
        assert_eq!(memory.files().await.len(), 4);
        memory.0.delete(&path(foreign)).await.unwrap();
    }
    write(remove()).await.unwrap();
    assert_eq!(ids(&memory).await, set([1, 2, 3, 4]));
    memory.check_clean().await;
}

/// Opens an edit as soon as possible.
async fn opened(address: &str, options: &WriteOptions) -> Edit {
    loop {
        match Edit::open(address, options.clone()).await {
            Ok(edit) => return edit,
            Err(WriteError::Busy { .. }) => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_marker_of_a_writer_that_is_gone_is_taken_over_by_one_of_many() {
    let folder = tempfile::tempdir().unwrap();
    let local = folder.path().join("points.zarrvectors");
    let local = local.to_str().unwrap();
    let memory = made().await;
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2])
        .with_objects()
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I64));
    let mut writer = StoreWriter::create(local, spec, WriteOptions::new())
        .await
        .unwrap();
    writer.push(&batch(&[1, 2, 3, 4])).unwrap();
    writer.finish().await.unwrap();
    let lease = Duration::from_millis(100);
    for (address, options) in [(ADDRESS, memory.options()), (local, WriteOptions::new())] {
        // A writer that ends without removing its marker.
        drop(
            Edit::open(address, options.clone().with_lease(lease))
                .await
                .unwrap(),
        );
        let busy = Edit::open(address, options.clone()).await.unwrap_err();
        assert!(matches!(busy, WriteError::Busy { .. }), "{busy}");
        // While one writer has it, no other can get it.
        let (address, lasting) = (address.to_owned(), options.clone());
        let first = opened(&address, &lasting).await;
        let racing = (0..6).map(|_| {
            let (address, options) = (address.clone(), lasting.clone());
            tokio::spawn(async move { Edit::open(&address, options).await.is_ok() })
        });
        for one in racing.collect::<Vec<_>>() {
            assert!(!one.await.unwrap());
        }
        first.abandon().await.unwrap();
        // Several writers compete for an old marker.
        drop(
            Edit::open(&address, options.clone().with_lease(lease))
                .await
                .unwrap(),
        );
        tokio::time::sleep(lease + Duration::from_millis(3100)).await;
        let racing = (0..6).map(|_| {
            let (address, options) = (address.clone(), lasting.clone());
            tokio::spawn(async move { Edit::open(&address, options).await.ok() })
        });
        let mut won = Vec::new();
        for one in racing.collect::<Vec<_>>() {
            won.extend(one.await.unwrap());
        }
        assert_eq!(won.len(), 1, "{address}");
        for edit in won {
            edit.abandon().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_writer_that_is_late_does_not_take_an_equal_root_for_its_own() {
    let memory = made().await;
    let mut late = Edit::open(ADDRESS, memory.options()).await.unwrap();
    late.delete(&[2]).await.unwrap();
    // Another writer considers the marker dead, and changes values back and forth: the root is the same as before.
    let marker = Path::from("some/points.zarrvectors/zvf-unfinished.json");
    memory.0.delete(&marker).await.unwrap();
    for value in [5_i64, 3] {
        let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
        let values = Values::from(vec![value; 2]);
        let at = [(3, 0), (3, 1)];
        edit.set_vertex_attribute("n", At::Objects(&at), &values)
            .await
            .unwrap();
        edit.commit().await.unwrap();
    }
    let error = late.commit().await.unwrap_err();
    assert!(!error.is_committed(), "{error}");
    assert_eq!(ids(&memory).await, set([1, 2, 3, 4]));
    assert_eq!(notes(&memory).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_comes_late_finds_another_one() {
    // The new root is sent, but neither this request nor a retry gets a response before the writer gives up.
    let memory = made().await;
    let late = Trouble::Late(Duration::from_millis(300));
    let backend = Unsteady::new(memory.0.clone(), Sort::Replace, late, 0..3);
    let error = change(through(Arc::new(backend))).await.unwrap_err();
    assert!(!error.is_committed(), "{error}");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(ids(&memory).await, set([1, 2, 3, 4]));
    memory.check_clean().await;
}

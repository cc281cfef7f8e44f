//! Sources that change while they are copied.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use zvf_encode::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, WriteOptions};
use zvf_migrate::{MigrateOptions, migrate};
use zvf_store::blocking::Runtime;
use zvf_store::{Class, Need, OpenOptions, Store};
use zvf_testkit::faults::{Bucket, Faulty, Swap};
use zvf_write::StoreWriter;

use crate::made::Made;

/// Points on a line, one vertex in each chunk.
async fn points(made: &Made, count: u8) {
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2])
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I64));
    let mut writer = StoreWriter::create(&made.address(), spec, WriteOptions::new())
        .await
        .unwrap();
    let places = (0..count).flat_map(|n| [f32::from(n) * 10.0 + 1.0, 5.0]);
    let values: Vec<i64> = (0..i64::from(count)).collect();
    let batch = Batch::new(places.collect::<Vec<f32>>()).with_attribute("n", values);
    writer.push(&batch).unwrap();
    writer.finish().await.unwrap();
}

/// A source that another writer changes while it is copied is neither copied nor reported as damaged.
#[test]
fn a_source_that_changes_is_no_source() {
    Runtime::new().unwrap().wait(async {
        for (unverified, shape) in [(false, 10.0), (false, 25.0), (true, 10.0), (true, 25.0)] {
            let (old, other) = (Made::new(), Made::new());
            points(&old, 9).await;
            points(&other, 4).await;
            let store = old.open().await;
            store.level(0, &Need::all()).await.unwrap();
            // As an edit that deletes points: fewer cells, other documents.
            for (name, path) in old.cells() {
                match fs::read(other.path().join(&name)) {
                    Ok(bytes) => fs::write(path, bytes).unwrap(),
                    Err(_) => fs::remove_file(path).unwrap(),
                }
            }
            let document = fs::read(other.path().join("zarr.json")).unwrap();
            fs::write(old.path().join("zarr.json"), document).unwrap();
            let copy = Made::new();
            let options = MigrateOptions::new()
                .with_chunk_shape([shape; 2])
                .with_unverified(unverified);
            let error = migrate(&store, &copy.address(), options).await.unwrap_err();
            assert_eq!(error.class(), Class::Io, "{error}");
            assert!(error.to_string().contains("changed"), "{error}");
            Store::open(&copy.address()).await.unwrap_err();
        }
    });
}

/// Polylines of two vertices each, all in one chunk.
async fn lines(made: &Made, count: u8) -> BTreeMap<String, Vec<u8>> {
    let spec = StoreSpec::new(Kind::Polyline, [10.0; 2]);
    let mut writer = StoreWriter::create(&made.address(), spec, WriteOptions::new())
        .await
        .unwrap();
    let places = (0..count * 2).flat_map(|n| [f32::from(n), 5.0]);
    let ids: Vec<i64> = (0..count).flat_map(|id| [i64::from(id); 2]).collect();
    let batch = Batch::new(places.collect::<Vec<f32>>()).with_object_ids(ids);
    writer.push(&batch).unwrap();
    writer.finish().await.unwrap();
    made.files()
}

fn faulty(files: &BTreeMap<String, Vec<u8>>) -> Faulty {
    Faulty::new(Arc::new(Bucket::new(files.clone())), 1)
}

async fn open(bucket: Arc<Faulty>) -> Store {
    let options = OpenOptions::new().with_object_store(bucket);
    Store::open_with("memory:///", options).await.unwrap()
}

/// A change between any two requests of a copy that moves rows is reported as a change, and neither as damage nor as a bug.
#[test]
fn a_change_at_any_request_is_reported_as_one() {
    Runtime::new().unwrap().wait(async {
        let (old, new) = (Made::new(), Made::new());
        let (old, new) = (lines(&old, 2).await, lines(&new, 3).await);
        let mut changed = 0;
        for after in 0.. {
            let counted = Arc::new(faulty(&old));
            open(counted.clone()).await;
            let counts = counted.counts();
            let opened = counts.gets + counts.heads + counts.lists;
            let swap = Swap::new(opened + after, Arc::new(Bucket::new(new.clone())));
            let store = open(Arc::new(faulty(&old).swap(swap))).await;
            let copy = Made::new();
            let options = MigrateOptions::new()
                .with_chunk_shape([25.0; 2])
                .with_unverified(true);
            let Err(error) = migrate(&store, &copy.address(), options).await else {
                break;
            };
            assert_eq!(error.class(), Class::Io, "{after}: {error}");
            assert!(error.to_string().contains("changed"), "{after}: {error}");
            changed += 1;
        }
        assert!(changed > 3, "{changed}");
    });
}

/// Every attribute is read as often as with fewer attributes.
#[test]
fn a_copy_into_other_chunks_requests_each_attribute_as_often() {
    Runtime::new().unwrap().wait(async {
        let mut requests = Vec::new();
        for count in [8, 32] {
            let (made, copy) = (Made::new(), Made::new());
            let names: Vec<String> = (0..count).map(|n| format!("a{n}")).collect();
            let spec = names
                .iter()
                .map(|name| AttributeSpec::number(name, NumberType::I64))
                .fold(
                    StoreSpec::new(Kind::PointCloud, [10.0; 2]),
                    StoreSpec::with_vertex_attribute,
                );
            let mut writer = StoreWriter::create(&made.address(), spec, WriteOptions::new())
                .await
                .unwrap();
            let batch = names
                .iter()
                .fold(Batch::new(vec![1.0_f32, 5.0, 2.0, 5.0]), |batch, name| {
                    batch.with_attribute(name, vec![7_i64, 8])
                });
            writer.push(&batch).unwrap();
            writer.finish().await.unwrap();
            let bucket = Arc::new(faulty(&made.files()));
            let store = open(bucket.clone()).await;
            let options = MigrateOptions::new()
                .with_chunk_shape([25.0; 2])
                .with_unverified(true);
            migrate(&store, &copy.address(), options).await.unwrap();
            requests.push(bucket.counts().gets);
        }
        assert!(requests[1] <= 4 * requests[0], "{requests:?}");
    });
}

//! Stores on the local disk.

use std::path::Path;

use zvf_edit::{Edit, Resumed};
use zvf_query::Query;
use zvf_store::Store;
use zvf_testkit::sample;
use zvf_write::{Batch, Kind, StaleFiles, StoreSpec, StoreWriter, WriteError, WriteOptions};

use crate::support::ask;

fn names(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                all.push(
                    entry
                        .path()
                        .strip_prefix(folder)
                        .unwrap()
                        .to_string_lossy()
                        .into_owned(),
                );
            }
        }
    }
    all.sort();
    all
}

async fn write(address: &str, options: WriteOptions) -> Result<zvf_write::Summary, WriteError> {
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2]);
    let mut writer = StoreWriter::create(address, spec, options).await?;
    let rows: Vec<f32> = (0..2000).map(|n| (n * n % 977) as f32 / 5.0).collect();
    writer.push(&Batch::new(rows))?;
    writer.finish().await
}

#[tokio::test]
async fn a_store_on_disk_has_no_other_files() {
    for durable in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/größe 50%.zarrvectors");
        let address = path.to_str().unwrap();
        write(address, WriteOptions::new().with_durable(durable))
            .await
            .unwrap();
        let files = names(&path);
        assert!(
            files
                .iter()
                .all(|name| name.ends_with("zarr.json") || name.contains("/c/")),
            "{files:?}"
        );
        let store = Store::open(address).await.unwrap();
        assert_eq!(
            ask(&store, Query::default()).await.vertices.num_rows(),
            1000
        );
        let root: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path.join("zarr.json")).unwrap()).unwrap();
        assert_eq!(root["attributes"]["ome"]["name"], "größe 50%");
    }
}

#[tokio::test]
async fn what_lies_there_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zv");
    let address = path.to_str().unwrap();
    write(address, WriteOptions::new()).await.unwrap();
    let before = names(&path);
    for stale_files in [StaleFiles::Refuse, StaleFiles::Remove] {
        let error = write(address, WriteOptions::new().with_stale_files(stale_files))
            .await
            .unwrap_err();
        assert!(matches!(error, WriteError::Exists { .. }), "{error}");
        assert_eq!(names(&path), before);
    }
    // A folder with any other content is not a writer's, whatever is allowed and however similar its name is.
    for (number, key) in [
        "thesis.txt",
        "zvf-notes.txt",
        "zvf-data/thesis.txt",
        "0/vertices/thesis.txt",
    ]
    .into_iter()
    .enumerate()
    {
        let other = folder.path().join(format!("b{number}"));
        let file = other.join(key);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "all of it").unwrap();
        for stale_files in [StaleFiles::Refuse, StaleFiles::Remove] {
            let error = write(
                other.to_str().unwrap(),
                WriteOptions::new().with_stale_files(stale_files),
            )
            .await
            .unwrap_err();
            let found = format!("found {}", key.split('/').next().unwrap());
            assert!(error.to_string().contains(&found), "{error}");
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"all of it");
    }
}

#[tokio::test]
async fn the_first_file_of_a_killed_writer_stands_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zv");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join(".zvf-123-0"), "half a mar").unwrap();
    write(path.to_str().unwrap(), WriteOptions::new())
        .await
        .unwrap();
    assert!(!path.join(".zvf-123-0").exists());
}

#[tokio::test]
async fn a_resumed_edit_removes_temporary_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zv");
    let address = path.to_str().unwrap();
    write(address, WriteOptions::new()).await.unwrap();
    let left = path.join("0/vertices/.zvf-0000000000000001-3");
    std::fs::write(&left, "half a document").unwrap();
    let marker = r#"{"what":"edit","writer":"1-1","details":{"edit":"a1"}}"#;
    std::fs::write(path.join("zvf-unfinished.json"), marker).unwrap();
    let resumed = Edit::resume(address, WriteOptions::new()).await.unwrap();
    assert_eq!(resumed, Resumed::TakenBack);
    assert!(!left.exists());
}

#[tokio::test]
async fn a_writer_that_is_dropped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zv");
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2]);
    let mut writer = StoreWriter::create(path.to_str().unwrap(), spec, WriteOptions::new())
        .await
        .unwrap();
    writer.push(&Batch::new(vec![1.0_f32, 2.0])).unwrap();
    drop(writer);
    assert!(!path.exists());
}

#[tokio::test]
async fn two_writers_of_one_place_make_one_store() {
    // Each on its own thread, often enough that they meet at every step.
    for round in 0..sample::cases(50, 10) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zv");
        let address = path.to_str().unwrap();
        let start = std::sync::Barrier::new(2);
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            start.wait();
            runtime.block_on(write(address, WriteOptions::new().with_durable(false)))
        };
        let (a, b) = std::thread::scope(|scope| {
            let (one, other) = (scope.spawn(run), scope.spawn(run));
            (one.join().unwrap(), other.join().unwrap())
        });
        assert!(a.is_ok() != b.is_ok(), "round {round}: {a:?} {b:?}");
        let store = Store::open(address).await.unwrap();
        assert_eq!(
            ask(&store, Query::default()).await.vertices.num_rows(),
            1000
        );
    }
}

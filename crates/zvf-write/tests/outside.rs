//! Nothing outside a store is written or removed, and no store is made inside another one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use zvf_edit::{Edit, vacuum};
use zvf_pyramid::{LevelStep, PyramidSpec, build_pyramid, remove_pyramid};
use zvf_store::OpenOptions;
use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, WriteError, WriteOptions};

async fn points(address: &str, options: WriteOptions) -> Result<(), WriteError> {
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3]).with_objects();
    let mut writer = StoreWriter::create(address, spec, options).await?;
    let rows: Vec<f32> = (0..300_u16).map(|n| f32::from(n % 41)).collect();
    let ids = (0..100).map(|n| n / 10).collect::<Vec<i64>>();
    writer.push(&Batch::new(rows).with_object_ids(ids))?;
    writer.finish().await.map(|_| ())
}

/// All files below a folder with their bytes.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    all.sort();
    all
}

fn is_link(error: &WriteError, name: &str) -> bool {
    matches!(error, WriteError::Linked { path, .. } if path.ends_with(name))
}

/// Moves a folder out of a store, and replaces it by a link.
fn move_out(store: &Path, folder: &str, out: &Path) {
    fs::rename(store.join(folder), out).unwrap();
    symlink(out, store.join(folder)).unwrap();
}

async fn delete(address: &str) -> Result<(), WriteError> {
    let mut edit = Edit::open(address, WriteOptions::new()).await?;
    edit.delete(&[3]).await?;
    edit.commit().await.map(|_| ())
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_that_are_links_are_read_and_never_changed() {
    let home = tempfile::tempdir().unwrap();
    let (store, out) = (home.path().join("s.zv"), home.path().join("out"));
    let address = store.to_str().unwrap();
    points(address, WriteOptions::new()).await.unwrap();
    move_out(&store, "0/vertices", &out);
    let before = files(&out);
    let error = delete(address).await.unwrap_err();
    assert!(is_link(&error, "0/vertices"), "{error}");
    let error = vacuum(address, WriteOptions::new()).await.unwrap_err();
    assert!(is_link(&error, "0/vertices"), "{error}");
    assert_eq!(files(&out), before);
    // The store is not blocked: once the folder is back, the same edit succeeds.
    assert!(!store.join("zvf-unfinished.json").exists());
    fs::remove_file(store.join("0/vertices")).unwrap();
    fs::rename(&out, store.join("0/vertices")).unwrap();
    delete(address).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_level_that_is_a_link_is_not_removed() {
    let home = tempfile::tempdir().unwrap();
    let (store, out) = (home.path().join("s.zv"), home.path().join("level"));
    let address = store.to_str().unwrap();
    points(address, WriteOptions::new()).await.unwrap();
    let spec = PyramidSpec::new(vec![LevelStep::new(2.0)]);
    let options = WriteOptions::new();
    build_pyramid(address, &spec, &options, Arc::new(|_| ()))
        .await
        .unwrap();
    move_out(&store, "1", &out);
    fs::write(out.join("mine.txt"), "years of work").unwrap();
    let before = files(&out);
    let error = remove_pyramid(address, &options).await.unwrap_err();
    assert!(is_link(&error, "s.zv/1"), "{error}");
    assert_eq!(files(&out), before);
    assert!(!store.join("zvf-unfinished.json").exists());
}

/// As stored by git-annex: every file is a link. The links are replaced, and the files that they lead to do not change.
#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_links_are_replaced() {
    let home = tempfile::tempdir().unwrap();
    let (store, annex) = (home.path().join("s.zv"), home.path().join("annex"));
    let address = store.to_str().unwrap();
    points(address, WriteOptions::new()).await.unwrap();
    fs::create_dir(&annex).unwrap();
    for (number, (path, _)) in files(&store).into_iter().enumerate() {
        let kept = annex.join(number.to_string());
        fs::rename(&path, &kept).unwrap();
        symlink(&kept, &path).unwrap();
    }
    let before = files(&annex);
    delete(address).await.unwrap();
    assert_eq!(files(&annex), before);
    assert!(!store.join("zarr.json").is_symlink());
    // The store itself may be a link.
    let link = home.path().join("link.zv");
    symlink(&store, &link).unwrap();
    vacuum(link.to_str().unwrap(), WriteOptions::new())
        .await
        .unwrap();
    assert!(link.is_symlink());
    assert_eq!(files(&annex), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_store_is_made_inside_of_a_store() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path().join("s.zv");
    let address = store.to_str().unwrap();
    points(address, WriteOptions::new()).await.unwrap();
    let before = files(&store);
    let link = home.path().join("link");
    symlink(&store, &link).unwrap();
    for inner in ["s.zv/1", "s.zv/0/vertices/c/9", "s.zv/new/deep", "link/1"] {
        let inner = home.path().join(inner);
        let error = points(inner.to_str().unwrap(), WriteOptions::new())
            .await
            .unwrap_err();
        assert!(matches!(error, WriteError::Exists { .. }), "{error}");
        assert!(error.to_string().contains("inside the store"), "{error}");
    }
    assert_eq!(files(&store), before);
    // A group that is not a store may contain stores.
    let group = home.path().join("group");
    fs::create_dir(&group).unwrap();
    let document = r#"{"zarr_format": 3, "node_type": "group", "attributes": {},
        "consolidated_metadata": {"metadata": {"a": {"attributes": {"zarr_vectors": {}}}}}}"#;
    fs::write(group.join("zarr.json"), document).unwrap();
    let inner = group.join("a.zv");
    points(inner.to_str().unwrap(), WriteOptions::new())
        .await
        .unwrap();

    let memory = Arc::new(object_store::memory::InMemory::new());
    let open = OpenOptions::new().with_object_store(memory);
    let options = WriteOptions::new().with_open(open);
    points("memory:///a/s.zv", options.clone()).await.unwrap();
    let error = points("memory:///a/s.zv/0/vertices/c", options.clone())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("inside the store"), "{error}");
    points("memory:///a/t.zv", options).await.unwrap();
}

/// A writer that is abandoned leaves no folder that it made.
#[tokio::test(flavor = "multi_thread")]
async fn folders_of_a_failed_writer_are_removed() {
    let home = tempfile::tempdir().unwrap();
    let stop = zvf_store::Stop::default();
    let open = OpenOptions::new().with_stop(stop.clone());
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3]);
    let path = home.path().join("deep/er/s.zv");
    let options = WriteOptions::new().with_open(open);
    let writer = StoreWriter::create(path.to_str().unwrap(), spec, options);
    let mut writer = writer.await.unwrap();
    writer.push(&Batch::new(vec![1.0_f32, 2.0, 3.0])).unwrap();
    stop.ask();
    let error = writer.finish().await.unwrap_err();
    assert_eq!(error.to_string(), "interrupted");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

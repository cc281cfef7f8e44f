//! Stores that change while they are read: which state is read, what is checked again, which changes are detected.

use std::sync::Arc;

use object_store::path::Path;
use object_store::{Error, ObjectStore};
use zvf_store::{Class, IoTrace, Method, Need, OpenOptions, Store};

use crate::remote::{Fate, Unsteady, answered, failed, on, open};
use crate::support::{Files, all_cells, bundled, memory, put_all};

async fn changing() -> (Arc<dyn ObjectStore>, Files, Arc<Unsteady>) {
    let files = bundled("points_ids");
    let inner = memory(&files).await;
    let backend = Unsteady::new(Arc::clone(&inner), |_| Fate::Pass);
    (inner, files, backend)
}

async fn rewrite(inner: &Arc<dyn ObjectStore>, files: &Files, key: &str) {
    let file = Files::from([(key.to_owned(), files[key].clone())]);
    put_all(&**inner, "", &file).await;
}

/// The key of a stored cell of `vertices`.
fn a_cell(files: &Files) -> &str {
    let mut keys = files.keys();
    keys.find(|key| key.starts_with("0/vertices/c/")).unwrap()
}

#[tokio::test(start_paused = true)]
async fn verify_looks_at_the_documents_above_what_was_read() {
    let (inner, files, backend) = changing().await;
    let trace = IoTrace::on();
    let options = on(&backend).with_trace(trace.clone());
    let options = options.with_prefetch(0, Need::nothing());
    let store = Store::open_with("memory:///", options).await.unwrap();
    let level = store.level(0, &Need::nothing()).await.unwrap();
    store.fetch(3, all_cells(level.vertices())).await.unwrap();
    trace.take();
    store.verify(4).await.unwrap();
    let mut asked: Vec<String> = trace
        .take()
        .into_iter()
        .map(|r| format!("{} {} {}", r.round, r.method, r.key))
        .collect();
    asked.sort();
    assert_eq!(
        asked,
        [
            // Requested together with the root.
            "4 HEAD 0/vertex_fragments/zarr.json",
            "4 HEAD 0/vertices/zarr.json",
            "4 HEAD 0/zarr.json",
            "4 HEAD zarr.json",
            // The root was written a moment ago, so these may be older than it.
            "4 LIST ",
            "4 LIST 0"
        ]
    );
    // Nothing was read since: the results came from caches, and are as old as they are.
    store.verify(5).await.unwrap();
    let again: Vec<String> = trace.take().into_iter().map(|r| r.key).collect();
    assert_eq!(again, ["zarr.json"]);
    // A document of another level may change.
    rewrite(&inner, &files, "1/vertices/zarr.json").await;
    store.fetch(6, all_cells(level.vertices())).await.unwrap();
    store.verify(7).await.unwrap();
    // A document behind the results may not, even with the same content: the cells may have changed.
    rewrite(&inner, &files, "0/vertices/zarr.json").await;
    store.fetch(8, all_cells(level.vertices())).await.unwrap();
    let error = store.verify(9).await.unwrap_err();
    assert!(error.is_changed() && error.class() == Class::Io, "{error}");
    assert!(
        error.to_string().contains("0/vertices/zarr.json: changed"),
        "{error}"
    );
    // It stays changed.
    assert!(store.verify(10).await.unwrap_err().is_changed());
}

#[tokio::test(start_paused = true)]
async fn verify_can_be_off() {
    let (inner, files, backend) = changing().await;
    let options = on(&backend).with_verify(false);
    let store = Store::open_with("memory:///", options).await.unwrap();
    let level = store.level(0, &Need::nothing()).await.unwrap();
    store.fetch(3, all_cells(level.vertices())).await.unwrap();
    rewrite(&inner, &files, "0/vertices/zarr.json").await;
    store.verify(4).await.unwrap();
    assert_eq!(backend.count("head", ""), 0);
    // Two states of one object are an error even if verify is off.
    let key = a_cell(&files);
    rewrite(&inner, &files, key).await;
    let error = store
        .fetch(5, all_cells(level.vertices()))
        .await
        .unwrap_err();
    assert!(error.is_changed(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_cell_that_is_newer_than_the_snapshot_is_refused() {
    let (inner, files, backend) = changing().await;
    let store = open(&backend).await.unwrap();
    let level = store.level(0, &Need::nothing()).await.unwrap();
    let key = a_cell(&files);
    rewrite(&inner, &files, key).await;
    let error = store
        .fetch(3, all_cells(level.vertices()))
        .await
        .unwrap_err();
    assert!(error.is_changed(), "{error}");
    let text = error.to_string();
    assert!(
        text.starts_with(key) && text.contains("the snapshot was taken at"),
        "{text}"
    );
    assert_eq!(backend.count("whole", key), 1, "nothing that passes");
    // A store that is opened now reads it.
    let store = open(&backend).await.unwrap();
    let level = store.level(0, &Need::nothing()).await.unwrap();
    store.fetch(3, all_cells(level.vertices())).await.unwrap();
    store.verify(4).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_document_that_vanished_is_a_change() {
    use object_store::ObjectStoreExt;
    let (inner, _, backend) = changing().await;
    let store = open(&backend).await.unwrap();
    inner.delete(&Path::from("zarr.json")).await.unwrap();
    let error = store.verify(3).await.unwrap_err();
    assert!(
        error.is_changed() && error.to_string().contains("absent"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn verify_believes_no_head_that_others_do_not_confirm() {
    for refuse in [true, false] {
        let files = bundled("points_ids");
        let inner = memory(&files).await;
        let backend = Unsteady::new(Arc::clone(&inner), move |call| match call.kind {
            "head" if refuse => Fate::Fail(answered("405 Method Not Allowed")),
            "head" => Fate::Fail(Error::NotFound {
                path: String::new(),
                source: "405".into(),
            }),
            _ => Fate::Pass,
        });
        let store = open(&backend).await.unwrap();
        store.verify(3).await.unwrap();
        rewrite(&inner, &files, "zarr.json").await;
        let level = store.level(0, &Need::nothing()).await.unwrap();
        store.fetch(4, all_cells(level.vertices())).await.unwrap();
        assert!(store.verify(5).await.unwrap_err().is_changed());
    }
}

#[tokio::test(start_paused = true)]
async fn verify_that_cannot_ask_says_so() {
    let backend = Unsteady::new(memory(&bundled("points_ids")).await, |call| {
        match call.kind {
            "head" => Fate::Fail(failed("reset")),
            _ => Fate::Pass,
        }
    });
    let store = open(&backend).await.unwrap();
    let error = store.verify(3).await.unwrap_err();
    assert!(
        error.is_transient() && error.to_string().contains("tried 5 times"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_store_that_changes_is_noticed() {
    let files = bundled("points_ids");
    let folder = crate::support::on_disk(&files);
    let trace = IoTrace::on();
    let options = OpenOptions::new().with_trace(trace.clone());
    let url = folder.path().to_str().unwrap();
    let store = Store::open_with(url, options.clone()).await.unwrap();
    let level = store.level(0, &Need::nothing()).await.unwrap();
    store.fetch(3, all_cells(level.vertices())).await.unwrap();
    trace.take();
    store.verify(4).await.unwrap();
    let asked = trace.take();
    assert!(
        !asked.is_empty()
            && asked
                .iter()
                .all(|r| r.method == Method::Stat && r.round == 4)
    );
    // Replaced by the same bytes: another file.
    let path = folder.path().join("0/vertices/zarr.json");
    std::fs::copy(&path, folder.path().join("new")).unwrap();
    std::fs::rename(folder.path().join("new"), &path).unwrap();
    let error = store.verify(5).await.unwrap_err();
    assert!(
        error.is_changed() && error.to_string().contains("0/vertices/zarr.json"),
        "{error}"
    );
    // The whole folder is replaced by another one. If it is held open, it is read to the end; otherwise the change is detected.
    let store = Store::open_with(url, options.clone()).await.unwrap();
    let other = crate::support::on_disk(&files);
    std::fs::rename(folder.path(), folder.path().with_extension("old")).unwrap();
    std::fs::rename(other.path(), folder.path()).unwrap();
    let swapped = store.verify(3).await;
    assert_eq!(swapped.is_ok(), cfg!(unix), "{swapped:?}");
    if let Err(error) = swapped {
        assert!(error.is_changed(), "{error}");
    }
    std::fs::rename(folder.path(), other.path()).unwrap();
    std::fs::rename(folder.path().with_extension("old"), folder.path()).unwrap();
    // Removed in place.
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::rename(
            &path,
            other
                .path()
                .join(path.file_name().unwrap())
                .with_extension("x"),
        )
        .unwrap();
    }
    let error = store.verify(3).await.unwrap_err();
    assert!(
        error.is_changed() && error.to_string().contains("absent"),
        "{error}"
    );
    crate::support::write_files(folder.path(), &files);
    // With verify off, no requests are sent.
    let store = Store::open_with(url, options.with_verify(false))
        .await
        .unwrap();
    trace.take();
    store.verify(3).await.unwrap();
    assert!(trace.take().is_empty());
}

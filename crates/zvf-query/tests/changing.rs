//! A change of a store while it is read is reported as a change, also if it looks like damage.

use std::sync::Arc;

use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt, path::Path};
use zvf_query::{Class, Query, query};
use zvf_store::{OpenOptions, Store};

/// Removes every cell of vertices after the documents were read. With `tells`, also writes their document again, as a
/// writer does that removes cells.
async fn emptied(case: &str, tells: bool) -> zvf_query::QueryError {
    let files = zvf_testkit::files(case).unwrap();
    let backend: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    for (key, bytes) in &files {
        let key = Path::parse(key).unwrap();
        backend.put(&key, bytes.clone().into()).await.unwrap();
    }
    let options = OpenOptions::new().with_object_store(Arc::clone(&backend));
    let store = Store::open_with("memory:///", options).await.unwrap();
    store.level(0, &zvf_store::Need::all()).await.unwrap();
    for key in files.keys().filter(|key| key.starts_with("0/vertices/c/")) {
        backend.delete(&Path::parse(key).unwrap()).await.unwrap();
    }
    if tells {
        let key = "0/vertices/zarr.json";
        let mut bytes = files[key].clone();
        bytes.push(b' ');
        let key = Path::parse(key).unwrap();
        backend.put(&key, bytes.into()).await.unwrap();
    }
    match query(&store, Query::default()).await {
        Err(error) => error,
        Ok(answer) => answer.collect().await.unwrap_err(),
    }
}

#[tokio::test]
async fn cells_that_an_edit_removed_are_a_change_and_no_damage() {
    for case in ["0.9/points_ids", "0.9/graph", "0.9/streamlines"] {
        let error = emptied(case, true).await;
        assert_eq!(error.class(), Class::Io, "{case}: {error}");
        assert!(
            error.to_string().contains("0/vertices/zarr.json"),
            "{case}: {error}"
        );
        // Without a change of the document, it is damage.
        let error = emptied(case, false).await;
        assert_eq!(error.class(), Class::Malformed, "{case}: {error}");
    }
}

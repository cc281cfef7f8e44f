//! Stores that somebody writes again on a real server while they are open.

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_query::{Query, QueryError};
use zvf_soak::servers::{Kind, Server};
use zvf_store::{OpenOptions, Store};
use zvf_trials::altered::{Files, altered};
use zvf_trials::answers::ask;

use crate::support::{client, signed, write};

async fn put(bucket: &dyn ObjectStore, prefix: &str, files: &Files) {
    for (key, bytes) in files {
        let path = Path::parse(format!("{prefix}/{key}")).unwrap();
        bucket.put(&path, bytes.clone().into()).await.unwrap();
    }
}

fn is_changed(error: &QueryError) -> bool {
    let text = error.to_string();
    text.contains("changed")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_a_bucket_that_is_written_again_is_noticed() {
    let bucket = client("data").build().unwrap();
    let first = zvf_testkit::files("0.9/real_tractogram").unwrap();
    put(&bucket, "changed", &first).await;
    let store = Store::open_with("s3://data/changed", signed())
        .await
        .unwrap();
    let right = ask(&store, Query::default()).await.unwrap();
    // Nothing changed: the conditional requests say so, and the answer is the same.
    assert_eq!(ask(&store, Query::default()).await.unwrap(), right);
    // The same documents with another text.
    let mut second = altered(&first).unwrap();
    for (key, bytes) in &mut second {
        if key.ends_with("zarr.json") {
            bytes.push(b'\n');
        }
    }
    put(&bucket, "changed", &second).await;
    let error = ask(&store, Query::default()).await.unwrap_err();
    assert!(is_changed(&error), "{error}");
    // A store that is opened now is the second one, whole.
    let store = Store::open_with("s3://data/changed", signed())
        .await
        .unwrap();
    let other = ask(&store, Query::default()).await.unwrap();
    assert_ne!(other, right);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_on_a_file_server_that_is_written_again_is_noticed() {
    for kind in [Kind::Files, Kind::Plain] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "0.9/real_tractogram");
        let server = Server::start(kind, folder.path()).unwrap();
        let address = format!("{}/0.9/real_tractogram", server.url());
        let store = Store::open_with(&address, OpenOptions::new())
            .await
            .unwrap();
        let right = ask(&store, Query::default()).await.unwrap();
        assert_eq!(ask(&store, Query::default()).await.unwrap(), right);
        let files = altered(&zvf_testkit::files("0.9/real_tractogram").unwrap()).unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
        for (key, bytes) in &files {
            let path = folder.path().join("0.9/real_tractogram").join(key);
            std::fs::write(&path, bytes).unwrap();
            // Servers tell the time in whole seconds.
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(later).unwrap();
        }
        let error = ask(&store, Query::default()).await.unwrap_err();
        assert!(is_changed(&error), "{kind:?}: {error}");
    }
}

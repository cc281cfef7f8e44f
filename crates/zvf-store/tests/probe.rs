//! Unknown facts are not guessed: the probe of a chunk that determines the type of vertices, and documents that exist and are denied.

use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use serde_json::json;
use zvf_store::format::dtype::DTypeKind;
use zvf_store::{Names, Need, OpenOptions, Retry, Store};
use zvf_testkit::faults::{Fault, Faulty, Rule};

use crate::blobs_group::{add_blob, one_fragment, store_of};
use crate::support::{Files, group, memory};

/// Chunks of `float64` in a group that states `float32`.
fn claims_too_little(chunks: &[&str]) -> Files {
    let mut files = store_of(&[]);
    files.insert("0/vertex_fragments/zarr.json".to_owned(), group(&json!({})));
    let rows: Vec<u8> = [1.5f64, 2.5, 3.5, 4.5]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    for chunk in chunks {
        add_blob(&mut files, &format!("0/vertices/{chunk}"), &rows, None);
        let path = format!("0/vertex_fragments/{chunk}");
        add_blob(&mut files, &path, &one_fragment(2), None);
    }
    files
}

async fn open(backend: Faulty, retry: Retry) -> (Arc<Faulty>, Store) {
    let backend = Arc::new(backend);
    let store: Arc<dyn ObjectStore> = Arc::<Faulty>::clone(&backend);
    let options = OpenOptions::new()
        .with_object_store(store)
        .with_retry(retry)
        .with_request_timeout(Duration::from_secs(3));
    (
        backend,
        Store::open_with("memory:///", options).await.unwrap(),
    )
}

#[tokio::test(start_paused = true)]
async fn two_first_loads_at_once_agree() {
    let files = claims_too_little(&["3.4"]);
    let slow = Faulty::new(memory(&files).await, 0).latency(Duration::from_millis(50));
    let (_, store) = open(slow, Retry::default()).await;
    let without = Need {
        vertex_attributes: Names::None,
        ..Need::all()
    };
    let all = Need::all();
    let (one, other) = futures::join!(store.level(0, &all), store.level(0, &without));
    for level in [one.unwrap(), other.unwrap()] {
        assert_eq!(level.vertices().dtype().kind, DTypeKind::F64);
    }
}

#[tokio::test(start_paused = true)]
async fn a_look_that_fails_ends_the_load_and_is_made_again() {
    // A server that does not answer within the request timeout.
    let files = claims_too_little(&["3.4", "3.5", "3.6"]);
    let silent = Rule::new(Fault::Hang).at("0/vertices/3.").times(1);
    let retry = Retry::never();
    let (backend, store) = open(Faulty::new(memory(&files).await, 0).rule(silent), retry).await;
    let start = tokio::time::Instant::now();
    let error = store.level(0, &Need::all()).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert!(error.to_string().contains("0/vertices/3.4"), "{error}");
    assert_eq!(start.elapsed(), Duration::from_secs(3));
    let met = backend.counts().faults;
    let level = store.level(0, &Need::all()).await.unwrap();
    assert_eq!(level.vertices().dtype().kind, DTypeKind::F64);
    assert_eq!(backend.counts().faults, met);
}

#[tokio::test]
async fn what_stays_denied_tells_nothing_and_the_next_chunk_is_looked_at() {
    let files = claims_too_little(&["3.4", "3.5"]);
    let denied = Rule::new(Fault::Denied).at("0/vertices/3.4");
    let (_, store) = open(
        Faulty::new(memory(&files).await, 0).rule(denied),
        Retry::default(),
    )
    .await;
    let level = store.level(0, &Need::all()).await.unwrap();
    assert_eq!(level.vertices().dtype().kind, DTypeKind::F64);
}

#[tokio::test]
async fn what_a_listing_names_and_is_denied_is_not_taken_for_absent() {
    let mut files = claims_too_little(&["3.4"]);
    let node = group(&json!({}));
    files.insert("0/vertex_attributes/t/zarr.json".to_owned(), node);
    for (key, refused) in [
        ("0/vertex_fragments/zarr.json", true),
        // Does not exist, according to listings.
        ("0/object_index/zarr.json", false),
        ("0/vertex_attributes/t/zarr.json", false),
    ] {
        let denied = Rule::new(Fault::Denied).at(key);
        let backend = Faulty::new(memory(&files).await, 0).rule(denied);
        let (_, store) = open(backend, Retry::default()).await;
        let level = store.level(0, &Need::all()).await;
        assert_eq!(level.as_ref().is_err(), refused, "{key}");
        if let Err(error) = level {
            assert!(
                error.is_denied() && error.to_string().contains(key),
                "{error}"
            );
        }
        let told = store.warnings().iter().any(|w| w.contains(key));
        assert_eq!(told, key.contains("attributes"), "{:?}", store.warnings());
    }
    // An attribute that was named is an error; an attribute that is not wanted is ignored.
    let denied = Rule::new(Fault::Denied).at("0/vertex_attributes/t/");
    let backend = Faulty::new(memory(&files).await, 0).rule(denied);
    let (_, store) = open(backend, Retry::default()).await;
    let named = Need {
        vertex_attributes: Names::List(vec!["t".to_owned()]),
        ..Need::default()
    };
    assert!(store.level(0, &named).await.unwrap_err().is_denied());
    store.level(0, &Need::nothing()).await.unwrap();
}

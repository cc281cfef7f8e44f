//! moto: every generation, with credentials, without, and with the wrong ones.

use zvf_soak::servers::Kind;
use zvf_store::{Class, OpenOptions, Retry, Store, StoreError};

use crate::support::{at, check, server, signed, some};

async fn refused(address: &str, options: OpenOptions) -> StoreError {
    let error = Store::open_with(address, options).await.unwrap_err();
    assert_eq!(error.class(), Class::Io, "{error}");
    assert!(error.to_string().contains("zarr.json"), "{error}");
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn every_generation_is_read_from_a_bucket() {
    for name in some("s3") {
        let store = Store::open_with(&format!("s3://data/{name}"), signed())
            .await
            .unwrap();
        check(&name, &store).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_bucket_needs_no_credentials() {
    let anonymous = || at(server(Kind::S3).url()).with_anonymous(true);
    for name in ["0.9/real_tractogram", "0.8/skeleton", "0.7/points_bins"] {
        let store = Store::open_with(&format!("s3://public/{name}"), anonymous())
            .await
            .unwrap();
        check(name, &store).await;
    }
    let error = refused("s3://data/0.9/skeleton", anonymous()).await;
    assert!(error.is_denied() && !error.is_transient(), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn absent_and_denied_are_told_apart() {
    let error = refused("s3://denied/0.9/skeleton", signed()).await;
    assert!(error.is_denied() && !error.is_not_found(), "{error}");
    let error = refused("s3://nowhere/0.9/skeleton", signed()).await;
    assert!(error.is_not_found() && !error.is_denied(), "{error}");
    let error = refused("s3://data/0.9/nothing", signed()).await;
    assert!(error.is_not_found(), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_checked() {
    let server = server(Kind::Signed);
    let [reader, reader_secret, blind, blind_secret] = server.words() else {
        panic!("{:?}", server.words())
    };
    let with = |key: &str, secret: &str| {
        at(server.url())
            .with_backend_option("access_key_id", key)
            .with_backend_option("secret_access_key", secret)
    };
    let name = "0.9/skeleton";
    let address = format!("s3://data/{name}");
    let store = Store::open_with(&address, with(reader, reader_secret))
        .await
        .unwrap();
    check(name, &store).await;
    for (key, secret) in [(reader.as_str(), "wrong"), ("unknown", "wrong")] {
        let error = refused(&address, with(key, secret)).await;
        assert!(error.is_denied(), "{error}");
    }
    // Who may read and not list reads what needs no listing, and is told what that may leave out.
    let store = Store::open_with(&address, with(blind, blind_secret))
        .await
        .unwrap();
    let level = store.level(0, &zvf_store::Need::all()).await.unwrap();
    assert!(!level.vertices().presence().is_empty());
    assert!(
        store.warnings().iter().any(|w| w.contains("list")),
        "{:?}",
        store.warnings()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn another_region_and_no_server_at_all_are_said() {
    let url = server(Kind::Elsewhere).url();
    let error = refused("s3://data/0.9/skeleton", at(url).with_anonymous(true)).await;
    assert!(!error.is_transient() && !error.is_not_found(), "{error}");
    assert!(full(&error).contains("region"), "{}", full(&error));
    // A port that nobody listens on.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let url = format!("http://127.0.0.1:{port}");
    let options = at(&url).with_anonymous(true).with_retry(Retry::never());
    let error = refused("s3://data/0.9/skeleton", options).await;
    assert!(error.is_transient(), "{error}");
    assert!(full(&error).contains(&url), "{}", full(&error));
}

fn full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    if let Some(source) = error.source() {
        text = format!("{text}: {}", full(source));
    }
    text
}

//! Servers, and stores on them.

use std::path::Path;
use std::sync::OnceLock;

use object_store::aws::AmazonS3Builder;
use zvf_soak::servers::{Kind, Server};
use zvf_store::{OpenOptions, Store};
use zvf_testkit::sample::Sample;
use zvf_trials::altered::Files;
use zvf_trials::answers::ask;
use zvf_trials::questions::questions;
use zvf_trials::truth::Known;

/// Stores that the servers have, of every generation.
const CASES: [&str; 4] = [
    "real_tractogram",
    "skeleton",
    "points_bins",
    "points_4d_sharded",
];

/// Names of the stores: `0.7/skeleton` and so on.
fn names() -> Vec<String> {
    let each =
        |generation: &'static str| CASES.iter().map(move |case| format!("{generation}/{case}"));
    ["0.7", "0.8", "0.9"].into_iter().flat_map(each).collect()
}

/// The stores that a test of every one of them reads, of each generation one at least; `test` tells tests apart.
pub(crate) fn some(test: &str) -> Vec<String> {
    Sample::new(test).some(names(), CASES.len()).collect()
}

/// Writes a bundled store below a folder.
pub(crate) fn write(folder: &Path, case: &str) {
    write_files(&folder.join(case), &zvf_testkit::files(case).unwrap());
}

/// Writes a store into a folder.
pub(crate) fn write_files(folder: &Path, files: &Files) {
    for (key, bytes) in files {
        let path = folder.join(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// Every store below one folder, which the servers are started over.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        for name in names() {
            write(folder.path(), &name);
        }
        folder
    });
    folder.path()
}

/// A server over all stores, started once for all tests; it ends with them.
pub(crate) fn server(kind: Kind) -> &'static Server {
    static SERVERS: [OnceLock<Server>; 5] = [const { OnceLock::new() }; 5];
    SERVERS[kind as usize].get_or_init(|| Server::start(kind, folder()).unwrap())
}

/// Options that reach the S3 server with credentials.
pub(crate) fn signed() -> OpenOptions {
    at(server(Kind::S3).url())
        .with_backend_option("access_key_id", "test")
        .with_backend_option("secret_access_key", "test")
}

/// Options that reach an S3 server, without credentials.
pub(crate) fn at(url: &str) -> OpenOptions {
    OpenOptions::new()
        .with_backend_option("endpoint", url)
        .with_backend_option("region", "us-east-1")
}

/// A client of the S3 server that is not ours.
pub(crate) fn client(bucket: &str) -> AmazonS3Builder {
    zvf_store::use_ring();
    AmazonS3Builder::new()
        .with_endpoint(server(Kind::S3).url())
        .with_allow_http(true)
        .with_region("us-east-1")
        .with_access_key_id("test")
        .with_secret_access_key("test")
        .with_bucket_name(bucket)
}

/// Asks a store and compares with what went in.
pub(crate) async fn check(name: &str, store: &Store) {
    let known = Known::of(name).unwrap();
    for question in questions(&known.case, 8) {
        let told = ask(store, question.query().unwrap()).await.unwrap();
        if let Err(error) = known.check(&question, &told) {
            panic!("{name}, {question:?}: {error:#}");
        }
    }
}

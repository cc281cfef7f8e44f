//! File servers: one with ranges, one without. Neither lists.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use zvf_query::{BBox, Query};
use zvf_soak::servers::{Kind, Server};
use zvf_store::{IoTrace, KnownNames, Method, OpenOptions, Store};
use zvf_testkit::text::column;
use zvf_trials::answers::ask;
use zvf_trials::points::{Form, Points};
use zvf_trials::questions::questions;
use zvf_trials::sharded::sharded;
use zvf_trials::truth::Known;

use crate::support::{server, some, write_files};

/// Who cannot list has to be told the names of the attributes.
fn told_names(known: &Known) -> KnownNames {
    let mut names = KnownNames::default();
    names.vertex_attributes = known.attributes();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_every_generation_come_from_file_servers() {
    for kind in [Kind::Files, Kind::Plain] {
        for name in some("web") {
            let known = Known::of(&name).unwrap();
            let address = format!("{}/{name}", server(kind).url());
            let options = OpenOptions::new().with_names(told_names(&known));
            let store = Store::open_with(&address, options).await.unwrap();
            for question in questions(&known.case, 8) {
                let mut query: Query = question.query().unwrap();
                query.outputs.links = false;
                let told = ask(&store, query).await.unwrap();
                if let Err(error) = known.check_rows_of(&question, &told) {
                    panic!("{kind:?}, {name}, {question:?}: {error:#}");
                }
            }
            let warnings = store.warnings();
            assert!(
                warnings.iter().any(|w| w.contains("cannot list")),
                "{name}: {warnings:?}"
            );
        }
    }
}

/// A relay before a server that counts what the server sends.
struct Relay {
    url: String,
    sent: Arc<AtomicU64>,
    work: JoinHandle<()>,
}

impl Relay {
    async fn before(url: &str) -> Self {
        let address = url.strip_prefix("http://").unwrap().to_owned();
        let door = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", door.local_addr().unwrap());
        let sent = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&sent);
        let work = tokio::spawn(async move {
            loop {
                let (client, _) = door.accept().await.unwrap();
                let server = TcpStream::connect(&address).await.unwrap();
                let ((mut asks, mut answers), (mut from, mut to)) =
                    (client.into_split(), server.into_split());
                // A side that ends ends its half; nobody waits for these.
                tokio::spawn(async move { tokio::io::copy(&mut asks, &mut to).await });
                let count = Arc::clone(&count);
                tokio::spawn(async move {
                    let mut buffer = vec![0; 1 << 16];
                    while let Ok(read @ 1..) = from.read(&mut buffer).await {
                        count.fetch_add(read as u64, Ordering::Relaxed);
                        if answers.write_all(&buffer[..read]).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        Self { url, sent, work }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.work.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_are_asked_for_where_they_are_given() {
    // Eight shards of each array; those of vertices have 64 cells of 12 kB, more than what comes with an index.
    let points = Points {
        side: 8,
        rows: 1000,
        seed: 11,
        form: Form::Grid,
    };
    let files = sharded(&points.files().unwrap(), 4).unwrap();
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), &files);
    // Two chunks along the last axis, in the first shard of each array and far from its end.
    let (low, high) = (vec![2.0; 3], vec![8.0, 8.0, 12.0]);
    let expected = points.inside(&low, &high).unwrap();
    assert!(!expected.is_empty());
    let asked = Query {
        bbox: Some(BBox::new(low, high).unwrap()),
        ..Query::default()
    };
    let touched: u64 = files
        .iter()
        .filter(|(key, _)| key.ends_with("/c/0/0/0"))
        .map(|(_, bytes)| bytes.len() as u64)
        .sum();
    assert!(touched > 1 << 20);
    for kind in [Kind::Files, Kind::Plain] {
        let server = Server::start(kind, folder.path()).unwrap();
        let relay = Relay::before(server.url()).await;
        let mut names = KnownNames::default();
        names.vertex_attributes = vec!["intensity".to_owned(), "label".to_owned()];
        let trace = IoTrace::on();
        let options = OpenOptions::new()
            .with_names(names)
            .with_trace(trace.clone());
        let store = Store::open_with(&relay.url, options).await.unwrap();
        let before = relay.sent.load(Ordering::Relaxed);
        let told = ask(&store, asked.clone()).await.unwrap();
        let sent = relay.sent.load(Ordering::Relaxed) - before;
        let mut found = column(told.vertices.as_ref().unwrap(), "position").unwrap();
        found.sort();
        assert_eq!(found, expected, "{kind:?}");
        assert!(trace.take().iter().all(|one| one.method != Method::List));
        match kind {
            // An index with what lies before it, and two cells, of four arrays.
            Kind::Files => assert!(sent < touched / 3, "{sent} bytes of {touched}"),
            _ => assert!(sent >= touched, "{sent} bytes of {touched}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_file_server_does_not_have_is_absent() {
    for kind in [Kind::Files, Kind::Plain] {
        let address = format!("{}/0.9/nothing", server(kind).url());
        let error = Store::open(&address).await.unwrap_err();
        assert!(error.is_not_found(), "{error}");
    }
}

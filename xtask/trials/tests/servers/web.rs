//! File servers: one with ranges, one without. Neither lists.

use zvf_query::Query;
use zvf_store::{IoTrace, KnownNames, Method, OpenOptions, Store};
use zvf_trials::answers::ask;
use zvf_trials::questions::questions;
use zvf_trials::servers::Kind;
use zvf_trials::truth::Known;

use crate::support::{names, server};

/// Who cannot list has to be told the names of the attributes.
fn told_names(known: &Known) -> KnownNames {
    let mut names = KnownNames::default();
    names.vertex_attributes = known.attributes();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_every_generation_come_from_file_servers() {
    for kind in [Kind::Files, Kind::Plain] {
        for name in names() {
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

#[tokio::test(flavor = "multi_thread")]
async fn ranges_are_asked_for_where_they_are_given() {
    let name = "0.9/points_4d_sharded";
    let mut bytes = Vec::new();
    for kind in [Kind::Files, Kind::Plain] {
        let trace = IoTrace::on();
        let address = format!("{}/{name}", server(kind).url());
        let options = OpenOptions::new().with_trace(trace.clone());
        let store = Store::open_with(&address, options).await.unwrap();
        let known = Known::of(name).unwrap();
        // The smallest box that holds something.
        let small = known
            .case
            .queries
            .iter()
            .filter(|asked| !asked.rows.is_empty());
        let small = small.min_by_key(|asked| asked.rows.len()).unwrap().clone();
        let query = zvf_trials::questions::Question::Box(small).query().unwrap();
        ask(&store, query).await.unwrap();
        let requests = trace.take();
        assert!(
            requests
                .iter()
                .all(|request| request.method != Method::List)
        );
        let cells = requests
            .iter()
            .filter(|request| request.key.contains("/c/"));
        bytes.push(cells.map(|request| request.bytes.unwrap_or(0)).sum::<u64>());
    }
    assert!(
        bytes[0] < bytes[1],
        "with ranges {}, without {}",
        bytes[0],
        bytes[1]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_file_server_does_not_have_is_absent() {
    for kind in [Kind::Files, Kind::Plain] {
        let address = format!("{}/0.9/nothing", server(kind).url());
        let error = Store::open(&address).await.unwrap_err();
        assert!(error.is_not_found(), "{error}");
    }
}

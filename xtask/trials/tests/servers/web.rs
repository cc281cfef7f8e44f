//! File servers: one with ranges, one without. Neither lists.

use zvf_query::Query;
use zvf_store::{KnownNames, OpenOptions, Store};
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
async fn what_a_file_server_does_not_have_is_absent() {
    for kind in [Kind::Files, Kind::Plain] {
        let address = format!("{}/0.9/nothing", server(kind).url());
        let error = Store::open(&address).await.unwrap_err();
        assert!(error.is_not_found(), "{error}");
    }
}

//! What six typical questions cost: rounds, requests and bytes, compared with `tests/expected/requests.txt`.
//!
//! `ZVF_BLESS=1 cargo test -p zvf-trials --test faults requests` writes the file again; the difference is reviewed like code.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use object_store::ObjectStore;
use zvf_query::{BBox, Query};
use zvf_store::{IoTrace, Method, Need, OpenOptions, Request, Store};
use zvf_testkit::faults::Bucket;
use zvf_trials::answers::ask;
use zvf_trials::points::{Form, Points};

use crate::support::{MEMORY, bucket};

const HEAD: &str = "\
# What a question to a store that was never opened before costs. Written by the test, see requests.rs.
# rounds: requests that wait for each other. gets, lists: requests. bytes: of all objects, without listings.
# The rest of a line: gets+lists of each round.
";

/// One line of the file.
fn line(name: &str, requests: &[Request]) -> String {
    let mut rounds: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let (mut gets, mut lists, mut bytes) = (0, 0, 0);
    for request in requests {
        let round = rounds.entry(request.round).or_default();
        if request.method == Method::List {
            round.1 += 1;
            lists += 1;
        } else {
            round.0 += 1;
            gets += 1;
            bytes += request.bytes.unwrap_or(0);
        }
    }
    let each: Vec<String> = rounds
        .values()
        .map(|(gets, lists)| format!("{gets}+{lists}"))
        .collect();
    format!(
        "{name:<34} rounds {:>2}  gets {gets:>4}  lists {lists:>3}  bytes {bytes:>8}  {}",
        rounds.len(),
        each.join(" ")
    )
}

async fn cost(backend: Arc<dyn ObjectStore>, asked: Option<Query>) -> Vec<Request> {
    let trace = IoTrace::on();
    let options = OpenOptions::new()
        .with_object_store(backend)
        .with_trace(trace.clone());
    let store = Store::open_with(MEMORY, options).await.unwrap();
    match asked {
        Some(asked) => {
            ask(&store, asked).await.unwrap();
        }
        // What `zvf info` shows: every level, nothing of its cells.
        None => {
            for level in store.levels() {
                store.level(*level, &Need::all()).await.unwrap();
            }
        }
    }
    trace.take()
}

/// The questions that a bundled store can answer.
fn asked(name: &str) -> Vec<(&'static str, Option<Query>)> {
    let case = zvf_testkit::case(name).unwrap();
    // The fourth box of every case is a small one inside the data.
    let small = &case.queries[4];
    let bbox = BBox::new(small.lo.clone(), small.hi.clone()).unwrap();
    let within = Query {
        bbox: Some(bbox),
        ..Query::default()
    };
    let mut all = vec![("info", None)];
    let mut rows = within.clone();
    (rows.outputs.links, rows.outputs.objects) = (false, false);
    all.push(("box", Some(rows)));
    if case.kind != "point_cloud" {
        all.push(("box with links", Some(within)));
    }
    if let Some(id) = case.objects.keys().next() {
        let query = Query {
            objects: Some(vec![*id]),
            ..Query::default()
        };
        all.push(("object", Some(query)));
    }
    if let Some(group) = case.groups.keys().next() {
        let query = Query {
            groups: Some(vec![*group]),
            ..Query::default()
        };
        all.push(("group", Some(query)));
    }
    if zvf_testkit::files(name)
        .unwrap()
        .contains_key("1/zarr.json")
    {
        let query = Query {
            level: 1,
            ..Query::default()
        };
        all.push(("coarse level", Some(query)));
    }
    all
}

#[tokio::test]
async fn requests_of_typical_questions_are_as_expected() {
    let mut text = HEAD.to_owned();
    for generation in ["0.7", "0.8", "0.9"] {
        for case in ["streamlines", "graph", "points_ids", "points_4d_sharded"] {
            let name = format!("{generation}/{case}");
            for (what, asked) in asked(&name) {
                let requests = cost(bucket(&name), asked).await;
                let name = format!("{name}, {what}");
                writeln!(text, "{}", line(&name, &requests)).unwrap();
            }
        }
    }
    for (name, form) in [
        ("1000 chunks, 0.7", Form::Blobs),
        ("1000 chunks, 0.9", Form::Grid),
    ] {
        let points = Points {
            side: 10,
            rows: 20,
            seed: 5,
            form,
        };
        let backend = Arc::new(Bucket::new(points.files().unwrap()));
        let bbox = BBox::new(vec![31.0; 3], vec![31.0 + 21.544; 3]).unwrap();
        let asked = Query {
            bbox: Some(bbox),
            ..Query::default()
        };
        let requests = cost(backend, Some(asked)).await;
        writeln!(text, "{}", line(&format!("{name}, 1 % box"), &requests)).unwrap();
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected/requests.txt");
    if std::env::var_os("ZVF_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    for (found, expected) in text.lines().zip(expected.lines()) {
        assert_eq!(
            found,
            expected,
            "ZVF_BLESS=1 writes {} again",
            path.display()
        );
    }
    assert_eq!(text, expected);
}

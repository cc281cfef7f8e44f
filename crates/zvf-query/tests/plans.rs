//! A query reads what its plan states.

use std::collections::BTreeSet;

use zvf_query::{BBox, Outputs, Query, Select};
use zvf_store::{IoTrace, OpenOptions, Store};

use crate::support::{ask, bundled, open};

/// Boxes, selections and tables, without limits, because where a limit ends a query is known only when rows are read.
fn questions(store: &Store, level: u32) -> Vec<Query> {
    let (lo, hi) = &store.root().zarr_vectors.bounds;
    let middle = lo.iter().zip(hi).map(|(lo, hi)| f64::midpoint(*lo, *hi));
    let bbox = BBox::new(lo.clone(), middle.collect()).ok();
    let alone = Outputs {
        links: false,
        objects: false,
        ..Outputs::default()
    };
    let mut found = Vec::new();
    for select in [Select::Vertices, Select::Chunks, Select::Objects] {
        for bbox in [None, bbox.clone()] {
            for outputs in [alone, Outputs::default()] {
                found.push(Query {
                    level,
                    select,
                    bbox: bbox.clone(),
                    outputs,
                    ..Query::default()
                });
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_query_reads_the_cells_of_its_plan() {
    let mut compared = 0;
    for case in zvf_testkit::cases().unwrap() {
        let store = bundled(&case).await;
        for level in store.levels().to_vec() {
            for query in questions(&store, level) {
                let by_object = query.select == Select::Objects;
                let what = format!("{case}, level {level}, {query:?}");
                let Ok(answer) = ask(&store, query.clone()).await else {
                    continue;
                };
                let summary = &answer.all.summary;
                let plan = query.plan(&store).await.unwrap();
                let levels: Vec<u32> = plan.iter().map(|level| level.level()).collect();
                assert_eq!(levels, summary.levels, "{what}");
                let chunks: usize = plan.iter().map(|level| level.chunks().count()).sum();
                let listed: u64 = plan.iter().map(|level| level.listed()).sum();
                let steps: usize = plan
                    .iter()
                    .flat_map(|level| level.steps())
                    .map(|s| s.len())
                    .sum();
                let cells: u64 = plan
                    .iter()
                    .flat_map(|level| level.cells().into_values())
                    .sum();
                assert_eq!(steps as u64, cells, "{what}");
                assert!(chunks as u64 <= listed, "{what}");
                assert!(plan.iter().all(|level| level.by_object() == by_object));
                let restarted = summary
                    .warnings
                    .iter()
                    .any(|w| w.contains("all chunks are read"));
                if restarted {
                    continue;
                }
                if by_object {
                    assert_eq!(chunks > 0, query.bbox.is_some() && cells > 0, "{what}");
                    assert!(plan.iter().all(|level| level.manifests()), "{what}");
                } else {
                    assert_eq!(chunks as u64, summary.chunks_read, "{what}");
                    assert_eq!(cells, summary.cells_read, "{what}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 160, "{compared}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_reads_documents_only() {
    let trace = IoTrace::on();
    let options = OpenOptions::new().with_trace(trace.clone());
    let store = open(&zvf_testkit::files("streamlines").unwrap(), options).await;
    for query in questions(&store, 0) {
        query.plan(&store).await.unwrap();
    }
    let keys: BTreeSet<String> = trace.take().into_iter().map(|r| r.key).collect();
    assert!(!keys.is_empty());
    // The table of ids counts as a document of the object index.
    let payload = |key: &&String| key.contains("/c/") && !key.contains("object_ids");
    let payload = keys.iter().find(payload);
    assert_eq!(payload, None, "{keys:?}");
    let unknown = Query {
        level: 99,
        ..Query::default()
    };
    assert!(unknown.plan(&store).await.is_err());
}

//! The pieces of a query together are its answer, and no row is in two pieces.

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::memory::InMemory;
use object_store::{ObjectStoreExt, path::Path};
use zvf_query::{BBox, Column, Outputs, Query, Select, Split, Target};
use zvf_store::{OpenOptions, Store};

use crate::support::{Got, ask, bundled};
use zvf_testkit::sample::Sample;

const TABLE: Outputs = Outputs {
    vertices: true,
    links: false,
    objects: false,
};

/// Runs a piece from its text, as another program would.
async fn run(store: &Store, split: &Split) -> Got {
    let text = serde_json::to_string(split).unwrap();
    assert!(text.len() < 4096, "{} bytes", text.len());
    let split: Split = serde_json::from_str(&text).unwrap();
    let query = split.query().unwrap();
    let mut answer = split.run(store).await.unwrap();
    while answer.next().await.unwrap().is_some() {}
    ask(store, query).await.unwrap()
}

pub(crate) fn questions(store: &Store, level: u32) -> Vec<Query> {
    let (lo, hi) = &store.root().zarr_vectors.bounds;
    let middle: Vec<f64> = lo
        .iter()
        .zip(hi)
        .map(|(lo, hi)| f64::midpoint(*lo, *hi))
        .collect();
    let bbox = BBox::new(lo.clone(), middle).ok();
    let all = Query {
        level,
        columns: vec![
            Column::Chunk,
            Column::Row,
            Column::Position,
            Column::Attributes,
        ],
        ..Query::default()
    };
    let mut found = Vec::new();
    for select in [Select::Vertices, Select::Chunks, Select::Objects] {
        for bbox in [None, bbox.clone()] {
            found.push(Query {
                select,
                bbox,
                ..all.clone()
            });
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_union_of_the_splits_is_the_answer_of_every_bundled_level() {
    for case in Sample::new("splits").some(zvf_testkit::cases().unwrap(), 3) {
        let store = bundled(&case).await;
        for level in store.levels().to_vec() {
            for query in questions(&store, level) {
                let by_object = query.select == Select::Objects;
                let whole = Query {
                    outputs: if by_object { Outputs::default() } else { TABLE },
                    ..query.clone()
                };
                let what = format!(
                    "{case}, level {level}, {:?}, {:?}",
                    query.select, query.bbox
                );
                let Ok(whole) = ask(&store, whole).await else {
                    assert!(
                        query.splits(&store, Target::Count(3)).await.is_err()
                            || query.bbox.is_some(),
                        "{what}"
                    );
                    continue;
                };
                // If a box reads all chunks because their keys are wrong, pieces are refused.
                let refused = whole
                    .all
                    .summary
                    .warnings
                    .iter()
                    .any(|one| one.contains("all chunks are read"));
                if refused && !by_object {
                    continue;
                }
                for target in [
                    Target::Count(1),
                    Target::Count(3),
                    Target::Rows(20),
                    Target::Bytes(4000),
                ] {
                    let splits = query.splits(&store, target).await.unwrap();
                    if let Target::Count(count) = target {
                        assert_eq!(splits.len(), count as usize, "{what}");
                    }
                    let (mut rows, mut links, mut objects) = (Vec::new(), 0, Vec::new());
                    for (number, split) in (0..).zip(&splits) {
                        assert_eq!((split.number, split.count as usize), (number, splits.len()));
                        let got = run(&store, split).await;
                        rows.extend(got.rows());
                        links += got.all.summary.links;
                        objects.extend(
                            got.objects
                                .map(|table| crate::support::column(&table, "object_id"))
                                .unwrap_or_default(),
                        );
                    }
                    if by_object {
                        // The rows of the pieces, in order, are the rows of the answer.
                        assert_eq!(rows, whole.rows(), "{what}, {target:?}");
                        let expected = whole
                            .objects
                            .as_ref()
                            .map(|table| crate::support::column(table, "object_id"));
                        assert_eq!(objects, expected.unwrap_or_default(), "{what}");
                        if splits
                            .iter()
                            .all(|split| split.query().unwrap().outputs.links)
                        {
                            assert_eq!(links, whole.all.summary.links, "{what}");
                        }
                    } else {
                        let count = |rows: Vec<String>| {
                            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
                            rows.into_iter()
                                .for_each(|row| *counts.entry(row).or_default() += 1);
                            counts
                        };
                        assert_eq!(count(rows), count(whole.rows()), "{what}, {target:?}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_store_that_changed_is_refused() {
    let backend = Arc::new(InMemory::new());
    for (key, bytes) in zvf_testkit::files("streamlines").unwrap() {
        backend
            .put(&Path::parse(key).unwrap(), bytes.into())
            .await
            .unwrap();
    }
    let open = || {
        let options = OpenOptions::new().with_object_store(backend.clone());
        Store::open_with("memory:///", options)
    };
    let store = open().await.unwrap();
    let splits = Query::default()
        .splits(&store, Target::Count(2))
        .await
        .unwrap();
    assert!(splits[0].run(&open().await.unwrap()).await.is_ok());
    let root = Path::from("zarr.json");
    let bytes = backend.get(&root).await.unwrap().bytes().await.unwrap();
    backend.put(&root, bytes.into()).await.unwrap();
    let error = splits[0].run(&open().await.unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("changed"), "{error}");
}

#[tokio::test]
async fn what_has_no_splits_says_why() {
    let store = bundled("streamlines").await;
    let limited = Query {
        limit: Some(3),
        ..Query::default()
    };
    let error = limited.splits(&store, Target::Count(2)).await.unwrap_err();
    assert!(error.to_string().contains("limit"), "{error}");
    assert!(
        Query::default()
            .splits(&store, Target::Rows(0))
            .await
            .is_err()
    );
}

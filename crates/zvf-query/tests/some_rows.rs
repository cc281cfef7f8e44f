//! The last rows and random rows of a query are rows of its answer, and their price is that of the chunks that have them.

use std::collections::BTreeMap;

use zvf_query::{ChunkRange, Column, Outputs, Query, RowSample, last_rows, sample_rows};
use zvf_store::{IoTrace, OpenOptions, Store};
use zvf_testkit::sample::Sample;

use crate::splits::questions;
use crate::support::{ask, bundled, column, open};

const TABLE: Outputs = Outputs {
    vertices: true,
    links: false,
    objects: false,
};

/// Each row as text.
fn rows(found: &RowSample) -> Vec<String> {
    let names = found.schema.fields().iter().map(|field| field.name());
    let mut names: Vec<&String> = names.collect();
    names.sort();
    let mut rows = Vec::new();
    for batch in &found.batches {
        let columns: Vec<Vec<String>> = names.iter().map(|name| column(batch, name)).collect();
        rows.extend((0..batch.num_rows()).map(|row| {
            let values = names.iter().zip(&columns);
            let values = values.map(|(name, column)| format!("{name}={}", column[row]));
            values.collect::<Vec<_>>().join("; ")
        }));
    }
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_are_rows_of_the_answer_of_every_bundled_level() {
    for case in Sample::new("some_rows").some(zvf_testkit::cases().unwrap(), 3) {
        let store = bundled(&case).await;
        for level in store.levels().to_vec() {
            for query in questions(&store, level) {
                let query = Query {
                    outputs: TABLE,
                    ..query
                };
                let what = format!(
                    "{case}, level {level}, {:?}, {:?}",
                    query.select, query.bbox
                );
                let Ok(whole) = ask(&store, query.clone()).await else {
                    assert!(last_rows(&store, query.clone(), 1).await.is_err(), "{what}");
                    assert!(sample_rows(&store, query, 1, 0).await.is_err(), "{what}");
                    continue;
                };
                // If a box reads all chunks because their keys are wrong, it cannot be cut by chunk.
                let warnings = &whole.all.summary.warnings;
                let refused = warnings
                    .iter()
                    .any(|one| one.contains("all chunks are read"));
                let whole = whole.rows();
                let mut drawn: Option<Vec<String>> = None;
                for count in [0, 1, 3, 20, whole.len(), whole.len() + 1] {
                    let many = count as u64;
                    match last_rows(&store, query.clone(), many).await {
                        Ok(last) => {
                            let wanted = &whole[whole.len().saturating_sub(count)..];
                            assert_eq!(rows(&last), wanted, "{what}: the last {count}");
                        }
                        Err(error) => assert!(refused, "{what}: {error}"),
                    }
                    let sample = sample_rows(&store, query.clone(), many, 7).await.unwrap();
                    assert_eq!(sample.seen, whole.len() as u64, "{what}");
                    let found = rows(&sample);
                    assert_eq!(found.len(), count.min(whole.len()), "{what}: {count} drawn");
                    let mut answer = whole.iter();
                    let in_order = found.iter().all(|row| answer.any(|one| one == row));
                    assert!(in_order, "{what}: {count} drawn: {found:?}");
                    // More rows of the same seed are the same rows, and more, whether they are read by chunk or in one pass.
                    for row in drawn.iter().flatten() {
                        assert!(found.contains(row), "{what}: {row} is not among {count}");
                    }
                    drawn = Some(found);
                }
            }
        }
    }
}

#[tokio::test]
async fn pieces_of_a_piece_have_its_rows() {
    let store = bundled("points_ids").await;
    let chunks: Vec<Vec<i64>> = {
        let level = store.level(0, &zvf_store::Need::nothing()).await.unwrap();
        let presence = level.vertices().presence();
        presence.iter().map(<[i64]>::to_vec).collect()
    };
    let (from, until) = (chunks[1].clone(), chunks[chunks.len() - 1].clone());
    let piece = Query {
        outputs: TABLE,
        columns: vec![Column::Chunk, Column::Row],
        chunks: Some(ChunkRange {
            from: Some(from),
            until: Some(until),
        }),
        ..Query::default()
    };
    let whole = ask(&store, piece.clone()).await.unwrap().rows();
    assert!(!whole.is_empty());
    let mut found = Vec::new();
    for split in piece
        .splits(&store, zvf_query::Target::Count(3))
        .await
        .unwrap()
    {
        found.extend(ask(&store, split.query().unwrap()).await.unwrap().rows());
    }
    assert_eq!(found, whole);
    let all = whole.len() as u64 + 1;
    assert_eq!(
        rows(&last_rows(&store, piece.clone(), all).await.unwrap()),
        whole
    );
    assert_eq!(
        rows(&sample_rows(&store, piece, all, 0).await.unwrap()),
        whole
    );
}

/// The number of cells of an array that are read while `work` runs.
async fn cells<T>(
    files: &BTreeMap<String, Vec<u8>>,
    array: &str,
    work: impl AsyncFnOnce(Store) -> T,
) -> (T, usize) {
    let trace = IoTrace::on();
    let store = open(files, OpenOptions::new().with_trace(trace.clone())).await;
    let result = work(store).await;
    let keys = trace.take().into_iter().map(|request| request.key);
    let start = format!("0/{array}/c/");
    (result, keys.filter(|key| key.starts_with(&start)).count())
}

#[tokio::test]
async fn a_few_rows_cost_a_few_chunks() {
    let files = zvf_testkit::files("points_ids").unwrap();
    let array = "vertex_attributes/intensity";
    let query = Query::default();
    let all = cells(&files, array, async |store| {
        ask(&store, query.clone()).await
    });
    let (all, most) = all.await;
    assert!(most > 10, "{most} chunks");
    let total = all.unwrap().rows().len() as u64;
    let sample = async |store: Store| sample_rows(&store, query.clone(), 3, 1).await;
    let (drawn, read) = cells(&files, array, sample).await;
    let drawn = drawn.unwrap();
    assert_eq!((drawn.seen, rows(&drawn).len()), (total, 3));
    assert!(read <= 3, "{read} cells for three rows");
    // Half of the rows are drawn in one pass; the three rows are among them.
    let store = open(&files, OpenOptions::new()).await;
    let half = sample_rows(&store, query.clone(), total / 2, 1).await;
    let half = rows(&half.unwrap());
    assert!(rows(&drawn).iter().all(|row| half.contains(row)));
    let last = async |store: Store| last_rows(&store, query.clone(), 3).await;
    for array in [array, "vertices"] {
        let (last, read) = cells(&files, array, last).await;
        assert_eq!(rows(&last.unwrap()).len(), 3);
        assert!(
            read < most / 2,
            "{read} of {most} cells of {array} for the last three rows"
        );
    }
}

//! Objects under every memory budget: the order in which chunks are read does not change the answer.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use zvf_query::{Column, Query, Select};
use zvf_store::{IoTrace, OpenOptions};

use crate::make::Made;
use crate::support::{Got, ask, bundled, memory, open};
use zvf_testkit::sample::Sample;

/// One byte: objects are gathered chunk by chunk, or in one pass if chunks would be read again.
const TINY: u64 = 1;

fn tables(got: &Got) -> [Option<&RecordBatch>; 3] {
    [&got.vertices, &got.links, &got.objects].map(Option::as_ref)
}

#[track_caller]
fn assert_same(first: &Got, other: &Got, what: &str) {
    for (a, b) in tables(first).into_iter().zip(tables(other)) {
        assert_eq!(a, b, "{what}");
    }
    assert_eq!(first.all.summary, other.all.summary, "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_of_every_bundled_level_are_the_same_under_every_budget() {
    for case in zvf_testkit::cases().unwrap() {
        let store = bundled(&case).await;
        for level in store.levels().to_vec() {
            let need = zvf_store::Need {
                objects: true,
                ..zvf_store::Need::nothing()
            };
            let opened = store.level(level, &need).await.unwrap();
            let Some(index) = opened.object_index() else {
                continue;
            };
            let mut ids: Vec<i64> = index
                .ids()
                .await
                .unwrap()
                .objects()
                .map(|(_, id)| id)
                .collect();
            ids.reverse();
            let columns = vec![
                Column::Position,
                Column::Chunk,
                Column::Row,
                Column::Fragment,
                Column::ObjectId,
                Column::ObjectIds,
                Column::Attributes,
            ];
            let all = Query {
                level,
                select: Select::Objects,
                columns,
                ..Query::default()
            };
            let twice = ids.iter().chain(ids.first()).copied().collect();
            let reversed = Query {
                objects: Some(twice),
                ..all.clone()
            };
            for query in [all, reversed] {
                let first = ask(&store, query.clone()).await.unwrap();
                for memory_budget in [TINY, 1 << 12] {
                    let other = Query {
                        memory_budget,
                        ..query.clone()
                    };
                    let what = format!("{case}, level {level}, {memory_budget} bytes");
                    assert_same(&first, &ask(&store, other).await.unwrap(), &what);
                }
            }
        }
    }
}

/// Lines that cross all chunks, so that no order of objects is an order of chunks.
fn crossing(lines: i64, chunks: i16) -> Vec<(i64, Vec<[f32; 3]>)> {
    let line = |id: i64| {
        let x = |step: i16| f32::from((step * 7) % chunks) * 10.0 + 1.0;
        let y = id as f32 / 100.0;
        (id, (0..chunks).map(|step| [x(step), y, 1.0]).collect())
    };
    (0..lines).map(line).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cell_is_read_twice_at_most() {
    let lines = crossing(300, 60);
    let files = Made::streamlines(&lines).files();
    for budget in Sample::new("budgets").some([TINY, 1 << 10, 1 << 14, 1 << 20, 64 << 20], 3) {
        let trace = IoTrace::on();
        let store = open(&files, OpenOptions::new().with_trace(trace.clone())).await;
        let query = Query {
            select: Select::Objects,
            memory_budget: budget,
            ..Query::default()
        };
        let got = ask(&store, query).await.unwrap();
        let expected: Vec<String> = lines
            .iter()
            .flat_map(|(_, line)| line)
            .map(|p| p.map(|v| crate::support::float(f64::from(v))).join(" "))
            .collect();
        assert_eq!(got.column("position"), expected, "{budget}");
        assert_eq!(got.links().len(), 300 * 59);
        let mut reads: BTreeMap<String, u32> = BTreeMap::new();
        for request in trace.take() {
            *reads.entry(request.key).or_default() += 1;
        }
        let cells = reads.iter().filter(|(key, _)| key.contains("/c/"));
        let most = cells.map(|(_, count)| *count).max();
        assert!(matches!(most, Some(1 | 2)), "{budget}: {most:?}");
    }
}

/// Objects that all have the same rows: a sorted copy would be many times as large as the data that is read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_many_objects_share_are_not_copied_for_each() {
    let mut made = Made::streamlines(&crossing(40, 20));
    let shared = made.objects.as_ref().unwrap()[0].1.clone();
    made.objects = Some((0..1000).map(|id| (id, shared.clone())).collect());
    let store = memory(&made.files()).await;
    let ask_with = |memory_budget| {
        let columns = vec![Column::Position, Column::ObjectId];
        let query = Query {
            select: Select::Objects,
            memory_budget,
            columns,
            ..Query::default()
        };
        ask(&store, query)
    };
    let first = ask_with(64 << 20).await.unwrap();
    assert_eq!(first.all.summary.vertices, 1000 * 20);
    assert_same(&first, &ask_with(TINY).await.unwrap(), "shared");
}

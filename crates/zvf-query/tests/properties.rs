//! Random stores and random questions against brute force.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use zvf_query::{BBox, Column, Filter, Query, Select};

use crate::make::Made;
use crate::support::{Got, ask, block_on, column, memory, sorted};

/// Coordinates that often lie on chunk borders.
fn coordinate() -> impl Strategy<Value = f32> {
    prop_oneof![
        (-40_i32..40).prop_map(|at| at as f32),
        -40.0_f32..40.0,
        Just(-10.0),
        Just(10.0)
    ]
}

fn position() -> impl Strategy<Value = [f32; 3]> {
    [coordinate(), coordinate(), coordinate()]
}

fn corner() -> impl Strategy<Value = f64> {
    prop_oneof![
        coordinate().prop_map(f64::from),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(10.0),
        -45.0_f64..45.0
    ]
}

fn bbox() -> impl Strategy<Value = BBox> {
    (
        [corner(), corner(), corner()],
        [corner(), corner(), corner()],
    )
        .prop_map(|(a, b)| {
            let lo = (0..3).map(|at| a[at].min(b[at])).collect();
            let hi = (0..3).map(|at| a[at].max(b[at])).collect();
            BBox::new(lo, hi).unwrap()
        })
}

fn text(position: &[f32; 3]) -> String {
    position
        .iter()
        .map(|p| format!("{:?}", f64::from(*p)))
        .collect::<Vec<_>>()
        .join(" ")
}

fn inside(bbox: &BBox, position: &[f32; 3]) -> bool {
    bbox.contains(&position.map(f64::from))
}

fn edges(got: &Got) -> Vec<(String, String)> {
    let positions = got.column("position");
    sorted(
        got.links()
            .iter()
            .map(|ends| (positions[ends[0]].clone(), positions[ends[1]].clone()))
            .collect(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn boxes_of_points_hold_what_brute_force_finds(
        positions in proptest::collection::vec(position(), 1..60), bbox in bbox(), least in 0_i32..60
    ) {
        block_on(async {
            let store = memory(&Made::points(&positions).files()).await;
            let query = Query { bbox: Some(bbox.clone()), ..Query::default() };
            let got = ask(&store, query.clone()).await.unwrap();
            let numbers = |least: i32| -> Vec<String> {
                let hits = positions.iter().enumerate().filter(|(at, p)| inside(&bbox, p) && *at as i32 >= least);
                sorted(hits.map(|(at, _)| at.to_string()).collect())
            };
            assert_eq!(sorted(got.column("n")), numbers(0));
            let filter = Some(Filter::parse(&format!("n >= {least}")).unwrap());
            let got = ask(&store, Query { filter, ..query.clone() }).await.unwrap();
            assert_eq!(sorted(got.column("n")), numbers(least));
            // Whole chunks: every row of every chunk that the box meets.
            let got = ask(&store, Query { select: Select::Chunks, columns: vec![Column::Chunk], ..query }).await.unwrap();
            let meets = |chunk: &[i64; 3]| (0..3).all(|a| {
                let (lo, hi) = ((bbox.lo()[a] / 10.0).floor(), (bbox.hi()[a] / 10.0).floor());
                lo <= chunk[a] as f64 && chunk[a] as f64 <= hi
            });
            let chunks = positions.iter().map(|p| Made::chunk_of(*p, 10.0)).filter(meets);
            let expected = chunks.map(|c| format!("{} {} {}", c[0], c[1], c[2])).collect();
            assert_eq!(sorted(got.column("chunk")), sorted::<String>(expected));
        });
    }

    #[test]
    fn boxes_of_points_with_ids_count_their_objects(
        points in proptest::collection::vec((position(), -3_i64..4), 1..60), bbox in bbox()
    ) {
        block_on(async {
            let (positions, ids): (Vec<_>, Vec<_>) = points.iter().copied().unzip();
            let store = memory(&Made::points_with_ids(&positions, &ids).files()).await;
            let columns = vec![Column::Position, Column::ObjectId];
            let got = ask(&store, Query { bbox: Some(bbox.clone()), columns, ..Query::default() }).await.unwrap();
            let hits: Vec<(String, String)> = points.iter().filter(|(p, _)| inside(&bbox, p))
                .map(|(p, id)| (text(p), id.to_string())).collect();
            let found = got.column("position").into_iter().zip(got.column("object_id")).collect();
            assert_eq!(sorted::<(String, String)>(found), sorted(hits.clone()));
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            hits.iter().for_each(|(_, id)| *counts.entry(id.clone()).or_default() += 1);
            let objects = got.objects.as_ref().unwrap();
            let found: BTreeMap<String, usize> = column(objects, "object_id").into_iter()
                .zip(column(objects, "vertices").iter().map(|count| count.parse().unwrap())).collect();
            assert_eq!(found, counts);
        });
    }

    #[test]
    fn boxes_of_streamlines_keep_rows_links_and_objects(
        lines in proptest::collection::vec(proptest::collection::vec(position(), 1..12), 1..8), bbox in bbox()
    ) {
        block_on(async {
            let lines: Vec<(i64, Vec<[f32; 3]>)> = (0..).map(|at: i64| at * 3 - 4).zip(lines).collect();
            let store = memory(&Made::streamlines(&lines).files()).await;
            let query = Query { bbox: Some(bbox.clone()), ..Query::default() };
            let got = ask(&store, query.clone()).await.unwrap();
            let hits = lines.iter().flat_map(|(_, line)| line).filter(|p| inside(&bbox, p)).map(text).collect();
            assert_eq!(sorted(got.column("position")), sorted::<String>(hits));
            let pairs = |line: &Vec<[f32; 3]>| -> Vec<(String, String)> {
                let both = line.windows(2).filter(|pair| pair.iter().all(|p| inside(&bbox, p)));
                both.map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
            };
            let expected = sorted(lines.iter().flat_map(|(_, line)| pairs(line)).collect());
            let order = got.links();
            assert!(order.is_sorted_by(|a, b| a < b), "sorted, each once: {order:?}");
            assert_eq!(edges(&got), expected);
            // By object, the same rows and links, object by object.
            let ids: Vec<i64> = lines.iter().rev().map(|(id, _)| *id).collect();
            let got = ask(&store, Query { objects: Some(ids), ..query.clone() }).await.unwrap();
            let rows = lines.iter().rev().flat_map(|(_, line)| line).filter(|p| inside(&bbox, p)).map(text);
            assert_eq!(got.column("position"), rows.collect::<Vec<_>>());
            assert_eq!(edges(&got), expected);
            // Whole objects: those with a row inside.
            let got = ask(&store, Query { select: Select::Objects, ..query }).await.unwrap();
            let hit: Vec<&(i64, Vec<[f32; 3]>)> =
                lines.iter().filter(|(_, line)| line.iter().any(|p| inside(&bbox, p))).collect();
            let found = column(got.objects.as_ref().unwrap(), "object_id");
            assert_eq!(found, hit.iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>());
            assert_eq!(got.column("position"), hit.iter().flat_map(|(_, line)| line).map(text).collect::<Vec<_>>());
            let all: usize = hit.iter().map(|(_, line)| line.len() - 1).sum();
            assert_eq!(got.links().len(), all);
        });
    }

    #[test]
    fn the_same_question_has_the_same_answer(
        lines in proptest::collection::vec(proptest::collection::vec(position(), 1..12), 1..6), bbox in bbox(),
        limit in proptest::option::of(0_u64..40), select in 0_u8..3
    ) {
        block_on(async {
            let lines: Vec<(i64, Vec<[f32; 3]>)> = (0..).zip(lines).collect();
            let files = Made::streamlines(&lines).files();
            let select = [Select::Vertices, Select::Objects, Select::Chunks][usize::from(select)];
            let columns = vec![Column::Position, Column::Attributes, Column::ObjectIds, Column::Fragment];
            let query = Query { bbox: Some(bbox), limit, select, columns, ..Query::default() };
            let first = ask(&memory(&files).await, query.clone()).await.unwrap();
            let store = memory(&files).await;
            for budget in [1, 1 << 30] {
                let again = ask(&store, Query { memory_budget: budget, ..query.clone() }).await.unwrap();
                assert_eq!(first.vertices, again.vertices);
                assert_eq!(first.links, again.links);
                assert_eq!(first.objects, again.objects);
                assert_eq!(first.all.summary.truncated, again.all.summary.truncated);
            }
            if let Some(limit) = limit {
                let vertices = first.all.summary.vertices;
                assert!(vertices <= limit);
                let more = ask(&store, Query { limit: None, ..query.clone() }).await.unwrap().all.summary.vertices;
                assert_eq!(first.all.summary.truncated, more > vertices);
            }
        });
    }
}

#[test]
fn every_row_of_every_bundled_level_comes_once() {
    block_on(async {
        for case in zvf_testkit::cases().unwrap() {
            let store = crate::support::bundled(&case).await;
            for level in store.levels().to_vec() {
                let columns = vec![Column::Chunk, Column::Row];
                let got = ask(
                    &store,
                    Query {
                        level,
                        columns,
                        ..Query::default()
                    },
                )
                .await
                .unwrap();
                let rows: Vec<(String, String)> = got
                    .column("chunk")
                    .into_iter()
                    .zip(got.column("row"))
                    .collect();
                let once: BTreeSet<&(String, String)> = rows.iter().collect();
                assert_eq!(once.len(), rows.len(), "{case}, level {level}");
                let opened = store
                    .level(level, &zvf_store::Need::nothing())
                    .await
                    .unwrap();
                assert_eq!(
                    rows.len() as u64,
                    opened.doc().vertex_count,
                    "{case}, level {level}"
                );
            }
        }
    });
}

//! Random graphs, meshes and trees over many chunks against brute force.

use std::collections::BTreeMap;

use proptest::prelude::*;
use zvf_query::{BBox, Query, Table};

use crate::make::{Chunk, Coord, Made, place};
use crate::support::{Got, ask, block_on, listed_links, memory, sorted};

fn positions() -> impl Strategy<Value = Vec<[f32; 3]>> {
    // Whole numbers on one axis identify the vertices.
    proptest::collection::vec([-25.0_f32..25.0, -25.0_f32..25.0], 2..40).prop_map(|all| {
        (0..)
            .zip(all)
            .map(|(at, [y, z])| [at as f32 - 12.0, y, z])
            .collect()
    })
}

fn bbox() -> impl Strategy<Value = BBox> {
    proptest::collection::vec((-28.0_f64..28.0, 5.0_f64..50.0), 3).prop_map(|all| {
        BBox::new(
            all.iter().map(|c| c.0).collect(),
            all.iter().map(|c| c.0 + c.1).collect(),
        )
        .unwrap()
    })
}

fn inside(bbox: &BBox, p: &[f32; 3]) -> bool {
    bbox.contains(&p.map(f64::from))
}

/// Links as numbers of vertices.
fn found(got: &Got) -> Vec<Vec<usize>> {
    let number =
        |text: &String| (text.split(' ').next().unwrap().parse::<f64>().unwrap() + 12.0) as usize;
    let numbers: Vec<usize> = got.column("position").iter().map(number).collect();
    sorted(
        got.links()
            .iter()
            .map(|ends| ends.iter().map(|end| numbers[*end]).collect())
            .collect(),
    )
}

/// A graph or mesh: in each chunk, the vertices of one object are in one fragment, objects ascending.
fn graph(
    kind: &'static str,
    positions: &[[f32; 3]],
    ids: &[i64],
    links: &[Vec<usize>],
    directed: bool,
) -> Made {
    let mut made = Made::points_with_ids(positions, ids);
    (made.kind, made.convention) = (kind, "explicit");
    let mut at: BTreeMap<usize, (Coord, i64)> = BTreeMap::new();
    for (coord, chunk) in &made.chunks {
        for (row, position) in (0_i64..).zip(&chunk.rows) {
            at.insert((position[0] + 12.0) as usize, (*coord, row));
        }
    }
    let records: Vec<Vec<(Coord, i64)>> = links
        .iter()
        .map(|ends| ends.iter().map(|end| at[end]).collect())
        .collect();
    made.links = Some(place(&records, directed));
    made
}

/// A forest: rows of a chunk in input order, a new fragment at every root; `parents[i] < i`.
fn forest(positions: &[[f32; 3]], parents: &[Option<usize>], streamed: bool) -> Made {
    let mut made = Made::new("skeleton");
    let mut at: Vec<(Coord, i64)> = Vec::new();
    let mut last: BTreeMap<Coord, usize> = BTreeMap::new();
    let mut records = Vec::new();
    for (number, position) in positions.iter().enumerate() {
        let coord = Made::chunk_of(*position, 10.0);
        let chunk: &mut Chunk = made.chunks.entry(coord).or_default();
        let row = chunk.rows.len() as i64;
        chunk.rows.push(*position);
        let first = chunk.fragments.is_empty() || parents[number].is_none();
        if first {
            chunk.fragments.push(Vec::new());
        }
        chunk.fragments.last_mut().unwrap().push(row);
        at.push((coord, row));
        if let Some(parent) = parents[number] {
            let implied = !first && last.get(&coord) == Some(&parent);
            if !implied {
                let pair = vec![at[number], at[parent]];
                let crossing = at[number].0 != at[parent].0;
                // Streamed skeletons store the parent first if the ends are in different chunks.
                records.push(if streamed && crossing {
                    vec![pair[1], pair[0]]
                } else {
                    pair
                });
            }
        }
        last.insert(coord, number);
    }
    let manifest = made
        .chunks
        .iter()
        .flat_map(|(c, chunk)| (0..chunk.fragments.len()).map(|f| (*c, f as i64)));
    made.objects = Some(vec![(0, manifest.collect())]);
    made.links = Some(place(&records, streamed));
    made
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn graphs_and_meshes(
        positions in positions(), seed in proptest::collection::vec((0_usize..40, 0_usize..40, 0_usize..40), 0..40),
        ids in proptest::collection::vec(0_i64..4, 40), bbox in bbox(), directed in any::<bool>(), mesh in any::<bool>()
    ) {
        block_on(async {
            let n = positions.len();
            let links: Vec<Vec<usize>> = seed.iter()
                .map(|(a, b, c)| if mesh { vec![a % n, b % n, c % n] } else { vec![a % n, b % n] }).collect();
            let kind = if mesh { "mesh" } else { "graph" };
            let store = memory(&graph(kind, &positions, &ids[..n], &links, directed).files()).await;
            let expected = |keep: &dyn Fn(usize) -> bool| -> Vec<Vec<usize>> {
                sorted(links.iter().filter(|ends| ends.iter().all(|end| keep(*end))).cloned().collect())
            };
            assert_eq!(found(&ask(&store, Query::default()).await.unwrap()), expected(&|_| true));
            let query = Query { bbox: Some(bbox.clone()), ..Query::default() };
            let got = ask(&store, query.clone()).await.unwrap();
            assert_eq!(found(&got), expected(&|at| inside(&bbox, &positions[at])));
            let objects = Query { objects: Some(vec![2, 0]), ignore_missing: true, ..Query::default() };
            let got = ask(&store, objects.clone()).await.unwrap();
            assert_eq!(found(&got), expected(&|at| matches!(ids[at], 0 | 2)));
            let both = Query { bbox: Some(bbox.clone()), ..objects };
            let got = ask(&store, both).await.unwrap();
            assert_eq!(found(&got), expected(&|at| matches!(ids[at], 0 | 2) && inside(&bbox, &positions[at])));
            let listed = listed_links(&store, 0, 0, false).await;
            assert_eq!(listed.summary.links as usize, links.len());
            assert!(listed.table(Table::Links).unwrap().is_some());
        });
    }

    #[test]
    fn trees(
        positions in positions(), seed in proptest::collection::vec(0_usize..60, 40), bbox in bbox(),
        streamed in any::<bool>(), limit in 1_u64..40
    ) {
        block_on(async {
            // Mostly the previous vertex, sometimes any earlier one, sometimes none.
            let parent = |at: usize| match (at, seed[at]) {
                (0, _) | (_, 0..=3) => None,
                (_, 4..=35) => Some(at - 1),
                (_, other) => Some(other % at),
            };
            let parents: Vec<Option<usize>> = (0..positions.len()).map(parent).collect();
            let store = memory(&forest(&positions, &parents, streamed).files()).await;
            let expected = |keep: &dyn Fn(usize) -> bool| -> Vec<Vec<usize>> {
                let edges = parents.iter().enumerate().filter_map(|(child, parent)| Some([child, (*parent)?]));
                sorted(edges.filter(|ends| ends.iter().all(|end| keep(*end))).map(Vec::from).collect())
            };
            for objects in [None, Some(vec![0])] {
                let query = Query { objects, ..Query::default() };
                assert_eq!(found(&ask(&store, query.clone()).await.unwrap()), expected(&|_| true));
                let boxed = Query { bbox: Some(bbox.clone()), ..query.clone() };
                let got = ask(&store, boxed).await.unwrap();
                assert_eq!(found(&got), expected(&|at| inside(&bbox, &positions[at])));
                let got = ask(&store, Query { limit: Some(limit), ..query }).await.unwrap();
                let rows = got.column("position");
                let kept = |at: usize| rows.iter().any(|row| row.starts_with(&format!("{:?} ", at as f64 - 12.0)));
                assert_eq!(found(&got), expected(&kept));
            }
        });
    }
}

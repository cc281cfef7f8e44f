//! One test for each trap of the format's pages (`zvf-0.9`, section 22) that can affect a reader.

use std::collections::BTreeMap;

use serde_json::json;
use zvf_query::{BBox, Class, Column, Names, Query, Select};
use zvf_store::Store;

use crate::make::{Chunk, Links, Made, flat, ragged};
use crate::support::{Got, ask, bundled, column, memory, sorted};

fn boxed(text: &str) -> Query {
    Query {
        bbox: Some(BBox::parse(text).unwrap()),
        ..Query::default()
    }
}

/// Links as pairs of positions.
fn edges(got: &Got) -> Vec<(String, String)> {
    let positions = got.column("position");
    got.links()
        .iter()
        .map(|ends| (positions[ends[0]].clone(), positions[ends[1]].clone()))
        .collect()
}

#[tokio::test]
async fn t1_fragments_are_not_bins() {
    let positions = [
        [1.0, 1.0, 1.0],
        [9.0, 9.0, 9.0],
        [1.5, 1.0, 1.0],
        [8.0, 8.0, 8.0],
    ];
    let mut made = Made::points_with_ids(&positions, &[7, 7, 3, 3]);
    made.root = json!({"base_bin_shape": [5.0, 5.0, 5.0]});
    let store = memory(&made.files()).await;
    let got = ask(&store, boxed("0,0,0:4,4,4")).await.unwrap();
    assert_eq!(
        sorted(got.column("position")),
        ["1.0 1.0 1.0", "1.5 1.0 1.0"]
    );
    // The bundled stores with ids and with bins: every level is compared with the rows of the whole level.
    for case in ["points_ids", "points_bins", "real_synapses"] {
        let store = bundled(case).await;
        for level in store.levels().to_vec() {
            let all = ask(
                &store,
                Query {
                    level,
                    ..Query::default()
                },
            )
            .await
            .unwrap();
            let text = all.column("position");
            let numbers = |row: &String| -> Vec<f64> {
                row.split(' ').map(|part| part.parse().unwrap()).collect()
            };
            let (first, last) = (numbers(&text[0]), numbers(&text[text.len() / 2]));
            let lo: Vec<f64> = first.iter().zip(&last).map(|(a, b)| a.min(*b)).collect();
            let hi: Vec<f64> = first.iter().zip(&last).map(|(a, b)| a.max(*b)).collect();
            let bbox = BBox::new(lo, hi).unwrap();
            let expected: Vec<String> = text
                .iter()
                .filter(|row| bbox.contains(&numbers(row)))
                .cloned()
                .collect();
            let got = ask(
                &store,
                Query {
                    level,
                    bbox: Some(bbox),
                    ..Query::default()
                },
            )
            .await
            .unwrap();
            assert_eq!(got.column("position"), expected, "{case}, level {level}");
            assert!(!expected.is_empty());
        }
    }
}

/// A skeleton over two chunks: row 1 of the second chunk is a child of a row of the first.
fn two_chunk_skeleton() -> Made {
    let mut made = Made::new("skeleton");
    let (a, b) = ([0, 0, 0], [1, 0, 0]);
    let rows = |x: f32| vec![[x, 1.0, 1.0], [x + 1.0, 1.0, 1.0], [x + 2.0, 1.0, 1.0]];
    made.chunks.insert(
        a,
        Chunk {
            rows: rows(5.0),
            fragments: vec![vec![0, 1, 2]],
            ..Chunk::default()
        },
    );
    made.chunks.insert(
        b,
        Chunk {
            rows: rows(15.0),
            fragments: vec![vec![0, 1, 2]],
            ..Chunk::default()
        },
    );
    made.objects = Some(vec![(0, vec![(a, 0), (b, 0)])]);
    // (child, parent), undirected canonical: the first chunk is the source. Row 0 of b is a child of row 2 of a, row 1 of
    // b of row 0 of a. Both records were given child first, so the permutation is 1.
    let cell = ragged(&[&[1, 2, 0], &[1, 0, 1]]);
    made.links = Some(Links {
        directed: false,
        store: "canonical",
        width: 2,
        arrays: BTreeMap::from([
            ("+1.0.0".into(), BTreeMap::from([(a, cell)])),
            ("0.0.0".into(), BTreeMap::new()),
        ]),
    });
    made
}

#[tokio::test]
async fn t2_no_edge_is_invented_when_the_parent_lies_outside() {
    let store = memory(&two_chunk_skeleton().files()).await;
    let whole = ask(&store, Query::default()).await.unwrap();
    let expected =
        [(1, 0), (2, 1), (3, 2), (4, 0), (5, 4)].map(|(child, parent)| vec![child, parent]);
    assert_eq!(whole.links(), expected);
    let got = ask(&store, boxed("10,0,0:20,9,9")).await.unwrap();
    assert_eq!(
        edges(&got),
        [("17.0 1.0 1.0".to_owned(), "16.0 1.0 1.0".to_owned())]
    );
    let query = Query {
        objects: Some(vec![0]),
        ..boxed("10,0,0:20,9,9")
    };
    let got = ask(&store, query).await.unwrap();
    assert_eq!(
        edges(&got),
        [("17.0 1.0 1.0".to_owned(), "16.0 1.0 1.0".to_owned())]
    );
    let object = ask(
        &store,
        Query {
            objects: Some(vec![0]),
            ..Query::default()
        },
    )
    .await
    .unwrap();
    assert_eq!(object.links(), expected);
}

#[tokio::test]
async fn t3_sparse_ids_of_lines_are_all_there() {
    let line = |x: f32| vec![[x, 1.0, 1.0], [x + 12.0, 1.0, 1.0]];
    let store = memory(
        &Made::streamlines(&[(5, line(0.0)), (-3, line(1.0)), (1 << 40, line(2.0))]).files(),
    )
    .await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(
        (
            got.all.summary.vertices,
            got.all.summary.links,
            got.all.summary.objects
        ),
        (6, 3, 3)
    );
    assert_eq!(
        column(got.objects.as_ref().unwrap(), "object_id"),
        ["5", "-3", "1099511627776"]
    );
    let got = ask(
        &store,
        Query {
            objects: Some(vec![1 << 40, -3]),
            ..Query::default()
        },
    )
    .await
    .unwrap();
    assert_eq!(
        got.column("position"),
        ["2.0 1.0 1.0", "14.0 1.0 1.0", "1.0 1.0 1.0", "13.0 1.0 1.0"]
    );
    let error = ask(
        &store,
        Query {
            objects: Some(vec![0]),
            ..Query::default()
        },
    )
    .await
    .err()
    .unwrap();
    assert_eq!(error.class(), Class::Misuse);
    let ignored = Query {
        objects: Some(vec![0, 5]),
        ignore_missing: true,
        ..Query::default()
    };
    assert_eq!(ask(&store, ignored).await.unwrap().all.summary.vertices, 2);
}

/// A skeleton as a streaming writer stores it.
pub(crate) fn streamed() -> Made {
    // Section 15.7: paths [0,1,2], [3,4], [5] in chunk a, where 3 branches from 1 and 5 from 4; a path of two rows in
    // chunk b whose first row is a child of row 2 of a. Records inside a chunk are (child, parent), cross-chunk records (parent,
    // child); the family is directed and has no permutation.
    let mut made = Made::new("skeleton");
    let (a, b) = ([0, 0, 0], [-1, 0, 0]);
    let rows: Vec<[f32; 3]> = (0..6).map(|x| [x as f32, 1.0, 1.0]).collect();
    made.chunks.insert(
        a,
        Chunk {
            rows,
            fragments: vec![vec![0, 1, 2], vec![3, 4], vec![5]],
            ..Chunk::default()
        },
    );
    let rows = vec![[-1.0, 1.0, 1.0], [-2.0, 1.0, 1.0]];
    made.chunks.insert(
        b,
        Chunk {
            rows,
            fragments: vec![vec![0, 1]],
            ..Chunk::default()
        },
    );
    made.objects = Some(vec![(77, vec![(a, 0), (a, 1), (a, 2), (b, 0)])]);
    made.links = Some(Links {
        directed: true,
        store: "canonical",
        width: 2,
        arrays: BTreeMap::from([
            (
                "0.0.0".into(),
                BTreeMap::from([(a, flat(&[&[3, 1], &[5, 4]]))]),
            ),
            ("-1.0.0".into(), BTreeMap::from([(a, ragged(&[&[2, 0]]))])),
        ]),
    });
    made
}

/// Checks the edges of the skeleton and their direction.
pub(crate) async fn check_streamed(store: &Store) {
    let expected = sorted(
        [
            ("1", "0"),
            ("2", "1"),
            ("3", "1"),
            ("4", "3"),
            ("5", "4"),
            ("-1", "2"),
            ("-2", "-1"),
        ]
        .map(|(child, parent)| (format!("{child}.0 1.0 1.0"), format!("{parent}.0 1.0 1.0")))
        .to_vec(),
    );
    for query in [
        Query::default(),
        Query {
            objects: Some(vec![77]),
            ..Query::default()
        },
    ] {
        let got = ask(store, query).await.unwrap();
        assert_eq!(sorted(edges(&got)), expected);
    }
}

#[tokio::test]
async fn t5_streamed_skeletons_have_their_edges_the_right_way_round() {
    check_streamed(&memory(&streamed().files()).await).await;
}

#[tokio::test]
async fn t6_arrays_of_one_level_have_their_own_grids() {
    let mut made = Made::points(&[[1.0, 2.0, 3.0], [-11.0, 2.0, 3.0], [25.0, 2.0, 3.0]]);
    made.shift = 2;
    let store = memory(&made.files()).await;
    let got = ask(&store, boxed("-20,0,0:5,5,5")).await.unwrap();
    assert_eq!(
        got.rows(),
        ["n=1; position=-11.0 2.0 3.0", "n=0; position=1.0 2.0 3.0"]
    );
}

/// Three points in two chunks with two int16 columns.
pub(crate) fn two_columns(document: serde_json::Value) -> Made {
    let mut made = Made::points(&[[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [11.0, 1.0, 1.0]]);
    made.attributes.insert("v".into(), document);
    let cell = |values: &[i16]| {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    made.chunks
        .get_mut(&[0, 0, 0])
        .unwrap()
        .attributes
        .insert("v".into(), cell(&[1, 2, 3, 4]));
    made.chunks
        .get_mut(&[1, 0, 0])
        .unwrap()
        .attributes
        .insert("v".into(), cell(&[5, 6]));
    made
}

#[tokio::test]
async fn t8_the_bytes_decide_the_width_where_row_shape_is_empty() {
    let made = two_columns(json!({"dtype": "int16", "row_shape": []}));
    let store = memory(&made.files()).await;
    for query in [Query::default(), boxed("0,0,0:20,2,2")] {
        assert_eq!(
            ask(&store, query).await.unwrap().column("v"),
            ["1 2", "3 4", "5 6"]
        );
    }
    let query = Query {
        filter: Some(zvf_query::Filter::parse("v[1] > 2").unwrap()),
        ..Query::default()
    };
    assert_eq!(
        ask(&store, query).await.unwrap().column("v"),
        ["3 4", "5 6"]
    );
    let query = Query {
        filter: Some(zvf_query::Filter::parse("v > 2").unwrap()),
        ..Query::default()
    };
    assert_eq!(
        ask(&store, query).await.err().unwrap().class(),
        Class::Misuse
    );
}

#[tokio::test]
async fn t9_unnamed_columns_are_returned() {
    let made = two_columns(json!({"dtype": "int16", "row_shape": [2]}));
    let got = ask(&memory(&made.files()).await, Query::default())
        .await
        .unwrap();
    assert_eq!(got.column("v"), ["1 2", "3 4", "5 6"]);
    let wrong = two_columns(json!({"dtype": "int16", "row_shape": [4]}));
    let error = ask(&memory(&wrong.files()).await, Query::default())
        .await
        .err()
        .unwrap();
    assert!(
        error
            .to_string()
            .starts_with("level 0, array vertex_attributes/v, chunk 0.0.0: "),
        "{error}"
    );
}

#[tokio::test]
async fn t10_a_missing_cell_is_null_and_moves_nothing() {
    let mut made = Made::points(&[
        [1.0, 1.0, 1.0],
        [11.0, 1.0, 1.0],
        [12.0, 1.0, 1.0],
        [21.0, 1.0, 1.0],
    ]);
    made.chunks.get_mut(&[1, 0, 0]).unwrap().attributes.clear();
    let store = memory(&made.files()).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(got.column("n"), ["0", "null", "null", "3"]);
    assert!(
        got.all.summary.warnings[0].contains("attribute n"),
        "{:?}",
        got.all.summary.warnings
    );
    assert_eq!(
        ask(&store, boxed("12,0,0:30,2,2"))
            .await
            .unwrap()
            .column("n"),
        ["null", "3"]
    );
    // The first chunk has no cell, so a later one determines the width.
    made.chunks.get_mut(&[0, 0, 0]).unwrap().attributes.clear();
    let got = ask(&memory(&made.files()).await, Query::default())
        .await
        .unwrap();
    assert_eq!(got.column("n"), ["null", "null", "null", "3"]);
}

#[tokio::test]
async fn t12_cells_placed_by_another_chunk_shape_are_found() {
    let positions: Vec<[f32; 3]> = (0..40).map(|at| [at as f32, 1.0, 1.0]).collect();
    for size in [5.0, 20.0] {
        let store = memory(&Made::placed(&positions, size).files()).await;
        for (lo, hi) in [(0, 39), (6, 7), (11, 11), (1, 2), (30, 39), (22, 23)] {
            let got = ask(&store, boxed(&format!("{lo},0,0:{hi},5,5")))
                .await
                .unwrap();
            let expected: Vec<String> = (lo..=hi).map(|at| format!("{at}.0 1.0 1.0")).collect();
            assert_eq!(
                sorted(got.column("position")),
                sorted(expected),
                "chunks of {size}, {lo} to {hi}"
            );
        }
        let chunks = Query {
            select: Select::Chunks,
            ..boxed("6,0,0:7,5,5")
        };
        let got = ask(&store, chunks).await.unwrap();
        let first = if size == 5.0 { 5 } else { 0 };
        let expected: Vec<String> = (first..first + size as usize)
            .map(|at| format!("{at}.0 1.0 1.0"))
            .collect();
        assert_eq!(got.column("position"), expected);
        let got = ask(&store, boxed("6,0,0:7,5,5")).await.unwrap();
        assert_eq!(got.all.summary.warnings.len(), 1, "{size}");
    }
}

#[tokio::test]
async fn t15_infinite_corners_reach_everything() {
    let mut made = Made::points(&[[1.0, 1.0, 1.0], [-55.0, 1.0, 1.0], [5.0, 93.0, 1.0]]);
    made.root = json!({"base_bin_shape": [2.5, 2.5, 2.5]});
    let store = memory(&made.files()).await;
    let got = ask(&store, boxed("-inf,-inf,-inf:inf,inf,inf"))
        .await
        .unwrap();
    assert_eq!(got.all.summary.vertices, 3);
    assert_eq!(
        ask(&store, boxed("0,-inf,0:inf,50,inf"))
            .await
            .unwrap()
            .all
            .summary
            .vertices,
        1
    );
    assert!(BBox::parse("nan,0,0:1,1,1").is_err());
}

#[tokio::test]
async fn t17_rows_of_the_index_are_not_ids() {
    let line = |x: f32| vec![[x, 1.0, 1.0], [x, 2.0, 1.0]];
    let store = memory(&Made::streamlines(&[(1, line(1.0)), (0, line(2.0))]).files()).await;
    let got = ask(
        &store,
        Query {
            objects: Some(vec![0]),
            ..Query::default()
        },
    )
    .await
    .unwrap();
    assert_eq!(got.column("position"), ["2.0 1.0 1.0", "2.0 2.0 1.0"]);
    let columns = vec![
        Column::Position,
        Column::ObjectId,
        Column::ObjectIds,
        Column::Fragment,
        Column::Row,
        Column::Chunk,
    ];
    let got = ask(
        &store,
        Query {
            columns,
            ..Query::default()
        },
    )
    .await
    .unwrap();
    assert_eq!(got.column("object_id"), ["1", "1", "0", "0"]);
    assert_eq!(got.column("object_ids"), ["1", "1", "0", "0"]);
    assert_eq!(got.column("fragment"), ["0", "0", "1", "1"]);
    assert_eq!(got.column("row"), ["0", "1", "2", "3"]);
    assert_eq!(got.column("chunk"), ["0 0 0"; 4]);
}

#[tokio::test]
async fn t21_groups_reach_coarse_levels() {
    let store = bundled("streamlines").await;
    let case = zvf_testkit::case("streamlines").unwrap();
    for level in [1, 2] {
        for (group, members) in &case.groups {
            let got = ask(
                &store,
                Query {
                    level,
                    groups: Some(vec![*group]),
                    ..Query::default()
                },
            )
            .await
            .unwrap();
            let ids = sorted(members.clone());
            let by_id = Query {
                level,
                objects: Some(ids.clone()),
                ..Query::default()
            };
            let expected = ask(&store, by_id).await.unwrap();
            assert_eq!(got.rows(), expected.rows(), "level {level}, group {group}");
            let found = column(got.objects.as_ref().unwrap(), "object_id");
            assert_eq!(found, ids.iter().map(i64::to_string).collect::<Vec<_>>());
        }
        let error = ask(
            &store,
            Query {
                level,
                groups: Some(vec![99]),
                ..Query::default()
            },
        )
        .await
        .err()
        .unwrap();
        assert_eq!(error.class(), Class::Misuse);
    }
}

/// A coarse level of a skeleton has one vertex for each bin and no edges of its own; none are inferred from the order of its rows.
#[tokio::test]
async fn t22_coarse_levels_of_skeletons_have_no_links() {
    for case in ["real_skeleton", "0.7/real_skeleton", "0.8/real_skeleton"] {
        let store = bundled(case).await;
        assert_eq!(store.levels(), [0, 1], "{case}");
        for (level, edges) in [(0, true), (1, false)] {
            let query = Query {
                level,
                ..Query::default()
            };
            let got = ask(&store, query).await.unwrap();
            assert!(got.all.summary.vertices > 10, "{case}, level {level}");
            assert_eq!(
                got.all.summary.links > 0,
                edges,
                "{case}, level {level}: {:?}",
                got.all.summary
            );
        }
    }
}

#[tokio::test]
async fn t31_a_manifest_of_no_bytes_is_an_empty_object() {
    let line = vec![[1.0, 1.0, 1.0], [1.0, 2.0, 1.0]];
    let mut files = Made::streamlines(&[(4, line.clone()), (6, line)]).files();
    let blob = crate::make::manifest_blob(&vec![([0, 0, 0], 0)]);
    files.insert(
        "0/object_index/manifests/c/0".into(),
        crate::make::vlen(&[blob, Vec::new()]),
    );
    let store = memory(&files).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(column(got.objects.as_ref().unwrap(), "object_id"), ["4"]);
    // No object owns the rows of the second line now.
    assert_eq!((got.all.summary.vertices, got.all.summary.links), (4, 1));
    let got = ask(
        &store,
        Query {
            objects: Some(vec![6, 4]),
            ..Query::default()
        },
    )
    .await
    .unwrap();
    assert_eq!(column(got.objects.as_ref().unwrap(), "length"), ["0", "2"]);
}

#[tokio::test]
async fn t36_limits_are_exact() {
    let store = bundled("streamlines").await;
    let whole = ask(&store, Query::default()).await.unwrap();
    let all = whole.rows();
    for limit in [0, 1, 17, 1000, all.len() - 1, all.len(), all.len() + 1] {
        let got = ask(
            &store,
            Query {
                limit: Some(limit as u64),
                ..Query::default()
            },
        )
        .await
        .unwrap();
        let kept = limit.min(all.len());
        assert_eq!(got.rows(), all[..kept]);
        assert_eq!(got.all.summary.truncated, limit < all.len(), "{limit}");
        let inside: Vec<Vec<usize>> = whole
            .links()
            .into_iter()
            .filter(|ends| ends.iter().all(|end| *end < kept))
            .collect();
        assert_eq!(got.links(), inside, "{limit}");
    }
    let ids: Vec<i64> = (0..10).collect();
    let by_id = Query {
        objects: Some(ids.clone()),
        ..Query::default()
    };
    let grouped = ask(&store, by_id.clone()).await.unwrap();
    let all = grouped.rows();
    let lengths: Vec<usize> = column(grouped.objects.as_ref().unwrap(), "length")
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
    for limit in [
        0,
        1,
        lengths[0],
        lengths[0] + 1,
        lengths[0] + lengths[1] - 1,
        all.len() - 1,
        all.len(),
        all.len() + 1,
    ] {
        let got = ask(
            &store,
            Query {
                limit: Some(limit as u64),
                ..by_id.clone()
            },
        )
        .await
        .unwrap();
        assert_eq!(got.rows(), all[..limit.min(all.len())]);
        assert_eq!(got.all.summary.truncated, limit < all.len(), "{limit}");
        let whole = Query {
            limit: Some(limit as u64),
            select: Select::Objects,
            ..by_id.clone()
        };
        let got = ask(&store, whole).await.unwrap();
        let mut fits = 0;
        let count = lengths
            .iter()
            .take_while(|length| {
                fits += **length;
                fits <= limit
            })
            .count();
        let rows: usize = lengths[..count].iter().sum();
        assert_eq!(got.rows(), all[..rows], "{limit}");
        assert_eq!(got.all.summary.objects as usize, count);
        assert_eq!(got.all.summary.truncated, count < lengths.len(), "{limit}");
    }
}

#[tokio::test]
async fn t37_attributes_asked_for_are_the_attributes_returned() {
    for case in ["points_ids", "graph", "streamlines", "skeleton", "lines"] {
        let store = bundled(case).await;
        let all = ask(&store, Query::default()).await.unwrap();
        let names = |got: &Got| -> Vec<String> {
            got.vertices
                .as_ref()
                .unwrap()
                .schema()
                .fields()
                .iter()
                .skip(1)
                .map(|field| field.name().clone())
                .collect()
        };
        let every = names(&all);
        for objects in [None, (case != "points_ids").then(|| vec![0])] {
            let base = Query {
                objects,
                ..Query::default()
            };
            for name in &every {
                let query = Query {
                    attributes: Names::List(vec![name.clone()]),
                    ..base.clone()
                };
                assert_eq!(
                    names(&ask(&store, query).await.unwrap()),
                    std::slice::from_ref(name),
                    "{case}"
                );
            }
            let query = Query {
                attributes: Names::None,
                ..base.clone()
            };
            assert!(
                names(&ask(&store, query).await.unwrap()).is_empty(),
                "{case}"
            );
            let query = Query {
                attributes: Names::List(vec!["nothing".into()]),
                ..base
            };
            let error = ask(&store, query).await.err().unwrap();
            assert_eq!(error.class(), Class::Misuse);
            assert!(
                every
                    .iter()
                    .all(|name| error.to_string().contains(name.as_str())),
                "{error}"
            );
        }
    }
}

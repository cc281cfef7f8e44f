//! One test for each trap of the pages on 0.7 (section 17) and 0.8 (section 17) that silently gives wrong data, if
//! answers of queries show it. Names begin with the page and the section of the trap.

use serde_json::json;
use zvf_query::{BBox, Class, Column, Filter, Query, Select, Table};

use crate::make::{Chunk, Line, Made};
use crate::make_legacy::{Crossing, Files, Legacy, Record, as_level};
use crate::support::{Got, ask, column, listed_objects, memory, sorted};

pub(crate) fn boxed(text: &str) -> Query {
    Query {
        bbox: Some(BBox::parse(text).unwrap()),
        ..Query::default()
    }
}

pub(crate) fn objects(ids: &[i64]) -> Query {
    Query {
        objects: Some(ids.to_vec()),
        ..Query::default()
    }
}

pub(crate) fn text(positions: &[[f32; 3]]) -> Vec<String> {
    positions
        .iter()
        .map(|p| format!("{:?} {:?} {:?}", p[0], p[1], p[2]))
        .collect()
}

/// Links as tuples of positions.
pub(crate) fn edges(got: &Got) -> Vec<String> {
    let positions = got.column("position");
    let join = |ends: &Vec<usize>| {
        ends.iter()
            .map(|end| positions[*end].clone())
            .collect::<Vec<_>>()
            .join(" | ")
    };
    sorted(got.links().iter().map(join).collect())
}

pub(crate) fn joined(tuples: &[&[[f32; 3]]]) -> Vec<String> {
    sorted(tuples.iter().map(|tuple| text(tuple).join(" | ")).collect())
}

pub(crate) fn warns(got: &Got, parts: &[&str]) -> bool {
    let said = |warning: &String| parts.iter().all(|part| warning.contains(part));
    got.all.summary.warnings.iter().any(said)
}

/// Two lines over three chunks, with the records that their writers make: row 0 at both ends.
fn two_lines() -> (Vec<Line>, Vec<Record>) {
    let line = |y: f32| {
        (0..6)
            .map(|at| [at as f32 * 5.0, y, 1.0])
            .collect::<Vec<_>>()
    };
    let crossing = vec![([0, 0, 0], 0), ([1, 0, 0], 0)];
    let next = vec![([1, 0, 0], 0), ([2, 0, 0], 0)];
    let records = vec![crossing.clone(), next.clone(), crossing, next];
    (vec![(0, line(1.0)), (1, line(2.0))], records)
}

#[tokio::test]
async fn v7_12_3_zero_row_numbers_of_lines_are_not_believed() {
    let (lines, records) = two_lines();
    let made = Made::streamlines(&lines);
    let mut single = made.clone();
    single.kind = "line";
    for made in [made, single] {
        let mut v7 = Legacy::v7(made.clone()).with_links(&records);
        let v8 = Legacy::v8(made).with_links(&records);
        let mut stores = vec![v7.clone(), v8];
        v7.split = true;
        stores.push(v7);
        for legacy in stores {
            let store = memory(&legacy.files()).await;
            let pairs: Vec<&[[f32; 3]]> =
                lines.iter().flat_map(|(_, line)| line.windows(2)).collect();
            for query in [
                Query::default(),
                objects(&[0, 1]),
                boxed("-1,-1,-1:30,30,30"),
            ] {
                let got = ask(&store, query).await.unwrap();
                assert_eq!(edges(&got), joined(&pairs), "{}", legacy.version);
            }
            // Two rows of the first line in two chunks.
            let got = ask(&store, boxed("5,1,0:10,1,2")).await.unwrap();
            assert_eq!(edges(&got), joined(&[&lines[0].1[1..3]]));
            let whole = Query {
                select: Select::Objects,
                ..boxed("24,2,0:26,2,2")
            };
            let got = ask(&store, whole).await.unwrap();
            assert_eq!(got.column("position"), text(&lines[1].1));
            assert_eq!(got.column("s"), ["0", "1", "2", "3", "4", "5"]);
        }
    }
    // Without manifests it is unknown which rows are linked: no links between chunks are invented.
    let mut made = Made::streamlines(&lines);
    made.objects = None;
    let store = memory(&Legacy::v7(made).with_links(&records).files()).await;
    let inside: Vec<&[[f32; 3]]> = lines
        .iter()
        .flat_map(|(_, line)| {
            line.windows(2)
                .filter(|pair| (pair[0][0] / 10.0).floor() == (pair[1][0] / 10.0).floor())
        })
        .collect();
    assert_eq!(
        edges(&ask(&store, Query::default()).await.unwrap()),
        joined(&inside)
    );
}

/// Two skeletons in two chunks. The first runs a0 a1 a2 | b0 b1, with b0 a child of a2 and b1 a child of a0; the second
/// is a3 a4 and, in the other chunk, b2, a child of a3.
fn two_trees() -> (Made, [Vec<[f32; 3]>; 2]) {
    let mut made = Made::new("skeleton");
    let a: Vec<[f32; 3]> = (0..5).map(|at| [1.0 + at as f32, 1.0, 1.0]).collect();
    let b: Vec<[f32; 3]> = (0..3).map(|at| [11.0 + at as f32, 1.0, 1.0]).collect();
    let chunk = |rows: &Vec<[f32; 3]>, fragments: Vec<Vec<i64>>| Chunk {
        rows: rows.clone(),
        fragments,
        ..Chunk::default()
    };
    made.chunks
        .insert([0, 0, 0], chunk(&a, vec![vec![0, 1, 2], vec![3, 4]]));
    made.chunks
        .insert([1, 0, 0], chunk(&b, vec![vec![0, 1], vec![2]]));
    let (first, second) = ([0, 0, 0], [1, 0, 0]);
    made.objects = Some(vec![
        (0, vec![(first, 0), (second, 0)]),
        (1, vec![(first, 1), (second, 1)]),
    ]);
    (made, [a, b])
}

fn tree_records() -> Vec<Record> {
    let (a, b) = ([0, 0, 0], [1, 0, 0]);
    // Child first.
    vec![
        vec![(b, 0), (a, 2)],
        vec![(b, 1), (a, 0)],
        vec![(b, 2), (a, 3)],
    ]
}

#[tokio::test]
async fn v7_12_5_no_edge_joins_two_skeletons() {
    let (made, [a, b]) = two_trees();
    let all = joined(&[
        &[a[1], a[0]],
        &[a[2], a[1]],
        &[b[0], a[2]],
        &[b[1], a[0]],
        &[a[4], a[3]],
        &[b[2], a[3]],
    ]);
    let own = joined(&[&[a[4], a[3]], &[b[2], a[3]]]);
    let directed = Crossing::Cells {
        directed: true,
        duplicate: false,
    };
    let mut v81 = Legacy::v8(made.clone()).with_links(&tree_records());
    v81.crossing = directed;
    for legacy in [
        Legacy::v7(made.clone()).with_links(&tree_records()),
        Legacy::v8(made).with_links(&tree_records()),
        v81,
    ] {
        let store = memory(&legacy.files()).await;
        assert_eq!(edges(&ask(&store, Query::default()).await.unwrap()), all);
        assert_eq!(edges(&ask(&store, objects(&[0, 1])).await.unwrap()), all);
        assert_eq!(edges(&ask(&store, objects(&[1])).await.unwrap()), own);
        // The parents of b0, b1, b2 are outside the box: none of the three is linked to the previous row.
        let got = ask(&store, boxed("10,0,0:20,2,2")).await.unwrap();
        assert_eq!(got.column("position"), text(&b));
        assert!(edges(&got).is_empty());
    }
}

#[tokio::test]
async fn v7_15_boxes_lose_no_points_where_fragments_are_not_bins() {
    let positions = [
        [1.0, 1.0, 1.0],
        [9.0, 9.0, 9.0],
        [1.5, 1.0, 1.0],
        [8.0, 8.0, 8.0],
        [6.0, 1.0, 1.0],
    ];
    let inside = ["1.0 1.0 1.0", "1.5 1.0 1.0"];
    // Points with objects: one fragment an object.
    let mut made = Made::points_with_ids(&positions, &[1, 1, 0, 0, 2]);
    made.root = json!({"base_bin_shape": [5.0, 5.0, 5.0]});
    let store = memory(&Legacy::v7(made).files()).await;
    let got = ask(&store, boxed("0,0,0:4,4,4")).await.unwrap();
    assert_eq!(sorted(got.column("position")), inside);
    // Re-binned: one fragment for each occupied bin, and stray members at level 0 (17.2).
    let mut made = Made::points(&positions);
    made.root = json!({"base_bin_shape": [5.0, 5.0, 5.0]});
    made.level = json!({"bin_shape": [5.0, 5.0, 5.0], "bin_ratio": null});
    for chunk in made.chunks.values_mut() {
        chunk.fragments = vec![vec![0, 2], vec![1, 3], vec![4]];
    }
    let legacy = Legacy::v7(made);
    let store = memory(&legacy.files()).await;
    let got = ask(&store, boxed("0,0,0:4,4,4")).await.unwrap();
    assert_eq!(got.column("position"), inside);
    assert_eq!(got.column("n"), ["0", "2"]);
    // A coarse level: one fragment a vertex, bins of its own.
    let mut files = legacy.files();
    let mut coarse = Made::points(&positions[..3]);
    for chunk in coarse.chunks.values_mut() {
        chunk.fragments = vec![vec![0], vec![1], vec![2]];
    }
    files.extend(as_level(&Legacy::v7(coarse).files(), 1, |_| {}));
    let store = memory(&files).await;
    let query = Query {
        level: 1,
        ..boxed("0,0,0:4,4,4")
    };
    assert_eq!(ask(&store, query).await.unwrap().column("position"), inside);
}

#[tokio::test]
async fn v7_6_4_a_box_on_an_attribute_chunked_level_ignores_the_prefix() {
    let mut made = Made::new("point_cloud");
    made.dims = 2;
    made.level = json!({"chunk_dims": ["gene", "x", "y"], "chunk_attribute_name": "gene",
        "chunk_attribute_values": ["g1", "g2"]});
    for (bin, x, y) in [
        (0, 1.0, 1.0),
        (0, 11.0, 1.0),
        (1, 2.0, 1.0),
        (1, -3.0, 25.0),
    ] {
        let at = |p: f32| (p / 10.0).floor() as i64;
        let chunk = made.chunks.entry([bin, at(x), at(y)]).or_default();
        chunk.rows.push([x, y, 0.0]);
        chunk.fragments = vec![(0..chunk.rows.len() as i64).collect()];
    }
    let manifests = made.chunks.keys().map(|key| vec![(*key, 0)]);
    made.objects = Some((0..).zip(manifests).collect());
    for legacy in [Legacy::v7(made.clone()), Legacy::v8(made)] {
        let store = memory(&legacy.files()).await;
        let got = ask(&store, boxed("0,0:5,5")).await.unwrap();
        assert_eq!(got.column("position"), ["1.0 1.0", "2.0 1.0"]);
        assert_eq!(got.column("gene"), ["g1", "g2"]);
        let got = ask(&store, boxed("-5,20:0,30")).await.unwrap();
        assert_eq!(got.column("position"), ["-3.0 25.0"]);
        let found = column(got.objects.as_ref().unwrap(), "object_id");
        assert_eq!(found, ["2"]);
    }
}

/// Three points, two of which were appended: the attribute blob has one row.
fn appended() -> Made {
    let mut made = Made::points(&[
        [1.0, 1.0, 1.0],
        [2.0, 1.0, 1.0],
        [3.0, 1.0, 1.0],
        [12.0, 1.0, 1.0],
    ]);
    let chunk = made.chunks.get_mut(&[0, 0, 0]).unwrap();
    chunk.attributes.get_mut("n").unwrap().truncate(4);
    chunk.fragments = vec![vec![0], vec![1], vec![2]];
    made.chunks.get_mut(&[1, 0, 0]).unwrap().attributes.clear();
    made
}

#[tokio::test]
async fn v7_17_4_appended_points_have_no_attributes_and_that_is_said() {
    let store = memory(&Legacy::v7(appended()).files()).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(got.column("n"), ["0", "null", "null", "null"]);
    assert!(
        warns(
            &got,
            &["attribute n", "fewer rows than vertices in 1 chunks"]
        ),
        "{:?}",
        got.all.summary
    );
    assert!(
        warns(&got, &["attribute n", "no cell for 1 chunks"]),
        "{:?}",
        got.all.summary
    );
    for (filter, expected) in [
        ("n == 0", vec!["0"]),
        ("n is null", vec!["null"; 3]),
        ("n >= 0 or n is null", vec!["0", "null", "null", "null"]),
    ] {
        let query = Query {
            filter: Some(Filter::parse(filter).unwrap()),
            ..Query::default()
        };
        assert_eq!(
            ask(&store, query).await.unwrap().column("n"),
            expected,
            "{filter}"
        );
    }
    let got = ask(&store, boxed("2,0,0:20,2,2")).await.unwrap();
    assert_eq!(got.column("n"), ["null"; 3]);
    // Two columns, by name: one row of two values.
    let mut made = appended();
    made.attributes.insert(
        "n".into(),
        json!({"dtype": "int16", "channel_names": ["ch0", "ch1"]}),
    );
    let store = memory(&Legacy::v7(made.clone()).files()).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(got.column("n"), ["0 0", "null", "null", "null"]);
    // Bytes that cannot be assigned to rows are malformed: half a row, or more rows than there are vertices.
    for bytes in [vec![0; 6], vec![0; 16]] {
        made.chunks
            .get_mut(&[0, 0, 0])
            .unwrap()
            .attributes
            .insert("n".into(), bytes);
        let store = memory(&Legacy::v7(made.clone()).files()).await;
        let error = ask(&store, Query::default()).await.err().unwrap();
        assert_eq!(error.class(), Class::Malformed);
        assert!(
            error
                .to_string()
                .contains("vertex_attributes/n, chunk 0.0.0"),
            "{error}"
        );
    }
    // An attribute without a type: a warning states the assumed type.
    let mut made = appended();
    made.attributes.insert("n".into(), json!({}));
    let store = memory(&Legacy::v7(made).files()).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(got.column("n"), ["0.0", "null", "null", "null"]);
    let warnings = store.warnings();
    let said =
        |warning: &String| warning.contains("vertex_attributes/n") && warning.contains("no dtype");
    assert!(warnings.iter().any(said), "{warnings:?}");
}

#[tokio::test]
async fn v8_7_attributes_are_found_by_row_where_fragments_do_not_tile() {
    // Rows 0 to 5; fragments leave row 0 out, overlap, repeat, and come in another order.
    let mut made = Made::new("polyline");
    made.attributes
        .insert("n".into(), json!({"dtype": "int32"}));
    let rows: Vec<[f32; 3]> = (0..6).map(|at| [at as f32, 1.0, 1.0]).collect();
    let values = (0..6_i32).flat_map(i32::to_le_bytes).collect();
    let fragments = vec![vec![4, 5], vec![1, 2, 3], vec![3, 1, 4], vec![2, 3, 4]];
    let chunk = Chunk {
        rows: rows.clone(),
        fragments: fragments.clone(),
        attributes: [("n".to_owned(), values)].into(),
    };
    made.chunks.insert([0, 0, 0], chunk);
    made.objects = Some((0..4).map(|id| (id, vec![([0, 0, 0], id)])).collect());
    let store = memory(&Legacy::v8(made).files()).await;
    let names = |rows: &[i64]| rows.iter().map(|row| row.to_string()).collect::<Vec<_>>();
    for (id, rows) in (0_i64..).zip(&fragments) {
        let got = ask(&store, objects(&[id])).await.unwrap();
        assert_eq!(got.column("n"), names(rows), "object {id}");
        let pairs: Vec<Vec<usize>> = (1..rows.len()).map(|at| vec![at - 1, at]).collect();
        assert_eq!(sorted(got.links()), pairs);
    }
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(got.column("n"), names(&[0, 1, 2, 3, 4, 5]));
    let got = ask(&store, boxed("2,0,0:3,2,2")).await.unwrap();
    assert_eq!(got.column("n"), ["2", "3"]);
    let counts = column(got.objects.as_ref().unwrap(), "vertices");
    assert_eq!(counts, ["2", "1", "2"], "objects 1, 2 and 3");
    let columns = vec![Column::Attribute("n".into()), Column::ObjectIds];
    let got = ask(
        &store,
        Query {
            columns,
            ..Query::default()
        },
    )
    .await
    .unwrap();
    assert_eq!(
        got.column("object_ids"),
        ["", "1 2", "1 3", "1 2 3", "0 2 3", "0"]
    );
}

#[tokio::test]
async fn v7_7_ranges_are_taken_as_written_not_up_to_the_next_one() {
    let mut made = Made::points_with_ids(
        &[[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [3.0, 1.0, 1.0]],
        &[0, 0, 0],
    );
    made.chunks.get_mut(&[0, 0, 0]).unwrap().fragments = vec![vec![0], vec![2]];
    made.objects = Some(vec![(0, vec![([0, 0, 0], 0)]), (1, vec![([0, 0, 0], 1)])]);
    let store = memory(&Legacy::v7(made).files()).await;
    for (id, position) in [(0, "1.0 1.0 1.0"), (1, "3.0 1.0 1.0")] {
        assert_eq!(
            ask(&store, objects(&[id]))
                .await
                .unwrap()
                .column("position"),
            [position]
        );
    }
    let listed = listed_objects(&store, 0, false).await;
    let listed = listed.table(Table::Objects).unwrap().unwrap();
    assert_eq!(column(&listed, "vertices"), ["1", "1"]);
    // All rows are rows of the level, also the row without a fragment.
    assert_eq!(
        ask(&store, Query::default())
            .await
            .unwrap()
            .all
            .summary
            .vertices,
        3
    );
}

#[tokio::test]
async fn v7_17_1_rechunked_stores_have_counts_of_zero_and_prefix_minus_one() {
    let mut made = Made::new("point_cloud");
    made.dims = 2;
    // No attribute pair, and one more component than axes; `vertex_count` is 0.
    made.level = json!({"chunk_dims": ["group", "x", "y"], "vertex_count": 0});
    for (bin, x) in [(-1, 1.0), (-1, 2.0), (0, 3.0), (1, 11.0)] {
        let chunk = made
            .chunks
            .entry([bin, (x / 10.0_f32) as i64, 0])
            .or_default();
        chunk.rows.push([x, 1.0, 0.0]);
        chunk.fragments = vec![(0..chunk.rows.len() as i64).collect()];
    }
    // One fragment a chunk, shared by all its objects.
    made.objects = Some(vec![
        (0, vec![([-1, 0, 0], 0)]),
        (1, vec![([-1, 0, 0], 0), ([1, 1, 0], 0)]),
    ]);
    let store = memory(&Legacy::v7(made).files()).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(
        got.column("position"),
        ["1.0 1.0", "2.0 1.0", "3.0 1.0", "11.0 1.0"]
    );
    let got = ask(&store, boxed("2,0:12,2")).await.unwrap();
    assert_eq!(got.column("position"), ["2.0 1.0", "3.0 1.0", "11.0 1.0"]);
    let got = ask(&store, objects(&[1, 0])).await.unwrap();
    assert_eq!(
        got.column("position"),
        ["1.0 1.0", "2.0 1.0", "11.0 1.0", "1.0 1.0", "2.0 1.0"]
    );
    let limited = Query {
        limit: Some(3),
        ..Query::default()
    };
    let got = ask(&store, limited).await.unwrap();
    assert!(got.all.summary.truncated && got.all.summary.vertices == 3);
}

#[tokio::test]
async fn v7_17_3_stale_bounds_leave_nothing_out() {
    let positions = [
        [1.0, 1.0, 1.0],
        [35.0, 1.0, 1.0],
        [-15.0, 1.0, 1.0],
        [1.0, 55.0, 1.0],
    ];
    for bounds in [
        (vec![0.0; 3], vec![5.0; 3]),
        (vec![100.0; 3], vec![200.0; 3]),
        (vec![0.0; 3], vec![0.0; 3]),
    ] {
        let mut made = Made::points(&positions);
        made.bounds = Some(bounds);
        let store = memory(&Legacy::v7(made).files()).await;
        for (at, position) in positions.iter().enumerate() {
            let corner = position.map(|p| p.to_string()).join(",");
            let got = ask(&store, boxed(&format!("{corner}:{corner}")))
                .await
                .unwrap();
            assert_eq!(got.column("n"), [at.to_string()]);
        }
        assert_eq!(
            ask(&store, Query::default())
                .await
                .unwrap()
                .all
                .summary
                .vertices,
            4
        );
    }
}

#[tokio::test]
async fn v7_2_3_a_blob_of_zeros_without_chunk_file_is_zeros() {
    let mut made = Made::points(&[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [11.0, 0.0, 0.0]]);
    made.chunks
        .get_mut(&[1, 0, 0])
        .unwrap()
        .attributes
        .insert("n".into(), vec![0; 4]);
    let mut legacy = Legacy::v7(made);
    legacy.sparse = true;
    let files = legacy.files();
    assert!(!files.contains_key("0/vertices/0.0.0/c/0"));
    assert!(!files.contains_key("0/vertex_attributes/n/1.0.0/c/0"));
    let store = memory(&files).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(
        got.column("position"),
        ["0.0 0.0 0.0", "0.0 0.0 0.0", "11.0 0.0 0.0"]
    );
    assert_eq!(got.column("n"), ["0", "1", "0"]);
    assert!(got.all.summary.warnings.is_empty(), "{:?}", got.all.summary);
    assert_eq!(
        ask(&store, boxed("0,0,0:0,0,0")).await.unwrap().column("n"),
        ["0", "1"]
    );
}

#[tokio::test]
async fn v8_8_1_vertices_that_wrongly_claim_float32_are_float64() {
    let mut made = Made::points(&[[1.5, 1.0, 1.0], [2.5, 1.0, 1.0], [12.5, 1.0, 1.0]]);
    made.attributes.clear();
    made.chunks
        .values_mut()
        .for_each(|chunk| chunk.attributes.clear());
    let legacy = Legacy::v8(made.clone());
    let mut files: Files = legacy.files();
    for (coord, chunk) in &made.chunks {
        let rows = chunk
            .rows
            .iter()
            .flatten()
            .flat_map(|p| f64::from(*p).to_le_bytes())
            .collect();
        legacy.blob(
            &mut files,
            "0/vertices",
            &crate::make_legacy::key(coord),
            rows,
        );
    }
    let store = memory(&files).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(
        got.column("position"),
        ["1.5 1.0 1.0", "2.5 1.0 1.0", "12.5 1.0 1.0"]
    );
    let warnings = [got.all.summary.warnings.clone(), store.warnings()].concat();
    assert!(
        warnings.iter().any(|warning| warning.contains("float64")),
        "{warnings:?}"
    );
}

//! The traps of 0.7 and 0.8 that affect links: graphs, meshes, cells and records. Names as in [`legacy`](crate::legacy).

use std::collections::BTreeSet;

use serde_json::json;
use zvf_query::Query;

use crate::legacy::{boxed, edges, joined, objects, text};
use crate::make::{Chunk, Made};
use crate::make_legacy::{Crossing, Legacy, Record};
use crate::support::{Got, ask, column, listed_links, memory, sorted};

/// A graph of five nodes, two of them in the second chunk (`zvf-0.7`, section 20.5).
fn graph() -> (Made, [[f32; 3]; 5], Vec<Record>) {
    let nodes = [
        [1.0, 1.0, 1.0],
        [2.0, 1.0, 1.0],
        [3.0, 1.0, 1.0],
        [11.0, 1.0, 1.0],
        [12.0, 1.0, 1.0],
    ];
    let mut made = Made::points_with_ids(&nodes, &[0, 0, 1, 1, 1]);
    (made.kind, made.convention) = ("graph", "explicit");
    let (a, b) = ([0, 0, 0], [1, 0, 0]);
    let at = [(a, 0), (a, 1), (a, 2), (b, 0), (b, 1)];
    let records = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)];
    (
        made,
        nodes,
        records.map(|(from, to)| vec![at[from], at[to]]).to_vec(),
    )
}

/// The same store in both generations.
fn both(made: Made, records: &[Record]) -> [Legacy; 2] {
    [Legacy::v7(made.clone()), Legacy::v8(made)].map(|legacy| legacy.with_links(records))
}

fn weights(got: &Got) -> Vec<(String, String)> {
    let positions = got.column("position");
    let names = got
        .links()
        .into_iter()
        .map(|ends| format!("{}|{}", positions[ends[0]], positions[ends[1]]));
    sorted(
        names
            .zip(column(got.links.as_ref().unwrap(), "w"))
            .collect(),
    )
}

#[tokio::test]
async fn v7_9_5_attributes_of_edges_across_chunks_are_null_and_no_others() {
    let (made, nodes, records) = graph();
    let name =
        |from: usize, to: usize| text(&[nodes[from]]).concat() + "|" + &text(&[nodes[to]]).concat();
    let rows = |values: [&str; 5]| {
        let ends = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)];
        sorted(
            ends.iter()
                .zip(values)
                .map(|((from, to), value)| (name(*from, *to), value.to_owned()))
                .collect::<Vec<_>>(),
        )
    };
    let mut v7 = Legacy::v7(made.clone()).with_links(&records);
    v7.weights = Some(vec![0.5, 1.5, 2.5, 3.5, 4.5]);
    let mut v8 = Legacy::v8(made).with_links(&records);
    v8.weights.clone_from(&v7.weights);
    let lost = rows(["0.5", "1.5", "null", "3.5", "null"]);
    let kept = rows(["0.5", "1.5", "2.5", "3.5", "4.5"]);
    for (legacy, expected) in [(v7, lost), (v8, kept)] {
        let store = memory(&legacy.files()).await;
        let got = ask(&store, Query::default()).await.unwrap();
        assert_eq!(weights(&got), expected, "{}", legacy.version);
        let listed = listed_links(&store, 0, 0, false).await;
        assert_eq!(listed.summary.links, 5);
    }
}

#[tokio::test]
async fn v7_15_objects_of_graphs_are_filtered_by_manifest() {
    let (made, nodes, records) = graph();
    for legacy in both(made, &records) {
        let store = memory(&legacy.files()).await;
        let got = ask(&store, objects(&[1])).await.unwrap();
        assert_eq!(got.column("position"), text(&nodes[2..]));
        assert_eq!(edges(&got), joined(&[&nodes[2..4], &nodes[3..5]]));
        let got = ask(&store, objects(&[0])).await.unwrap();
        assert_eq!(edges(&got), joined(&[&nodes[..2]]));
        let got = ask(&store, boxed("3,0,0:11,2,2")).await.unwrap();
        assert_eq!(edges(&got), joined(&[&nodes[2..4]]));
    }
}

/// The mesh of `zvf-0.7`, section 20.6: four chunks, six vertices, four faces.
fn mesh() -> (Made, [[f32; 3]; 6], Vec<Record>) {
    let points = [
        [1.0, 1.0, 1.0],
        [9.0, 1.0, 1.0],
        [1.0, 9.0, 1.0],
        [11.0, 1.0, 1.0],
        [11.0, 11.0, 1.0],
        [1.0, 11.0, 1.0],
    ];
    let mut made = Made::points(&points);
    made.attributes.clear();
    made.chunks
        .values_mut()
        .for_each(|chunk| chunk.attributes.clear());
    (made.kind, made.convention) = ("mesh", "explicit");
    let (a, b, c, d) = ([0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]);
    made.objects = Some(vec![
        (0, vec![(a, 0), (b, 0), (c, 0), (d, 0)]),
        (1, vec![(a, 0)]),
    ]);
    let at = [(a, 0), (a, 1), (a, 2), (b, 0), (c, 0), (d, 0)];
    let faces = [[0, 1, 2], [1, 3, 4], [2, 5, 4], [3, 4, 1]];
    (
        made,
        points,
        faces.map(|face| face.map(|end| at[end]).to_vec()).to_vec(),
    )
}

#[tokio::test]
async fn v7_12_6_a_mesh_object_covers_whole_chunks() {
    let (made, points, records) = mesh();
    for legacy in both(made, &records) {
        let store = memory(&legacy.files()).await;
        // Object 1 touches one chunk: the whole chunk is returned, including vertices of other objects.
        let got = ask(&store, objects(&[1])).await.unwrap();
        assert_eq!(got.column("position"), text(&points[..3]));
        assert_eq!(edges(&got), joined(&[&points[..3]]));
        let got = ask(&store, objects(&[0])).await.unwrap();
        assert_eq!(got.all.summary.vertices, 6);
        assert_eq!(got.all.summary.links, 4);
        let got = ask(&store, Query::default()).await.unwrap();
        let faces: [&[[f32; 3]]; 4] = [
            &[points[0], points[1], points[2]],
            &[points[1], points[3], points[4]],
            &[points[2], points[5], points[4]],
            &[points[3], points[4], points[1]],
        ];
        // Corners are in the order of the writer, so that a rotated face would be detected (0.8, trap 5).
        assert_eq!(edges(&got), joined(&faces), "{}", legacy.version);
    }
}

#[tokio::test]
async fn v7_9_4_a_placeholder_of_width_two_does_not_make_faces_edges() {
    let (made, points, records) = mesh();
    for legacy in [Legacy::v7(made.clone()), Legacy::v8(made)] {
        let store = memory(&legacy.with_links(&records[..1]).files()).await;
        let got = ask(&store, Query::default()).await.unwrap();
        assert_eq!(edges(&got), joined(&[&points[..3]]));
    }
}

#[tokio::test]
async fn v8_9_2_perm_idx_maps_stored_to_input_ends() {
    // Quads over two and more chunks, with every order of corners that a writer may receive.
    let points: Vec<[f32; 3]> = [5.0, 15.0, 25.0, 35.0].map(|x| [x, 1.0, 1.0]).to_vec();
    let mut made = Made::points(&points);
    made.attributes.clear();
    made.chunks
        .values_mut()
        .for_each(|chunk| chunk.attributes.clear());
    (made.kind, made.convention) = ("mesh", "explicit");
    let mut quads = Vec::new();
    for a in 0..4 {
        for b in (0..4).filter(|b| *b != a) {
            for c in (0..4).filter(|c| *c != a && *c != b) {
                quads.push([a, b, c, 6 - a - b - c]);
            }
        }
    }
    let record = |quad: &[usize; 4]| quad.map(|end| ([end as i64, 0, 0], 0)).to_vec();
    let records: Vec<Record> = quads.iter().map(record).collect();
    let tuples: Vec<Vec<[f32; 3]>> = quads
        .iter()
        .map(|quad| quad.map(|end| points[end]).to_vec())
        .collect();
    let expected: Vec<&[[f32; 3]]> = tuples.iter().map(Vec::as_slice).collect();
    for crossing in [(false, false), (true, false), (false, true), (true, true)] {
        let mut legacy = Legacy::v8(made.clone()).with_links(&records);
        legacy.crossing = Crossing::Cells {
            directed: crossing.0,
            duplicate: crossing.1,
        };
        let store = memory(&legacy.files()).await;
        let got = ask(&store, Query::default()).await.unwrap();
        assert_eq!(edges(&got), joined(&expected), "{crossing:?}");
    }
}

#[tokio::test]
async fn v8_9_5_duplicate_families_give_each_record_once() {
    let (made, nodes, mut records) = graph();
    // A record that was written twice on purpose is returned twice.
    records.push(records[2].clone());
    let all = joined(&[
        &nodes[..2],
        &nodes[1..3],
        &nodes[2..4],
        &nodes[2..4],
        &nodes[3..5],
        &[nodes[4], nodes[0]],
    ]);
    for directed in [false, true] {
        let mut legacy = Legacy::v8(made.clone()).with_links(&records);
        legacy.crossing = Crossing::Cells {
            directed,
            duplicate: true,
        };
        legacy.weights = Some((0..6).map(|at| at as f32).collect());
        let store = memory(&legacy.files()).await;
        for query in [Query::default(), boxed("0,0,0:20,20,20"), objects(&[0, 1])] {
            let got = ask(&store, query).await.unwrap();
            assert_eq!(edges(&got), all);
            let found = sorted(column(got.links.as_ref().unwrap(), "w"));
            assert_eq!(found, ["0.0", "1.0", "2.0", "3.0", "4.0", "5.0"]);
        }
        // A box with only the second chunk has only its own link; no link is invented.
        let got = ask(&store, boxed("10,0,0:20,2,2")).await.unwrap();
        assert_eq!(edges(&got), joined(&[&nodes[3..5]]));
        let listed = listed_links(&store, 0, 0, false).await;
        assert_eq!(listed.summary.links, 6);
    }
}

#[tokio::test]
async fn v7_8_2_unrecorded_column_counts_follow_from_the_bytes() {
    let (mut made, nodes, records) = graph();
    made.attributes
        .insert("normal".into(), json!({"dtype": "float32"}));
    for chunk in made.chunks.values_mut() {
        let values = chunk.rows.iter().flat_map(|row| row.map(|p| p * 2.0));
        chunk
            .attributes
            .insert("normal".into(), values.flat_map(f32::to_le_bytes).collect());
    }
    // A chunk without rows does not determine the number of columns.
    made.chunks.insert(
        [-1, 0, 0],
        Chunk {
            attributes: [("normal".to_owned(), Vec::new())].into(),
            ..Chunk::default()
        },
    );
    let store = memory(&Legacy::v7(made).with_links(&records).files()).await;
    let expected: Vec<[f32; 3]> = nodes.iter().map(|node| node.map(|p| p * 2.0)).collect();
    for query in [Query::default(), objects(&[0, 1])] {
        let got = ask(&store, query).await.unwrap();
        assert_eq!(got.column("normal"), text(&expected));
    }
}

#[tokio::test]
async fn v8_9_6_cells_in_text_order_are_all_there() {
    // Chunks 2 and 10: sorted as text, 10 is first.
    let points: Vec<[f32; 3]> = (0..12)
        .map(|at| [at as f32 * 10.0 + 5.0, 1.0, 1.0])
        .collect();
    let mut made = Made::points(&points);
    (made.kind, made.convention) = ("graph", "explicit");
    let records: Vec<Record> = (0..11)
        .map(|at| vec![([at, 0, 0], 0), ([at + 1, 0, 0], 0)])
        .collect();
    let mut legacy = Legacy::v8(made).with_links(&records);
    legacy.weights = Some((0..11).map(|at| at as f32).collect());
    let store = memory(&legacy.files()).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(
        got.column("n"),
        (0..12).map(|at| at.to_string()).collect::<Vec<_>>()
    );
    let links: BTreeSet<(Vec<usize>, String)> = got
        .links()
        .into_iter()
        .zip(column(got.links.as_ref().unwrap(), "w"))
        .collect();
    let expected = (0..11).map(|at| (vec![at, at + 1], format!("{:?}", at as f32)));
    assert_eq!(links, expected.collect());
    let few = Query {
        limit: Some(3),
        ..Query::default()
    };
    assert_eq!(ask(&store, few).await.unwrap().column("n"), ["0", "1", "2"]);
}

#[tokio::test]
async fn v7_9_2_columns_of_link_attributes_follow_from_the_bytes() {
    let (made, nodes, records) = graph();
    let mut legacy = Legacy::v7(made).with_links(&records);
    legacy.weights = Some(vec![0.0; 5]);
    let mut files = legacy.files();
    let values = |all: &[f32]| all.iter().flat_map(|v| v.to_le_bytes()).collect();
    let path = "0/link_attributes/w/0";
    legacy.blob(&mut files, path, "0.0.0", values(&[1.0, 2.0, 3.0, 4.0]));
    legacy.blob(&mut files, path, "1.0.0", values(&[5.0, 6.0]));
    let store = memory(&files).await;
    let name =
        |from: usize, to: usize| text(&[nodes[from]]).concat() + "|" + &text(&[nodes[to]]).concat();
    let rows = [
        (name(0, 1), "1.0 2.0"),
        (name(1, 2), "3.0 4.0"),
        (name(2, 3), "null"),
        (name(3, 4), "5.0 6.0"),
        (name(4, 0), "null"),
    ];
    let expected = sorted(rows.map(|(name, value)| (name, value.to_owned())).to_vec());
    assert_eq!(
        weights(&ask(&store, Query::default()).await.unwrap()),
        expected
    );
    let listed = listed_links(&store, 0, 0, false).await;
    assert_eq!(listed.summary.links, 5);
}

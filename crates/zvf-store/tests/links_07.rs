//! Links of 0.6 and 0.7: flat rows by chunk, one blob of records between chunks, links between levels.

use serde_json::json;
use zvf_store::{ContainerKind, Need, Placement, Touch};

use crate::older::{
    add_blob, add_group, add_level, at, hex, i64s, records, store_07, try_records, weights,
};
use crate::support::{Files, open_memory};

const A: [i64; 3] = [0, 0, 0];
const B: [i64; 3] = [1, 0, 0];
const C: [i64; 3] = [1, 1, 0];
const D: [i64; 3] = [0, 1, 0];

fn links(files: &mut Files, level: u32, delta: &str, width: u32) {
    let number: i32 = delta.parse().unwrap();
    let attributes =
        json!({"zv_array": "links", "dtype": "int64", "link_width": width, "level_delta": number});
    add_group(files, &format!("{level}/links/{delta}"), attributes);
}

fn data(files: &mut Files, level: u32, delta: &str, width: u32, count: u64, bytes: &[u8]) {
    let number: i32 = delta.parse().unwrap();
    let attributes = json!({"zv_array": "cross_chunk_links", "level_delta": number, "link_width": width,
        "num_links": count, "sid_ndim": 3});
    let path = format!("{level}/cross_chunk_links/{delta}");
    add_group(files, &path, attributes);
    add_blob(files, &format!("{path}/data"), bytes);
}

/// Section 20.5: five nodes, edges (0,1)(1,2)(2,3)(3,4)(4,0), nodes 3 and 4 in chunk 1.0.0.
fn graph() -> Files {
    let mut files = store_07("graph", &["0.0.0", "1.0.0"]);
    links(&mut files, 0, "0", 2);
    let rows = hex("0000000000000000 0100000000000000   0100000000000000 0200000000000000");
    add_blob(&mut files, "0/links/0/0.0.0", &rows);
    add_blob(
        &mut files,
        "0/links/0/1.0.0",
        &hex("0000000000000000 0100000000000000"),
    );
    data(
        &mut files,
        0,
        "0",
        2,
        2,
        &i64s(&[0, 0, 0, 2, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0]),
    );
    let weight =
        json!({"zv_array": "link_attribute", "name": "w", "dtype": "float32", "level_delta": 0});
    add_group(&mut files, "0/link_attributes/w/0", weight);
    add_blob(
        &mut files,
        "0/link_attributes/w/0/0.0.0",
        &hex("cdcccc3d cdcc4c3e"),
    );
    files
}

#[tokio::test]
async fn worked_example_20_5_a_graph() {
    let mut files = graph();
    let store = open_memory(&files).await;
    let expected = [
        vec![at(&A, 0), at(&A, 1)],
        vec![at(&A, 1), at(&A, 2)],
        vec![at(&B, 0), at(&B, 1)],
        vec![at(&A, 2), at(&B, 0)],
        vec![at(&B, 1), at(&A, 0)],
    ];
    assert_eq!(records(&store, 0, 0).await, expected);
    let level = store.level(0, &Need::all()).await.unwrap();
    let family = level.links(0).unwrap();
    let [inside, between] = family.arrays() else {
        panic!("two arrays");
    };
    assert!(inside.is_intra() && *inside.placement() == Placement::SameKey);
    assert!(!between.is_intra() && *between.placement() == Placement::Tuple);
    assert_eq!(between.array.container(), ContainerKind::Records);
    assert_eq!((inside.chunk_rank(), between.chunk_rank()), (3, 3));
    assert!(family.rows_trusted() && !family.parent_first(between));
    // The reference loses the weights of the edges between chunks; this reader returns them.
    let weight = json!({"zv_array": "cross_chunk_link_attribute", "name": "w", "dtype": "float32", "level_delta": 0,
        "num_links": 2, "shape": [2]});
    add_group(&mut files, "0/cross_chunk_link_attributes/w/0", weight);
    add_blob(
        &mut files,
        "0/cross_chunk_link_attributes/w/0/data",
        &hex("9a99993e 0000003f"),
    );
    add_blob(&mut files, "0/link_attributes/w/0/1.0.0", &hex("cdcccc3e"));
    let store = open_memory(&files).await;
    assert_eq!(weights(&store, 0, "w").await, [0.1, 0.2, 0.4, 0.3, 0.5]);
    // What was loaded once is also available under another need.
    let need = Need {
        link_deltas: zvf_store::Deltas::List(vec![0]),
        ..Need::default()
    };
    let level = store.level(0, &need).await.unwrap();
    assert_eq!(level.links(0).unwrap().arrays().len(), 2);
    assert!(level.links(0).unwrap().attributes().is_empty());
    assert_eq!(store.warnings(), Vec::<String>::new());
}

#[tokio::test]
async fn cells_near_chunks_are_found_from_both_sides() {
    let store = open_memory(&graph()).await;
    let level = store.level(0, &Need::all()).await.unwrap();
    struct Set(Vec<Vec<i64>>);
    impl zvf_store::Chunks for Set {
        fn count(&self) -> usize {
            self.0.len()
        }
        fn visit(&self, each: &mut dyn FnMut(&[i64])) {
            self.0.iter().for_each(|chunk| each(chunk));
        }
        fn has(&self, chunk: &[i64]) -> bool {
            self.0.iter().any(|one| one == chunk)
        }
    }
    for array in level.links(0).unwrap().arrays() {
        for chunks in [
            vec![],
            vec![A.to_vec()],
            vec![B.to_vec()],
            vec![A.to_vec(), B.to_vec()],
            vec![D.to_vec()],
        ] {
            for touch in [Touch::All, Touch::Any] {
                let mut expected: Vec<Vec<i64>> = array
                    .array
                    .presence()
                    .iter()
                    .filter(|source| {
                        let mut ends = Vec::new();
                        array.endpoint_chunks(source, &mut ends).unwrap();
                        let mut inside = ends.chunks(3).map(|end| chunks.iter().any(|c| c == end));
                        match touch {
                            Touch::All => inside.all(|inside| inside),
                            Touch::Any => inside.any(|inside| inside),
                        }
                    })
                    .map(<[i64]>::to_vec)
                    .collect();
                let mut found = Vec::new();
                array
                    .cells_near(&Set(chunks.clone()), touch, |cell, _| {
                        found.push(cell.to_vec())
                    })
                    .unwrap();
                found.sort();
                expected.sort();
                assert_eq!(found, expected, "{chunks:?} {touch:?}");
            }
        }
    }
}

#[tokio::test]
async fn worked_example_20_6_a_mesh() {
    let mut files = store_07("mesh", &["0.0.0", "1.0.0", "1.1.0", "0.1.0"]);
    links(&mut files, 0, "0", 3);
    add_blob(&mut files, "0/links/0/0.0.0", &i64s(&[0, 1, 2]));
    let faces = i64s(&[
        0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, //
        0, 0, 0, 2, 0, 1, 0, 0, 1, 1, 0, 0, //
        1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1,
    ]);
    assert_eq!(faces.len(), 288);
    data(&mut files, 0, "0", 3, 3, &faces);
    let store = open_memory(&files).await;
    let expected = [
        vec![at(&A, 0), at(&A, 1), at(&A, 2)],
        vec![at(&A, 1), at(&B, 0), at(&C, 0)],
        vec![at(&A, 2), at(&D, 0), at(&C, 0)],
        vec![at(&B, 0), at(&C, 0), at(&A, 1)],
    ];
    let mut found = records(&store, 0, 0).await;
    found.sort();
    let mut sorted = expected.to_vec();
    sorted.sort();
    assert_eq!(found, sorted);
}

#[tokio::test]
async fn worked_example_20_7_a_skeleton_has_the_child_first() {
    let mut files = store_07("skeleton", &["0.0.0", "1.0.0"]);
    links(&mut files, 0, "0", 2);
    add_blob(&mut files, "0/links/0/0.0.0", &i64s(&[3, 1]));
    data(&mut files, 0, "0", 2, 1, &i64s(&[1, 0, 0, 0, 0, 0, 0, 2]));
    let store = open_memory(&files).await;
    let found = records(&store, 0, 0).await;
    assert_eq!(
        found,
        [vec![at(&A, 3), at(&A, 1)], vec![at(&B, 0), at(&A, 2)]]
    );
    let level = store.level(0, &Need::all()).await.unwrap();
    let family = level.links(0).unwrap();
    assert!(family.rows_trusted());
    assert!(
        family
            .arrays()
            .iter()
            .all(|array| !family.parent_first(array))
    );
}

/// Section 20.9, with level 1 in chunks twice as large: the grids differ, and the keys are compared as text.
#[tokio::test]
async fn links_n_compares_key_strings_of_different_grids() {
    let mut files = store_07("streamline", &["2.0.0", "1.0.0"]);
    add_level(&mut files, 1, &["2.0.0", "0.0.0"]);
    crate::support::edit(&mut files, "1/zarr.json", |level| {
        level["attributes"]["zarr_vectors_level"]["chunk_shape"] = json!([20.0, 20.0, 20.0]);
    });
    links(&mut files, 0, "+1", 2);
    let row = hex("0100000000000000  0000000000000000   0000000000000000 0000000000000000");
    assert_eq!(row.len(), 32);
    add_blob(&mut files, "0/links/+1/2.0.0", &row);
    let mirror = i64s(&[
        0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 2,
    ]);
    data(&mut files, 1, "-1", 2, 3, &mirror);
    let store = open_memory(&files).await;
    let level = store.level(0, &Need::all()).await.unwrap();
    let family = level.links(1).unwrap();
    assert!(
        family.rows_trusted(),
        "only records inside a level have made-up rows"
    );
    assert!(!family.arrays()[0].is_intra());
    // The target is chunk 2.0.0 of the coarse grid, not 1.0.0, which contains the position of the source.
    assert_eq!(
        records(&store, 0, 1).await,
        [vec![at(&[2, 0, 0], 0), at(&[2, 0, 0], 0)]]
    );
    let expected: Vec<_> = (0..3).map(|row| vec![at(&A, 0), at(&B, row)]).collect();
    assert_eq!(records(&store, 1, -1).await, expected);
}

#[tokio::test]
async fn placeholder_link_width_2_for_meshes() {
    let mut files = store_07("mesh", &["0.0.0"]);
    links(&mut files, 0, "0", 3);
    add_blob(&mut files, "0/links/0/0.0.0", &i64s(&[0, 1, 2]));
    let placeholder = json!({"zv_array": "cross_chunk_links", "level_delta": 0, "link_width": 2});
    add_group(&mut files, "0/cross_chunk_links/0", placeholder.clone());
    let store = open_memory(&files).await;
    let level = store.level(0, &Need::all()).await.unwrap();
    assert_eq!(level.links(0).unwrap().width(), 3);
    assert!(level.refused().is_empty());
    assert_eq!(records(&store, 0, 0).await.len(), 1);
    // Without links inside chunks, it is a family without records.
    let mut files = store_07("mesh", &["0.0.0"]);
    add_group(&mut files, "0/cross_chunk_links/0", placeholder);
    let store = open_memory(&files).await;
    let level = store.level(0, &Need::all()).await.unwrap();
    let family = level.links(0).unwrap();
    assert_eq!((family.width(), family.arrays().len()), (0, 0));
    // If records have another width than links inside chunks, the latter are not read.
    let mut files = store_07("mesh", &["0.0.0"]);
    links(&mut files, 0, "0", 3);
    add_blob(&mut files, "0/links/0/0.0.0", &i64s(&[0, 1, 2]));
    data(&mut files, 0, "0", 2, 1, &i64s(&[0, 0, 0, 2, 1, 0, 0, 0]));
    let store = open_memory(&files).await;
    let level = store.level(0, &Need::all()).await.unwrap();
    assert_eq!(level.refused().len(), 1);
    assert_eq!(level.refused()[0].path, "0/cross_chunk_links/0");
    assert!(
        level.refused()[0]
            .to_string()
            .contains("link_width is 2, but 3")
    );
    assert_eq!(records(&store, 0, 0).await.len(), 1);
}

#[tokio::test]
async fn row_0_at_both_ends_for_lines() {
    for kind in [
        "line",
        "polyline",
        "streamline",
        "graph",
        "skeleton",
        "mesh",
    ] {
        let mut files = store_07(kind, &["0.0.0", "1.0.0"]);
        data(&mut files, 0, "0", 2, 1, &i64s(&[0, 0, 0, 0, 1, 0, 0, 0]));
        let store = open_memory(&files).await;
        let level = store.level(0, &Need::all()).await.unwrap();
        let trusted = matches!(kind, "graph" | "skeleton" | "mesh");
        assert_eq!(level.links(0).unwrap().rows_trusted(), trusted, "{kind}");
    }
}

#[tokio::test]
async fn lengths_that_disagree_with_num_links_are_errors() {
    let rows = i64s(&[0, 0, 0, 2, 1, 0, 0, 0]);
    for (count, width, bytes) in [
        (2, 2, rows.clone()),
        (0, 2, rows.clone()),
        (u64::MAX, 2, rows.clone()),
        (1, 2, rows[..63].to_vec()),
        (1, 3, rows.clone()),
        (1, 255, rows.clone()),
    ] {
        let mut files = store_07("graph", &["0.0.0", "1.0.0"]);
        data(&mut files, 0, "0", width, count, &bytes);
        let store = open_memory(&files).await;
        let error = try_records(&store, 0, 0).await.unwrap_err();
        assert!(
            error.to_string().contains("0/cross_chunk_links/0/data"),
            "{error}"
        );
    }
    let mut files = store_07("graph", &["0.0.0", "1.0.0"]);
    data(&mut files, 0, "0", 0, 1, &rows);
    let error = try_records(&open_memory(&files).await, 0, 0)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("link_width is 0"), "{error}");
    // Another number of values than records.
    let mut files = graph();
    let weight = json!({"dtype": "float32", "shape": [2]});
    add_group(&mut files, "0/cross_chunk_link_attributes/w/0", weight);
    add_blob(
        &mut files,
        "0/cross_chunk_link_attributes/w/0/data",
        &[1; 11],
    );
    let store = open_memory(&files).await;
    let level = store.level(0, &Need::all()).await.unwrap();
    assert!(level.links(0).unwrap().attributes().is_empty());
    assert!(
        store.warnings()[0].contains("11 bytes found"),
        "{:?}",
        store.warnings()
    );
}

#[tokio::test]
async fn a_missing_group_node_hides_no_family() {
    // As the batched writer leaves it: no document at links, cross_chunk_links, link_attributes, link_attributes/w.
    let files = graph();
    for missing in [
        "0/links",
        "0/cross_chunk_links",
        "0/link_attributes",
        "0/link_attributes/w",
    ] {
        assert!(
            !files.contains_key(&format!("{missing}/zarr.json")),
            "{missing}"
        );
    }
    let store = open_memory(&files).await;
    assert_eq!(records(&store, 0, 0).await.len(), 5);
}

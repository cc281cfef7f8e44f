//! Links of 0.8: cells for tuples of chunks, their policies and containers, and what is refused.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zvf_format::links::lehmer;
use zvf_store::{Need, Placement};

use crate::older::{
    End, add_blob, add_group, add_level, at, hex, i64s, records, store_07, try_records, weights,
};
use crate::support::{Files, open_memory};

const A: [i64; 3] = [0, 0, 0];
const B: [i64; 3] = [1, 0, 0];
const C: [i64; 3] = [1, 1, 0];
const D: [i64; 3] = [0, 1, 0];
const CROSS: &str = "0/cross_chunk_links/0";

fn store_08(kind: &str, width: u32, cells: &[(&str, Vec<u8>)], more: Value) -> Files {
    let mut files = store_07(kind, &["0.0.0", "1.0.0", "0.1.0", "1.1.0"]);
    crate::support::edit(&mut files, "zarr.json", |root| {
        root["attributes"]["zarr_vectors"]["zv_version"] = json!("0.8.1");
    });
    let mut attributes = json!({"zv_array": "cross_chunk_links", "sid_ndim": 3, "level_delta": 0,
        "link_width": width, "directed": false, "store": "canonical"});
    for (name, value) in more.as_object().unwrap() {
        attributes[name] = value.clone();
    }
    add_group(&mut files, CROSS, attributes);
    for (key, bytes) in cells {
        add_blob(&mut files, &format!("{CROSS}/{key}"), bytes);
    }
    files
}

/// A cell of rows of a permutation code and rows of vertices, one group for each.
fn cell(rows: &[&[i64]]) -> Vec<u8> {
    let width = i64::try_from(rows[0].len()).unwrap() * 8;
    let mut numbers = vec![i64::try_from(rows.len()).unwrap()];
    numbers.extend((0..).map(|i| i * width).take(rows.len()));
    numbers.extend(rows.iter().copied().flatten());
    i64s(&numbers)
}

fn sorted(mut records: Vec<Vec<End>>) -> Vec<Vec<End>> {
    records.sort();
    records
}

/// Section 19.1: r0 = a:2 b:0; r1 = b:1 a:0; r2 = a:7 a:3; r3 = b:5 a:9.
#[tokio::test]
async fn worked_example_19_1_every_policy() {
    let edges = sorted(vec![
        vec![at(&A, 2), at(&B, 0)],
        vec![at(&B, 1), at(&A, 0)],
        vec![at(&A, 7), at(&A, 3)],
        vec![at(&B, 5), at(&A, 9)],
    ]);
    let inner = hex(
        "0100000000000000 0000000000000000  0100000000000000 0300000000000000 0700000000000000",
    );
    let outer = hex(
        "0300000000000000  0000000000000000 1800000000000000 3000000000000000
         0000000000000000 0200000000000000 0000000000000000
         0100000000000000 0000000000000000 0100000000000000
         0100000000000000 0900000000000000 0500000000000000",
    );
    assert_eq!((inner.len(), outer.len()), (40, 104));
    let files = store_08(
        "graph",
        2,
        &[
            ("0.0.0.0.0.0", inner.clone()),
            ("0.0.0.1.0.0", outer.clone()),
        ],
        json!({"num_links": 4, "num_physical_records": 4}),
    );
    assert_eq!(
        sorted(records(&open_memory(&files).await, 0, 0).await),
        edges
    );
    // A family of 0.8.0 has neither policy nor counts of rows.
    let mut old = files.clone();
    crate::support::edit(&mut old, &format!("{CROSS}/zarr.json"), |group| {
        let attributes = group["attributes"].as_object_mut().unwrap();
        for name in ["directed", "store", "num_physical_records"] {
            attributes.remove(name);
        }
    });
    assert_eq!(sorted(records(&open_memory(&old).await, 0, 0).await), edges);

    let far = hex("0200000000000000  0000000000000000 1800000000000000
         0000000000000000 0100000000000000 0000000000000000
         0000000000000000 0500000000000000 0900000000000000");
    assert_eq!(far.len(), 72);
    let directed = store_08(
        "graph",
        2,
        &[
            ("0.0.0.0.0.0", cell(&[&[0, 7, 3]])),
            ("0.0.0.1.0.0", cell(&[&[0, 2, 0]])),
            ("1.0.0.0.0.0", far),
        ],
        json!({"directed": true}),
    );
    let store = open_memory(&directed).await;
    assert_eq!(sorted(records(&store, 0, 0).await), edges);
    let level = store.level(0, &Need::all()).await.unwrap();
    let family = level.links(0).unwrap();
    // Directed families of 0.8 point from child to parent, like all except the streamed ones of 0.9.
    assert!(family.directed() && !family.parent_first(&family.arrays()[0]));

    for directed in [false, true] {
        let duplicate = store_08(
            "graph",
            2,
            &[
                ("0.0.0.0.0.0", inner.clone()),
                ("0.0.0.1.0.0", outer.clone()),
                ("1.0.0.0.0.0", cell(&[&[1, 0, 2], &[0, 1, 0], &[0, 5, 9]])),
            ],
            json!({"store": "duplicate", "directed": directed, "num_links": 4, "num_physical_records": 7}),
        );
        let store = open_memory(&duplicate).await;
        assert_eq!(sorted(records(&store, 0, 0).await), edges);
    }
}

#[tokio::test]
async fn num_links_is_logical_and_duplicates_are_counted_once() {
    // A record that was written twice deliberately stays two records.
    let files = store_08(
        "graph",
        2,
        &[
            ("0.0.0.1.0.0", cell(&[&[0, 2, 0], &[0, 2, 0]])),
            ("1.0.0.0.0.0", cell(&[&[1, 0, 2], &[1, 0, 2]])),
        ],
        json!({"store": "duplicate", "num_links": 2, "num_physical_records": 4}),
    );
    let store = open_memory(&files).await;
    let edge = vec![at(&A, 2), at(&B, 0)];
    assert_eq!(records(&store, 0, 0).await, [edge.clone(), edge]);
    let level = store.level(0, &Need::all()).await.unwrap();
    let doc = level.links(0).unwrap().doc();
    assert_eq!(
        (doc.num_links, doc.num_physical_records),
        (Some(2), Some(4))
    );
}

#[tokio::test]
async fn worked_example_19_2_a_graph_with_values() {
    let bytes = hex("0200000000000000  0000000000000000 1800000000000000
         0000000000000000 0200000000000000 0000000000000000
         0100000000000000 0000000000000000 0100000000000000");
    let counts = json!({"num_links": 2, "num_physical_records": 2});
    let mut files = store_08("graph", 2, &[("0.0.0.1.0.0", bytes)], counts);
    let weight = json!({"zv_array": "cross_chunk_link_attribute", "name": "w", "dtype": "float32", "level_delta": 0,
        "num_links": 2, "row_shape": []});
    add_group(&mut files, "0/cross_chunk_link_attributes/w/0", weight);
    add_blob(
        &mut files,
        "0/cross_chunk_link_attributes/w/0/0.0.0.1.0.0",
        &hex("9a99993e 0000003f"),
    );
    let store = open_memory(&files).await;
    let expected = [vec![at(&A, 2), at(&B, 0)], vec![at(&B, 1), at(&A, 0)]];
    assert_eq!(records(&store, 0, 0).await, expected);
    assert_eq!(weights(&store, 0, "w").await, [0.3, 0.5]);
}

/// Sections 17.5 and 19.3: a code read in the wrong direction keeps the winding and starts at another corner.
#[tokio::test]
async fn perm_idx_is_stored_to_input_for_a_cyclic_triangle() {
    let (p, q, r) = (
        at(&[0, 0, 0], 100),
        at(&[1, 0, 0], 101),
        at(&[2, 0, 0], 102),
    );
    let orders = [
        (0, [&p, &q, &r]),
        (1, [&p, &r, &q]),
        (2, [&q, &p, &r]),
        (4, [&q, &r, &p]),
        (3, [&r, &p, &q]),
        (5, [&r, &q, &p]),
    ];
    for (code, order) in orders {
        let bytes = cell(&[&[code, 100, 101, 102]]);
        let files = store_08("mesh", 3, &[("0.0.0.1.0.0.2.0.0", bytes)], json!({}));
        let store = open_memory(&files).await;
        let expected: Vec<End> = order.into_iter().cloned().collect();
        assert_eq!(records(&store, 0, 0).await, [expected], "code {code}");
    }
}

#[tokio::test]
async fn perm_idx_is_stored_to_input_for_a_quad() {
    // Section 19.5: b:0 a:3 a:1 b:1 has s = (2,1,0,3), code 14.
    let bytes = hex("0100000000000000 0000000000000000 0e00000000000000
         0100000000000000 0300000000000000 0000000000000000 0100000000000000");
    assert_eq!(bytes.len(), 56);
    let files = store_08("mesh", 4, &[("0.0.0.0.0.0.1.0.0.1.0.0", bytes)], json!({}));
    let found = records(&open_memory(&files).await, 0, 0).await;
    assert_eq!(found, [vec![at(&B, 0), at(&A, 3), at(&A, 1), at(&B, 1)]]);
    // All 24 codes, of which fourteen differ from their inverse.
    let chunks = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]];
    let rows: Vec<Vec<i64>> = (0..24).map(|code| vec![code, 10, 11, 12, 13]).collect();
    let rows: Vec<&[i64]> = rows.iter().map(Vec::as_slice).collect();
    let key = "0.0.0.1.0.0.2.0.0.3.0.0";
    let files = store_08("mesh", 4, &[(key, cell(&rows))], json!({}));
    let found = records(&open_memory(&files).await, 0, 0).await;
    for (code, record) in (0..24).zip(found) {
        let mut s = [0; 4];
        lehmer::decode(code, &mut s).unwrap();
        for (stored, input) in s.into_iter().enumerate() {
            let row = 10 + i64::try_from(stored).unwrap();
            assert_eq!(
                record[usize::from(input)],
                at(&chunks[stored], row),
                "code {code}"
            );
        }
    }
}

#[tokio::test]
async fn worked_example_19_4_a_mesh() {
    let first = hex(
        "0100000000000000 0000000000000000  0000000000000000 0200000000000000 0000000000000000 0000000000000000",
    );
    let second = hex("0200000000000000  0000000000000000 2000000000000000
         0000000000000000 0100000000000000 0000000000000000 0000000000000000
         0400000000000000 0100000000000000 0000000000000000 0000000000000000");
    assert_eq!((first.len(), second.len()), (48, 88));
    let cells = [("0.0.0.0.1.0.1.1.0", first), ("0.0.0.1.0.0.1.1.0", second)];
    let files = store_08("mesh", 3, &cells, json!({}));
    let found = records(&open_memory(&files).await, 0, 0).await;
    let expected = [
        vec![at(&A, 2), at(&D, 0), at(&C, 0)],
        vec![at(&A, 1), at(&B, 0), at(&C, 0)],
        vec![at(&B, 0), at(&C, 0), at(&A, 1)],
    ];
    assert_eq!(found, expected);
    // As duplicates, there are copies at every corner's chunk, with the same content.
    let copies = [
        ("0.0.0.1.0.0.1.1.0", cell(&[&[0, 1, 0, 0]])),
        ("1.0.0.0.0.0.1.1.0", cell(&[&[2, 0, 1, 0]])),
        ("1.1.0.0.0.0.1.0.0", cell(&[&[4, 0, 1, 0]])),
    ];
    let files = store_08("mesh", 3, &copies, json!({"store": "duplicate"}));
    let found = records(&open_memory(&files).await, 0, 0).await;
    assert_eq!(found, [vec![at(&A, 1), at(&B, 0), at(&C, 0)]]);
    let mut alone = files.clone();
    crate::support::edit(&mut alone, &format!("{CROSS}/zarr.json"), |group| {
        group["attributes"]["store"] = json!("canonical");
    });
    let found = records(&open_memory(&alone).await, 0, 0).await;
    assert_eq!(found, vec![vec![at(&A, 1), at(&B, 0), at(&C, 0)]; 3]);
}

#[tokio::test]
async fn worked_example_19_5_one_endpoint_and_two_axes() {
    let single = hex("0100000000000000 0000000000000000 0000000000000000 0400000000000000");
    assert_eq!(single.len(), 32);
    let files = store_08("graph", 1, &[("0.0.0", single)], json!({}));
    assert_eq!(
        records(&open_memory(&files).await, 0, 0).await,
        [vec![at(&A, 4)]]
    );
    let mut files = store_07("graph", &["-1.2", "0.-1"]);
    let attributes =
        json!({"zv_array": "cross_chunk_links", "sid_ndim": 2, "level_delta": 0, "link_width": 2});
    add_group(&mut files, CROSS, attributes);
    add_blob(
        &mut files,
        &format!("{CROSS}/-1.2.0.-1"),
        &cell(&[&[1, 3, 0]]),
    );
    let found = records(&open_memory(&files).await, 0, 0).await;
    assert_eq!(found, [vec![at(&[0, -1], 0), at(&[-1, 2], 3)]]);
}

/// Section 19.5: fine (2,3,1):7 to coarse (1,1,0):3 is stored in cell 1.1.0.2.3.1, sorted by numbers of two grids.
#[tokio::test]
async fn cross_level_records_are_sorted_by_different_grids() {
    let mut files = store_07("graph", &["2.3.1"]);
    add_level(&mut files, 1, &["1.1.0"]);
    let attributes = json!({"zv_array": "cross_chunk_links", "sid_ndim": 3, "level_delta": 1, "link_width": 2,
        "num_links": 1});
    add_group(&mut files, "0/cross_chunk_links/+1", attributes);
    add_blob(
        &mut files,
        "0/cross_chunk_links/+1/1.1.0.2.3.1",
        &cell(&[&[1, 3, 7]]),
    );
    let store = open_memory(&files).await;
    // The first endpoint of the application is of this level, regardless of the first one in the key.
    assert_eq!(
        records(&store, 0, 1).await,
        [vec![at(&[2, 3, 1], 7), at(&[1, 1, 0], 3)]]
    );
}

#[tokio::test]
async fn text_order_of_cells_is_not_numeric() {
    let cells: Vec<(&str, Vec<u8>)> = ["2.0.0.3.0.0", "10.0.0.11.0.0", "-1.0.0.0.0.0"]
        .into_iter()
        .zip([2, 10, -1])
        .map(|(key, first): (&str, i64)| (key, cell(&[&[0, first.abs(), 0]])))
        .collect();
    let files = store_08("graph", 2, &cells, json!({}));
    let store = open_memory(&files).await;
    let level = store.level(0, &Need::all()).await.unwrap();
    let array = &level.links(0).unwrap().arrays()[0];
    let order: Vec<i64> = array.array.presence().iter().map(|cell| cell[0]).collect();
    assert_eq!(order, [-1, 2, 10]);
    // Record numbers follow the text.
    let first: Vec<i64> = records(&store, 0, 0)
        .await
        .iter()
        .map(|r| r[0].0[0])
        .collect();
    assert_eq!(first, [-1, 10, 2]);
}

#[tokio::test]
async fn damaged_cells_are_errors() {
    let good = cell(&[&[1, 3, 7]]);
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("code 2", cell(&[&[2, 3, 7]]), "permutation"),
        ("code -1", cell(&[&[-1, 3, 7]]), "permutation"),
        ("row -1", cell(&[&[0, -1, 7]]), "row"),
        ("cut short", good[..39].to_vec(), ""),
        ("groups beyond the end", i64s(&[i64::MAX, 0, 1, 3, 7]), ""),
        ("three numbers a row", cell(&[&[0, 1, 2, 3]]), ""),
    ];
    for (name, bytes, word) in cases {
        let files = store_08("graph", 2, &[("0.0.0.1.0.0", bytes)], json!({}));
        let error = try_records(&open_memory(&files).await, 0, 0)
            .await
            .expect_err(name);
        let text = error.to_string();
        assert!(
            text.contains("0/cross_chunk_links/0 at 0.0.0.1.0.0") && text.contains(word),
            "{name}: {text}"
        );
    }
    // The rank of another store.
    let files = store_08("graph", 2, &[("0.0.0.1.0.0", good)], json!({"sid_ndim": 2}));
    let error = try_records(&open_memory(&files).await, 0, 0)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("sid_ndim is 2, expected 3"),
        "{error}"
    );
}

/// A refused node leaves the rest of the level readable, and the warning names the path and the reason.
async fn refused(files: &Files, path: &str, why: &str) {
    let store = open_memory(files).await;
    let level = store.level(0, &Need::all()).await.unwrap();
    let [refused] = level.refused() else {
        panic!("{why}: {:?}", level.refused());
    };
    assert_eq!((refused.path.as_str(), refused.delta), (path, Some(0)));
    assert!(refused.why.contains(why), "{why}: {}", refused.why);
    assert_eq!(level.vertices().presence().len(), 4);
    let tuples = level
        .links(0)
        .into_iter()
        .flat_map(|family| family.arrays());
    assert_eq!(
        tuples
            .filter(|a| *a.placement() == Placement::Tuple)
            .count(),
        0
    );
}

#[tokio::test]
async fn dialects_and_what_cannot_be_told_are_refused_by_name() {
    // Section 19.9: the edge a:5 b:2 in the leaf dialect, with and without the word.
    let record = hex("0001 0500000000000000 0200000000000000");
    for more in [json!({"layout": "partitioned_v1"}), json!({})] {
        let mut files = store_08("graph", 2, &[], more);
        add_group(&mut files, &format!("{CROSS}/0.0.0"), json!({}));
        add_blob(&mut files, &format!("{CROSS}/0.0.0/1.0.0/data"), &record);
        refused(&files, CROSS, "partitioned_v1").await;
    }
    // The dialect of k1, k2, ...
    for more in [json!({"layout": "sharded_v1"}), json!({})] {
        let mut files = store_08("graph", 2, &[], more);
        crate::support::add_grid(
            &mut files,
            &format!("{CROSS}/k2"),
            &[1; 6],
            &[0; 6],
            &[(vec![0; 6], record.clone())],
        );
        refused(&files, CROSS, "k1, k2").await;
    }
    // Two forms at once.
    let good = cell(&[&[1, 3, 7]]);
    let mut files = store_08("graph", 2, &[("0.0.0.1.0.0", good.clone())], json!({}));
    add_blob(
        &mut files,
        &format!("{CROSS}/data"),
        &i64s(&[0, 0, 0, 2, 1, 0, 0, 0]),
    );
    refused(&files, CROSS, "child \"data\"").await;
    // Keys of another length.
    let files = store_08("graph", 2, &[("0.0.0.1.0", good.clone())], json!({}));
    refused(&files, CROSS, "child \"0.0.0.1.0\"").await;
    let files = store_08(
        "graph",
        2,
        &[("0.0.0.1.0.0", good.clone())],
        json!({"layout": "mystery_v9"}),
    );
    refused(&files, CROSS, "mystery_v9").await;
    // A table of global vertex numbers.
    for path in ["0/cross_chunk_links", CROSS] {
        let mut files = store_08("graph", 2, &[], json!({}));
        crate::older::add_table(
            &mut files,
            path,
            "int64",
            &[3, 2],
            3,
            &i64s(&[1, 2, 3, 4, 5, 6]),
        );
        refused(&files, path, "encoding is not published").await;
    }
}

#[tokio::test]
async fn cells_of_the_made_stores_are_those_of_the_plain_one() {
    // The same graph under every policy and container: the records are a set.
    let mut seen: BTreeMap<String, Vec<Vec<End>>> = BTreeMap::new();
    for case in ["0.7/graph", "0.8/graph"] {
        let store = open_memory(&zvf_testkit::files(case).unwrap()).await;
        seen.insert(case.to_owned(), sorted(records(&store, 0, 0).await));
    }
    assert_eq!(seen["0.7/graph"], seen["0.8/graph"]);
    assert!(seen["0.8/graph"].len() > 100);
}

#[test]
fn keys_of_tuples_are_the_chunks_of_all_endpoints() {
    let mut chunks = vec![7];
    let done = Placement::Tuple.endpoint_chunks(&[-1, 2, 0, -1], 2, &mut chunks);
    assert_eq!((done, chunks.as_slice()), (Ok(()), &[-1, 2, 0, -1][..]));
    let done = Placement::SameKey.endpoint_chunks(&[-1, 2], 3, &mut chunks);
    let three = [-1, 2, -1, 2, -1, 2];
    assert_eq!((done, chunks.as_slice()), (Ok(()), &three[..]));
}

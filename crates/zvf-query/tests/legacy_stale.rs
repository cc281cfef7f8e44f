//! The traps of 0.7 and 0.8 that other programs cause: stores that were re-binned, rechunked, pruned or written
//! twice. Names as in [`legacy`](crate::legacy).

use serde_json::json;
use zvf_query::{Class, Query};

use crate::legacy::{boxed, edges, joined, objects, text};
use crate::make::{Chunk, Made, flat, group};
use crate::make_legacy::{Legacy, Record};
use crate::support::{ask, memory};

/// Whether a warning of a store contains this text.
fn said(store: &zvf_store::Store, part: &str) -> bool {
    store
        .warnings()
        .iter()
        .any(|warning| warning.contains(part))
}

/// One fragment for each occupied bin, with changed bins in the root, and bins in the block of level 0. Bin 0 of the chunk
/// is empty, so fragment k is bin k + 1: a reader that takes fragments for bins finds nothing in bin 3 and the wrong point in bin 1.
#[tokio::test]
async fn v7_17_2_fragments_of_rebinned_stores_are_not_bins_and_attributes_may_be_stale() {
    let positions = [[1.0, 7.0, 1.0], [7.0, 1.0, 1.0], [7.0, 7.0, 1.0]];
    let mut made = Made::points(&positions);
    made.chunks.get_mut(&[0, 0, 0]).unwrap().fragments = vec![vec![0], vec![1], vec![2]];
    made.root = json!({"base_bin_shape": [5.0, 5.0, 10.0]});
    let plain = memory(&Legacy::v7(made.clone()).files()).await;
    made.level = json!({"bin_shape": [5.0, 5.0, 10.0], "bin_ratio": null});
    let store = memory(&Legacy::v7(made.clone()).files()).await;
    for position in positions {
        let corner = position.map(|p| p.to_string()).join(",");
        let got = ask(&store, boxed(&format!("{corner}:{corner}")))
            .await
            .unwrap();
        assert_eq!(got.column("position"), text(&[position]));
    }
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(got.column("position"), text(&positions));
    // The bytes do not show the order of the attribute; a warning states that it may be the old one.
    assert_eq!(got.column("n"), ["0", "1", "2"]);
    assert!(said(&store, "re-binned"), "{:?}", store.warnings());
    ask(&plain, Query::default()).await.unwrap();
    assert!(!said(&plain, "re-binned"), "{:?}", plain.warnings());
    // Without attributes there is no warning.
    made.attributes.clear();
    made.chunks
        .values_mut()
        .for_each(|chunk| chunk.attributes.clear());
    let bare = memory(&Legacy::v7(made).files()).await;
    ask(&bare, Query::default()).await.unwrap();
    assert!(!said(&bare, "re-binned"), "{:?}", bare.warnings());
}

/// Groups keep the ids of objects that rechunking removed: those members have no vertices.
#[tokio::test]
async fn v7_17_1_groups_name_objects_that_no_longer_exist() {
    let made = Made::points_with_ids(
        &[[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [12.0, 1.0, 1.0]],
        &[0, 1, 1],
    );
    let legacy = Legacy::v7(made);
    let mut files = legacy.files();
    let document = json!({"zv_array": "groups", "num_groups": 2});
    group(&mut files, "0/groups", document);
    legacy.blob(&mut files, "0/groups", "data", flat(&[&[7, 1, 5]]));
    legacy.blob(&mut files, "0/groups", "offsets", flat(&[&[0, 16]]));
    let store = memory(&files).await;
    for (number, expected) in [
        (0, vec!["2.0 1.0 1.0", "12.0 1.0 1.0"]),
        (1, Vec::<&str>::new()),
    ] {
        let query = Query {
            groups: Some(vec![number]),
            ..Query::default()
        };
        let got = ask(&store, query).await.unwrap();
        let found = got
            .vertices
            .as_ref()
            .map_or_else(Vec::new, |_| got.column("position"));
        assert_eq!(found, expected, "group {number}");
    }
}

/// A graph whose bounds were contracted: the second node of the chunk is gone, but its link and its value remain.
#[tokio::test]
async fn v7_17_3_what_pruning_leaves_behind_is_an_error_and_no_value_of_another_row() {
    let nodes = [[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [3.0, 1.0, 1.0]];
    let mut made = Made::points(&nodes);
    (made.kind, made.convention) = ("graph", "explicit");
    let a = [0, 0, 0];
    let records: Vec<Record> = vec![vec![(a, 0), (a, 1)], vec![(a, 1), (a, 2)]];
    let whole = memory(&Legacy::v7(made.clone()).with_links(&records).files()).await;
    assert_eq!(
        edges(&ask(&whole, Query::default()).await.unwrap()),
        joined(&[&nodes[..2], &nodes[1..]])
    );
    let chunk = made.chunks.get_mut(&a).unwrap();
    chunk.rows.truncate(2);
    chunk.fragments = vec![vec![0, 1]];
    let store = memory(&Legacy::v7(made.clone()).with_links(&records).files()).await;
    let error = ask(&store, Query::default()).await.err().unwrap();
    assert_eq!(error.class(), Class::Malformed);
    // Both are stale; the error names the one that is read first.
    assert!(error.to_string().contains("chunk 0.0.0"), "{error}");
    made.attributes.clear();
    made.chunks
        .values_mut()
        .for_each(|chunk| chunk.attributes.clear());
    let store = memory(&Legacy::v7(made).with_links(&records).files()).await;
    let error = ask(&store, Query::default()).await.err().unwrap();
    assert_eq!(error.class(), Class::Malformed);
    assert!(error.to_string().contains("links/0"), "{error}");
}

/// A store written twice: a chunk of the first write is still there. Objects are what the manifests say.
#[tokio::test]
async fn v7_17_5_chunks_of_an_earlier_write_belong_to_no_object() {
    let mut made = Made::points_with_ids(&[[1.0, 1.0, 1.0], [2.0, 1.0, 1.0]], &[0, 1]);
    made.chunks.insert(
        [3, 0, 0],
        Chunk {
            rows: vec![[31.0, 1.0, 1.0]],
            fragments: vec![vec![0]],
            ..Chunk::default()
        },
    );
    let store = memory(&Legacy::v7(made).files()).await;
    let got = ask(&store, objects(&[0, 1])).await.unwrap();
    assert_eq!(got.column("position"), ["1.0 1.0 1.0", "2.0 1.0 1.0"]);
    // Nothing in the store shows that the chunk is old, so a query of all vertices returns it.
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(
        got.column("position"),
        ["1.0 1.0 1.0", "2.0 1.0 1.0", "31.0 1.0 1.0"]
    );
}

/// `link_fragments` divides links. The vertices have other fragments, and more of them.
#[tokio::test]
async fn v8_17_15_link_fragments_are_not_vertex_fragments() {
    let nodes = [
        [1.0, 1.0, 1.0],
        [2.0, 1.0, 1.0],
        [3.0, 1.0, 1.0],
        [4.0, 1.0, 1.0],
    ];
    let mut made = Made::points_with_ids(&nodes, &[0, 0, 1, 1]);
    (made.kind, made.convention) = ("graph", "explicit");
    let a = [0, 0, 0];
    let records: Vec<Record> = vec![
        vec![(a, 0), (a, 1)],
        vec![(a, 2), (a, 3)],
        vec![(a, 3), (a, 2)],
    ];
    let legacy = Legacy::v8(made).with_links(&records);
    let all = joined(&[&nodes[..2], &nodes[2..], &[nodes[3], nodes[2]]]);
    for groups in [
        vec![vec![0, 1, 2]],
        vec![vec![0], vec![1], vec![2]],
        vec![vec![2], vec![0, 1], vec![], vec![]],
    ] {
        let mut files = legacy.files();
        let index = crate::make::fragment_index(&groups);
        legacy.blob(&mut files, "0/link_fragments", "0.0.0", index);
        let store = memory(&files).await;
        let got = ask(&store, Query::default()).await.unwrap();
        assert_eq!(edges(&got), all, "{groups:?}");
        let got = ask(&store, objects(&[0])).await.unwrap();
        assert_eq!(edges(&got), joined(&[&nodes[..2]]), "{groups:?}");
        let got = ask(&store, objects(&[1])).await.unwrap();
        assert_eq!(got.column("position"), text(&nodes[2..]), "{groups:?}");
    }
}

//! Link families: order of endpoints, anchors between levels, and what is refused. Specification 0.9, section 13.

use std::sync::Arc;

use serde_json::{Value, json};
use zvf_store::meta::LinkStore;
use zvf_store::{Class, Deltas, Endpoint, Names, Need, OpenOptions, Store};

use crate::support::{Files, Tool, add_grid, all_cells, edit, group, memory, open_memory};
use crate::traps::plain;

fn family(files: &mut Files, delta: &str, attributes: &Value) {
    files.insert(format!("0/links/{delta}/zarr.json"), group(attributes));
    files.insert("0/links/zarr.json".to_owned(), group(&json!({})));
}

fn link_array(files: &mut Files, path: &str, source: [i64; 2], words: &[i64], attributes: &Value) {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    add_grid(files, path, &[8, 8], &[-2, -2], &[(source.to_vec(), bytes)]);
    edit(files, &format!("{path}/zarr.json"), |d| {
        d["attributes"]["dtype"] = json!("int64");
        for (name, value) in attributes.as_object().unwrap() {
            d["attributes"][name] = value.clone();
        }
    });
}

fn links() -> Need {
    Need {
        link_deltas: Deltas::All,
        link_attributes: Names::All,
        ..Need::default()
    }
}

#[tokio::test]
async fn s13_records_come_in_the_order_of_the_application() {
    let mut files = plain();
    family(
        &mut files,
        "0",
        &json!({"link_width": 3, "sid_ndim": 2, "level_delta": 0}),
    );
    // One triangle over three chunks, placed (2, 0, 1): code 4.
    link_array(
        &mut files,
        "0/links/0/0.+1_+1.0",
        [0, 0],
        &[1, 0, 4, 10, 11, 12],
        &json!({}),
    );
    link_array(
        &mut files,
        "0/links/0/0.0_0.0",
        [0, 0],
        &[1, 2, 3],
        &json!({"has_perm": false}),
    );
    let store = open_memory(&files).await;
    let level = store.level(0, &links()).await.unwrap();
    let family = level.links(0).unwrap();
    assert_eq!(
        (family.width(), family.directed(), family.store()),
        (3, false, LinkStore::Canonical)
    );
    assert_eq!(
        family
            .arrays()
            .iter()
            .map(|a| a.segment())
            .collect::<Vec<_>>(),
        ["0.+1_+1.0", "0.0_0.0"]
    );
    let link = &family.arrays()[0];
    assert!(link.has_perm() && !link.is_intra() && family.arrays()[1].is_intra());
    let cell = store
        .fetch(2, all_cells(&link.array))
        .await
        .unwrap()
        .remove(0)
        .unwrap();
    let mut chunks = Vec::new();
    link.endpoint_chunks(&[0, 0], &mut chunks).unwrap();
    assert_eq!(chunks, [0, 0, 0, 1, 1, 0]);
    let mut beyond = vec![1];
    let error = link
        .endpoint_chunks(&[0, i64::MAX], &mut beyond)
        .unwrap_err();
    assert!(beyond.is_empty() && matches!(error.class(), Class::Malformed | Class::Limit));
    let view = link.decode(&[0, 0], &cell).unwrap();
    let mut record = [Endpoint::default(); 3];
    assert!(view.record(0, &mut record));
    // Placed 0 is original 2, placed 1 is original 0, placed 2 is original 1.
    let expected = [(1, 11), (2, 12), (0, 10)].map(|(which, row)| Endpoint { which, row });
    assert_eq!(record, expected);
    assert!(!view.record(0, &mut [Endpoint::default(); 2]));
}

#[tokio::test]
async fn s13_damaged_families_are_refused() {
    let policy = json!({"link_width": 2, "sid_ndim": 2, "level_delta": 0});
    let mut healthy = plain();
    family(&mut healthy, "0", &policy);
    link_array(
        &mut healthy,
        "0/links/0/+1.0",
        [0, 0],
        &[1, 0, 1, 4, 5],
        &json!({"offsets": [[1, 0]], "has_perm": true}),
    );
    let store = open_memory(&healthy).await;
    let level = store.level(0, &links()).await.unwrap();
    let link = &level.links(0).unwrap().arrays()[0];

    // A permutation code out of range, a row below zero, half a row.
    for words in [
        [1, 0, 2, 4, 5].as_slice(),
        &[1, 0, -1, 4, 5],
        &[1, 0, 0, -4, 5],
        &[1, 0, 0, 4],
    ] {
        let bytes: Vec<u8> = words.iter().flat_map(|w: &i64| w.to_le_bytes()).collect();
        let error = link.decode(&[0, 0], &bytes).unwrap_err();
        assert_eq!(error.class(), Class::Malformed, "{words:?}");
        assert!(
            error.to_string().starts_with("0/links/0/+1.0 at 0.0: "),
            "{error}"
        );
    }
    // Path and attribute disagree; the flag disagrees with the policy; another K; text that is not a segment.
    for (attributes, array) in [
        (json!({"offsets": [[0, 1]]}), "+1.0"),
        (json!({"has_perm": false}), "+1.0"),
        (json!({}), "+1.0.0"),
        (json!({}), "1.0"),
        (json!({"dtype": "float32"}), "+1.0"),
    ] {
        let mut files = plain();
        family(&mut files, "0", &policy);
        link_array(
            &mut files,
            &format!("0/links/0/{array}"),
            [0, 0],
            &[1, 0, 1, 4, 5],
            &attributes,
        );
        let error = open_memory(&files)
            .await
            .level(0, &links())
            .await
            .unwrap_err();
        assert_eq!(
            error.class(),
            Class::Malformed,
            "{attributes} {array}: {error}"
        );
        // Callers that need no links get no error.
        open_memory(&files)
            .await
            .level(0, &Need::default())
            .await
            .unwrap();
    }
    // A family without a policy reads as empty, and is refused if it has arrays.
    let mut files = plain();
    family(&mut files, "0", &json!({"level_delta": 0, "sid_ndim": 2}));
    let level = open_memory(&files).await.level(0, &links()).await.unwrap();
    assert!(level.links(0).unwrap().arrays().is_empty());
    link_array(
        &mut files,
        "0/links/0/+1.0",
        [0, 0],
        &[1, 0, 1, 4, 5],
        &json!({}),
    );
    let store = open_memory(&files).await;
    let error = store.level(0, &links()).await.unwrap_err();
    assert!(
        error.to_string().contains("link_width is missing"),
        "{error}"
    );
}

#[tokio::test]
async fn s13_6_links_between_levels_are_anchored() {
    let mut files = plain();
    let level: Value = json!({"zarr_format": 3, "node_type": "group", "attributes": {"zarr_vectors_level": {
        "level": 1, "vertex_count": 0, "arrays_present": [], "object_sparsity": 1.0, "coarsening_method": "none",
        "parent_level": 0, "chunk_shape": [20.0, 30.0]}}});
    files.insert("1/zarr.json".to_owned(), level.to_string().into_bytes());
    family(
        &mut files,
        "+1",
        &json!({"link_width": 2, "sid_ndim": 2, "level_delta": 1, "directed": true}),
    );
    link_array(
        &mut files,
        "0/links/+1/0.0",
        [-1, 4],
        &[1, 0, 6, 7],
        &json!({}),
    );
    link_array(
        &mut files,
        "0/links/+1/+1.-1",
        [-1, 4],
        &[1, 0, 6, 7],
        &json!({}),
    );
    let store = open_memory(&files).await;
    let level = store.level(0, &links()).await.unwrap();
    let family = level.links(1).unwrap();
    let mut chunks = Vec::new();
    // floor(-1 / 2) = -1, floor(4 / 3) = 1.
    family.arrays()[1]
        .endpoint_chunks(&[-1, 4], &mut chunks)
        .unwrap();
    assert_eq!(
        (family.arrays()[1].segment(), chunks.as_slice()),
        ("0.0", &[-1i64, 4, -1, 1][..])
    );
    family.arrays()[0]
        .endpoint_chunks(&[-1, 4], &mut chunks)
        .unwrap();
    assert_eq!(chunks, [-1, 4, 0, 0]);
    assert!(
        family
            .arrays()
            .iter()
            .all(|a| !a.is_intra() && !a.has_perm())
    );
}

/// If the backend cannot list, the arrays of links between neighbouring chunks are tried, and the warning says which are read.
#[tokio::test]
async fn warnings_say_which_link_arrays_are_read_without_a_listing() {
    for (width, which) in [
        (1, None),
        (
            3,
            Some("that join neighbouring chunks, or whose names are given,"),
        ),
        (5, Some("whose names are given")),
    ] {
        let mut files = plain();
        let policy = json!({"link_width": width, "sid_ndim": 2, "level_delta": 0});
        family(&mut files, "0", &policy);
        let mut tool = Tool::new(memory(&files).await);
        tool.can_list = false;
        let options = OpenOptions::new().with_object_store(Arc::new(tool));
        let store = Store::open_with("memory:///", options).await.unwrap();
        store.level(0, &links()).await.unwrap();
        let warnings = store.warnings();
        let mut of_links = warnings.iter().filter(|one| one.contains("link arrays"));
        let wanted = which
            .map(|which| format!("the backend cannot list: only link arrays {which} are read"));
        assert_eq!(of_links.next(), wanted.as_ref(), "{width}: {warnings:?}");
    }
}

//! Tables and groups of stores before 0.8.1: blobs with masks, byte offsets; padded rows; reserved slots.

use serde_json::json;
use zvf_store::{Level, Names, Need, StoreError, TypedArray};

use crate::older::{add_blob, add_group, add_table, hex, i64s, store_07};
use crate::support::{Files, edit, open_memory};

async fn level(files: &Files) -> Level {
    let store = open_memory(files).await;
    store.level(0, &Need::all()).await.unwrap()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// A table of blobs.
fn table(files: &mut Files, name: &str, shape: &[u64], data: &[u8], mask: Option<&[u8]>) {
    let path = format!("0/object_attributes/{name}");
    let attributes = json!({"zv_array": "object_attribute", "name": name, "dtype": "float32", "num_channels": 1,
        "shape": shape, "has_present_mask": mask.is_some()});
    add_group(files, &path, attributes);
    add_blob(files, &format!("{path}/data"), data);
    if let Some(mask) = mask {
        add_blob(files, &format!("{path}/present_mask"), mask);
    }
}

fn find<'l>(level: &'l Level, name: &str) -> &'l TypedArray {
    level
        .object_attributes()
        .iter()
        .find(|t| t.name() == name)
        .unwrap()
}

#[tokio::test]
async fn num_channels_is_always_1_and_the_shape_rules() {
    let mut files = store_07("point_cloud", &["0.0"]);
    table(
        &mut files,
        "pair",
        &[3, 2],
        &floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        None,
    );
    table(&mut files, "one", &[3], &floats(&[1.0, 2.0, 3.0]), None);
    let level = level(&files).await;
    let pair = find(&level, "pair");
    assert_eq!(
        (pair.rows(), pair.width(), pair.shape()),
        (3, 2, vec![3, 2])
    );
    assert!(pair.doc().is_none());
    let part = pair.read_rows(1..3).await.unwrap();
    assert_eq!(part.bytes, floats(&[3.0, 4.0, 5.0, 6.0]));
    assert_eq!(find(&level, "one").shape(), [3]);
}

#[tokio::test]
async fn present_mask_0_is_absent_and_a_zero_is_a_zero() {
    let mut files = store_07("point_cloud", &["0.0"]);
    table(
        &mut files,
        "score",
        &[4],
        &floats(&[0.0, 0.0, 7.0, 0.0]),
        Some(&[1, 0, 1, 1]),
    );
    let level = level(&files).await;
    let values = find(&level, "score").read().await.unwrap();
    let absent: Vec<bool> = (0..4).map(|i| values.is_absent(i)).collect();
    assert_eq!(absent, [false, true, false, false]);
    assert!(values.is_masked(1) && !values.is_masked(0) && values.is_masked(4));
    let part = find(&level, "score").read_rows(1..2).await.unwrap();
    assert!(part.is_absent(0));
}

#[tokio::test]
async fn a_missing_data_chunk_is_zeros_and_a_missing_mask_chunk_is_absent_rows() {
    let mut files = store_07("point_cloud", &["0.0"]);
    table(&mut files, "zeros", &[3], &floats(&[0.0; 3]), None);
    table(
        &mut files,
        "gone",
        &[3],
        &floats(&[0.0; 3]),
        Some(&[0, 0, 0]),
    );
    assert!(
        !files
            .keys()
            .any(|key| key.starts_with("0/object_attributes") && key.ends_with("c/0"))
    );
    let level = level(&files).await;
    let zeros = find(&level, "zeros").read().await.unwrap();
    assert_eq!(zeros.bytes, floats(&[0.0; 3]));
    assert!((0..3).all(|i| !zeros.is_absent(i)));
    let gone = find(&level, "gone").read().await.unwrap();
    assert!((0..3).all(|i| gone.is_absent(i)));
}

/// Section 19.6 of the page on 0.8: four objects, 0 and 3 absent.
#[tokio::test]
async fn worked_example_19_6_absent_rows_equal_the_fill_value() {
    let mut files = store_07("point_cloud", &["0.0"]);
    let path = "0/object_attributes/s";
    add_table(
        &mut files,
        path,
        "float32",
        &[4],
        4,
        &hex("0000c07f 0000803f 00000040 0000c07f"),
    );
    edit(&mut files, &format!("{path}/zarr.json"), |doc| {
        doc["fill_value"] = json!("NaN");
        doc["attributes"] = json!({"zv_array": "object_attribute", "name": "s", "dtype": "float32", "shape": [4],
            "fill_sentinel_meaning": "absent"});
    });
    let values = find(&level(&files).await, "s").read().await.unwrap();
    let absent: Vec<bool> = (0..4).map(|i| values.is_absent(i)).collect();
    assert_eq!(absent, [true, false, false, true]);
    files.remove(&format!("{path}/c/0"));
    let values = find(&level(&files).await, "s").read().await.unwrap();
    assert!((0..4).all(|i| values.is_absent(i)));
}

#[tokio::test]
async fn reserved_slots_are_no_tables_and_no_groups() {
    let mut files = store_07("point_cloud", &["0.0"]);
    add_group(&mut files, "0/object_attributes/later", json!({}));
    add_group(&mut files, "0/groups", json!({"zv_array": "groups"}));
    let store = open_memory(&files).await;
    let level = store.level(0, &Need::all()).await.unwrap();
    assert!(level.object_attributes().is_empty() && level.groups().is_none());
    assert_eq!(store.warnings(), Vec::<String>::new());
}

#[tokio::test]
async fn lengths_that_disagree_with_the_shape_are_told() {
    for (shape, data, mask) in [
        (&[3u64][..], &floats(&[1.0; 2]), None),
        (&[3, 2], &floats(&[1.0; 5]), None),
        (&[u64::MAX, 2], &floats(&[1.0; 2]), None),
        (&[1 << 40], &floats(&[1.0; 2]), None),
        (&[2], &floats(&[1.0; 2]), Some(&[1u8, 1, 1][..])),
        (&[2], &floats(&[1.0; 2]), Some(&[])),
    ] {
        let mut files = store_07("point_cloud", &["0.0"]);
        table(&mut files, "bad", shape, data, mask);
        table(&mut files, "good", &[1], &floats(&[1.0]), None);
        let store = open_memory(&files).await;
        // A damaged table is an error for callers that request all tables.
        let error = store.level(0, &Need::all()).await.unwrap_err();
        assert!(
            error.to_string().contains("object_attributes/bad"),
            "{shape:?}: {error}"
        );
        let good = Need {
            object_attributes: Names::List(vec!["good".to_owned()]),
            ..Need::default()
        };
        let level = store.level(0, &good).await.unwrap();
        assert_eq!(level.object_attributes().len(), 1, "{shape:?}");
    }
}

fn groups(data: &[i64], offsets: &[i64], count: u64) -> Files {
    let mut files = store_07("point_cloud", &["0.0"]);
    add_group(
        &mut files,
        "0/groups",
        json!({"zv_array": "groups", "num_groups": count}),
    );
    add_blob(&mut files, "0/groups/data", &i64s(data));
    add_blob(&mut files, "0/groups/offsets", &i64s(offsets));
    files
}

async fn members(files: &Files) -> Result<Vec<Vec<i64>>, StoreError> {
    let level = level(files).await;
    let groups = level.groups().unwrap();
    let mut found = Vec::new();
    for g in 0..groups.len() {
        found.push(groups.members(g).await?);
    }
    assert!(groups.members(groups.len()).await.is_err());
    Ok(found)
}

/// Section 20.8 of the page on 0.7: {0: [0, 2], 1: [], 2: [1]}.
#[tokio::test]
async fn worked_example_20_8_offsets_count_bytes_and_are_as_many_as_groups() {
    let mut files = store_07("point_cloud", &["0.0"]);
    add_group(
        &mut files,
        "0/groups",
        json!({"zv_array": "groups", "num_groups": 3}),
    );
    add_blob(
        &mut files,
        "0/groups/data",
        &hex("0000000000000000 0200000000000000 0100000000000000"),
    );
    add_blob(
        &mut files,
        "0/groups/offsets",
        &hex("0000000000000000 1000000000000000 1000000000000000"),
    );
    assert_eq!(
        members(&files).await.unwrap(),
        [vec![0, 2], vec![], vec![1]]
    );
    // A table may also have the end of the last group.
    let files = groups(&[0, 2, 1], &[0, 16, 16, 24], 3);
    assert_eq!(
        members(&files).await.unwrap(),
        [vec![0, 2], vec![], vec![1]]
    );
}

#[tokio::test]
async fn a_single_group_of_object_0_has_no_chunk_at_all() {
    let files = groups(&[0], &[0], 1);
    assert!(
        !files
            .keys()
            .any(|key| key.starts_with("0/groups") && key.ends_with("c/0"))
    );
    assert_eq!(members(&files).await.unwrap(), [vec![0]]);
}

#[tokio::test]
async fn offsets_of_groups_that_lie_are_errors() {
    for offsets in [[0, 32], [16, 8], [-8, 0], [0, i64::MAX], [0, 3]] {
        assert!(
            members(&groups(&[1, 2, 3], &offsets, 2)).await.is_err(),
            "{offsets:?}"
        );
    }
    for (offsets, count) in [(&[0, 8][..], 1 << 60), (&[0, 8], 5), (&[], 2)] {
        let store = open_memory(&groups(&[1, 2, 3], offsets, count)).await;
        assert!(store.level(0, &Need::all()).await.is_err(), "{count}");
    }
}

/// Section 19.7 of the page on 0.8: 0: [0, 2], 1: 3 to 1000, 2: empty, 3: [1].
#[tokio::test]
async fn group_ranges_first_and_an_empty_element_without_one_is_empty() {
    let mut files = store_07("point_cloud", &["0.0"]);
    let document = json!({
        "shape": [4], "data_type": "variable_length_bytes",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": "", "codecs": [{"name": "vlen-bytes", "configuration": {}}],
        "attributes": {"zv_array": "groups", "num_groups": 4, "group_ranges": {"1": [3, 1000]}},
        "zarr_format": 3, "node_type": "array", "storage_transformers": []
    });
    files.insert(
        "0/groups/zarr.json".to_owned(),
        document.to_string().into_bytes(),
    );
    let chunk = hex(
        "04000000  10000000 0000000000000000 0200000000000000  00000000  00000000  08000000 0100000000000000",
    );
    files.insert("0/groups/c/0".to_owned(), chunk);
    let run: Vec<i64> = (3..1000).collect();
    assert_eq!(
        members(&files).await.unwrap(),
        [vec![0, 2], run, vec![], vec![1]]
    );
    // Every element empty: no chunk.
    files.remove("0/groups/c/0");
    assert_eq!(members(&files).await.unwrap()[0], Vec::<i64>::new());
}

#[tokio::test]
async fn padded_groupings_end_at_minus_1() {
    let mut files = store_07("point_cloud", &["0.0"]);
    add_table(
        &mut files,
        "0/groupings",
        "int64",
        &[3, 2],
        3,
        &i64s(&[2, 0, 3, -1, -1, -1]),
    );
    assert_eq!(
        members(&files).await.unwrap(),
        [vec![2, 0], vec![3], vec![]]
    );
}

//! Link attributes that documents do not describe in full: columns by division, values in one array for all cells.

use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use serde_json::{Value, json};
use zvf_store::{Class, IoTrace, Names, Need, OpenOptions, Retry, Store};
use zvf_testkit::faults::{Fault, Faulty, Rule};

use crate::older::{add_blob, add_group, at, i64s, records, store_07, weights};
use crate::support::{Files, edit, memory, open_memory};

const CROSS: &str = "0/cross_chunk_links/0";
const VALUES: &str = "0/cross_chunk_link_attributes/w/0";

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Two links in the first chunk, one in the second, and an attribute without a width.
pub(crate) fn inside(name: &str, cells: [&[f32]; 2]) -> Files {
    let mut files = store_07("graph", &["0.0", "1.0"]);
    let links = json!({"zv_array": "links", "dtype": "int64", "link_width": 2, "level_delta": 0});
    add_group(&mut files, "0/links/0", links);
    add_blob(&mut files, "0/links/0/0.0", &i64s(&[0, 1, 1, 2]));
    add_blob(&mut files, "0/links/0/1.0", &i64s(&[3, 2]));
    let path = format!("0/link_attributes/{name}/0");
    let attribute =
        json!({"zv_array": "link_attribute", "name": name, "dtype": "float32", "level_delta": 0});
    add_group(&mut files, &path, attribute);
    for (chunk, values) in ["0.0", "1.0"].iter().zip(cells) {
        if !values.is_empty() {
            add_blob(&mut files, &format!("{path}/{chunk}"), &floats(values));
        }
    }
    files
}

async fn width(store: &Store, name: &str) -> u64 {
    let level = store.level(0, &Need::all()).await.unwrap();
    let family = level.links(0).unwrap();
    let found = family.attributes().iter().find(|a| a.name == name);
    found.unwrap().width
}

#[tokio::test]
async fn s7_9_2_columns_of_link_attributes_by_division() {
    let two: [&[f32]; 2] = [&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0]];
    for (cells, expected) in [
        (two, 2),
        ([&two[0][..2], &two[1][..1]], 1),
        // The first chunk has no values, the second shows the width; no chunk has any; a length that is not a whole number of rows shows nothing.
        ([&[], two[1]], 2),
        ([&[], &[]], 1),
        ([&two[0][..3], &[]], 1),
    ] {
        let trace = IoTrace::on();
        let options = OpenOptions::new()
            .with_object_store(memory(&inside("w", cells)).await)
            .with_trace(trace.clone());
        let store = Store::open_with("memory:///", options).await.unwrap();
        assert_eq!(width(&store, "w").await, expected, "{cells:?}");
        // Probed only once.
        trace.take();
        assert_eq!(width(&store, "w").await, expected, "{cells:?}");
        let level = store.level(0, &Need::all()).await.unwrap();
        assert!(trace.take().is_empty(), "{cells:?}");
        assert_eq!(level.links(0).unwrap().attributes().len(), 1);
    }
    let store = open_memory(&inside("w", two)).await;
    assert_eq!(
        weights(&store, 0, "w").await,
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    );
    // A declared width is used without a probe.
    let mut files = inside("w", two);
    edit(&mut files, "0/link_attributes/w/0/zarr.json", |group| {
        group["attributes"]["row_shape"] = json!([2]);
    });
    assert_eq!(width(&open_memory(&files).await, "w").await, 2);
}

#[tokio::test(start_paused = true)]
async fn columns_that_could_not_be_detected_are_not_taken_for_one() {
    let files = inside("w", [&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0]]);
    // A server that does not answer within the request timeout.
    let silent = Rule::new(Fault::Hang)
        .at("0/link_attributes/w/0/0.0")
        .times(1);
    let backend: Arc<dyn ObjectStore> = Arc::new(Faulty::new(memory(&files).await, 0).rule(silent));
    let options = OpenOptions::new()
        .with_object_store(backend)
        .with_retry(Retry::never())
        .with_request_timeout(Duration::from_secs(3));
    let store = Store::open_with("memory:///", options).await.unwrap();
    let error = store.level(0, &Need::all()).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(width(&store, "w").await, 2);
}

/// One record of a cell: code and rows.
fn cell(rows: &[[i64; 3]]) -> Vec<u8> {
    let mut words = vec![rows.len() as i64];
    words.extend((0..rows.len() as i64).map(|at| at * 24));
    words.extend(rows.iter().flatten());
    i64s(&words)
}

/// Four links in three cells, of which `0.0.10.0` comes first as text; the values of the attribute are in one array.
pub(crate) fn beside(family: Value, group: Value, values: &[f32]) -> Files {
    let mut files = store_07("graph", &["0.0", "2.0", "10.0"]);
    edit(&mut files, "zarr.json", |root| {
        root["attributes"]["zarr_vectors"]["zv_version"] = json!("0.8.0");
    });
    let mut attributes = json!({"zv_array": "cross_chunk_links", "sid_ndim": 2, "level_delta": 0, "link_width": 2,
        "num_links": 4});
    merge(&mut attributes, family);
    add_group(&mut files, CROSS, attributes);
    let cells = [
        ("0.0.2.0", cell(&[[0, 1, 2]])),
        ("0.0.10.0", cell(&[[0, 0, 0], [1, 3, 1]])),
        ("2.0.10.0", cell(&[[0, 2, 2]])),
    ];
    for (key, bytes) in cells {
        add_blob(&mut files, &format!("{CROSS}/{key}"), &bytes);
    }
    let mut attributes = json!({"zv_array": "cross_chunk_link_attribute", "name": "w", "dtype": "float32",
        "level_delta": 0, "num_links": 4, "shape": [4]});
    merge(&mut attributes, group);
    add_group(&mut files, VALUES, attributes);
    add_blob(&mut files, &format!("{VALUES}/data"), &floats(values));
    files
}

fn merge(into: &mut Value, more: Value) {
    for (name, value) in more.as_object().unwrap() {
        into[name] = value.clone();
    }
}

#[tokio::test]
async fn s8_20_6_values_in_one_array_are_in_text_order_of_cells() {
    let ends = |a: i64, i, b: i64, j| vec![at(&[a, 0], i), at(&[b, 0], j)];
    let links = [
        ends(0, 0, 10, 0),
        ends(10, 1, 0, 3),
        ends(0, 1, 2, 2),
        ends(2, 2, 10, 2),
    ];
    let files = beside(json!({}), json!({}), &[1.0, 2.0, 3.0, 4.0]);
    let store = open_memory(&files).await;
    assert_eq!(records(&store, 0, 0).await, links);
    assert_eq!(weights(&store, 0, "w").await, [1.0, 2.0, 3.0, 4.0]);
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
    // Each cell has its own values: the cell that is second by number has the first two.
    let level = store.level(0, &Need::all()).await.unwrap();
    let values = level.links(0).unwrap().attributes()[0].arrays[0].clone();
    let want = zvf_store::CellWant::new(&values.unwrap(), &[0, 0, 10, 0][..]);
    let found = store.fetch(9, vec![want]).await.unwrap();
    assert_eq!(found[0].as_deref(), Some(&floats(&[1.0, 2.0])[..]));
    // Two columns.
    let pairs: Vec<f32> = (0..8).map(|n| n as f32).collect();
    let store = open_memory(&beside(json!({}), json!({"shape": [4, 2]}), &pairs)).await;
    assert_eq!(weights(&store, 0, "w").await, pairs);
    assert_eq!(width(&store, "w").await, 2);
}

#[tokio::test]
async fn values_in_one_array_that_cannot_be_assigned_are_refused_by_name() {
    let four = [1.0, 2.0, 3.0, 4.0];
    let mut both = beside(json!({}), json!({}), &four);
    add_blob(&mut both, &format!("{VALUES}/0.0.2.0"), &floats(&[3.0]));
    let cases = [
        (
            beside(json!({}), json!({"shape": null}), &four),
            "one row for each link",
        ),
        (
            beside(json!({}), json!({"shape": [3]}), &four[..3]),
            "one row for each link",
        ),
        (
            beside(json!({}), json!({"shape": [4]}), &four[..3]),
            "12 bytes found",
        ),
        (
            beside(json!({}), json!({"shape": [4, 1_u64 << 62]}), &four),
            "16 bytes found",
        ),
        (
            beside(json!({"store": "duplicate"}), json!({}), &four),
            "once for each chunk",
        ),
        (both, "beside cells"),
    ];
    for (files, part) in cases {
        let store = open_memory(&files).await;
        let named = Need {
            link_attributes: Names::List(vec!["w".to_owned()]),
            ..Need::all()
        };
        let error = store.level(0, &named).await.unwrap_err();
        assert_eq!(error.class(), Class::Malformed, "{error}");
        let message = error.to_string();
        assert!(
            message.contains(part) && message.contains(VALUES),
            "{message}"
        );
        // A caller that does not name it gets the links.
        let store = open_memory(&files).await;
        assert!(!records(&store, 0, 0).await.is_empty());
        let warnings = store.warnings();
        assert!(warnings.iter().any(|w| w.contains(part)), "{warnings:?}");
    }
    // The documents agree, and the cells have fewer records.
    let mut files = beside(json!({}), json!({}), &four);
    files.retain(|key, _| !key.contains("2.0.10.0"));
    let store = open_memory(&files).await;
    assert_eq!(records(&store, 0, 0).await.len(), 3);
    assert!(weights(&store, 0, "w").await.is_empty());
    let warnings = store.warnings();
    let said = |w: &String| w.contains("16 bytes found") && w.contains("3 links");
    assert!(warnings.iter().any(said), "{warnings:?}");
}

//! Attributes that are set without reading the rows of their chunks.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use zvf_edit::{At, Edit, Matching, Scope, SetAttribute};
use zvf_query::Query;
use zvf_store::IoTrace;
use zvf_write::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, Values};

use crate::support::{ADDRESS, Memory, ask, column};

const POINTS: i64 = 60;

/// Points on a line in six chunks, numbered by `n`, with four more attributes.
async fn points() -> Memory {
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2]);
    let names = ["n", "a", "b", "v", "w"];
    let spec = names.iter().fold(spec, |spec, name| {
        spec.with_vertex_attribute(AttributeSpec::number(*name, NumberType::I64))
    });
    let places: Vec<f64> = (0..POINTS).flat_map(|n| [n as f64 + 0.5, 1.0]).collect();
    let batch = names
        .iter()
        .zip(0..)
        .fold(Batch::new(places), |batch, (name, scale)| {
            let values: Vec<i64> = (0..POINTS).map(|n| n * (scale + 1)).collect();
            batch.with_attribute(*name, values)
        });
    let memory = Memory::default();
    let writer = StoreWriter::create(ADDRESS, spec, memory.options()).await;
    let mut writer = writer.unwrap();
    writer.push(&batch).unwrap();
    writer.finish().await.unwrap();
    memory
}

fn table(columns: &[(&str, Vec<i64>)]) -> RecordBatch {
    let columns = columns.iter().map(|(name, list)| {
        let array: ArrayRef = Arc::new(Int64Array::from(list.clone()));
        (*name, array)
    });
    RecordBatch::try_from_iter(columns).unwrap()
}

/// The arrays whose cells an edit reads after it was opened.
async fn reads<F: AsyncFnOnce(&mut Edit)>(memory: &Memory, change: F) -> BTreeSet<String> {
    let trace = IoTrace::on();
    let open = memory.open_options().with_trace(trace.clone());
    let options = memory.options().with_open(open);
    let mut edit = Edit::open(ADDRESS, options).await.unwrap();
    // To open the edit, one chunk of each array was read.
    trace.take();
    change(&mut edit).await;
    edit.commit().await.unwrap();
    let requests = trace.take();
    memory.check_clean().await;
    let cells = requests.iter().filter_map(|one| one.key.split_once("/c/"));
    cells.map(|(array, _)| array.to_owned()).collect()
}

async fn stored(memory: &Memory, name: &str) -> Vec<i64> {
    let found = ask(&memory.open().await, Query::default()).await;
    let values = column(&found.vertices, name);
    values.iter().map(|value| value.parse().unwrap()).collect()
}

#[tokio::test]
async fn the_cells_of_other_attributes_are_not_read() {
    let memory = points().await;
    let rows = table(&[("n", vec![7, 33]), ("b", vec![-7, -33])]);
    let read = reads(&memory, async |edit| {
        let by_key = SetAttribute::new(Scope::Vertex, "b").with_matching(Matching::by_key(["n"]));
        edit.set_attribute(&by_key, Some(&rows)).await.unwrap();
    });
    let wanted = [
        "0/vertex_attributes/b",
        "0/vertex_attributes/n",
        "0/vertex_fragments",
    ];
    assert_eq!(read.await, wanted.map(str::to_owned).into());
    let mut expected: Vec<i64> = (0..POINTS).map(|n| n * 3).collect();
    expected[7] = -7;
    expected[33] = -33;
    assert_eq!(stored(&memory, "b").await, expected);

    // A new attribute needs the numbers of rows only.
    let spec = AttributeSpec::number("e", NumberType::I64);
    let values = Values::from((0..POINTS).rev().collect::<Vec<i64>>());
    let read = reads(&memory, async |edit| {
        edit.add_vertex_attribute(spec, &values).await.unwrap();
    });
    assert_eq!(read.await, ["0/vertex_fragments".to_owned()].into());
    assert_eq!(
        stored(&memory, "e").await,
        (0..POINTS).rev().collect::<Vec<i64>>()
    );
    assert_eq!(stored(&memory, "b").await, expected);
}

/// New values are seen by later operations of the same edit: as keys, in rows that move, and beside rows that are deleted or added.
#[tokio::test]
async fn values_that_were_set_alone_stay_with_their_rows() {
    let memory = points().await;
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    let spec = AttributeSpec::number("e", NumberType::I64);
    let values = Values::from((0..POINTS).map(|n| 1000 + n).collect::<Vec<i64>>());
    edit.add_vertex_attribute(spec, &values).await.unwrap();
    let all = Values::from((0..POINTS).map(|n| -n).collect::<Vec<i64>>());
    edit.set_vertex_attribute("a", At::All, &all).await.unwrap();
    // The attribute that was added above and the one that was set are the key.
    let rows = table(&[
        ("e", vec![1003, 1048]),
        ("a", vec![-3, -48]),
        ("v", vec![5, 6]),
    ]);
    let by_key = SetAttribute::new(Scope::Vertex, "v").with_matching(Matching::by_key(["e", "a"]));
    let matched = edit.set_attribute(&by_key, Some(&rows)).await.unwrap();
    assert_eq!(matched.found, 2);
    let again = AttributeSpec::number("f", NumberType::I64);
    let values = Values::from((0..POINTS).map(|n| 2000 + n).collect::<Vec<i64>>());
    edit.add_vertex_attribute(again, &values).await.unwrap();
    // Rows of the first chunk are read now: one is deleted, one moves to the fourth chunk, which is read, too.
    edit.delete_points(&[(vec![0, 0], 2)]).await.unwrap();
    let to = Values::from(vec![35.25, 1.0]);
    edit.move_vertices(At::Rows(&[4]), &to).await.unwrap();
    let one = Values::from(vec![77_i64]);
    edit.set_vertex_attribute("f", At::Rows(&[4]), &one)
        .await
        .unwrap();
    edit.set_vertex_attribute("w", At::Rows(&[59]), &one)
        .await
        .unwrap();
    edit.commit().await.unwrap();
    memory.check_clean().await;

    let n = stored(&memory, "n").await;
    let mut sorted = n.clone();
    sorted.sort_unstable();
    let left: Vec<i64> = (0..POINTS).filter(|n| *n != 2).collect();
    assert_eq!(sorted, left);
    let of = |value: &dyn Fn(i64) -> i64| n.iter().map(|n| value(*n)).collect::<Vec<i64>>();
    assert_eq!(stored(&memory, "a").await, of(&|n| -n));
    assert_eq!(stored(&memory, "b").await, of(&|n| n * 3));
    let v = |n| match n {
        3 => 5,
        48 => 6,
        n => n * 4,
    };
    assert_eq!(stored(&memory, "v").await, of(&v));
    let w = |n| if n == 59 { 77 } else { n * 5 };
    assert_eq!(stored(&memory, "w").await, of(&w));
    assert_eq!(stored(&memory, "e").await, of(&|n| 1000 + n));
    let f = |n| if n == 4 { 77 } else { 2000 + n };
    assert_eq!(stored(&memory, "f").await, of(&f));
}

/// The rows of a chunk are counted by its fragments: without them, a new attribute would have no values there.
#[tokio::test]
async fn a_chunk_without_its_fragment_index_is_an_error() {
    let memory = points().await;
    let key = "0/vertex_fragments/zarr.json";
    let files = memory.files().await;
    let mut doc: serde_json::Value = serde_json::from_slice(&files[key]).unwrap();
    let listed = doc["attributes"]["nonempty_chunks"].as_array_mut().unwrap();
    assert_eq!(listed.len(), 6);
    listed.remove(3);
    memory.put(key, doc.to_string().into_bytes()).await;
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    let spec = AttributeSpec::number("x", NumberType::I64);
    let fifty = Values::from(vec![1_i64; 50]);
    let error = edit.add_vertex_attribute(spec, &fifty).await.unwrap_err();
    assert!(error.to_string().contains("0/vertex_fragments"), "{error}");
}

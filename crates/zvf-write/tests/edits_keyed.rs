//! Edits of stores whose chunks are also split by an attribute: which chunks change, which stay, and what is refused.

use std::collections::BTreeMap;

use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use serde_json::{Value, json};
use zvf_edit::{At, ColumnEdit, Edit};
use zvf_query::{Query, Select};
use zvf_write::{
    AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, Values, WriteError,
};

use crate::support::{ADDRESS, Memory, ask, column};

fn document(files: &BTreeMap<String, Vec<u8>>, path: &str) -> Value {
    serde_json::from_slice(&files[&format!("{path}/zarr.json")]).unwrap()
}

fn values(files: &BTreeMap<String, Vec<u8>>) -> Value {
    document(files, "0")["attributes"]["zarr_vectors_level"]["chunk_attribute_values"].clone()
}

fn present(files: &BTreeMap<String, Vec<u8>>, path: &str) -> Value {
    document(files, path)["attributes"]["nonempty_chunks"].clone()
}

fn spots(places: &[[f64; 2]], genes: &[&str], numbers: &[u8]) -> Batch {
    Batch::new(places.concat())
        .with_attribute("gene", Values::texts(genes.iter().copied()))
        .with_attribute("n", numbers.to_vec())
}

async fn written(kind: Kind, batch: Batch) -> Memory {
    let spec = StoreSpec::new(kind, [10.0; 2])
        .with_attribute_chunks(AttributeSpec::category("gene"))
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::U8));
    let memory = Memory::default();
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    writer.push(&batch).unwrap();
    writer.finish().await.unwrap();
    memory
}

async fn put(memory: &Memory, key: &str, bytes: Vec<u8>) {
    let path = Path::from(format!("some/points.zarrvectors/{key}"));
    memory.0.put(&path, PutPayload::from(bytes)).await.unwrap();
}

/// Replaces the list of values, as another writer could do it.
async fn relist(memory: &Memory, list: Value) {
    let mut doc = document(&memory.files().await, "0");
    doc["attributes"]["zarr_vectors_level"]["chunk_attribute_values"] = list;
    put(memory, "0/zarr.json", doc.to_string().into_bytes()).await;
}

async fn genes(memory: &Memory) -> Vec<(String, String)> {
    let got = ask(&memory.open().await, Query::default()).await;
    let numbers = column(&got.vertices, "n").into_iter();
    let mut pairs: Vec<_> = numbers.zip(column(&got.vertices, "gene")).collect();
    pairs.sort();
    pairs
}

fn pairs(list: &[(u8, &str)]) -> Vec<(String, String)> {
    list.iter()
        .map(|(n, gene)| (n.to_string(), (*gene).to_owned()))
        .collect()
}

#[tokio::test]
async fn a_new_value_comes_behind_and_no_chunk_gets_another_key() {
    let places = [[1.0, 1.0], [12.0, 1.0], [2.0, 2.0]];
    let memory = written(
        Kind::PointCloud,
        spots(&places, &["g", "m", "g"], &[1, 2, 3]),
    )
    .await;
    let before = memory.files().await;
    assert_eq!(values(&before), json!(["g", "m"]));
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    let one = edit
        .spec()
        .batch_attributes()
        .find(|one| one.name == "gene");
    assert_eq!(one.unwrap().values, zvf_write::AttributeType::Category);
    let new = spots(&[[3.0, 3.0], [13.0, 1.0]], &["a", "m"], &[4, 5]);
    edit.append(&new).await.unwrap();
    let done = edit.commit().await.unwrap();
    assert_eq!((done.vertices, done.chunks), (2, 2));
    let after = memory.files().await;
    assert_eq!(values(&after), json!(["g", "m", "a"]));
    for path in ["0/vertices", "0/vertex_fragments", "0/vertex_attributes/n"] {
        assert_eq!(present(&after, path), json!(["0.0.0", "1.1.0", "2.0.0"]));
        assert_eq!(document(&after, path)["shape"], json!([3, 2, 1]));
        // The chunk of g at the origin is not written again.
        let key = format!("{path}/c/0/0/0");
        assert_eq!(before[&key], after[&key]);
    }
    memory.check_clean().await;
    let all = [(1, "g"), (2, "m"), (3, "g"), (4, "a"), (5, "m")];
    assert_eq!(genes(&memory).await, pairs(&all));
}

#[tokio::test]
async fn setting_the_attribute_brings_rows_to_other_chunks() {
    let places = [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0], [4.0, 1.0]];
    let batch = spots(&places, &["g"; 4], &[1, 2, 3, 4]).with_object_ids(&[7_i64; 4][..]);
    let memory = written(Kind::Streamline, batch).await;
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    let at = At::Objects(&[(7, 1), (7, 2)]);
    edit.set_vertex_attribute("gene", at, &Values::texts(["h", "h"]))
        .await
        .unwrap();
    let done = edit.commit().await.unwrap();
    // Two steps between chunks are stored now.
    assert_eq!((done.vertices, done.chunks, done.links), (0, 2, 2));
    let files = memory.files().await;
    assert_eq!(present(&files, "0/vertices"), json!(["0.0.0", "1.0.0"]));
    memory.check_clean().await;
    let asked = Query {
        objects: Some(vec![7]),
        select: Select::Objects,
        ..Query::default()
    };
    let got = ask(&memory.open().await, asked).await;
    assert_eq!(column(&got.vertices, "n"), ["1", "2", "3", "4"]);
    assert_eq!(column(&got.vertices, "gene"), ["g", "h", "h", "g"]);

    // Back again: the value stays in the list, since other values could follow it.
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    edit.set_vertex_attribute("gene", At::All, &Values::texts(["g"; 4]))
        .await
        .unwrap();
    assert_eq!(edit.commit().await.unwrap().links, -2);
    let files = memory.files().await;
    assert_eq!(present(&files, "0/vertices"), json!(["0.0.0"]));
    assert_eq!(values(&files), json!(["g", "h"]));
    memory.check_clean().await;
    let got = ask(&memory.open().await, Query::default()).await;
    assert_eq!(got.links().len(), 3);
}

/// The position in the list counts, not the order of the values.
#[tokio::test]
async fn a_list_of_another_order_is_kept() {
    let places = [[1.0, 1.0], [2.0, 2.0]];
    let memory = written(Kind::PointCloud, spots(&places, &["a", "m"], &[1, 2])).await;
    relist(&memory, json!(["z", "b"])).await;
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    let new = spots(&[[3.0, 3.0], [4.0, 4.0]], &["b", "c"], &[3, 4]);
    edit.append(&new).await.unwrap();
    edit.commit().await.unwrap();
    assert_eq!(values(&memory.files().await), json!(["z", "b", "c"]));
    memory.check_clean().await;
    let all = [(1, "z"), (2, "b"), (3, "b"), (4, "c")];
    assert_eq!(genes(&memory).await, pairs(&all));
}

#[tokio::test]
async fn a_column_is_added_chunk_by_chunk() {
    let places = [[1.0, 1.0], [12.0, 1.0], [2.0, 2.0]];
    let memory = written(
        Kind::PointCloud,
        spots(&places, &["g", "m", "g"], &[1, 2, 3]),
    )
    .await;
    let sum = AttributeSpec::number("sum", NumberType::F64);
    let mut edit = ColumnEdit::open(ADDRESS, sum, false, memory.options())
        .await
        .unwrap();
    while let Some(chunk) = edit.next().await.unwrap() {
        let sums = chunk.positions.chunks(chunk.dims).map(|at| at.iter().sum());
        edit.put(&sums.collect::<Vec<f64>>().into()).await.unwrap();
    }
    edit.commit().await.unwrap();
    memory.check_clean().await;
    let got = ask(&memory.open().await, Query::default()).await;
    assert_eq!(column(&got.vertices, "n"), ["1", "3", "2"]);
    assert_eq!(column(&got.vertices, "sum"), ["2.0", "4.0", "13.0"]);
    let key = AttributeSpec::number("gene", NumberType::F64);
    let told = ColumnEdit::open(ADDRESS, key, true, memory.options()).await;
    assert!(
        told.unwrap_err()
            .to_string()
            .contains("the attribute by which chunks are divided")
    );
}

async fn refused(memory: &Memory, batch: &Batch) -> String {
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    let told = edit.append(batch).await.unwrap_err().to_string();
    let broken = edit.commit().await.unwrap_err();
    assert!(matches!(broken, WriteError::Broken { .. }), "{broken}");
    told
}

#[tokio::test]
async fn what_has_no_chunk_is_refused() {
    let batch = spots(&[[1.0, 1.0]], &["g"], &[1]);
    let memory = written(Kind::PointCloud, batch).await;
    let before = memory.files().await;
    let one = |gene: Values| {
        Batch::new(vec![1.0, 1.0])
            .with_attribute("n", vec![2_u8])
            .with_attribute("gene", gene)
    };
    let told = refused(&memory, &one(Values::optional_texts::<&str>([None]))).await;
    assert_eq!(
        told,
        "vertex attribute gene, row 0: found no value, expected a text for every vertex"
    );
    let told = refused(&memory, &one(vec![5_i64].into())).await;
    assert_eq!(told, "vertex attribute gene: found int64, expected text");
    let none = Batch::new(vec![1.0, 1.0]).with_attribute("n", vec![2_u8]);
    let told = refused(&memory, &none).await;
    assert!(told.contains("attribute gene: found nothing"), "{told}");
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    let two = Values::texts(["a", "b"]);
    let told = edit
        .set_vertex_attribute("gene", At::Rows(&[0, 0]), &two)
        .await;
    assert!(told.unwrap_err().to_string().contains("a vertex twice"));
    edit.abandon().await.unwrap();
    assert_eq!(memory.files().await, before);
}

#[tokio::test]
async fn levels_that_an_edit_could_not_keep_are_refused() {
    let batch = spots(&[[1.0, 1.0], [2.0, 2.0]], &["g", "m"], &[1, 2]);
    let memory = written(Kind::PointCloud, batch).await;
    let told = async || {
        let told = Edit::open(ADDRESS, memory.options()).await.unwrap_err();
        told.to_string()
    };
    for list in [json!(["g", "g"]), json!([0.5, 1.5]), json!(["g", 1])] {
        relist(&memory, list.clone()).await;
        let told = told().await;
        assert!(told.contains("chunk_attribute_values"), "{list}: {told}");
    }
    relist(&memory, json!(["g", "m"])).await;
    Edit::open(ADDRESS, memory.options())
        .await
        .unwrap()
        .abandon()
        .await
        .unwrap();
    // An array of the same name with other content.
    beside(&memory, "gene").await;
    let told = told().await;
    assert!(
        told.contains("0/vertex_attributes/gene/zarr.json: no categories"),
        "{told}"
    );
}

/// Gives the attribute that splits chunks its own array, with the values of `n`, as the released writers of graphs do.
async fn beside(memory: &Memory, name: &str) {
    for (key, bytes) in memory.files().await {
        if let Some(rest) = key.strip_prefix("0/vertex_attributes/n/") {
            let bytes = match rest {
                "zarr.json" => {
                    let mut doc: Value = serde_json::from_slice(&bytes).unwrap();
                    doc["attributes"]["name"] = json!(name);
                    doc.to_string().into_bytes()
                }
                _ => bytes,
            };
            put(memory, &format!("0/vertex_attributes/{name}/{rest}"), bytes).await;
        }
    }
}

#[tokio::test]
async fn an_array_beside_the_keys_stays_what_they_are() {
    for kind in [Kind::Graph, Kind::Streamline] {
        let spec = StoreSpec::new(kind, [10.0; 2])
            .with_attribute_chunks(AttributeSpec::number("part", NumberType::U8))
            .with_vertex_attribute(AttributeSpec::number("n", NumberType::U8));
        let memory = Memory::default();
        let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
            .await
            .unwrap();
        let batch = Batch::new(vec![1.0, 1.0, 2.0, 1.0, 12.0, 1.0])
            .with_attribute("part", vec![3_u8, 3, 5])
            .with_attribute("n", vec![3_u8, 3, 5]);
        writer
            .push(&batch.with_object_ids(&[7_i64, 7, 7][..]))
            .unwrap();
        writer.finish().await.unwrap();
        beside(&memory, "part").await;

        let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
        assert_eq!(edit.spec().batch_attributes().count(), 2);
        edit.move_vertices(At::Objects(&[(7, 1)]), &vec![25.0, 1.0].into())
            .await
            .unwrap();
        let at = At::Objects(&[(7, 0)]);
        edit.set_vertex_attribute("part", at, &vec![4_u8].into())
            .await
            .unwrap();
        let batch = Batch::new(vec![3.0, 3.0])
            .with_attribute("n", vec![9_u8])
            .with_attribute("part", vec![9_u8]);
        edit.append(&batch.with_object_ids(&[8_i64][..]))
            .await
            .unwrap();
        edit.commit().await.unwrap();
        memory.check_clean().await;
        let files = memory.files().await;
        assert_eq!(values(&files), json!([3, 5, 4, 9]));
        let chunks = json!(["0.2.0", "1.1.0", "2.0.0", "3.0.0"]);
        assert_eq!(present(&files, "0/vertices"), chunks, "{kind:?}");
        assert_eq!(present(&files, "0/vertex_attributes/part"), chunks);
        let got = ask(&memory.open().await, Query::default()).await;
        assert_eq!(column(&got.vertices, "part"), ["3", "5", "4", "9"]);
        let place = ["25.0 1.0", "12.0 1.0", "1.0 1.0", "3.0 3.0"];
        assert_eq!(column(&got.vertices, "position"), place);
    }
}

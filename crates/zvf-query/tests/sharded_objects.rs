//! Object layers that are sharded along their rows (0.9.3): only the codec states it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zvf_query::Query;
use zvf_store::Need;

use crate::make::{Made, Manifest, manifest_blob, vlen};
use crate::support::{ask, memory};

const INNER: usize = 2;
const SHARD: usize = 6;

/// Eight points, each an object.
fn made() -> Made {
    let positions: Vec<[f32; 3]> = (0..8).map(|at| [at as f32 * 3.0, 1.0, 1.0]).collect();
    Made::points_with_ids(&positions, &[3, 4, 5, 6, 7, 8, 9, 10])
}

/// A shard of some chunks, with its index at the end; chunks without manifests are not stored.
fn shard(manifests: &[Manifest]) -> Vec<u8> {
    let (mut bytes, mut index) = (Vec::new(), Vec::new());
    for at in 0..SHARD / INNER {
        let some = manifests.iter().skip(at * INNER).take(INNER);
        let mut blobs: Vec<Vec<u8>> = some.map(manifest_blob).collect();
        let place = match blobs.len() {
            0 => [u64::MAX; 2],
            _ => {
                blobs.resize(INNER, Vec::new());
                let chunk = vlen(&blobs);
                let place = [bytes.len() as u64, chunk.len() as u64];
                bytes.extend(chunk);
                place
            }
        };
        index.extend(place.iter().flat_map(|number| number.to_le_bytes()));
    }
    [bytes, index].concat()
}

fn files(made: &Made) -> BTreeMap<String, Vec<u8>> {
    let mut files = made.files();
    let key = "0/object_index/manifests/zarr.json";
    let mut doc: Value = serde_json::from_slice(&files[key]).unwrap();
    doc["chunk_grid"]["configuration"]["chunk_shape"] = json!([SHARD]);
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    doc["codecs"] = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [INNER], "codecs": [{"name": "vlen-bytes"}], "index_codecs": [bytes], "index_location": "end"}}]);
    files.insert(key.to_owned(), doc.to_string().into_bytes());
    let manifests = made.objects.clone().unwrap();
    let manifests: Vec<Manifest> = manifests.into_iter().map(|(_, one)| one).collect();
    for (number, some) in manifests.chunks(SHARD).enumerate() {
        files.insert(format!("0/object_index/manifests/c/{number}"), shard(some));
    }
    files
}

#[tokio::test]
async fn manifests_in_shards_are_read_without_other_libraries() {
    let made = made();
    let (plain, sharded) = (memory(&made.files()).await, memory(&files(&made)).await);
    for objects in [None, Some(vec![9, 4]), Some(vec![3])] {
        let asked = || Query {
            objects: objects.clone(),
            ..Query::default()
        };
        let (a, b) = (
            ask(&plain, asked()).await.unwrap(),
            ask(&sharded, asked()).await.unwrap(),
        );
        assert_eq!(a.vertices, b.vertices);
        assert_eq!(a.objects, b.objects);
        assert!(b.all.summary.warnings.is_empty());
    }
}

#[tokio::test]
async fn an_index_may_have_more_than_2_to_26_rows() {
    let made = made();
    let mut files = files(&made);
    let rows = (1_u64 << 26) + 10;
    for array in ["manifests", "object_ids"] {
        let key = format!("0/object_index/{array}/zarr.json");
        let mut doc: Value = serde_json::from_slice(&files[&key]).unwrap();
        doc["shape"] = json!([rows]);
        files.insert(key, doc.to_string().into_bytes());
    }
    let key = "0/object_index/zarr.json";
    let mut doc: Value = serde_json::from_slice(&files[key]).unwrap();
    doc["attributes"]["num_objects"] = json!(rows);
    files.insert(key.to_owned(), doc.to_string().into_bytes());
    let store = memory(&files).await;
    let level = store.level(0, &Need::all()).await.unwrap();
    let index = level.object_index().unwrap();
    assert_eq!(index.len(), rows);
    let blobs = index.manifests_in(level.next_round(), &[7, rows - 1]).await;
    let blobs = blobs.unwrap();
    assert_eq!(blobs[0][..], manifest_blob(&made.objects.unwrap()[7].1));
    assert!(blobs[1].is_empty());
}

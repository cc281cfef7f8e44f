//! Codecs, shards and chunk shapes: arrays written by `zarrs`, read by us.

use std::sync::Arc;

use serde_json::{Value, json};
use zarrs::array::{Array, ArrayBytes, ArrayMetadata, ArraySubset};
use zarrs::storage::store::MemoryStore;
use zarrs::storage::{ListableStorageTraits, ReadableStorageTraits};
use zvf_store::{CellWant, Class, Names, Need, Store, StoreError};

use crate::support::{Files, cell_of, key_text, open_memory, small};

const SHAPE: [u64; 3] = [5, 4, 6];
const ORIGIN: [i64; 3] = [-2, 0, 3];

/// All chunks of the grid; every third one is empty.
fn chunks() -> Vec<(Vec<i64>, Option<Vec<u8>>)> {
    let mut all = Vec::new();
    for x in 0..SHAPE[0] as i64 {
        for y in 0..SHAPE[1] as i64 {
            for z in 0..SHAPE[2] as i64 {
                let chunk = vec![x + ORIGIN[0], y + ORIGIN[1], z + ORIGIN[2]];
                let cell = ((x + 2 * y + z) % 3 != 0).then(|| cell_of(&chunk));
                all.push((chunk, cell));
            }
        }
    }
    all
}

fn document(chunk_shape: &Value, codecs: &Value) -> Value {
    let mut present: Vec<String> = chunks()
        .iter()
        .filter(|(_, cell)| cell.is_some())
        .map(|(chunk, _)| key_text(chunk))
        .collect();
    present.sort();
    json!({
        "shape": SHAPE, "data_type": "variable_length_bytes",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": "", "codecs": codecs,
        "attributes": {"nonempty_chunks": present, "chunk_grid_origin": ORIGIN, "dtype": "float32"},
        "zarr_format": 3, "node_type": "array", "storage_transformers": []
    })
}

/// A store whose `vertices` array was written by `zarrs`.
pub(crate) fn written(chunk_shape: Value, codecs: Value) -> Files {
    zvf_codec::register_blosc();
    let document = document(&chunk_shape, &codecs);
    let storage = Arc::new(MemoryStore::new());
    let metadata: ArrayMetadata = serde_json::from_value(document.clone()).unwrap();
    let array = Array::new_with_metadata(Arc::clone(&storage), "/0/vertices", metadata).unwrap();
    let cells: Vec<Vec<u8>> = chunks()
        .into_iter()
        .map(|(_, cell)| cell.unwrap_or_default())
        .collect();
    let mut offsets = vec![0];
    for cell in &cells {
        offsets.push(offsets.last().unwrap() + cell.len());
    }
    let bytes = ArrayBytes::new_vlen(
        cells.concat(),
        zarrs::array::ArrayBytesOffsets::new(offsets).unwrap(),
    )
    .unwrap();
    array
        .store_array_subset(&ArraySubset::new_with_shape(SHAPE.to_vec()), bytes)
        .unwrap();
    let mut files = small(3, "point_cloud");
    for key in storage.list().unwrap() {
        files.insert(
            key.as_str().to_owned(),
            storage.get(&key).unwrap().unwrap().to_vec(),
        );
    }
    files.insert(
        "0/vertices/zarr.json".to_owned(),
        document.to_string().into_bytes(),
    );
    files
}

async fn read(store: &Store) -> Result<(), StoreError> {
    let level = store.level(0, &Need::default()).await?;
    let all = chunks();
    // All at once, and some one by one.
    let wants = all
        .iter()
        .map(|(chunk, _)| CellWant::new(level.vertices(), chunk.as_slice()))
        .collect();
    let cells = store.fetch(2, wants).await?;
    for ((chunk, expected), found) in all.iter().zip(&cells) {
        assert_eq!(found.as_deref(), expected.as_deref(), "{chunk:?}");
    }
    for (chunk, expected) in all.iter().step_by(7) {
        let found = store
            .fetch(2, vec![CellWant::new(level.vertices(), chunk.as_slice())])
            .await?
            .remove(0);
        assert_eq!(found.as_deref(), expected.as_deref(), "{chunk:?}");
    }
    Ok(())
}

async fn check(chunk_shape: Value, codecs: Value) {
    let name = format!("{chunk_shape} {codecs}");
    let files = written(chunk_shape, codecs);
    read(&open_memory(&files).await)
        .await
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    let folder = crate::support::on_disk(&files);
    let local = Store::open(folder.path().to_str().unwrap()).await.unwrap();
    read(&local)
        .await
        .unwrap_or_else(|e| panic!("{name} on disk: {e}"));
}

pub(crate) fn vlen(codecs: &[Value]) -> Value {
    let mut all = vec![json!({"name": "vlen-bytes", "configuration": {}})];
    all.extend_from_slice(codecs);
    Value::Array(all)
}

pub(crate) fn sharded(codecs: &Value, location: &str) -> Value {
    json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [1, 1, 1], "codecs": codecs,
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
        "index_location": location
    }}])
}

pub(crate) fn zstd(checksum: bool) -> Value {
    json!({"name": "zstd", "configuration": {"level": 3, "checksum": checksum}})
}

pub(crate) fn blosc(cname: &str, shuffle: &str, typesize: u32, blocksize: u32) -> Value {
    json!({"name": "blosc", "configuration":
        {"typesize": typesize, "cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": blocksize}})
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_cells_of_every_codec() {
    for codecs in [
        vec![],
        vec![zstd(false)],
        vec![zstd(true)],
        vec![json!({"name": "gzip", "configuration": {"level": 5}})],
        vec![json!({"name": "crc32c"})],
        vec![zstd(false), json!({"name": "crc32c"})],
        vec![
            json!({"name": "gzip", "configuration": {"level": 1}}),
            json!({"name": "crc32c"}),
        ],
        vec![json!({"name": "crc32c"}), zstd(false)],
    ] {
        check(json!([1, 1, 1]), vlen(&codecs)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blosc_frames_of_every_make() {
    for cname in ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"] {
        for shuffle in ["noshuffle", "shuffle", "bitshuffle"] {
            for typesize in [1, 3, 4, 8] {
                check(
                    json!([1, 1, 1]),
                    vlen(&[blosc(cname, shuffle, typesize, 0)]),
                )
                .await;
            }
        }
    }
    // Several blocks, and chunks of several cells.
    for cname in ["blosclz", "lz4", "zstd"] {
        for shuffle in ["shuffle", "bitshuffle"] {
            for typesize in [4, 7] {
                check(
                    json!([5, 4, 6]),
                    vlen(&[blosc(cname, shuffle, typesize, 1024)]),
                )
                .await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_of_several_cells() {
    for shape in [
        json!([2, 2, 2]),
        json!([5, 4, 6]),
        json!([1, 3, 4]),
        json!([8, 8, 8]),
    ] {
        check(shape, vlen(&[zstd(false)])).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shards_of_every_make() {
    for location in ["start", "end"] {
        for shape in [json!([2, 2, 2]), json!([5, 4, 6]), json!([4, 4, 4])] {
            for codecs in [
                vec![],
                vec![zstd(false)],
                vec![blosc("lz4", "shuffle", 4, 0)],
                vec![json!({"name": "crc32c"})],
            ] {
                check(shape.clone(), sharded(&vlen(&codecs), location)).await;
            }
        }
    }
    // Chunks of several cells inside shards.
    let mut codecs = sharded(&vlen(&[zstd(false)]), "end");
    codecs[0]["configuration"]["chunk_shape"] = json!([1, 2, 2]);
    check(json!([2, 4, 4]), codecs).await;
    // An index without a checksum.
    let mut codecs = sharded(&vlen(&[]), "end");
    codecs[0]["configuration"]["index_codecs"] =
        json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    check(json!([2, 2, 2]), codecs).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_codecs_are_refused_by_name() {
    let mut files = written(json!([1, 1, 1]), vlen(&[]));
    files.insert(
        "0/vertices/zarr.json".to_owned(),
        document(
            &json!([1, 1, 1]),
            &vlen(&[json!({"name": "lzma9000", "configuration": {}})]),
        )
        .to_string()
        .into_bytes(),
    );
    let error = read(&open_memory(&files).await).await.unwrap_err();
    assert_eq!(error.class(), Class::Malformed);
    assert!(
        error.is_unsupported() && error.to_string().contains("lzma9000"),
        "{error}"
    );
}

/// Codecs of numcodecs, alone and several together, plain and in shards.
#[cfg(feature = "zarrs")]
#[tokio::test(flavor = "multi_thread")]
async fn codecs_of_numcodecs() {
    let zlib = json!({"name": "numcodecs.zlib", "configuration": {"level": 5}});
    let bz2 = json!({"name": "numcodecs.bz2", "configuration": {"level": 9}});
    let adler32 = json!({"name": "numcodecs.adler32", "configuration": {}});
    let shuffle = json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": 1}});
    for codecs in [
        vec![zlib.clone()],
        vec![bz2.clone(), json!({"name": "crc32c"})],
        vec![adler32.clone()],
        vec![adler32.clone(), zstd(true)],
        vec![shuffle, adler32, zlib, bz2],
    ] {
        check(json!([1, 1, 1]), vlen(&codecs)).await;
        check(json!([2, 2, 2]), vlen(&codecs)).await;
        check(json!([2, 2, 2]), sharded(&vlen(&codecs), "end")).await;
    }
}

/// The `zarrs` crate panics on some documents when it makes an array of them.
#[cfg(feature = "zarrs")]
#[tokio::test(flavor = "multi_thread")]
async fn documents_that_the_generic_reader_panics_on_are_an_error() {
    let mut files = written(json!([1, 1, 1]), vlen(&[]));
    let bz2 = json!({"name": "numcodecs.bz2", "configuration": {"level": 0}});
    let mut codecs = sharded(&vlen(&[]), "end");
    codecs.as_array_mut().unwrap().push(bz2);
    let document = document(&json!([2, 2, 2]), &codecs).to_string();
    files.insert("0/vertices/zarr.json".to_owned(), document.into_bytes());
    let error = read(&open_memory(&files).await).await.unwrap_err();
    assert_eq!(error.class(), Class::Malformed, "{error}");
}

/// Layouts that only the generic reader understands: a codec around shards, shards around shards.
#[cfg(feature = "zarrs")]
#[tokio::test(flavor = "multi_thread")]
async fn foreign_layouts_go_through_zarrs() {
    let mut codecs = sharded(&vlen(&[zstd(false)]), "end");
    codecs.as_array_mut().unwrap().push(zstd(false));
    check(json!([2, 2, 2]), codecs).await;
    let mut codecs = sharded(&vlen(&[]), "end");
    codecs[0]["configuration"]["index_codecs"] = json!([
        {"name": "bytes", "configuration": {"endian": "big"}}, {"name": "crc32c"}]);
    check(json!([2, 2, 2]), codecs).await;
    let nested = sharded(&vlen(&[zstd(false)]), "end");
    let mut outer = sharded(&nested, "end");
    outer[0]["configuration"]["chunk_shape"] = json!([2, 2, 2]);
    check(json!([4, 4, 4]), outer).await;
}

/// Typed arrays: every layout that the own reader takes, and with the feature those it does not.
#[tokio::test(flavor = "multi_thread")]
async fn tables_of_every_layout() {
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let big = json!({"name": "bytes", "configuration": {"endian": "big"}});
    let mut layouts = vec![
        (json!([65536, 3]), json!([little])),
        (json!([4, 3]), json!([little, zstd(false)])),
        (
            json!([4, 2]),
            json!([little, {"name": "gzip", "configuration": {"level": 1}}]),
        ),
        (json!([3, 1]), json!([big, zstd(false), {"name": "crc32c"}])),
        (json!([10, 3]), json!([big])),
    ];
    if cfg!(feature = "zarrs") {
        layouts.push((
            json!([4, 3]),
            json!([{"name": "transpose", "configuration": {"order": [1, 0]}}, little]),
        ));
        layouts.push((
            json!([4, 2]),
            json!([{"name": "sharding_indexed", "configuration": {
                "chunk_shape": [2, 1], "codecs": [little, zstd(false)],
                "index_codecs": [little, {"name": "crc32c"}], "index_location": "end"}}]),
        ));
    }
    for (chunk_shape, codecs) in layouts {
        let name = format!("{chunk_shape} {codecs}");
        let document = json!({
            "shape": [10, 3], "data_type": "float64",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": "NaN", "codecs": codecs,
            "attributes": {"name": "f", "dtype": "float64", "fill_sentinel_meaning": "absent"},
            "zarr_format": 3, "node_type": "array"
        });
        let storage = Arc::new(MemoryStore::new());
        let metadata: ArrayMetadata = serde_json::from_value(document.clone()).unwrap();
        let array =
            Array::new_with_metadata(Arc::clone(&storage), "/0/object_attributes/f", metadata)
                .unwrap();
        // Rows 4 to 7 are all NaN, so that their chunk may be left out.
        let values: Vec<f64> = (0..30)
            .map(|i| {
                if (12..24).contains(&i) {
                    f64::NAN
                } else {
                    f64::from(i) * 1.5
                }
            })
            .collect();
        array
            .store_array_subset(&ArraySubset::new_with_shape(vec![10, 3]), values.clone())
            .unwrap();
        let mut files = written(json!([1, 1, 1]), vlen(&[]));
        for key in storage.list().unwrap() {
            files.insert(
                key.as_str().to_owned(),
                storage.get(&key).unwrap().unwrap().to_vec(),
            );
        }
        files.insert(
            "0/object_attributes/f/zarr.json".to_owned(),
            document.to_string().into_bytes(),
        );
        let store = open_memory(&files).await;
        let need = Need {
            object_attributes: Names::List(vec!["f".to_owned()]),
            ..Need::default()
        };
        let level = store.level(0, &need).await.unwrap();
        let [table] = level.object_attributes() else {
            panic!("{name}: {:?}", store.warnings())
        };
        assert_eq!((table.rows(), table.width()), (10, 3));
        let expected: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let all = table.read().await.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(all.bytes, expected, "{name}");
        assert!(all.is_absent(4) && !all.is_absent(3), "{name}");
        let part = table.read_rows(3..9).await.unwrap();
        assert_eq!(part.bytes, expected[3 * 24..9 * 24], "{name}");
        assert_eq!(table.read_rows(8..99).await.unwrap().rows, 2);
        assert_eq!(table.read_rows(20..30).await.unwrap().rows, 0);
    }
}

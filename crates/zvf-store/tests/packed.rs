//! Lists of cells (0.8, section 9.8) and sharded grids of cells (0.8, section 3.4), made by hand.

use serde_json::{Value, json};
use zvf_store::format::vlen::VlenBuilder;
use zvf_store::{
    Class, ContainerKind, Deltas, IoTrace, Level, Need, OpenOptions, Store, StoreError,
};

use crate::support::{Files, add_grid, all_cells, edit, memory, open_memory, small};

const PATH: &str = "0/cross_chunk_links/0";

fn need() -> Need {
    Need {
        link_deltas: Deltas::All,
        ..Need::default()
    }
}

/// One record: a permutation code and two rows, in a ragged blob of one group.
fn cell(code: i64, rows: [i64; 2]) -> Vec<u8> {
    let words = [1, 0, code, rows[0], rows[1]];
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn base() -> Files {
    let mut files = small(2, "graph");
    let row = [1.0f32, 2.0]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect::<Vec<u8>>();
    let rows = [row.clone(), row.clone(), row].concat();
    let cells = [
        (vec![0, 0], rows.clone()),
        (vec![10, 0], rows.clone()),
        (vec![2, 0], rows),
    ];
    add_grid(&mut files, "0/vertices", &[11, 1], &[0, 0], &cells);
    files
}

fn family(more: Value) -> Value {
    let mut attributes = json!({"zv_array": "cross_chunk_links", "sid_ndim": 2, "level_delta": 0, "link_width": 2,
        "num_links": 2, "num_physical_records": 2, "directed": false, "store": "canonical"});
    for (name, value) in more.as_object().unwrap() {
        attributes[name] = value.clone();
    }
    attributes
}

/// A store with two cells, listed in text order: `10` before `2`.
fn packed() -> Files {
    let mut files = base();
    let attributes =
        family(json!({"layout": "packed_sharded", "cell_keys": ["0.0.10.0", "0.0.2.0"]}));
    let document = json!({
        "shape": [2], "data_type": "variable_length_bytes",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": "", "codecs": [{"name": "vlen-bytes"}], "attributes": attributes,
        "zarr_format": 3, "node_type": "array", "storage_transformers": []
    });
    files.insert(
        format!("{PATH}/zarr.json"),
        document.to_string().into_bytes(),
    );
    let mut chunk = VlenBuilder::new();
    chunk.push(&cell(0, [1, 2])).unwrap();
    chunk.push(&cell(1, [2, 0])).unwrap();
    files.insert(format!("{PATH}/c/0"), chunk.finish());
    files
}

/// The only link array between chunks.
fn array(level: &Level) -> std::sync::Arc<zvf_store::GridArray> {
    let family = level.links(0).unwrap();
    let mut arrays = family.arrays().iter().filter(|a| a.array.path() == PATH);
    std::sync::Arc::clone(&arrays.next().unwrap().array)
}

async fn load(files: &Files) -> Result<Level, StoreError> {
    open_memory(files).await.level(0, &need()).await
}

#[tokio::test]
async fn t4_cell_keys_are_in_text_order_and_cells_in_numeric_order() {
    let level = load(&packed()).await.unwrap();
    let array = array(&level);
    assert_eq!(array.container(), ContainerKind::Packed);
    let order: Vec<&[i64]> = array.presence().iter().collect();
    assert_eq!(order, [[0, 0, 2, 0], [0, 0, 10, 0]]);
    let found = level.store().fetch(9, all_cells(&array)).await.unwrap();
    assert_eq!(found[0].as_deref(), Some(&cell(1, [2, 0])[..]));
    assert_eq!(found[1].as_deref(), Some(&cell(0, [1, 2])[..]));
}

#[tokio::test]
async fn keys_that_do_not_fit_the_cells_are_refused() {
    for (keys, text) in [
        (json!(["0.0.10.0"]), "1 keys, expected 2"),
        (json!(["0.0.10.0", "0.0.10.0"]), "more than once"),
        (json!(["0.0.10.0", "0.0.2"]), "3 components, expected 4"),
        (json!(["0.0.10.0", "0.0.-0.0"]), "cannot be read"),
        (json!(["0.0.10.0", 7]), "cannot be read"),
        (json!("x"), "expected an array of keys"),
    ] {
        let mut files = packed();
        edit(&mut files, &format!("{PATH}/zarr.json"), |d| {
            d["attributes"]["cell_keys"] = keys;
        });
        let error = load(&files).await.unwrap_err();
        assert_eq!(error.class(), Class::Malformed, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
}

/// A sharded grid of cells, as re-packing makes it: the shape from the largest key, shards of `edge` on each axis.
fn sharded(edge: u64) -> Files {
    let mut files = base();
    let attributes = family(json!({"nonempty_chunks": ["0.0.2.0"]}));
    let document = json!({
        "shape": [1, 1, 3, 1], "data_type": "variable_length_bytes",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [edge, edge, edge, edge]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": "", "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [1, 1, 1, 1], "codecs": [{"name": "vlen-bytes"}],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
            "index_location": "end"}}],
        "attributes": attributes, "zarr_format": 3, "node_type": "array", "storage_transformers": []
    });
    files.insert(
        format!("{PATH}/zarr.json"),
        document.to_string().into_bytes(),
    );
    files
}

#[tokio::test]
async fn t10_a_huge_shard_index_is_read_by_range() {
    let edge = 20u64;
    let mut files = sharded(edge);
    // 600 KiB of other cells, then ours, then an index of 160 000 entries.
    let ours = VlenBuilder::cell(&cell(0, [1, 2])).unwrap();
    let before = 600 << 10;
    let mut shard = vec![0xAA; before];
    shard.extend_from_slice(&ours);
    let entries = usize::try_from(edge.pow(4)).unwrap();
    let mut index = vec![0xFF; entries * 16];
    let at = usize::try_from(2 * edge).unwrap() * 16;
    index[at..at + 8].copy_from_slice(&(before as u64).to_le_bytes());
    index[at + 8..at + 16].copy_from_slice(&(ours.len() as u64).to_le_bytes());
    let sum = crc32c::crc32c(&index);
    shard.extend_from_slice(&index);
    shard.extend_from_slice(&sum.to_le_bytes());
    let whole = shard.len() as u64;
    files.insert(format!("{PATH}/c/0/0/0/0"), shard);
    let trace = IoTrace::on();
    let options = OpenOptions::new()
        .with_object_store(memory(&files).await)
        .with_trace(trace.clone());
    let store = Store::open_with("memory:///", options).await.unwrap();
    let level = store.level(0, &need()).await.unwrap();
    let array = array(&level);
    assert!(array.is_sharded());
    assert_eq!(array.shape(), Some(&[1, 1, 3, 1][..]));
    trace.take();
    let found = store.fetch(9, all_cells(&array)).await.unwrap();
    assert_eq!(found[0].as_deref(), Some(&cell(0, [1, 2])[..]));
    let read = trace.take();
    assert_eq!(read.len(), 1, "{read:?}");
    assert!(read[0].bytes.unwrap() < whole, "{read:?}");
}

#[tokio::test]
async fn t10_a_shard_index_beyond_the_limit_is_refused() {
    let error = load(&sharded(64)).await.unwrap_err();
    assert_eq!(error.class(), Class::Limit, "{error}");
    assert!(error.to_string().contains("shard_entries"), "{error}");
}

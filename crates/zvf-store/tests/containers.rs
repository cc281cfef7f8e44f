//! Every cell of every bundled store, compared with the files as read by `zarrs` and a few lines of this file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use zarrs::array::{Array, ArrayBytes};
use zarrs::filesystem::FilesystemStore;
use zvf_store::{ContainerKind, Names, Need, Store};

use crate::support::{Files, all_cells, bundled, grids, key_text, open_memory};

/// The arrays with a row for each vertex or fragment.
fn need() -> Need {
    Need {
        vertex_attributes: Names::All,
        fragment_attributes: Names::All,
        ..Need::default()
    }
}

fn document(files: &Files, path: &str) -> Option<Value> {
    files
        .get(&format!("{path}/zarr.json"))
        .map(|bytes| serde_json::from_slice(bytes).unwrap())
}

fn array_bytes(root: &Path, path: &str) -> ArrayBytes<'static> {
    // From the array's own folder: a name such as `__shard_000000` is legal here and not for zarrs.
    let storage = Arc::new(FilesystemStore::new(root.join(path)).unwrap());
    let array = Array::open(storage, "/").unwrap();
    array.retrieve_array_subset(&array.subset_all()).unwrap()
}

fn fixed(root: &Path, path: &str) -> Vec<u8> {
    array_bytes(root, path).into_fixed().unwrap().into_owned()
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// The bytes of a one-chunk array of bytes.
fn blob(root: &Path, files: &Files, path: &str) -> Vec<u8> {
    let node = document(files, path).unwrap();
    let codecs = node["codecs"].as_array().unwrap();
    let names: Vec<&str> = codecs.iter().map(|c| c["name"].as_str().unwrap()).collect();
    // The two common forms are read without `zarrs`, which is slow for ten thousand arrays.
    match (files.get(&format!("{path}/c/0")), names.as_slice()) {
        (Some(stored), ["bytes"]) => stored.clone(),
        (Some(stored), ["bytes", "zstd"]) => zstd::decode_all(stored.as_slice()).unwrap(),
        _ => fixed(root, path),
    }
}

/// All blobs of a group: the children named by keys, and the blobs in packs.
fn blobs(root: &Path, files: &Files, path: &str) -> BTreeMap<String, Vec<u8>> {
    let prefix = format!("{path}/");
    let (mut plain, mut packed) = (BTreeMap::new(), BTreeMap::new());
    for key in files.keys().filter_map(|key| key.strip_prefix(&prefix)) {
        let Some(child) = key.strip_suffix("/zarr.json") else {
            continue;
        };
        let bytes = blob(root, files, &format!("{path}/{child}"));
        if child.starts_with("__shard_") {
            let index = document(files, &format!("{path}/{child}")).unwrap();
            for (key, part) in index["attributes"]["shard_index"].as_object().unwrap() {
                let (from, length) = (number(&part[0]), number(&part[1]));
                packed.insert(key.clone(), bytes[from..from + length].to_vec());
            }
        } else {
            plain.insert(child.to_owned(), bytes);
        }
    }
    packed.extend(plain);
    packed
}

/// The key of the `at`-th cell of a grid in C order.
fn key_at(mut at: usize, shape: &[usize], origin: &[i64]) -> String {
    let mut key = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        key[axis] = i64::try_from(at % shape[axis]).unwrap() + origin[axis];
        at /= shape[axis];
    }
    key_text(&key)
}

/// Rows that a fragment index reaches: the largest end of a range, the largest listed row and one.
fn rows_of(index: &[u8]) -> usize {
    let word = |at: usize| u32::from_le_bytes(index[at..at + 4].try_into().unwrap()) as usize;
    let long = |at: usize| {
        usize::try_from(i64::from_le_bytes(index[at..at + 8].try_into().unwrap())).unwrap()
    };
    let (fragments, ranges) = (word(8), word(12));
    if fragments == 0 {
        return 0;
    }
    let table = 16 + fragments.div_ceil(64) * 8;
    let ends = (0..ranges).map(|r| long(table + r * 16) + long(table + r * 16 + 8));
    let rows = table + ranges * 16 + (fragments - ranges + 1) * 4;
    let listed = (rows..index.len()).step_by(8).map(|at| long(at) + 1);
    ends.chain(listed).max().unwrap_or(0)
}

/// All cells of an array, by key; empty ones may be left out.
fn expected(root: &Path, files: &Files, path: &str, rank: usize) -> BTreeMap<String, Vec<u8>> {
    let node = document(files, path).unwrap();
    if node["node_type"] == "group" {
        return blobs(root, files, path);
    }
    let attributes = &node["attributes"];
    let shape: Vec<usize> = node["shape"]
        .as_array()
        .unwrap()
        .iter()
        .map(number)
        .collect();
    let origin: Vec<i64> = match attributes["chunk_grid_origin"].as_array() {
        Some(origin) => origin.iter().map(|n| n.as_i64().unwrap()).collect(),
        None => vec![0; rank],
    };
    if node["data_type"] == "variable_length_bytes" {
        let (bytes, offsets) = array_bytes(root, path)
            .into_variable()
            .unwrap()
            .into_parts();
        let cells = offsets.windows(2).map(|w| bytes[w[0]..w[1]].to_vec());
        return match attributes["cell_keys"].as_array() {
            Some(keys) => keys
                .iter()
                .map(|key| key.as_str().unwrap().to_owned())
                .zip(cells)
                .collect(),
            None => cells
                .enumerate()
                .map(|(at, cell)| (key_at(at, &shape, &origin), cell))
                .collect(),
        };
    }
    // A padded array: as many rows as the fragment index of the chunk states, else up to the last row that is not fill.
    let bytes = fixed(root, path);
    let cells: usize = shape[..rank].iter().product();
    let cell = bytes.len() / cells;
    let row = cell / shape[rank];
    let level = path.split('/').next().unwrap();
    let index = format!("{level}/vertex_fragments");
    let index = document(files, &index).map(|_| expected(root, files, &index, rank));
    let mut found = BTreeMap::new();
    for at in 0..cells {
        let (key, block) = (
            key_at(at, &shape[..rank], &origin),
            &bytes[at * cell..][..cell],
        );
        let by_fill = || {
            let mut rows = block.chunks(row);
            rows.rposition(|row| row.iter().any(|b| *b != 0))
                .map_or(0, |last| last + 1)
        };
        assert!(node["fill_value"].as_f64() == Some(0.0), "{path}");
        let rows = match index.as_ref().map(|index| index.get(&key)) {
            Some(Some(index)) if !index.is_empty() => rows_of(index),
            _ => by_fill(),
        };
        found.insert(key, block[..rows * row].to_vec());
    }
    found
}

/// Compares all arrays of a store with the files; counts the cells that were compared.
async fn compare(
    store: &Store,
    known: &mut BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    (root, files): (&Path, &Files),
    name: &str,
    compared: &mut BTreeMap<String, usize>,
) {
    for number in store.levels() {
        let level = store.level(*number, &need()).await.unwrap();
        for array in grids(&level) {
            let expected = known
                .entry(array.path().to_owned())
                .or_insert_with(|| expected(root, files, array.path(), level.key_rank()));
            let wants = all_cells(&array);
            let chunks: Vec<String> = wants.iter().map(|w| key_text(&w.chunk)).collect();
            let cells = store.fetch(level.next_round(), wants).await.unwrap();
            for (chunk, cell) in chunks.iter().zip(cells) {
                let expected = expected.get(chunk).map(Vec::as_slice);
                let (found, path) = (cell.as_deref().unwrap_or_default(), array.path());
                assert_eq!(found, expected.unwrap_or_default(), "{name} {path} {chunk}");
            }
            let read: BTreeSet<&String> = chunks.iter().collect();
            let left = expected.iter().filter(|(_, cell)| !cell.is_empty());
            let left: Vec<_> = left
                .map(|(key, _)| key)
                .filter(|key| !read.contains(key))
                .collect();
            assert!(
                left.is_empty(),
                "{name} {}: not read: {left:?}",
                array.path()
            );
            let kind = array.container();
            *compared.entry(kind.to_string()).or_default() += chunks.len();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_cell_of_every_bundled_store_is_what_the_files_say() {
    let mut compared = BTreeMap::new();
    for case in zvf_testkit::all_cases().unwrap() {
        let files = bundled(&case);
        let unpacked = zvf_testkit::unpacked(&case).unwrap();
        let (root, url) = (unpacked.path(), unpacked.url().unwrap());
        let mut known = BTreeMap::new();
        for store in [open_memory(&files).await, Store::open(&url).await.unwrap()] {
            compare(&store, &mut known, (&root, &files), &case, &mut compared).await;
        }
    }
    for (kind, least) in [
        (ContainerKind::Grid, 1000),
        (ContainerKind::Blobs, 1000),
        (ContainerKind::Padded, 50),
    ] {
        assert!(compared[&kind.to_string()] > least, "{compared:?}");
    }
}

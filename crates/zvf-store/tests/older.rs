//! Makes nodes in the form of stores before 0.9, and reads links back as lists of endpoints.

use serde_json::{Value, json};
use zvf_store::{Endpoint, Need, Store};

use crate::support::{Files, all_cells, group, small};

/// One endpoint: chunk and row.
pub(crate) type End = (Vec<i64>, i64);

/// An endpoint.
pub(crate) fn at(chunk: &[i64], row: i64) -> End {
    (chunk.to_vec(), row)
}

/// The bytes of little-endian i64.
pub(crate) fn i64s(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// The bytes of a text of hexadecimal digits and blanks.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| u8::try_from(c.to_digit(16).unwrap()).unwrap())
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] * 16 + pair[1])
        .collect()
}

/// Adds the document of a group.
pub(crate) fn add_group(files: &mut Files, path: &str, attributes: Value) {
    files.insert(format!("{path}/zarr.json"), group(&attributes));
}

/// Adds one blob: an array of bytes in one chunk, which is left out if it is all zeros.
pub(crate) fn add_blob(files: &mut Files, path: &str, bytes: &[u8]) {
    let document = json!({
        "shape": [bytes.len()], "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [bytes.len().max(1)]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": [{"name": "bytes"}], "attributes": {},
        "zarr_format": 3, "node_type": "array", "storage_transformers": []
    });
    files.insert(
        format!("{path}/zarr.json"),
        document.to_string().into_bytes(),
    );
    if bytes.iter().any(|byte| *byte != 0) {
        files.insert(format!("{path}/c/0"), bytes.to_vec());
    }
}

/// Adds a plain array of fixed-size elements in chunks of `chunk`; `bytes` are the bytes of all rows. Chunks of zeros are left out.
pub(crate) fn add_table(
    files: &mut Files,
    path: &str,
    dtype: &str,
    shape: &[u64],
    chunk: u64,
    bytes: &[u8],
) {
    let mut chunk_shape = shape.to_vec();
    chunk_shape[0] = chunk;
    let document = json!({
        "shape": shape, "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {},
        "zarr_format": 3, "node_type": "array", "storage_transformers": []
    });
    files.insert(
        format!("{path}/zarr.json"),
        document.to_string().into_bytes(),
    );
    let rows = usize::try_from(shape[0]).unwrap();
    let row = bytes.len().checked_div(rows).unwrap_or(0);
    let piece = row * usize::try_from(chunk).unwrap();
    for (i, part) in bytes.chunks(piece.max(1)).enumerate() {
        if part.iter().any(|byte| *byte != 0) {
            let mut stored = part.to_vec();
            stored.resize(piece, 0);
            let tail = "/0".repeat(shape.len() - 1);
            files.insert(format!("{path}/c/{i}{tail}"), stored);
        }
    }
}

/// A store of 0.7 with the given chunks, each of four vertices and one fragment.
pub(crate) fn store_07(kind: &str, chunks: &[&str]) -> Files {
    let dims = chunks[0].split('.').count();
    let mut files = small(dims, kind);
    crate::support::edit(&mut files, "zarr.json", |root| {
        root["attributes"]["zarr_vectors"]["zv_version"] = json!("0.7.0");
    });
    add_level(&mut files, 0, chunks);
    files
}

/// The vertices and fragments of one level.
pub(crate) fn add_level(files: &mut Files, level: u32, chunks: &[&str]) {
    let dims = chunks[0].split('.').count();
    if level > 0 {
        let document = json!({"zarr_vectors_level": {"level": level, "vertex_count": 0, "arrays_present": [],
            "parent_level": level - 1}});
        add_group(files, &level.to_string(), document);
    }
    let vertices = json!({"zv_array": "vertices", "dtype": "float32", "encoding": "raw"});
    add_group(files, &format!("{level}/vertices"), vertices);
    let fragments = json!({"zv_array": "vertex_fragments", "encoding": "fragment_index_v1"});
    add_group(files, &format!("{level}/vertex_fragments"), fragments);
    for chunk in chunks {
        let positions: Vec<u8> = (0..4 * dims)
            .flat_map(|i| (f32::from(u8::try_from(i).unwrap()) / 4.0).to_le_bytes())
            .collect();
        add_blob(files, &format!("{level}/vertices/{chunk}"), &positions);
        let mut index = hex("4746565a 0100 0000 01000000 01000000 0100000000000000");
        index.extend(i64s(&[0, 4]));
        index.extend([0; 4]);
        add_blob(files, &format!("{level}/vertex_fragments/{chunk}"), &index);
    }
}

/// All records of a family without copies, in the order of the application, array after array and cell after cell in
/// the order of keys as text.
pub(crate) async fn records(store: &Store, level: u32, delta: i32) -> Vec<Vec<End>> {
    try_records(store, level, delta).await.unwrap()
}

pub(crate) async fn try_records(
    store: &Store,
    level: u32,
    delta: i32,
) -> Result<Vec<Vec<End>>, zvf_store::StoreError> {
    let level = store.level(level, &Need::all()).await?;
    let Some(family) = level.links(delta) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for array in family.arrays() {
        let mut wants = all_cells(&array.array);
        wants.sort_by_key(|want| want.chunk.to_string());
        for want in wants {
            let source = want.chunk.clone();
            let Some(bytes) = store.fetch(9, vec![want]).await?.remove(0) else {
                continue;
            };
            let mut ends = Vec::new();
            array.endpoint_chunks(&source, &mut ends)?;
            let cell = array.decode(&source, &bytes)?;
            if array.is_copy(&ends) {
                continue;
            }
            let mut record = vec![Endpoint::default(); family.width()];
            for i in 0..cell.len() {
                assert!(cell.record(i, &mut record));
                let rank = array.chunk_rank();
                let end = |e: &Endpoint| (ends[e.which * rank..][..rank].to_vec(), e.row);
                found.push(record.iter().map(end).collect());
            }
        }
    }
    Ok(found)
}

/// The values of one attribute of a family, in the order of [`records`].
pub(crate) async fn weights(store: &Store, delta: i32, name: &str) -> Vec<f32> {
    let level = store.level(0, &Need::all()).await.unwrap();
    let family = level.links(delta).unwrap();
    let attribute = family.attributes().iter().find(|a| a.name == name).unwrap();
    let mut found = Vec::new();
    for (array, values) in family.arrays().iter().zip(&attribute.arrays) {
        let mut wants = all_cells(&array.array);
        wants.sort_by_key(|want| want.chunk.to_string());
        for want in wants {
            let values = values.as_ref().unwrap();
            let want = zvf_store::CellWant::new(values, want.chunk.clone());
            let Some(bytes) = store.fetch(9, vec![want]).await.unwrap().remove(0) else {
                continue;
            };
            found.extend(
                bytes
                    .as_chunks::<4>()
                    .0
                    .iter()
                    .map(|b| f32::from_le_bytes(*b)),
            );
        }
    }
    found
}

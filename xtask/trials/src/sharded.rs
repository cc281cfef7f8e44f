//! A made store with its cells packed into shards, written by hand.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::altered::Files;

/// Stands in an index for a cell that is not stored.
const NONE: [u8; 16] = [0xFF; 16];

/// The cells of a shard, by their place in it.
type Cells<'a> = BTreeMap<u64, &'a [u8]>;

/// Packs the cells of every chunk-grid array into shards of `per` chunks along each axis.
///
/// The cells stay as they are: only where they lie changes. The index is at the end of a shard, an offset and a length
/// for each of its chunks in C order, with a checksum behind them.
///
/// # Errors
///
/// For arrays that are sharded already.
///
/// # Source
///
/// The codec `sharding_indexed` of Zarr 3.
pub fn sharded(files: &Files, per: u64) -> Result<Files> {
    let mut packed = Files::new();
    let mut shards: BTreeMap<(String, Vec<u64>), Cells<'_>> = BTreeMap::new();
    for (key, bytes) in files {
        if let Some((array, index)) = key.split_once("/c/") {
            let index: Vec<u64> = index
                .split('/')
                .map(str::parse)
                .collect::<Result<_, _>>()
                .with_context(|| key.clone())?;
            let shard = index.iter().map(|at| at / per).collect();
            let inside = index.iter().fold(0, |place, at| place * per + at % per);
            let cells = shards.entry((array.to_owned(), shard)).or_default();
            cells.insert(inside, bytes);
        } else if key.ends_with("zarr.json") {
            packed.insert(key.clone(), document(bytes, per)?);
        } else {
            packed.insert(key.clone(), bytes.clone());
        }
    }
    for ((array, index), cells) in shards {
        let count = per.pow(u32::try_from(index.len())?);
        let names: Vec<String> = index.iter().map(u64::to_string).collect();
        let key = format!("{array}/c/{}", names.join("/"));
        packed.insert(key, shard(&cells, count)?);
    }
    Ok(packed)
}

/// The document of a node: that of a chunk-grid array says that it is sharded.
fn document(bytes: &[u8], per: u64) -> Result<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(bytes)?;
    if document["node_type"] != "array" {
        return Ok(bytes.to_vec());
    }
    let codecs = document["codecs"].take();
    ensure!(
        codecs[0]["name"] != "sharding_indexed",
        "the array is sharded already"
    );
    let shape = &mut document["chunk_grid"]["configuration"]["chunk_shape"];
    let cell = shape.take();
    let rank = cell.as_array().context("chunk_shape")?.len();
    *shape = vec![per; rank].into();
    document["codecs"] = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": cell, "codecs": codecs, "index_location": "end",
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    }}]);
    Ok(document.to_string().into_bytes())
}

fn shard(cells: &Cells<'_>, count: u64) -> Result<Vec<u8>> {
    let (mut bytes, mut index) = (Vec::new(), Vec::new());
    for place in 0..count {
        match cells.get(&place) {
            None => index.extend(NONE),
            Some(cell) => {
                index.extend(u64::try_from(bytes.len())?.to_le_bytes());
                index.extend(u64::try_from(cell.len())?.to_le_bytes());
                bytes.extend_from_slice(cell);
            }
        }
    }
    let sum = crc32c::crc32c(&index);
    bytes.extend(index);
    bytes.extend(sum.to_le_bytes());
    Ok(bytes)
}

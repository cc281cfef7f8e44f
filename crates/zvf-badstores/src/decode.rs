//! Decodes the objects of an array without the crates that read stores, except for Blosc.

use std::collections::BTreeMap;

use serde_json::Value;
use zvf_store::meta::Codec;

use crate::files::{Outcome, unpacked};

/// The objects of a store by key.
pub type Objects = BTreeMap<String, Vec<u8>>;

/// The array that an object belongs to: its path and document.
#[must_use]
pub fn array_of(objects: &Objects, key: &str) -> Option<(String, Value)> {
    let mut path = key;
    while let Some((parent, _)) = path.rsplit_once('/') {
        path = parent;
        if let Some(bytes) = objects.get(&format!("{path}/zarr.json")) {
            let document: Value = serde_json::from_slice(bytes).ok()?;
            return (document["node_type"] == "array").then(|| (path.to_owned(), document));
        }
    }
    None
}

/// Whether an array has no codecs but `bytes` and `vlen-bytes`.
#[must_use]
pub fn is_plain(document: &Value) -> bool {
    let codecs = document["codecs"].as_array();
    codecs.is_some_and(|list| {
        list.iter()
            .all(|one| matches!(one["name"].as_str(), Some("bytes" | "vlen-bytes")))
    })
}

/// Decodes the elements of one object: the payloads of all its cells, or, for an array of numbers, one element with all numbers of each cell.
///
/// # Errors
/// If the bytes cannot be decoded with the codecs of the document.
pub(crate) fn elements(document: &Value, bytes: &[u8]) -> Outcome<Vec<Vec<u8>>> {
    decode(document["codecs"].as_array().ok_or("no codecs")?, bytes)
}

fn decode(codecs: &[Value], bytes: &[u8]) -> Outcome<Vec<Vec<u8>>> {
    let mut plain = bytes.to_vec();
    for codec in codecs.iter().rev() {
        let configuration = &codec["configuration"];
        match codec["name"].as_str().unwrap_or_default() {
            "zstd" if plain.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => plain = unpacked(&plain)?.0,
            "gzip" if plain.starts_with(&[0x1f, 0x8b]) => plain = unpacked(&plain)?.0,
            "blosc" => {
                let codec = Codec {
                    name: "blosc".to_owned(),
                    configuration: configuration.clone(),
                    extra: Default::default(),
                };
                let limits = zvf_store::Limits::default();
                plain = zvf_store::undo_codecs("cell", &[codec], plain.into(), &limits)?.to_vec();
            }
            "crc32c" => {
                let end = plain.len().checked_sub(4).ok_or("no checksum")?;
                let sum = plain.split_off(end);
                if sum != crc32c::crc32c(&plain).to_le_bytes() {
                    return Err("a wrong checksum".into());
                }
            }
            "bytes" => return Ok(vec![plain]),
            "vlen-bytes" => return payloads(&plain),
            "sharding_indexed" => return shard(configuration, &plain),
            other => return Err(format!("codec {other:?}, or bytes of another codec").into()),
        }
    }
    Err("no array-to-bytes codec".into())
}

/// The elements of an array of payloads. Bytes after the last element are ignored, as by readers (0.9 §4.2).
fn payloads(plain: &[u8]) -> Outcome<Vec<Vec<u8>>> {
    let (head, mut rest) = plain.split_first_chunk::<4>().ok_or("no element count")?;
    let mut elements = Vec::new();
    for _ in 0..u32::from_le_bytes(*head) {
        let (length, tail) = rest.split_first_chunk::<4>().ok_or("truncated length")?;
        let length = usize::try_from(u32::from_le_bytes(*length))?;
        let (element, tail) = tail.split_at_checked(length).ok_or("truncated element")?;
        elements.push(element.to_vec());
        rest = tail;
    }
    Ok(elements)
}

/// The elements of all cells of a shard. A missing cell is one empty element.
fn shard(configuration: &Value, plain: &[u8]) -> Outcome<Vec<Vec<u8>>> {
    let inner = configuration["codecs"]
        .as_array()
        .ok_or("no inner codecs")?;
    let at_start = configuration["index_location"] == "start";
    // The number of cells follows from the shape of a shard, which is not available here, so the length of the index is found
    // by its checksum.
    for cells in 1..=4096_usize {
        let length = cells * 16 + 4;
        let range = if at_start {
            Some(0..length)
        } else {
            plain
                .len()
                .checked_sub(length)
                .map(|from| from..plain.len())
        };
        let Some(index) = range.and_then(|range| plain.get(range)) else {
            break;
        };
        let (table, sum) = index.split_at(length - 4);
        if sum != crc32c::crc32c(table).to_le_bytes() {
            continue;
        }
        let mut elements = Vec::new();
        for entry in table.chunks_exact(16) {
            let number = |at: usize| {
                entry
                    .get(at..)
                    .and_then(|rest| rest.first_chunk::<8>())
                    .map(|part| u64::from_le_bytes(*part))
            };
            let (offset, length) = (number(0).unwrap_or(0), number(8).unwrap_or(0));
            if (offset, length) == (u64::MAX, u64::MAX) {
                elements.push(Vec::new());
                continue;
            }
            let from = usize::try_from(offset)?;
            let to = from
                .checked_add(usize::try_from(length)?)
                .ok_or("a cell that ends beyond 2^64")?;
            let cell = plain.get(from..to).ok_or("a cell beyond the shard")?;
            elements.extend(decode(inner, cell)?);
        }
        return Ok(elements);
    }
    Err("no shard index".into())
}

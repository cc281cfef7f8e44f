//! Samples, their manifest, and an independent indexer.

use std::path::PathBuf;

use serde_json::Value;
use sha2::{Digest, Sha256};
use zvf_caterva::{Axis, Selection};

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/caterva")
}

pub(crate) fn manifest() -> Value {
    let text = std::fs::read_to_string(folder().join("manifest.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub(crate) fn samples() -> Vec<Value> {
    manifest()["files"].as_array().unwrap().clone()
}

pub(crate) fn sha(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2)
        .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
        .collect()
}

pub(crate) fn numbers(value: &Value) -> Vec<u64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_u64().unwrap())
        .collect()
}

pub(crate) fn boxed(start: &[u64], stop: &[u64], shape: &[u64]) -> Selection {
    let axes: Vec<Axis> = start
        .iter()
        .zip(stop)
        .map(|(a, b)| Axis::new(*a, *b, 1))
        .collect();
    Selection::new(&axes, shape).unwrap()
}

/// Items of a C-order array at the places of a selection, one by one.
pub(crate) fn naive(items: &[u8], item: usize, shape: &[u64], axes: &[Axis]) -> Vec<u8> {
    let mut places = vec![0u64];
    for (axis, extent) in axes.iter().zip(shape) {
        let mut next = Vec::new();
        for place in &places {
            let mut i = axis.start;
            while i < axis.stop {
                next.push(place * extent + i);
                i += axis.step;
            }
        }
        places = next;
    }
    places
        .into_iter()
        .flat_map(|place| items[place as usize * item..(place as usize + 1) * item].to_vec())
        .collect()
}

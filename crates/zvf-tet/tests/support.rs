//! Fixtures, and an indexer that shares no code with the crate.

use std::path::PathBuf;

use serde_json::Value;
use sha2::Digest;
use zvf_tet::{Axis, Dataset, Error, OpenOptions, Profile, TetFile};

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/tet")
        .join(name)
}

pub(crate) fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

/// The files of a manifest.
pub(crate) fn files(manifest: &str) -> Vec<Value> {
    let document: Value = serde_json::from_slice(&bytes(manifest)).unwrap();
    document["files"].as_array().unwrap().clone()
}

pub(crate) fn numbers(value: &Value) -> Vec<u64> {
    let list = value.as_array().unwrap();
    list.iter().map(|n| n.as_u64().unwrap()).collect()
}

pub(crate) fn axes(value: &Value) -> Vec<Axis> {
    let list = value.as_array().unwrap();
    list.iter()
        .map(|axis| {
            let axis = numbers(axis);
            Axis::new(axis[0], axis[1], axis[2])
        })
        .collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&sha2::Sha256::digest(bytes))
}

/// Opens the file in every possible way.
pub(crate) fn ways(name: &str, profile: Profile) -> Vec<(&'static str, Result<TetFile, Error>)> {
    let options = OpenOptions::default().with_profile(profile);
    vec![
        ("memory", TetFile::from_bytes_with(bytes(name), options)),
        ("reads", TetFile::open_with(path(name), options)),
        ("map", TetFile::map(path(name), options)),
    ]
}

/// Reads all elements of a dataset.
pub(crate) fn everything(file: &TetFile, dataset: &Dataset) -> Result<Vec<u8>, Error> {
    file.read(dataset, &dataset.all()).map(|(bytes, _)| bytes)
}

/// The elements of a selection of a C-order array, found by iterating over all elements of the
/// array.
pub(crate) fn naive(item: usize, all: &[u8], shape: &[u64], axes: &[Axis]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, element) in all.chunks_exact(item).enumerate() {
        let mut rest = number as u64;
        let mut wanted = true;
        for (extent, axis) in shape.iter().zip(axes).rev() {
            let at = rest % extent;
            rest /= extent;
            wanted &=
                at >= axis.start && at < axis.stop && (at - axis.start).is_multiple_of(axis.step);
        }
        if wanted {
            out.extend_from_slice(element);
        }
    }
    out
}

//! A store of the same shape with other values: every document is equal byte by byte, every coordinate differs.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Files of a store, by key.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Flips the lowest bit of every coordinate of every level. Documents stay as they are.
///
/// The coordinates move by so little that no vertex leaves its chunk; whoever mixes rows of both stores gives an answer
/// that is neither's.
///
/// # Errors
///
/// For arrays that are sharded or compressed by anything but zstd.
pub fn altered(files: &Files) -> Result<Files> {
    let mut altered = files.clone();
    let mut cells = 0;
    for (key, bytes) in &mut altered {
        // `0/vertices/c/1/2/3` in a grid, `0/vertices/1.2.3/c/0` in a blob group.
        let mut parts = key.split('/');
        let (Some(level), Some("vertices"), Some(child)) =
            (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let data = key.ends_with("/c/0") || child == "c";
        if !data {
            continue;
        }
        let group = document(files, &format!("{level}/vertices/zarr.json"))?;
        let array = if child == "c" {
            group.clone()
        } else {
            document(files, &format!("{level}/vertices/{child}/zarr.json"))?
        };
        let width = match group["attributes"]["dtype"].as_str() {
            Some("float64") => 8,
            _ => 4,
        };
        *bytes = flip(bytes, &array, width).with_context(|| key.clone())?;
        cells += 1;
    }
    ensure!(cells > 0, "nothing was changed");
    Ok(altered)
}

fn document(files: &Files, key: &str) -> Result<Value> {
    let bytes = files.get(key).with_context(|| key.to_owned())?;
    Ok(serde_json::from_slice(bytes)?)
}

fn flip(stored: &[u8], array: &Value, width: usize) -> Result<Vec<u8>> {
    let names: Vec<&str> = array["codecs"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|codec| codec["name"].as_str())
        .collect();
    let (&first, rest) = names.split_first().context("no codecs")?;
    ensure!(rest.is_empty() || rest == ["zstd"], "codecs {names:?}");
    let mut bytes = if rest.is_empty() {
        stored.to_vec()
    } else {
        zstd::decode_all(stored)?
    };
    // One element of variable length: a count and a length before it.
    let head = if first == "vlen-bytes" { 8 } else { 0 };
    let rows = bytes.get_mut(head..).context("cut short")?;
    for number in rows.chunks_exact_mut(width) {
        if let Some(lowest) = number.first_mut() {
            *lowest ^= 1;
        }
    }
    Ok(if rest.is_empty() {
        bytes
    } else {
        zstd::encode_all(bytes.as_slice(), 0)?
    })
}

//! Codec, files, bytes and ratio of each array of a level.

use std::collections::BTreeSet;

use serde_json::Value;
use zvf_store::format::dtype::DType;
use zvf_store::meta::{ArrayDoc, Codec};
use zvf_store::{RawStore, StoreError};

use super::level::{ArrayInfo, ArraySize, LevelInfo, cell_codecs};
use crate::words::size;

/// Arrays of a level that [`LevelInfo::arrays`] does not list.
const OTHERS: [&str; 5] = [
    "object_index/manifests",
    "object_index/object_ids",
    "object_index/data",
    "groups",
    "link_fragments",
];

/// The stored arrays of a level; `None` if the backend cannot list.
pub(super) async fn of(
    level: &LevelInfo,
    raw: &RawStore,
) -> Result<Option<Vec<ArraySize>>, StoreError> {
    let mut paths: BTreeSet<String> = level.arrays.iter().map(|one| one.path.clone()).collect();
    paths.extend(OTHERS.map(|path| format!("{}/{path}", level.level)));
    let mut sizes = Vec::new();
    for path in paths {
        let Some(usage) = raw.usage(&path).await? else {
            return Ok(None);
        };
        if usage.objects == 0 {
            continue;
        }
        let document = raw.read(&format!("{path}/zarr.json")).await?;
        let document = document.and_then(|bytes| ArrayDoc::parse(&bytes).ok());
        let array = level.arrays.iter().find(|one| one.path == path);
        let numbers = array.and_then(|array| bytes_of_numbers(array, level.vertices));
        sizes.push(ArraySize {
            codec: document.as_ref().map(codec),
            files: usage.objects,
            bytes: usage.bytes,
            ratio: numbers.map(|numbers| usage.bytes as f64 / numbers as f64),
            path,
        });
    }
    Ok(Some(sizes))
}

/// Decoded bytes of an array of vertices or of a table; `None` for other arrays.
fn bytes_of_numbers(array: &ArrayInfo, vertices: u64) -> Option<u64> {
    let number = u64::try_from(array.dtype.parse::<DType>().ok()?.size()).ok()?;
    let items = match array.path.split('/').nth(1)? {
        "vertices" | "vertex_attributes" => vertices.checked_mul(array.width.unwrap_or(1))?,
        "object_attributes" | "group_attributes" => {
            let mut shape = array.shape.iter();
            shape.try_fold(1_u64, |all, n| all.checked_mul(*n))?
        }
        _ => return None,
    };
    items.checked_mul(number).filter(|bytes| *bytes > 0)
}

/// The codecs of the cells of an array, as text for users.
fn codec(doc: &ArrayDoc) -> String {
    // The first codec converts an array to bytes, and is left out.
    let names: Vec<String> = cell_codecs(doc).iter().skip(1).map(described).collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// A codec as text for users: its name, for Blosc with the inner codec, the shuffle and the block size.
fn described(codec: &Codec) -> String {
    let member = |name: &str| codec.configuration.get(name);
    let number = |name: &str| member(name).and_then(Value::as_u64).unwrap_or(0);
    if codec.name != "blosc" {
        return codec.name.clone();
    }
    let mut text = "blosc".to_owned();
    if let Some(library) = member("cname").and_then(Value::as_str) {
        text.push(' ');
        text.push_str(library);
    }
    if let Some(shuffle) = member("shuffle").and_then(Value::as_str)
        && shuffle != "noshuffle"
    {
        text.push_str(&format!(" {shuffle} {}", number("typesize")));
    }
    match number("blocksize") {
        0 => {}
        block => text.push_str(&format!(" / {}", size(block))),
    }
    text
}

//! `zvf info --sizes`: codec, files, bytes and ratio of each array of a level.

use std::collections::BTreeSet;

use serde_json::Value;
use zvf_format::dtype::DType;
use zvf_meta::{ArrayDoc, Codec};
use zvf_store::RawStore;

use super::facts::{ArrayFacts, ArraySize, LevelFacts};
use crate::context::Context;
use crate::error::Result;
use crate::output::table::{TextTable, count, size};

/// Arrays of a level that its facts do not list.
const OTHERS: [&str; 5] = [
    "object_index/manifests",
    "object_index/object_ids",
    "object_index/data",
    "groups",
    "link_fragments",
];

/// The stored arrays of a level; `None` if the backend cannot list.
///
/// # Errors
///
/// As the store says.
pub(crate) fn of(
    facts: &LevelFacts,
    raw: &RawStore,
    context: &mut Context<'_>,
) -> Result<Option<Vec<ArraySize>>> {
    let mut paths: BTreeSet<String> = facts.arrays.iter().map(|one| one.path.clone()).collect();
    paths.extend(OTHERS.map(|path| format!("{}/{path}", facts.level)));
    let mut sizes = Vec::new();
    for path in paths {
        let Some(usage) = context.wait(raw.usage(&path))?? else {
            return Ok(None);
        };
        if usage.objects == 0 {
            continue;
        }
        let document = context.wait(raw.read(&format!("{path}/zarr.json")))??;
        let document = document.and_then(|bytes| ArrayDoc::parse(&bytes).ok());
        let array = facts.arrays.iter().find(|one| one.path == path);
        let numbers = array.and_then(|array| bytes_of_numbers(array, facts.vertices));
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

/// Bytes of the numbers of an array of vertices or of a table.
fn bytes_of_numbers(array: &ArrayFacts, vertices: u64) -> Option<u64> {
    let number = u64::try_from(array.dtype.parse::<DType>().ok()?.size()).ok()?;
    let name = array.path.split('/').nth(1)?;
    let items = match name {
        "vertices" | "vertex_attributes" => vertices.checked_mul(array.width.unwrap_or(1))?,
        "object_attributes" | "group_attributes" => {
            let mut shape = array.shape.iter();
            shape.try_fold(1_u64, |all, n| all.checked_mul(*n))?
        }
        _ => return None,
    };
    items.checked_mul(number).filter(|bytes| *bytes > 0)
}

/// The codecs of the cells of an array, in words.
fn codec(document: &ArrayDoc) -> String {
    let inner = document.sharding().ok().flatten();
    let codecs = inner.as_ref().map_or(&document.codecs, |one| &one.codecs);
    // The first one makes bytes of an array.
    let names: Vec<String> = codecs.iter().skip(1).map(words).collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

fn words(codec: &Codec) -> String {
    let member = |name: &str| codec.configuration.get(name);
    let number = |name: &str| member(name).and_then(Value::as_u64).unwrap_or(0);
    if codec.name != "blosc" {
        return codec.name.clone();
    }
    let mut words = "blosc".to_owned();
    if let Some(library) = member("cname").and_then(Value::as_str) {
        words.push(' ');
        words.push_str(library);
    }
    if let Some(shuffle) = member("shuffle").and_then(Value::as_str)
        && shuffle != "noshuffle"
    {
        words.push_str(&format!(" {shuffle} {}", number("typesize")));
    }
    match number("blocksize") {
        0 => {}
        block => words.push_str(&format!(" / {}", size(block))),
    }
    words
}

/// The table of arrays.
pub(crate) fn text(level: u32, sizes: &[ArraySize]) -> String {
    let mut table = TextTable::new(["array", "codec", "files", "bytes", "ratio"]);
    for one in sizes {
        let codec = one.codec.as_deref().unwrap_or("of each cell");
        let ratio = one.ratio.map(|ratio| format!("{ratio:.3}"));
        table.row([
            below_level(&one.path).to_owned(),
            codec.to_owned(),
            count(one.files),
            count(one.bytes),
            dashed(ratio),
        ]);
    }
    format!("\nsizes of level {level}\n{}", table.render(2))
}

/// The text of a value, or a dash if there is none.
pub(super) fn dashed(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// The path of an array below its level.
pub(super) fn below_level(path: &str) -> &str {
    path.split_once('/').map_or(path, |(_, name)| name)
}

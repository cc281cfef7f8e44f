//! Reads cells, chunks of elements and table rows with `zarrs`.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use serde_json::Value;
use zarrs::array::{Array, ArrayBytes, ArrayMetadata, ArraySubset};
use zvf_format::vlen::VlenBuilder;
use zvf_meta::ArrayDoc;

use super::adapter::Adapter;
use crate::StoreError;
use crate::container::{ContainerKind, GridArray};
use crate::coord::Dotted;
use zvf_codec::isolate::isolate_future;
use zvf_codec::register_blosc;
use zvf_io::{Kv, driven};

/// Reads a box of elements.
async fn read(
    kv: &Kv,
    path: &str,
    doc: &ArrayDoc,
    ranges: &[Range<u64>],
    name: String,
) -> Result<ArrayBytes<'static>, StoreError> {
    read_any(kv, path, doc.to_value(), ranges, name).await
}

/// Whether `zarrs` decodes a filter of version 2 or a codec of version 3, or a codec inside it, to other numbers than numcodecs does. For
/// `fixedscaleoffset`, it rounds scale, offset and stored numbers to float32, and computes in the type of the elements.
fn rounds(codec: &Value) -> bool {
    let configuration = codec.get("configuration").unwrap_or(codec);
    let name = ["id", "name"]
        .iter()
        .find_map(|name| codec.get(name)?.as_str());
    let name = name.unwrap_or_default();
    if name.trim_start_matches("numcodecs.") != "fixedscaleoffset" {
        let inner = configuration.get("codecs").and_then(Value::as_array);
        return inner.into_iter().flatten().any(rounds);
    }
    #[expect(clippy::cast_possible_truncation, reason = "compared afterwards")]
    let is_short = |number: f64| f64::from(number as f32) == number;
    let mut numbers = ["scale", "offset"]
        .iter()
        .map(|name| configuration.get(name));
    let number = |number: Option<&Value>| number.and_then(Value::as_f64).is_some_and(is_short);
    let dtype = |name: &str| {
        let text = configuration.get(name).and_then(Value::as_str);
        text.map(|text| text.trim_start_matches(['<', '>', '|']))
    };
    let is_exact = dtype("dtype") == Some("f8")
        && matches!(dtype("astype"), Some("i1" | "i2" | "u1" | "u2"))
        && numbers.all(number);
    !is_exact
}

/// Reads a box of elements of any array that `zarrs` supports, from its document: version 3 or 2 (`.zarray`).
async fn read_any(
    kv: &Kv,
    path: &str,
    mut metadata: Value,
    ranges: &[Range<u64>],
    name: String,
) -> Result<ArrayBytes<'static>, StoreError> {
    let key = || format!("{path}/zarr.json");
    if let Some(members) = metadata.as_object_mut() {
        // `zarrs` does not need the attributes, and presence lists can be large.
        members.remove("attributes");
        let shape = members.get("shape").and_then(Value::as_array);
        // The order of an array without axes does not matter, but a debug build of `zarrs` fails on Fortran order.
        if shape.is_some_and(Vec::is_empty)
            && let Some(order) = members.get_mut("order")
        {
            *order = "C".into();
        }
    }
    let lists = ["filters", "codecs"].iter();
    let lists = lists.filter_map(|list| metadata.get(list)?.as_array());
    let is_rounded = lists.flatten().any(rounds);
    if is_rounded {
        let what = "the filter fixedscaleoffset with numbers or types that are not decoded exactly (zarr-python copies the array to one without filters)";
        return Err(StoreError::unsupported(key(), what));
    }
    let metadata: ArrayMetadata = serde_json::from_value(metadata)
        .map_err(|e| StoreError::unsupported(key(), e.to_string()))?;
    register_blosc();
    let adapter = Adapter::new(kv);
    let failed = adapter.failed();
    let node = format!("/{}", path.trim_matches('/'));
    let subset = ArraySubset::new_with_ranges(ranges);
    let (key, place) = (key(), name.clone());
    let work = isolate_future(async move {
        let array = Array::new_with_metadata(Arc::new(adapter), &node, metadata).map_err(|e| {
            let what = e.to_string();
            let what = what.strip_suffix(" is not supported").unwrap_or(&what);
            StoreError::unsupported(key, what)
        })?;
        let bytes = array.async_retrieve_array_subset::<ArrayBytes<'static>>(&subset);
        let bytes = bytes.await;
        bytes.map_err(|e| StoreError::malformed(place, e.to_string()))
    });
    // A task, so that requests are polled even if the caller is not.
    let result = driven(async move { Ok::<_, StoreError>(work.await) }).await?;
    if let Some(error) = failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    match result {
        Ok(done) => done,
        Err(panic) => Err(StoreError::malformed(
            name,
            format!("the generic reader failed on these bytes ({panic})"),
        )),
    }
}

/// One cell of a chunk-grid array; `None` if it is empty, except in padded arrays.
pub(crate) async fn read_cell(
    kv: &Kv,
    array: &GridArray,
    chunk: &[i64],
) -> Result<Option<Bytes>, StoreError> {
    let mut index = Vec::new();
    array.cell_index(chunk, &mut index)?;
    let mut ranges: Vec<Range<u64>> = index.iter().map(|i| *i..i.saturating_add(1)).collect();
    let name = format!("{} at {}", array.path(), Dotted(chunk));
    let Some(doc) = array.doc() else {
        return Err(StoreError::unsupported(array.path(), "a group of chunks"));
    };
    // The axes after the grid's axes are the cell.
    ranges.extend(doc.shape.iter().skip(index.len()).map(|n| 0..*n));
    let bytes = read(kv, array.path(), doc, &ranges, name.clone()).await?;
    if array.container() == ContainerKind::Padded {
        let bytes = bytes
            .into_fixed()
            .map_err(|e| StoreError::malformed(name, e.to_string()))?;
        return Ok(Some(bytes.into_owned().into()));
    }
    let (bytes, _) = bytes
        .into_variable()
        .map_err(|e| StoreError::malformed(name, e.to_string()))?
        .into_parts();
    Ok((!bytes.is_empty()).then(|| bytes.into_owned().into()))
}

/// The elements `rows` of a one-dimensional variable-length array, encoded as one `vlen-bytes` chunk, and their number.
pub(crate) async fn read_ragged_chunk(
    kv: &Kv,
    path: &str,
    doc: &ArrayDoc,
    rows: Range<u64>,
) -> Result<Option<(Bytes, u64)>, StoreError> {
    let count = rows.end.saturating_sub(rows.start);
    let bytes = read(kv, path, doc, &[rows], path.to_owned()).await?;
    let wrong = |what: String| StoreError::malformed(path, what);
    let (bytes, offsets) = bytes
        .into_variable()
        .map_err(|e| wrong(e.to_string()))?
        .into_parts();
    let mut chunk = VlenBuilder::new();
    for pair in offsets.windows(2) {
        let element = match pair {
            [from, to] => bytes.get(*from..*to),
            _ => None,
        };
        let element = element.ok_or_else(|| wrong("elements overlap".to_owned()))?;
        chunk.push(element).map_err(|e| wrong(e.to_string()))?;
    }
    Ok(Some((chunk.finish().into(), count)))
}

/// Rows of a table of fixed-size elements: `total` bytes, C order.
pub(crate) async fn read_rows(
    kv: &Kv,
    path: &str,
    doc: &ArrayDoc,
    rows: Range<u64>,
    total: u64,
) -> Result<Bytes, StoreError> {
    let mut ranges: Vec<Range<u64>> = doc.shape.iter().map(|n| 0..*n).collect();
    if let Some(first) = ranges.first_mut() {
        *first = rows;
    }
    let bytes = read(kv, path, doc, &ranges, path.to_owned()).await?;
    let bytes = bytes
        .into_fixed()
        .map_err(|e| StoreError::malformed(path, e.to_string()))?;
    if u64::try_from(bytes.len()) != Ok(total) {
        return Err(StoreError::malformed(
            path,
            format!("{} bytes found, expected {total}", bytes.len()),
        ));
    }
    Ok(bytes.into_owned().into())
}

/// The elements of a box, C order, in the byte order of this machine.
pub(crate) async fn read_box(
    kv: &Kv,
    path: &str,
    metadata: serde_json::Value,
    ranges: &[Range<u64>],
) -> Result<Bytes, StoreError> {
    let bytes = read_any(kv, path, metadata, ranges, path.to_owned()).await?;
    let bytes = bytes
        .into_fixed()
        .map_err(|e| StoreError::malformed(path, e.to_string()))?;
    Ok(bytes.into_owned().into())
}

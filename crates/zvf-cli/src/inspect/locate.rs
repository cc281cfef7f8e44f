//! From a path inside a store to the bytes it names and all that is known about them.

use zvf_meta::ArrayDoc;
use zvf_meta::space::chunk_of_cell;
use zvf_store::ElementPlace;

use super::blobs;
use super::known::{blob_of, known, typed};
use super::place::{ObjectPlace, Place, Reader, key, numbers, product};
use crate::error::{CliError, Result};

/// Finds what `path` names; `element` is the chunk key or row, when it was given apart.
///
/// # Errors
///
/// Usage, when there is no such array, chunk or row; malformed, when the array's document cannot be read; I/O.
pub(crate) fn locate(
    reader: &mut Reader<'_, '_>,
    path: &str,
    element: Option<&str>,
) -> Result<Place> {
    let path = path.trim().trim_matches('/');
    let (path, element) = match (element, path.rsplit_once(char::is_whitespace)) {
        (Some(element), _) => (path, Some(element.trim())),
        (None, Some((path, element))) => (path.trim_end().trim_end_matches('/'), Some(element)),
        (None, None) => (path, None),
    };
    if let Some(element) = element {
        return match reader.array(path)? {
            Some(doc) if blobs::is_blob(path, &doc) => {
                blobs::place(reader, path, doc, Some(element))
            }
            Some(doc) => {
                let index = index_of(path, &doc, element)?;
                place(reader, path, doc, &index, true)
            }
            None => blobs::of_family(reader, path, element)?.ok_or_else(|| {
                CliError::usage(format!("no array {path:?} with {element:?} in the store"))
            }),
        };
    }
    if path.is_empty() {
        return Ok(Place::Document {
            key: "zarr.json".into(),
        });
    }
    if path == "zarr.json" || path.ends_with("/zarr.json") {
        return Ok(Place::Document { key: path.into() });
    }
    if let Some((array_path, rest)) = path.rsplit_once("/c/")
        && let Some(doc) = reader.array(array_path)?
    {
        if blobs::is_blob(array_path, &doc) {
            return blobs::place(reader, array_path, doc, None);
        }
        let index = object_index(path, &doc, rest)?;
        return place(reader, array_path, doc, &index, false);
    }
    let document = format!("{path}/zarr.json");
    if let Some(bytes) = reader.read(&document)? {
        return match ArrayDoc::parse(&bytes) {
            Ok(doc) if blobs::is_blob(path, &doc) => blobs::place(reader, path, doc, None),
            _ => Ok(Place::Document { key: document }),
        };
    }
    // The last segment may be the key of a chunk.
    if let Some((family, last)) = path.rsplit_once('/') {
        if let Some(place) = blobs::of_family(reader, family, last)? {
            return Ok(place);
        }
        if numbers(last).is_some()
            && let Some(doc) = reader.array(family)?
        {
            let index = index_of(family, &doc, last)?;
            return place(reader, family, doc, &index, true);
        }
    }
    Err(CliError::usage(format!(
        "nothing called {path:?} in the store: no document {document:?}"
    )))
}

/// The element of the array that a chunk key or row names, counted from the array's first.
fn index_of(path: &str, doc: &ArrayDoc, element: &str) -> Result<Vec<u64>> {
    let wrong = |what: &str| CliError::usage(format!("{path}: found {element:?}, expected {what}"));
    let rank = doc.shape.len();
    if let Some(at) = packed_cell(doc, element) {
        return Ok(vec![at]);
    }
    let example = vec!["0"; rank].join(".");
    let mut parts =
        numbers(element).ok_or_else(|| wrong(&format!("a chunk key such as {example}")))?;
    // Rows of a table with channels are named by their first number.
    if parts.len() == 1 && rank > 1 && !doc.data_type.is_vlen_bytes() {
        parts.resize(rank, 0);
    }
    if parts.len() != rank {
        return Err(wrong(&format!("{rank} components, such as {example}")));
    }
    if doc.shape.contains(&0) {
        return Err(wrong("nothing: the array has no elements"));
    }
    let grid = doc.grid().map_err(|e| malformed(path, &e))?;
    grid.index(&parts).ok_or_else(|| {
        let last = doc.shape.iter().map(|extent| extent - 1);
        let last: Vec<i64> = chunk_of_cell(&grid.origin, last).collect();
        let (first, last) = (key(&grid.origin), key(&last));
        wrong(&format!("something from {first} to {last}"))
    })
}

/// The element of a one-dimensional array of link cells that holds the cell of this key (spec 0.8 §9.8).
fn packed_cell(doc: &ArrayDoc, element: &str) -> Option<u64> {
    let keys = doc.attributes.extra.get("cell_keys")?.as_array()?;
    let at = keys.iter().position(|key| key.as_str() == Some(element))?;
    u64::try_from(at)
        .ok()
        .filter(|at| doc.shape.len() == 1 && doc.shape.first() > Some(at))
}

/// The first element of the object with the key `c/REST`.
fn object_index(path: &str, doc: &ArrayDoc, rest: &str) -> Result<Vec<u64>> {
    let parts: Option<Vec<u64>> = rest
        .split(['/', '.'])
        .map(|part| part.parse().ok())
        .collect();
    let parts = parts.filter(|parts| parts.len() == doc.shape.len());
    let parts = parts.ok_or_else(|| {
        CliError::usage(format!(
            "{path}: expected an object key with {} numbers after c/",
            doc.shape.len()
        ))
    })?;
    Ok(parts
        .iter()
        .zip(&doc.chunk_shape)
        .map(|(part, extent)| part.saturating_mul(*extent))
        .collect())
}

/// An error of the document of an array.
fn malformed(path: &str, error: &dyn std::error::Error) -> CliError {
    CliError::malformed(format!("{path}/zarr.json: {}", crate::error::fold(error)))
}

/// Collects the facts about the element `index` of an array.
fn place(
    reader: &mut Reader<'_, '_>,
    path: &str,
    doc: ArrayDoc,
    index: &[u64],
    exact: bool,
) -> Result<Place> {
    let sharding = doc.sharding().map_err(|e| malformed(path, &e))?;
    // A shard is divided into chunks; without shards an object is one.
    let (mut codecs, mut shape) = (doc.codecs.clone(), doc.chunk_shape.clone());
    let (mut entries, mut index_at_end) = (None, true);
    if let Some(sharding) = sharding {
        (codecs, shape) = (sharding.codecs, sharding.chunk_shape);
        let grid = doc.chunk_shape.iter().zip(&shape);
        let grid: Vec<u64> = grid.map(|(outer, inner)| outer / (*inner).max(1)).collect();
        entries = Some(product(&grid));
        index_at_end = sharding.index_at_end;
    }
    let at = ElementPlace::new(index, &doc.chunk_shape, &shape);
    let mut known = known(reader, path, &doc, index);
    known.elements = Some(product(&shape));
    known.element = Some(at.element);
    let blob = blob_of(path, &doc);
    if !doc.data_type.is_vlen_bytes() {
        typed(&doc, &codecs, &shape, &mut known)?;
        let first = |of: &[u64]| of.first().copied();
        let rows = first(&shape).unwrap_or(1).max(1);
        known.first_row = first(index).unwrap_or(0) % rows;
        let object_rows = first(&doc.chunk_shape).unwrap_or(1);
        let start = first(&at.object).unwrap_or(0).saturating_mul(object_rows);
        known.real_rows = first(&doc.shape).map(|rows| rows.saturating_sub(start));
    }
    Ok(Place::Object(Box::new(ObjectPlace {
        array: path.into(),
        key: format!("{path}/{}", doc.key_encoding.object_key(&at.object)),
        inner: entries.filter(|_| exact).map(|_| at.entry),
        entries,
        index_at_end,
        codecs,
        blob,
        known,
        child: None,
        doc,
    })))
}

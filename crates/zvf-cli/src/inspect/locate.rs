//! From a path inside a store to the bytes it names and all that is known about them.
//!
//! Before version 0.9 a family is a group of blobs, named by their keys, each a one-dimensional `uint8` array with one chunk. If several chunks were
//! packed into one blob, its attributes have the byte range of each key.
//!
//! Source: specification 0.7, sections 2 and 3; 0.8, sections 3.1 and 4.

use serde_json::Value;
use zvf_format::keys::parse_delta;
use zvf_meta::ArrayDoc;
use zvf_meta::space::chunk_of_cell;
use zvf_store::{ElementPlace, stored_type};

use super::known::{attributes, known};
use super::place::{Known, ObjectPlace, Place, Reader, key, numbers, product, sized};
use crate::args::BlobArg;
use crate::error::{CliError, Result};

/// Prefix of the names of packed chunks.
const PACKED: &str = "__shard_";

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
            Some(doc) => in_array(reader, path, &doc, element),
            None => of_family(reader, path, element)?.ok_or_else(|| {
                CliError::usage(format!("no array {path:?} with {element:?} in the store"))
            }),
        };
    }
    if path.is_empty() {
        return Ok(Place::Document("zarr.json".into()));
    }
    if path == "zarr.json" || path.ends_with("/zarr.json") {
        return Ok(Place::Document(path.into()));
    }
    if let Some((array, rest)) = path.rsplit_once("/c/")
        && let Some(doc) = reader.array(array)?
    {
        if is_blob(array, &doc) {
            return blob(reader, array, &doc, None);
        }
        let index = object_index(path, &doc, rest)?;
        return cell(reader, array, &doc, &index, false);
    }
    let document = format!("{path}/zarr.json");
    if let Some(bytes) = reader.read(&document)? {
        return match ArrayDoc::parse(&bytes) {
            Ok(doc) if is_blob(path, &doc) => blob(reader, path, &doc, None),
            _ => Ok(Place::Document(document)),
        };
    }
    // The last segment may be the key of a chunk.
    if let Some((family, last)) = path.rsplit_once('/') {
        if let Some(place) = of_family(reader, family, last)? {
            return Ok(place);
        }
        if numbers(last).is_some()
            && let Some(doc) = reader.array(family)?
        {
            return in_array(reader, family, &doc, last);
        }
    }
    Err(CliError::usage(format!(
        "nothing called {path:?} in the store: no document {document:?}"
    )))
}

/// The element of an array that has a chunk key or row.
fn in_array(
    reader: &mut Reader<'_, '_>,
    path: &str,
    doc: &ArrayDoc,
    element: &str,
) -> Result<Place> {
    if is_blob(path, doc) {
        return blob(reader, path, doc, Some(element));
    }
    let index = index_of(path, doc, element)?;
    cell(reader, path, doc, &index, true)
}

/// The element of the array that a chunk key or row names, counted from the array's first.
fn index_of(path: &str, doc: &ArrayDoc, element: &str) -> Result<Vec<u64>> {
    let wrong = |what: &str| CliError::usage(format!("{path}: found {element:?}, expected {what}"));
    let rank = doc.shape.len();
    let at = cell_keys(doc).and_then(|mut keys| keys.position(|key| key == Some(element)));
    if let Some(at) = at {
        return Ok(vec![at as u64]);
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

/// The keys of the elements of a one-dimensional array of link cells (spec 0.8 §9.8).
fn cell_keys(doc: &ArrayDoc) -> Option<impl Iterator<Item = Option<&str>>> {
    let keys = doc.attributes.extra.get("cell_keys")?.as_array()?;
    let [length] = *doc.shape else { return None };
    Some(keys.iter().take(sized(length)?).map(Value::as_str))
}

/// The first element of the object with the key `c/REST`.
fn object_index(path: &str, doc: &ArrayDoc, rest: &str) -> Result<Vec<u64>> {
    let parts = rest.split(['/', '.']).map(|part| part.parse::<u64>());
    let parts = parts.collect::<std::result::Result<Vec<_>, _>>().ok();
    let rank = doc.shape.len();
    let parts = parts.filter(|parts| parts.len() == rank).ok_or_else(|| {
        CliError::usage(format!(
            "{path}: expected an object key with {rank} numbers after c/"
        ))
    })?;
    let pairs = parts.iter().zip(&doc.chunk_shape);
    Ok(pairs
        .map(|(part, extent)| part.saturating_mul(*extent))
        .collect())
}

/// An error of the document of an array.
fn malformed(path: &str, error: &dyn std::error::Error) -> CliError {
    CliError::malformed(format!("{path}/zarr.json: {}", crate::error::fold(error)))
}

/// The object with the element `index` of an array, and the facts about the element. `exact`: the element is requested, not the whole object.
fn cell(
    reader: &mut Reader<'_, '_>,
    path: &str,
    doc: &ArrayDoc,
    index: &[u64],
    exact: bool,
) -> Result<Place> {
    let sharding = doc.sharding().map_err(|e| malformed(path, &e))?;
    // A shard is divided into chunks; without shards an object is one.
    let index_at_end = sharding
        .as_ref()
        .is_none_or(|sharding| sharding.index_at_end);
    let sharded = sharding.is_some();
    let (codecs, shape) = match sharding {
        Some(sharding) => (sharding.codecs, sharding.chunk_shape),
        None => (doc.codecs.clone(), doc.chunk_shape.clone()),
    };
    let at = ElementPlace::new(index, &doc.chunk_shape, &shape);
    let grid = doc.chunk_shape.iter().zip(&shape);
    let grid: Vec<u64> = grid.map(|(outer, inner)| outer / (*inner).max(1)).collect();
    let shard = Known {
        entries: Some(product(&grid)),
        element: exact.then_some(at.entry),
        ..Known::default()
    };
    let vlen = doc.data_type.is_vlen_bytes();
    let first = index.first().copied().unwrap_or(0);
    let named = cell_keys(doc).and_then(|mut keys| numbers(keys.nth(sized(first)?)??));
    let in_grid = || {
        let grid = doc.grid().ok().filter(|_| vlen && index.len() > 1)?;
        Some(chunk_of_cell(&grid.origin, index.iter().copied()).collect())
    };
    let blob = blob_of(path, doc);
    let chunk = named.or_else(in_grid);
    let mut known = known(reader, path, &doc.attributes, blob, chunk, None);
    known.elements = Some(product(&shape));
    known.element = Some(at.element);
    if !vlen {
        let name = &doc.data_type.name;
        let dtype = stored_type(&doc.data_type, &codecs)
            .ok_or_else(|| CliError::malformed(format!("data_type {name:?} is not supported")))?;
        known.dtype = Some(dtype);
        known.width = sized(product(shape.get(1..).unwrap_or_default()));
        known.first_row = first % shape.first().copied().unwrap_or(1).max(1);
        let object_rows = doc.chunk_shape.first().copied().unwrap_or(1);
        let start = at
            .object
            .first()
            .map_or(0, |object| object.saturating_mul(object_rows));
        known.real_rows = doc.shape.first().map(|rows| rows.saturating_sub(start));
    }
    Ok(Place::Object(Box::new(ObjectPlace {
        array: path.into(),
        key: format!("{path}/{}", doc.key_encoding.object_key(&at.object)),
        shard: sharded.then_some(shard),
        index_at_end,
        codecs,
        stated: None,
        container: vlen.then_some(BlobArg::Vlen),
        blob,
        known,
    })))
}

/// The payload of an array's cells, by its discriminator, else by its path.
fn blob_of(path: &str, doc: &ArrayDoc) -> BlobArg {
    let attributes = &doc.attributes;
    let family = path.split('/').nth(1).unwrap_or_default();
    match attributes.zv_array.as_deref().unwrap_or(family) {
        "vertices" => BlobArg::Vertices,
        "vertex_fragments" | "link_fragments" => BlobArg::FragmentIndex,
        "links" => {
            let mut offsets = attributes.offsets.iter().flatten().flatten();
            match attributes.level_delta.unwrap_or(0) == 0 && offsets.all(|part| *part == 0) {
                true => BlobArg::Links,
                false => BlobArg::RaggedLinks,
            }
        }
        "cross_chunk_links" => BlobArg::RaggedLinks,
        "object_index" if attributes.zv_array.is_none() && path.ends_with("/manifests") => {
            BlobArg::Manifest
        }
        "groups" => BlobArg::Group,
        _ => BlobArg::Attribute,
    }
}

/// The kinds of blobs by their paths: `*` is any name or the rest of one, `±` a number of levels.
const ROLES: [(&str, BlobArg); 22] = [
    ("*/vertices/*", BlobArg::Vertices),
    ("*/vertices_*/*", BlobArg::Vertices),
    ("*/vertex_fragments/*", BlobArg::FragmentIndex),
    ("*/link_fragments/*", BlobArg::FragmentIndex),
    ("*/vertex_attributes/*/*", BlobArg::Attribute),
    ("*/fragment_attributes/*/*", BlobArg::Attribute),
    ("*/links/0/*", BlobArg::Links),
    ("*/links/±/*", BlobArg::RaggedLinks),
    ("*/links_*/data", BlobArg::Links),
    ("*/link_attributes/*/±/*", BlobArg::Attribute),
    ("*/cross_chunk_links/±/data", BlobArg::Records),
    ("*/cross_chunk_links/±/*", BlobArg::RaggedLinks),
    ("*/cross_chunk_link_attributes/*/±/*", BlobArg::Attribute),
    ("*/object_index/data", BlobArg::Manifests),
    ("*/object_index/offsets", BlobArg::Offsets),
    ("*/object_attributes/*/present_mask", BlobArg::Mask),
    ("*/object_attributes/*/data", BlobArg::Attribute),
    ("*/groups/data", BlobArg::Group),
    ("*/groups/offsets", BlobArg::Offsets),
    ("*/group_attributes/*/data", BlobArg::Attribute),
    ("parametric/objects/data", BlobArg::Attribute),
    ("parametric/names/data", BlobArg::Names),
];

/// The kind of the blobs of a family, by the path of one of them; `None` if the family has no blobs.
fn role(path: &str) -> Option<BlobArg> {
    let fits = |(pattern, _): &&(&str, BlobArg)| {
        let mut names = path.split('/');
        let mut wanted = pattern.split('/');
        let all = wanted.all(|wanted| {
            names
                .next()
                .is_some_and(|name| match wanted.strip_suffix('*') {
                    _ if wanted == "±" => parse_delta(name).is_ok(),
                    Some(start) => name.starts_with(start),
                    None => name == wanted,
                })
        });
        all && names.next().is_none()
    };
    ROLES.iter().find(fits).map(|(_, blob)| *blob)
}

/// Whether the array at `path` is a blob of a family.
fn is_blob(path: &str, doc: &ArrayDoc) -> bool {
    doc.data_type.name == "uint8" && doc.shape.len() == 1 && role(path).is_some()
}

/// The blob at `path`, which `doc` describes; `element` is a key of a packed chunk or a row of a table.
fn blob(
    reader: &mut Reader<'_, '_>,
    path: &str,
    doc: &ArrayDoc,
    element: Option<&str>,
) -> Result<Place> {
    let stated = product(&doc.shape);
    let packed = packed(path, doc)?;
    let (family, leaf) = path.rsplit_once('/').unwrap_or(("", path));
    let mut kind = role(path).unwrap_or(BlobArg::Attribute);
    let (mut name, mut length, mut at) = (leaf, stated, None);
    let mut first_row = 0;
    match (&packed, element) {
        (Some(entries), Some(wanted)) => {
            at = entries.iter().position(|(key, ..)| key == wanted);
            let entry = at.and_then(|at| entries.get(at)).ok_or_else(|| {
                CliError::usage(format!(
                    "{path}: the packed chunk holds no {wanted:?}, but {} other keys",
                    entries.len()
                ))
            })?;
            (name, length) = (wanted, entry.2);
            kind = role(&format!("{family}/{wanted}")).unwrap_or(kind);
        }
        (Some(_), None) => kind = BlobArg::Packed,
        (None, Some(row)) => {
            first_row = row.parse().map_err(|_| {
                CliError::usage(format!("{path}: found {row:?}, expected a row number"))
            })?;
        }
        (None, None) => {}
    }
    let attributes = attributes(reader, family);
    let (chunk, child) = (numbers(name), Some((name, length)));
    let facts = known(reader, family, &attributes, kind, chunk, child);
    Ok(Place::Object(Box::new(ObjectPlace {
        array: path.into(),
        key: format!("{path}/{}", doc.key_encoding.object_key(&[0])),
        shard: None,
        index_at_end: true,
        codecs: doc.codecs.clone(),
        stated: Some(stated),
        container: packed.is_some().then_some(BlobArg::Packed),
        blob: kind,
        known: Known {
            packed: packed.unwrap_or_default(),
            element: at.map(|at| at as u64),
            first_row,
            ..facts
        },
    })))
}

/// The blob of a family that has the given key: a child of its own, or part of a packed one; or the row of a table with all rows in one blob.
fn of_family(reader: &mut Reader<'_, '_>, family: &str, element: &str) -> Result<Option<Place>> {
    let path = format!("{family}/{element}");
    if role(&path).is_some() {
        if let Some(doc) = reader.array(&path)? {
            let found = is_blob(&path, &doc).then(|| blob(reader, &path, &doc, None));
            return found.transpose();
        }
        let folders = reader.context.wait(reader.raw.folders(family))??;
        for name in folders
            .iter()
            .flatten()
            .filter(|name| name.starts_with(PACKED))
        {
            let path = format!("{family}/{name}");
            let Some(doc) = reader.array(&path)? else {
                continue;
            };
            let entries = packed(&path, &doc)?.unwrap_or_default();
            if entries.iter().any(|(key, ..)| key == element) {
                return blob(reader, &path, &doc, Some(element)).map(Some);
            }
        }
    }
    let data = format!("{family}/data");
    if element.bytes().all(|byte| byte.is_ascii_digit())
        && role(&data).is_some()
        && let Some(doc) = reader.array(&data)?
    {
        return blob(reader, &data, &doc, Some(element)).map(Some);
    }
    Ok(None)
}

/// The index of a packed chunk: keys with offset and length, in the order of the bytes.
fn packed(path: &str, doc: &ArrayDoc) -> Result<Option<Vec<(String, u64, u64)>>> {
    let leaf = path.rsplit('/').next().unwrap_or_default();
    let index = doc.attributes.extra.get("shard_index");
    let Some(Value::Object(index)) = index.filter(|_| leaf.starts_with(PACKED)) else {
        return Ok(None);
    };
    let entry = |(key, value): (&String, &Value)| {
        let number = |at: usize| value.get(at).and_then(Value::as_u64);
        let (offset, length) = number(0).zip(number(1)).ok_or_else(|| {
            CliError::malformed(format!(
                "{path}/zarr.json: shard_index of {key:?}: found {value}, expected [offset, length]"
            ))
        })?;
        Ok((key.clone(), offset, length))
    };
    let mut entries: Vec<_> = index.iter().map(entry).collect::<Result<_>>()?;
    entries.sort_by(|(a, from, _), (b, to, _)| (from, a).cmp(&(to, b)));
    Ok(Some(entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_by_their_paths() {
        for (path, blob) in [
            ("0/vertices/0.1.2", Some(BlobArg::Vertices)),
            ("12/vertex_fragments/-1.0", Some(BlobArg::FragmentIndex)),
            ("0/links/0/0.0.0", Some(BlobArg::Links)),
            ("0/links/+1/0.0.0", Some(BlobArg::RaggedLinks)),
            ("0/links/1/0.0.0", None),
            ("0/cross_chunk_links/0/data", Some(BlobArg::Records)),
            ("0/cross_chunk_links/-1/0.0.1.0", Some(BlobArg::RaggedLinks)),
            (
                "0/cross_chunk_link_attributes/w/0/data",
                Some(BlobArg::Attribute),
            ),
            ("0/object_index/data", Some(BlobArg::Manifests)),
            ("0/object_index/offsets", Some(BlobArg::Offsets)),
            (
                "0/object_attributes/score/present_mask",
                Some(BlobArg::Mask),
            ),
            ("0/object_attributes/score", None),
            ("0/groups/data", Some(BlobArg::Group)),
            ("0/vertices_mesh/0.0.0", Some(BlobArg::Vertices)),
            ("0/links_mesh/data", Some(BlobArg::Links)),
            ("parametric/names/data", Some(BlobArg::Names)),
            ("0", None),
            ("", None),
        ] {
            assert_eq!(role(path), blob, "{path}");
        }
    }
}

//! Shows blobs that are arrays of their own, named by their key: the containers of versions before 0.9.
//!
//! A family is a group; each blob in it is a one-dimensional `uint8` child with one chunk. If several chunks were packed into one child, its
//! attributes have the byte range of each key.
//!
//! Source: specification 0.7, sections 2 and 3; 0.8, sections 3.1 and 4.

use serde_json::Value;
use zvf_format::U64;
use zvf_format::dtype::DType;
use zvf_format::keys::parse_delta;
use zvf_format::layout::Wire as _;
use zvf_meta::{ArrayDoc, GroupDoc, JsonObject, RootDoc};

use super::known::{axes, cell, levels, texts};
use super::place::{Child, Known, ObjectPlace, Packed, Place, Reader, numbers, product, sized};
use crate::args::BlobArg;
use crate::error::{CliError, Result};

/// Prefix of the names of packed chunks.
const PACKED: &str = "__shard_";

/// The kind of the blobs of a family, by the path of one of them; `None` if the family has no blobs.
fn role(path: &str) -> Option<BlobArg> {
    let parts: Vec<&str> = path.split('/').collect();
    let inside = |delta: &str| parse_delta(delta).ok().map(|delta| delta == 0);
    Some(match parts.as_slice() {
        ["parametric", "objects", "data"] => BlobArg::Attribute,
        ["parametric", "names", "data"] => BlobArg::Names,
        [_, "vertices", _] => BlobArg::Vertices,
        [_, "vertex_fragments" | "link_fragments", _] => BlobArg::FragmentIndex,
        [_, "vertex_attributes" | "fragment_attributes", _, _] => BlobArg::Attribute,
        [_, "links", delta, _] if inside(delta)? => BlobArg::Links,
        [_, "links", _, _] => BlobArg::RaggedLinks,
        [
            _,
            "link_attributes" | "cross_chunk_link_attributes",
            _,
            delta,
            _,
        ] => inside(delta).map(|_| BlobArg::Attribute)?,
        [_, "cross_chunk_links", delta, leaf] => {
            inside(delta)?;
            match *leaf {
                "data" => BlobArg::Records,
                _ => BlobArg::RaggedLinks,
            }
        }
        [_, "object_index", "data"] => BlobArg::Manifests,
        [_, "object_index" | "groups", "offsets"] => BlobArg::Offsets,
        [_, "groups", "data"] => BlobArg::Group,
        [_, "object_attributes", _, "present_mask"] => BlobArg::Mask,
        [_, "object_attributes" | "group_attributes", _, "data"] => BlobArg::Attribute,
        [_, family, "data"] if family.starts_with("links_") => BlobArg::Links,
        [_, family, _] if family.starts_with("vertices_") => BlobArg::Vertices,
        _ => return None,
    })
}

/// Whether the array at `path` is a blob of a family.
pub(super) fn is_blob(path: &str, doc: &ArrayDoc) -> bool {
    doc.data_type.name == "uint8" && doc.shape.len() == 1 && role(path).is_some()
}

/// Shows the blob at `path`, which `doc` describes; `element` is a key of a packed chunk or a row of a table.
///
/// # Errors
///
/// Usage: a key that the packed chunk does not have; malformed: an invalid index.
pub(super) fn place(
    reader: &mut Reader<'_, '_>,
    path: &str,
    doc: ArrayDoc,
    element: Option<&str>,
) -> Result<Place> {
    let stated = product(&doc.shape);
    let mut child = Child {
        stated,
        packed: packed(path, &doc)?,
        wanted: None,
    };
    let (family, leaf) = path.rsplit_once('/').unwrap_or(("", path));
    let mut blob = role(path).unwrap_or(BlobArg::Attribute);
    let (mut known, mut length) = (Known::default(), stated);
    match (&child.packed, element) {
        (Some(entries), Some(wanted)) => {
            let entry = entries.iter().find(|entry| entry.key == wanted).cloned();
            let entry = entry.ok_or_else(|| {
                CliError::usage(format!(
                    "{path}: the packed chunk holds no {wanted:?}, but {} other keys",
                    entries.len()
                ))
            })?;
            length = entry.length;
            child.wanted = Some(entry);
            blob = role(&format!("{family}/{wanted}")).unwrap_or(blob);
            known = about(reader, family, wanted, blob, length);
        }
        (Some(_), None) => blob = BlobArg::Packed,
        (None, row) => {
            known = about(reader, family, leaf, blob, length);
            if let Some(row) = row {
                let number = row.parse().map_err(|_| {
                    CliError::usage(format!("{path}: found {row:?}, expected a row number"))
                })?;
                known.first_row = number;
            }
        }
    }
    let first = vec![0; doc.shape.len()];
    Ok(Place::Object(Box::new(ObjectPlace {
        array: path.into(),
        key: format!("{path}/{}", doc.key_encoding.object_key(&first)),
        inner: None,
        entries: None,
        index_at_end: true,
        codecs: doc.codecs.clone(),
        blob,
        known,
        child: Some(child),
        doc,
    })))
}

/// The blob of a family that has the given key: a child of its own, or part of a packed one.
///
/// # Errors
///
/// I/O; malformed documents.
pub(super) fn of_family(
    reader: &mut Reader<'_, '_>,
    family: &str,
    element: &str,
) -> Result<Option<Place>> {
    let path = format!("{family}/{element}");
    if role(&path).is_some() {
        if let Some(doc) = reader.array(&path)? {
            return match is_blob(&path, &doc) {
                true => place(reader, &path, doc, None).map(Some),
                false => Ok(None),
            };
        }
        if let Some(place) = in_a_pack(reader, family, element)? {
            return Ok(Some(place));
        }
    }
    // A row of a table with all rows in one blob.
    let data = format!("{family}/data");
    if element.bytes().all(|byte| byte.is_ascii_digit())
        && role(&data).is_some()
        && let Some(doc) = reader.array(&data)?
    {
        return place(reader, &data, doc, Some(element)).map(Some);
    }
    Ok(None)
}

/// The blob of a key, from a packed chunk of the family.
fn in_a_pack(reader: &mut Reader<'_, '_>, family: &str, element: &str) -> Result<Option<Place>> {
    let folders = reader.context.wait(reader.raw.folders(family))??;
    let packs = folders.into_iter().flatten();
    for name in packs.filter(|name| name.starts_with(PACKED)) {
        let path = format!("{family}/{name}");
        let Some(doc) = reader.array(&path)? else {
            continue;
        };
        let holds = packed(&path, &doc)?
            .is_some_and(|entries| entries.iter().any(|entry| entry.key == element));
        if holds {
            return place(reader, &path, doc, Some(element)).map(Some);
        }
    }
    Ok(None)
}

/// The index of a packed chunk, in the order of the bytes.
fn packed(path: &str, doc: &ArrayDoc) -> Result<Option<Vec<Packed>>> {
    let leaf = path.rsplit('/').next().unwrap_or_default();
    let index = doc.attributes.extra.get("shard_index");
    let Some(Value::Object(index)) = index.filter(|_| leaf.starts_with(PACKED)) else {
        return Ok(None);
    };
    let mut entries = Vec::with_capacity(index.len());
    for (key, value) in index {
        let number = |at: usize| value.get(at).and_then(Value::as_u64);
        let (Some(offset), Some(length)) = (number(0), number(1)) else {
            return Err(CliError::malformed(format!(
                "{path}/zarr.json: shard_index of {key:?}: found {value}, expected [offset, length]"
            )));
        };
        entries.push(Packed {
            key: key.clone(),
            offset,
            length,
        });
    }
    entries.sort_by(|a, b| (a.offset, &a.key).cmp(&(b.offset, &b.key)));
    Ok(Some(entries))
}

/// The attributes of the group of a family.
fn attributes(reader: &mut Reader<'_, '_>, family: &str) -> JsonObject {
    reader
        .document(&format!("{family}/zarr.json"), GroupDoc::parse)
        .map(|group| group.attributes)
        .unwrap_or_default()
}

/// The value of an attribute that is a count.
fn number(attributes: &JsonObject, name: &str) -> Option<usize> {
    sized(attributes.get(name)?.as_u64()?)
}

/// The description of the blob `leaf` of a family, from the documents around it.
fn about(
    reader: &mut Reader<'_, '_>,
    family: &str,
    leaf: &str,
    blob: BlobArg,
    length: u64,
) -> Known {
    let group = attributes(reader, family);
    let dtype = group.get("dtype").and_then(Value::as_str);
    let mut known = Known {
        dtype: dtype.and_then(|name| DType::parse(name).ok()),
        // A larger number of endpoints is invalid, and would produce huge names of chunks.
        width: number(&group, "link_width").filter(|width| *width < 256),
        chunk: numbers(leaf),
        ..Known::default()
    };
    match blob {
        BlobArg::Vertices => known.columns = axes(reader).unwrap_or_default(),
        BlobArg::Attribute => rows(reader, family, leaf, &group, length, &mut known),
        BlobArg::Links | BlobArg::RaggedLinks | BlobArg::Records => {
            let delta = family
                .rsplit('/')
                .next()
                .and_then(|delta| parse_delta(delta).ok())
                .unwrap_or(0);
            known.levels = levels(family, delta);
            known.dtype = known.dtype.or(DType::parse("int64").ok());
            known.key_rank = number(&group, "sid_ndim");
            links(family, leaf, blob, &group, &mut known);
        }
        BlobArg::Manifests => {
            known.key_rank = number(&group, "sid_ndim");
            known.offsets = offsets(reader, family);
        }
        BlobArg::Group => known.offsets = offsets(reader, family),
        _ => {}
    }
    known
}

/// Columns of an attribute: as declared, else computed from its bytes and number of rows.
fn rows(
    reader: &mut Reader<'_, '_>,
    family: &str,
    leaf: &str,
    group: &JsonObject,
    length: u64,
    known: &mut Known,
) {
    let strings = |name: &str| {
        let list = group.get(name).and_then(Value::as_array);
        texts(list.into_iter().flatten())
    };
    known.columns = strings("channel_names");
    known.categories = strings("categories");
    let shape = |name: &str, skip: usize| {
        let list = group.get(name)?.as_array()?;
        let mut sizes = list.iter().skip(skip).map(Value::as_u64);
        let columns = sizes.try_fold(1u64, |n, size| n.checked_mul(size?))?;
        sized(columns)
    };
    known.width = (!known.columns.is_empty())
        .then_some(known.columns.len())
        .or_else(|| shape("row_shape", 0))
        .or_else(|| shape("shape", 1))
        .or_else(|| number(group, "max_row_length"))
        .or_else(|| by_division(reader, family, leaf, length, known.dtype));
}

/// Columns of a vertex attribute whose document does not state them (spec 0.7 §8.2).
fn by_division(
    reader: &mut Reader<'_, '_>,
    family: &str,
    leaf: &str,
    length: u64,
    dtype: Option<DType>,
) -> Option<usize> {
    let (level, rest) = family.split_once('/')?;
    rest.strip_prefix("vertex_attributes/")?;
    let vertices = format!("{level}/vertices");
    let stored = reader.document(&format!("{vertices}/{leaf}/zarr.json"), ArrayDoc::parse)?;
    let axes = reader.document("zarr.json", RootDoc::parse)?.dims() as u64;
    let group = attributes(reader, &vertices);
    let name = group.get("dtype").and_then(Value::as_str);
    let element = super::rows::item_bytes(super::rows::known(name.unwrap_or("float32")));
    let vertices = product(&stored.shape).checked_div(axes.checked_mul(element)?)?;
    let row = length.checked_div(vertices).filter(|row| *row > 0)?;
    let item = super::rows::item_bytes(dtype?);
    (row.checked_rem(item)? == 0)
        .then(|| usize::try_from(row / item).ok())
        .flatten()
}

/// The chunks of the endpoints of link rows.
fn links(family: &str, leaf: &str, blob: BlobArg, group: &JsonObject, known: &mut Known) {
    if blob == BlobArg::Records {
        known.real_rows = group.get("num_links").and_then(Value::as_u64);
        return;
    }
    let Some(parts) = numbers(leaf) else { return };
    if family.contains("/cross_chunk_links/") {
        known.perm = Some(true);
        cell(known, &parts);
        return;
    }
    known.perm = Some(false);
    known.in_one_chunk(&parts);
}

/// The byte offsets of a `data` blob, if they exist and have the usual form.
fn offsets(reader: &mut Reader<'_, '_>, family: &str) -> Vec<u64> {
    let path = format!("{family}/offsets");
    let read = |reader: &mut Reader<'_, '_>| -> Result<Option<Vec<u64>>> {
        let Some(doc) = reader.array(&path)? else {
            return Ok(None);
        };
        let object = format!("{path}/{}", doc.key_encoding.object_key(&[0]));
        let bytes = match reader.read(&object)? {
            Some(bytes) => zvf_store::undo_codecs(
                &object,
                doc.codecs.get(1..).unwrap_or_default(),
                bytes,
                &zvf_store::Limits::default(),
            )?,
            // Zeros are not stored (spec 0.7 §2.3).
            None => match usize::try_from(product(&doc.shape)) {
                Ok(length) if length <= 1 << 24 => vec![0; length].into(),
                _ => return Ok(None),
            },
        };
        let numbers = U64::several(&bytes, bytes.len() / size_of::<U64>());
        Ok(numbers.map(|numbers| numbers.iter().map(|n| n.get()).collect()))
    };
    read(reader).ok().flatten().unwrap_or_default()
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

//! Facts about a cell from the documents around it: types, widths, names, chunks of the endpoints of links.

use serde_json::Value;
use zvf_format::dtype::{ByteOrder, DType, DTypeKind};
use zvf_format::links::{anchor, endpoint_chunks};
use zvf_meta::space::chunk_of_cell;
use zvf_meta::{ArrayDoc, Codec, LevelDoc, LinkFamilyDoc, ObjectIndexDoc, RootDoc};
use zvf_store::chunk_factors;

use super::place::{Known, Reader, key, numbers, product, sized};
use crate::args::BlobArg;
use crate::error::{CliError, Result};

/// Facts about the cell of an element from the documents around it.
pub(super) fn known(
    reader: &mut Reader<'_, '_>,
    path: &str,
    doc: &ArrayDoc,
    index: &[u64],
) -> Known {
    let attributes = &doc.attributes;
    let mut known = Known {
        dtype: attributes
            .dtype
            .as_deref()
            .and_then(|name| DType::parse(name).ok()),
        perm: attributes.has_perm,
        width: attributes.link_width.and_then(sized),
        columns: attributes.channel_names.clone().unwrap_or_default(),
        ..Known::default()
    };
    known.categories = texts(attributes.categories.iter().flatten());
    if doc.shape.len() > 1 && doc.data_type.is_vlen_bytes() {
        let chunk = |origin: &[i64]| chunk_of_cell(origin, index.iter().copied()).collect();
        known.chunk = doc.grid().ok().map(|grid| chunk(&grid.origin));
    }
    match blob_of(path, doc) {
        BlobArg::Vertices => known.columns = axes(reader).unwrap_or(known.columns),
        BlobArg::Manifest => {
            let group = path
                .strip_suffix("/manifests")
                .map(|group| format!("{group}/zarr.json"));
            let index = group.and_then(|group| reader.document(&group, ObjectIndexDoc::parse));
            known.key_rank = index.and_then(|index| index.sid_ndim).and_then(sized);
        }
        BlobArg::Attribute => {
            known.width = attributes.declared_width().and_then(sized);
        }
        BlobArg::RaggedLinks if path.contains("/cross_chunk_links/") => {
            cross_chunk(path, doc, index, &mut known)
        }
        BlobArg::Links | BlobArg::RaggedLinks => links(reader, path, doc, &mut known),
        _ => {}
    }
    known
}

/// Names of the axes: the columns of positions.
pub(super) fn axes(reader: &mut Reader<'_, '_>) -> Option<Vec<String>> {
    let root = reader.document("zarr.json", RootDoc::parse)?;
    Some(root.axes().iter().map(|axis| axis.name.clone()).collect())
}

/// JSON values as texts, without the quotes of strings.
pub(super) fn texts<'v>(values: impl Iterator<Item = &'v Value>) -> Vec<String> {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    values.map(text).collect()
}

/// Levels of the first and of the other endpoints of links at a path, if they differ.
pub(super) fn levels(path: &str, delta: i32) -> Option<(i64, i64)> {
    let level: i64 = path.split('/').next()?.parse().ok()?;
    (delta != 0).then(|| (level, level.saturating_add(i64::from(delta))))
}

/// Chunks of the endpoints of a cell of cross-chunk links kept in one array: a grid over the chunks of all endpoints, or a
/// list with the cells' keys beside it (spec 0.8 §3.4 and §9.8).
fn cross_chunk(path: &str, doc: &ArrayDoc, index: &[u64], known: &mut Known) {
    let extra = &doc.attributes.extra;
    known.perm = Some(true);
    known.dtype = known.dtype.or(DType::parse("int64").ok());
    let rank = extra.get("sid_ndim").and_then(Value::as_u64);
    known.key_rank = rank.and_then(sized);
    known.levels = levels(path, doc.attributes.level_delta.unwrap_or(0));
    let packed = extra.get("cell_keys").and_then(|keys| {
        let at = usize::try_from(*index.first()?).ok()?;
        numbers(keys.as_array()?.get(at)?.as_str()?)
    });
    let chunk: Option<Vec<i64>> = packed.or_else(|| known.chunk.clone());
    if let Some(chunk) = chunk {
        cell(known, &chunk);
    }
}

/// Cuts the key of a cell of cross-chunk links into the chunks of its endpoints, in stored order (spec 0.8 §9.1).
pub(super) fn cell(known: &mut Known, parts: &[i64]) {
    let Some(rank) = known.key_rank.filter(|rank| *rank > 0) else {
        return;
    };
    if known.width.and_then(|width| width.checked_mul(rank)) == Some(parts.len()) {
        known.chunk = None;
        known.endpoints = parts
            .chunks(rank)
            .map(|chunk| format!("chunk {}", key(chunk)))
            .collect();
    }
}

/// Width, permutation and endpoint chunks of a link array.
fn links(reader: &mut Reader<'_, '_>, path: &str, doc: &ArrayDoc, known: &mut Known) {
    let family = path
        .rsplit_once('/')
        .map(|(family, _)| format!("{family}/zarr.json"));
    let family = family.and_then(|family| reader.document(&family, LinkFamilyDoc::parse));
    let offsets = doc.attributes.offsets.clone().unwrap_or_default();
    let delta = doc
        .attributes
        .level_delta
        .or(family.as_ref().and_then(|family| family.level_delta))
        .unwrap_or(0);
    let zero = offsets.iter().flatten().all(|part| *part == 0);
    if let Some(family) = &family {
        known.width = known.width.or(family.link_width.and_then(sized));
        known.perm = known.perm.or(Some(family.has_perm(delta, zero)));
    }
    known.dtype = known.dtype.or(DType::parse("int64").ok());
    let Some(source) = &known.chunk else { return };
    let level = levels(path, delta).map(|(_, far)| format!(" of level {far}"));
    if doc.attributes.offsets.is_none() && delta == 0 {
        // One array for all links inside chunks (spec 0.8 §3.4).
        let source = source.clone();
        known.in_one_chunk(&source);
        return;
    }
    let name = |chunk: &[i64], level: &str| format!("chunk {}{level}", key(chunk));
    // Without the levels' chunk shapes the chunks of coarser endpoints are unknown; the rows still are what they are.
    let Some(anchored) = anchored(reader, path, delta, source) else {
        return;
    };
    let mut ends = vec![0; source.len() * (offsets.len() + 1)];
    if endpoint_chunks(source, &anchored, &offsets.concat(), &mut ends).is_ok() {
        let ends = ends.chunks(source.len().max(1)).skip(1);
        let others = ends.map(|chunk| name(chunk, level.as_deref().unwrap_or_default()));
        known.endpoints = std::iter::once(name(source, "")).chain(others).collect();
    }
}

/// The chunk of another level from which offsets count: the one at the origin of the source chunk.
fn anchored(
    reader: &mut Reader<'_, '_>,
    path: &str,
    delta: i32,
    source: &[i64],
) -> Option<Vec<i64>> {
    if delta == 0 {
        return Some(source.to_vec());
    }
    let (near, far) = levels(path, delta)?;
    let root = reader.document("zarr.json", RootDoc::parse)?;
    let base = &root.zarr_vectors.chunk_shape;
    let mut factors = |level: i64| {
        let doc = reader.document(&format!("{level}/zarr.json"), LevelDoc::parse)?;
        let shape = doc.chunk_shape.as_ref().unwrap_or(base);
        Some(chunk_factors(shape, base, source.len()))
    };
    let own = factors(near)?;
    let other = factors(far).unwrap_or_else(|| own.clone());
    let mut found = vec![0; source.len()];
    anchor(source, &own, &other, &mut found).ok()?;
    Some(found)
}

/// Element type, width and first row of a chunk of a typed array.
pub(super) fn typed(
    doc: &ArrayDoc,
    codecs: &[Codec],
    shape: &[u64],
    known: &mut Known,
) -> Result<()> {
    let name = doc.data_type.name.as_str();
    let length = doc
        .data_type
        .length_bytes()
        .and_then(|length| u32::try_from(length).ok())
        .filter(|length| *length > 0);
    let dtype = match name {
        "fixed_length_utf32" => length.map(|length| {
            DType::little(DTypeKind::Utf32 {
                chars: (length / 4).max(1),
            })
        }),
        "null_terminated_bytes" | "raw_bytes" => {
            length.map(|len| DType::little(DTypeKind::Bytes { len }))
        }
        other => DType::parse(other).ok(),
    };
    let mut dtype =
        dtype.ok_or_else(|| CliError::malformed(format!("data_type {name:?} is not supported")))?;
    let big = codecs.first().is_some_and(|codec| {
        codec
            .configuration
            .get("endian")
            .is_some_and(|endian| endian == "big")
    });
    if big {
        dtype.order = ByteOrder::Big;
    }
    known.dtype = Some(dtype);
    known.width = sized(product(shape.get(1..).unwrap_or_default()));
    Ok(())
}

/// The payload of an array's cells, by its discriminator, else by its path.
pub(super) fn blob_of(path: &str, doc: &ArrayDoc) -> BlobArg {
    let attributes = &doc.attributes;
    let family = path.split('/').nth(1).unwrap_or_default();
    let links = || {
        let mut offsets = attributes.offsets.iter().flatten().flatten();
        match attributes.level_delta.unwrap_or(0) == 0 && offsets.all(|part| *part == 0) {
            true => BlobArg::Links,
            false => BlobArg::RaggedLinks,
        }
    };
    match attributes.zv_array.as_deref().unwrap_or(family) {
        "vertices" => BlobArg::Vertices,
        "vertex_fragments" | "link_fragments" => BlobArg::FragmentIndex,
        "links" => links(),
        "cross_chunk_links" => BlobArg::RaggedLinks,
        "object_index" if attributes.zv_array.is_none() && path.ends_with("/manifests") => {
            BlobArg::Manifest
        }
        "groups" => BlobArg::Group,
        _ => BlobArg::Attribute,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_keys_are_cut_by_rank_and_width() {
        let mut known = Known {
            width: Some(2),
            key_rank: Some(2),
            ..Known::default()
        };
        cell(&mut known, &[-1, 2, 0, -1]);
        assert_eq!(known.endpoints, ["chunk -1.2", "chunk 0.-1"]);
        known.endpoints.clear();
        cell(&mut known, &[-1, 2, 0]);
        assert!(known.endpoints.is_empty());
    }
}

//! Facts about a cell from the documents around it: types, widths, names, chunks of the endpoints of links.

use std::sync::Arc;

use serde_json::Value;
use zvf_format::U64;
use zvf_format::dtype::DType;
use zvf_format::keys::parse_delta;
use zvf_format::layout::Wire as _;
use zvf_meta::{
    ArrayAttributes, ArrayDoc, GroupDoc, LevelDoc, LinkFamilyDoc, ObjectIndexDoc, RootDoc,
};
use zvf_store::{Limits, Placement, chunk_factors, undo_codecs};

use super::place::{Known, Reader, key, product, sized};
use crate::args::BlobArg;
use crate::error::Result;

/// A blob that is an array of its own: its name in the group, and its bytes (specification 0.7, section 2).
pub(super) type Child<'c> = (&'c str, u64);

/// Facts about a cell of the array or the family of blobs at `path`, from its attributes and the documents around it.
pub(super) fn known(
    reader: &mut Reader<'_, '_>,
    path: &str,
    attributes: &ArrayAttributes,
    blob: BlobArg,
    chunk: Option<Vec<i64>>,
    child: Option<Child<'_>>,
) -> Known {
    let number = |name| attributes.extra.get(name).and_then(Value::as_u64);
    let rank = number("sid_ndim").and_then(sized);
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let mut known = Known {
        dtype: attributes
            .dtype
            .as_deref()
            .and_then(|name| DType::parse(name).ok()),
        perm: attributes.has_perm,
        // A larger number of endpoints is invalid, and would produce huge names of chunks.
        width: attributes
            .link_width
            .filter(|width| *width < 256)
            .and_then(sized),
        key_rank: rank,
        columns: attributes.channel_names.clone().unwrap_or_default(),
        categories: attributes.categories.iter().flatten().map(text).collect(),
        chunk,
        ..Known::default()
    };
    match blob {
        BlobArg::Vertices => {
            if let Some(root) = reader.document("zarr.json", RootDoc::parse) {
                known.columns = root.axes().iter().map(|axis| axis.name.clone()).collect();
            }
        }
        BlobArg::Manifest => {
            let group = path.trim_end_matches("/manifests");
            let index = reader.document(&format!("{group}/zarr.json"), ObjectIndexDoc::parse);
            known.key_rank = index.and_then(|index| index.sid_ndim).and_then(sized);
        }
        BlobArg::Manifests | BlobArg::Group if child.is_some() => {
            known.offsets = offsets(reader, path).ok().flatten().unwrap_or_default();
        }
        BlobArg::Attribute => {
            let stated = attributes.row_shape.is_some() || attributes.channel_names.is_some();
            let columns = attributes.declared_width().filter(|_| stated);
            let rows = attributes.shape.as_deref();
            let columns = columns.or_else(|| Some(product(rows?.get(1..)?)));
            let columns = columns.or_else(|| number("max_row_length"));
            let columns = columns.or_else(|| by_division(reader, path, child?, known.dtype?));
            known.width = columns.and_then(sized);
        }
        BlobArg::Links | BlobArg::RaggedLinks | BlobArg::Records => {
            known.dtype = known.dtype.or(Some(super::rows::int64()));
            known.real_rows = number("num_links").filter(|_| blob == BlobArg::Records);
            links(reader, path, attributes, &mut known);
        }
        _ => {}
    }
    known
}

/// The attributes of the group of a family, if they can be read.
pub(super) fn attributes(reader: &mut Reader<'_, '_>, family: &str) -> ArrayAttributes {
    let parse = |bytes: &[u8]| ArrayAttributes::from_group(&GroupDoc::parse(bytes)?);
    let attributes = reader.document(&format!("{family}/zarr.json"), parse);
    attributes.unwrap_or_default()
}

/// Columns of a vertex attribute whose document does not state them (spec 0.7 §8.2).
fn by_division(
    reader: &mut Reader<'_, '_>,
    family: &str,
    (leaf, length): Child<'_>,
    dtype: DType,
) -> Option<u64> {
    let (level, rest) = family.split_once('/')?;
    rest.strip_prefix("vertex_attributes/")?;
    let vertices = format!("{level}/vertices");
    let stored = reader.document(&format!("{vertices}/{leaf}/zarr.json"), ArrayDoc::parse)?;
    let axes = reader.document("zarr.json", RootDoc::parse)?.dims() as u64;
    let positions = attributes(reader, &vertices).dtype;
    let position = positions.and_then(|name| DType::parse(&name).ok());
    let position = position.unwrap_or(DType::DEFAULT).size() as u64;
    let rows = product(&stored.shape).checked_div(axes.checked_mul(position)?)?;
    let row = length.checked_div(rows).filter(|row| *row > 0)?;
    let item = dtype.size() as u64;
    (row.checked_rem(item)? == 0).then_some(row / item)
}

/// Width, permutation and endpoint chunks of link rows.
fn links(reader: &mut Reader<'_, '_>, path: &str, attributes: &ArrayAttributes, known: &mut Known) {
    let mut segments = path.split('/');
    let level: Option<i64> = segments.next().and_then(|level| level.parse().ok());
    let named = segments.nth(1).and_then(|delta| parse_delta(delta).ok());
    let delta = attributes.level_delta.or(named).unwrap_or(0);
    let far = level.map(|level| level.saturating_add(i64::from(delta)));
    let levels = level.zip(far).filter(|_| delta != 0);
    let tuple = path.contains("/cross_chunk_links/");
    let offsets = attributes.offsets.as_deref();
    if tuple {
        // The level of a chunk depends on the order of the endpoints (spec 0.8 §13).
        (known.perm, known.levels) = (Some(true), levels);
    } else {
        let family = path
            .rsplit_once('/')
            .map(|(family, _)| format!("{family}/zarr.json"));
        let family = family.and_then(|family| reader.document(&family, LinkFamilyDoc::parse));
        let family = family.unwrap_or_default();
        let zero = offsets.is_none_or(|offsets| offsets.iter().flatten().all(|part| *part == 0));
        let others = offsets.map(|offsets| offsets.len() + 1);
        known.width = known.width.or(family.link_width.and_then(sized)).or(others);
        known.perm = known.perm.or(Some(family.has_perm(delta, zero)));
    }
    let Some(chunk) = known.chunk.as_deref() else {
        return;
    };
    let placement = match offsets {
        // One cell for each tuple of chunks (spec 0.8 §9.1).
        _ if tuple => Placement::Tuple,
        // All links of one chunk, or of the chunks of two levels with its key (spec 0.7 §9.1, 0.8 §3.4).
        None => Placement::SameKey,
        Some(offsets) => {
            let factors = levels.and_then(|levels| factors(reader, levels, chunk.len()));
            if delta != 0 && factors.is_none() {
                // Without the chunk shapes of both levels the chunks of the other endpoints are unknown.
                return;
            }
            Placement::Offsets {
                offsets: offsets.concat(),
                anchor: factors.map(Arc::new),
            }
        }
    };
    let (mut chunks, width) = (Vec::new(), known.width.unwrap_or(2));
    let placed = placement.endpoint_chunks(chunk, width, &mut chunks);
    let rank = chunks.len().checked_div(width).unwrap_or(0);
    if placed.is_err() || rank == 0 || rank.checked_mul(width) != Some(chunks.len()) {
        return;
    }
    let name = |(endpoint, chunk): (usize, &[i64])| match levels {
        Some((_, far)) if endpoint > 0 && !tuple => format!("chunk {} of level {far}", key(chunk)),
        _ => format!("chunk {}", key(chunk)),
    };
    known.endpoints = chunks.chunks_exact(rank).enumerate().map(name).collect();
    if tuple {
        known.chunk = None;
    }
}

/// The chunk shapes of two levels as multiples of the root's.
fn factors(
    reader: &mut Reader<'_, '_>,
    (near, far): (i64, i64),
    key_rank: usize,
) -> Option<(Vec<i64>, Vec<i64>)> {
    let root = reader.document("zarr.json", RootDoc::parse)?;
    let mut factors = |level: i64| {
        let doc = reader.document(&format!("{level}/zarr.json"), LevelDoc::parse)?;
        let base = &root.zarr_vectors.chunk_shape;
        Some(chunk_factors(root.chunk_shape(&doc), base, key_rank))
    };
    let own = factors(near)?;
    let other = factors(far).unwrap_or_else(|| own.clone());
    Some((own, other))
}

/// The byte offsets of a `data` blob, if they exist and have the usual form.
fn offsets(reader: &mut Reader<'_, '_>, family: &str) -> Result<Option<Vec<u64>>> {
    let path = format!("{family}/offsets");
    let Some(doc) = reader.array(&path)? else {
        return Ok(None);
    };
    let object = format!("{path}/{}", doc.key_encoding.object_key(&[0]));
    let codecs = doc.codecs.get(1..).unwrap_or_default();
    let bytes = match reader.read(&object)? {
        Some(bytes) => undo_codecs(&object, codecs, bytes, &Limits::default())?,
        // Zeros are not stored (spec 0.7 §2.3).
        None => match sized(product(&doc.shape)) {
            Some(length) if length <= 1 << 24 => vec![0; length].into(),
            _ => return Ok(None),
        },
    };
    let numbers = U64::several(&bytes, bytes.len() / size_of::<U64>());
    Ok(numbers.map(|numbers| numbers.iter().map(|n| n.get()).collect()))
}

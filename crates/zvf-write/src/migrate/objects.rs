//! Objects: manifests whose fragments are those of the new level, ids, links between the parts of chains.

use zvf_format::manifest::{Manifest, ManifestBuilder};
use zvf_format::vlen::VlenBuilder;
use zvf_meta::{ArrayAttributes, DataType, ObjectIndexDoc};
use zvf_store::{ChunkCoord, ObjectIndex};

use super::laid::Laid;
use super::report::Notes;
use super::source::Source;
use crate::WriteError;
use crate::codec::Compression;
use crate::documents::array_doc;
use crate::int::{index, wide};
use crate::objects::{BUCKET, Docs, MOST, ids_array};
use crate::shard::vlen_codecs;
use crate::target::Below;

/// What a manifest names: chunks and fragments in order.
pub(super) fn entries(
    blob: &[u8],
    objects: &ObjectIndex,
    row: u64,
) -> Result<Vec<(ChunkCoord, i64)>, WriteError> {
    let place = || format!("object_index/manifests, row {row}");
    let manifest = Manifest::parse(blob, objects.key_rank())
        .map_err(|error| WriteError::source(place(), error.to_string()))?;
    let mut found = Vec::new();
    let mut coord = Vec::new();
    for block in manifest.blocks() {
        coord.clear();
        coord.extend(block.chunk.iter().map(|part| part.get()));
        let chunk = ChunkCoord::new(&coord);
        found.extend(
            block
                .fragments
                .iter()
                .map(|fragment| (chunk.clone(), fragment)),
        );
    }
    Ok(found)
}

/// The objects of a level that was written.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) ids: Vec<i64>,
    pub(super) arrays: Docs,
    pub(super) doc: ObjectIndexDoc,
}

/// Writes the object index.
///
/// `chain` takes, of every two neighbouring parts of an object that lie in different chunks, the last vertex of the one
/// and the first of the other.
pub(super) fn write(
    source: &Source,
    laid: &Laid,
    compression: &Compression,
    target: &Below<'_>,
    notes: &Notes,
    mut chain: impl FnMut((u32, u32), (u32, u32)) -> Result<(), WriteError>,
) -> Result<Option<Objects>, WriteError> {
    let level = &source.level;
    let Some(index_) = level.object_index() else {
        return Ok(None);
    };
    let number = level.number();
    let path = format!("{number}/object_index/manifests");
    let count = index_.len();
    if count > MOST {
        return Err(WriteError::limit("objects", count, MOST));
    }
    if index_.key_rank() != level.key_rank() && count > 0 {
        let what = format!(
            "sid_ndim is {}, expected {}",
            index_.key_rank(),
            level.key_rank()
        );
        return Err(WriteError::source(format!("{number}/object_index"), what));
    }
    let table = source.handle.block_on(index_.ids())?;
    if table.repeated() > 0 {
        let what = format!(
            "{} ids come more than once, of which readers take the first",
            table.repeated()
        );
        notes.lost(format!("{number}/object_index/object_ids"), what);
    }
    let failed = |row: u64, source| WriteError::encode(format!("{path}, row {row}"), source);
    let mut bucket = VlenBuilder::new();
    let (mut full, mut present) = (0_u64, 0_u64);
    let mut put = |bucket: VlenBuilder, padded: bool| -> Result<(), WriteError> {
        let bytes = if padded {
            bucket
                .finish_padded(BUCKET)
                .map_err(|source| failed(full, source))?
        } else {
            bucket.finish()
        };
        let key = format!("object_index/manifests/c/{full}");
        full = full.saturating_add(1);
        target.put(vec![(key, compression.encode(bytes)?)])
    };
    let mut parts = Vec::new();
    let mut written = 0_u64;
    for part in 0..index_.manifest_chunks() {
        let part = source.handle.block_on(index_.manifest_chunk(part))?;
        let first = part.first_slot();
        for row in first..first.saturating_add(wide(part.len())).min(count) {
            let blob = part.blob(row);
            let blobs = matches!(
                index_.layout(),
                Some(zvf_meta::ObjectLayout::V1 | zvf_meta::ObjectLayout::V2)
            );
            if blob.is_empty() && blobs {
                // Trap T31.
                notes.repaired(&path, "manifests of no bytes became empty ones", 1);
            }
            parts.clear();
            for (chunk, fragment) in entries(blob, index_, row)? {
                let slot = source.slot(&chunk);
                let there = slot.zip(u32::try_from(fragment).ok());
                let old = |slot: u32| source_fragments(laid, slot);
                match there.filter(|(slot, fragment)| u64::from(*fragment) < old(*slot)) {
                    Some((slot, fragment)) => laid.parts(slot, fragment, &mut parts),
                    None => {
                        let what = format!(
                            "names fragment {fragment} of chunk {chunk}, which is not there"
                        );
                        notes.lost(format!("{path}, object {}", table.id(row)), what);
                    }
                }
            }
            let mut manifest =
                ManifestBuilder::new(level.key_rank()).map_err(|e| failed(row, e))?;
            for &(slot, fragment) in &parts {
                if laid
                    .chunk_rows
                    .get(index(slot))
                    .is_some_and(|rows| *rows > 0)
                {
                    let chunk = laid.chunk(slot);
                    manifest
                        .push(chunk, i64::from(fragment))
                        .map_err(|e| failed(row, e))?;
                }
            }
            present = present.saturating_add(u64::from(!parts.is_empty()));
            let ends = parts.iter().filter_map(|&(slot, fragment)| {
                let (first, last) = laid.ends_of(slot, fragment)?;
                Some((slot, first, last))
            });
            let mut before: Option<(u32, u32)> = None;
            for (slot, first, last) in ends {
                if let Some(from) = before.filter(|(chunk, _)| *chunk != slot) {
                    chain(from, (slot, first))?;
                }
                before = Some((slot, last));
            }
            if bucket.len() == BUCKET {
                put(std::mem::take(&mut bucket), true)?;
            }
            bucket
                .push(&manifest.finish())
                .map_err(|e| failed(row, e))?;
            written = written.saturating_add(1);
        }
    }
    // Rows beyond the manifests that are stored are objects without vertices.
    let empty = ManifestBuilder::new(level.key_rank().max(1))
        .map_err(|e| failed(0, e))?
        .finish();
    for row in written..count {
        if bucket.len() == BUCKET {
            put(std::mem::take(&mut bucket), true)?;
        }
        bucket.push(&empty).map_err(|e| failed(row, e))?;
    }
    if !bucket.is_empty() {
        let padded = count > u64::from(BUCKET);
        put(bucket, padded)?;
    }
    let ids: Vec<i64> = table.iter().collect();
    let (doc, objects) = ids_array(&ids, compression)?;
    target.put(objects)?;
    let manifests = array_doc(
        vec![count],
        DataType::named("variable_length_bytes"),
        vec![count.clamp(1, u64::from(BUCKET))],
        serde_json::Value::from(""),
        vlen_codecs(compression),
        ArrayAttributes::default(),
    );
    let doc_of_index = ObjectIndexDoc {
        zv_array: Some("object_index".to_owned()),
        num_objects: Some(count),
        num_present: Some(present),
        sid_ndim: u32::try_from(level.key_rank()).ok(),
        layout: Some("vlen_manifests_v2".to_owned()),
        object_ids_sorted: Some(ids.is_sorted_by(|a, b| a < b)),
        extra: index_.doc().extra.clone(),
        node_extra: index_.doc().node_extra.clone(),
    };
    Ok(Some(Objects {
        ids,
        arrays: vec![
            ("object_index/manifests".to_owned(), manifests),
            ("object_index/object_ids".to_owned(), doc),
        ],
        doc: doc_of_index,
    }))
}

/// Fragments that a chunk of the old level has.
fn source_fragments(laid: &Laid, slot: u32) -> u64 {
    match &laid.moved {
        None => laid.fragments(slot),
        Some(moved) => moved.fragments(slot),
    }
}

//! Objects: manifests with the fragments of the new level, ids, links between the parts of chains.

use std::path::Path;

use zvf_format::manifest::ManifestBuilder;
use zvf_meta::ObjectIndexDoc;
use zvf_store::ChunkCoord;
use zvf_store::owners::index_document;

use super::new_level::NewLevel;
use super::report::Notes;
use super::rows::{ManifestReader, RowMapping};
use super::source::SourceLevel;
use zvf_codec::Compression;
use zvf_encode::WriteError;
use zvf_encode::documents::Nodes;
use zvf_encode::error::OrBug;
use zvf_encode::level::owners::{self, OwnerCollector};
use zvf_encode::level::{LevelCells, ManifestArray, index_doc, index_of_rows};
use zvf_encode::spec::{IdsIn, MOST_ROWS};
use zvf_encode::target::Below;
use zvf_format::int::index;

/// The target and the storage of the parts of a level other than cells.
#[derive(Clone, Copy)]
pub(super) struct ObjectsTarget<'o> {
    /// How the id of an object is stored.
    pub(super) ids: IdsIn,
    pub(super) compression: &'o Compression,
    pub(super) target: &'o Below<'o>,
    /// Storage of the cells of the level, and the limits for collecting owners.
    pub(super) cells: &'o LevelCells,
    pub(super) budget: usize,
    pub(super) folder: &'o Path,
    pub(super) notes: &'o Notes,
}

/// The objects of a written level.
#[derive(Debug)]
pub(super) struct CopiedObjects {
    pub(super) rows: RowMapping,
    pub(super) nodes: Nodes,
}

/// Writes the object index; `None` if the old level has none.
///
/// For every two consecutive parts of an object in different chunks, `chain` receives the last vertex of the first part and the first vertex
/// of the second one.
pub(super) fn write(
    source: &SourceLevel,
    new_level: &NewLevel,
    out: ObjectsTarget<'_>,
    mut chain: impl FnMut((u32, u32), (u32, u32)) -> Result<(), WriteError>,
) -> Result<Option<CopiedObjects>, WriteError> {
    let (level, notes) = (&source.level, out.notes);
    let Some(index_) = level.object_index() else {
        return Ok(None);
    };
    let number = level.number();
    let path = format!("{number}/object_index/manifests");
    let count = index_.len();
    if count > MOST_ROWS {
        return Err(WriteError::limit("objects", count, MOST_ROWS));
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
            "{} ids are repeated; readers take the first row of each",
            table.repeated()
        );
        notes.lost(format!("{number}/object_index/object_ids"), what);
    }
    let rows = match out.ids {
        IdsIn::Table => RowMapping::same(count),
        IdsIn::Rows => RowMapping::by_id(&table, &format!("{number}/object_index"), notes)?,
    };
    let failed = |row: u64, source| WriteError::encode(format!("{path}, row {row}"), source);
    let sharded = out.cells.shards.is_some() && out.ids == IdsIn::Table;
    let mut array = ManifestArray::new(out.compression, sharded, out.target);
    let owners = || OwnerCollector::new(out.budget / 8, out.folder);
    let mut owners = source.owners.then(owners);
    let mut read = ManifestReader::new(source, index_);
    let mut present = 0_u64;
    let blobs = matches!(
        index_.layout(),
        Some(zvf_meta::ObjectLayout::V1 | zvf_meta::ObjectLayout::V2)
    );
    let mut parts = Vec::new();
    for row in 0..rows.len() {
        parts.clear();
        let old = rows.old(row);
        let blob = old.map(|old| read.blob(old)).transpose()?.flatten();
        if let Some((old, blob)) = old.zip(blob) {
            if blob.is_empty() && blobs {
                // Trap T31.
                notes.repaired(
                    &path,
                    "manifests of zero bytes became manifests without blocks",
                    1,
                );
            }
            for (chunk, fragment) in index_.entries(old, &blob)? {
                let slot = source.slot(&chunk);
                let there = slot.zip(u32::try_from(fragment).ok());
                let count = match there {
                    Some((slot, _)) => source_fragments(new_level, slot)?,
                    None => 0,
                };
                match there.filter(|(_, fragment)| u64::from(*fragment) < count) {
                    Some((slot, fragment)) => new_level.parts(slot, fragment, &mut parts)?,
                    None => {
                        let what = format!(
                            "names fragment {fragment} of chunk {chunk}, which does not exist"
                        );
                        notes.lost(format!("{path}, object {}", table.id(old)), what);
                    }
                }
            }
        }
        let mut manifest =
            ManifestBuilder::new(level.key_rank().max(1)).map_err(|e| failed(row, e))?;
        for &(slot, fragment) in &parts {
            let rows = new_level.chunk_rows.get(index(slot));
            if *rows.or_bug("a fragment of no chunk")? > 0 {
                let chunk = new_level.chunk(slot)?;
                manifest
                    .push(chunk, i64::from(fragment))
                    .map_err(|e| failed(row, e))?;
                if let (Some(owners), Some(old)) = (&mut owners, old) {
                    owners.push(slot, fragment, table.id(old))?;
                }
            }
        }
        present += u64::from(!parts.is_empty());
        let ends = parts.iter().filter_map(|&(slot, fragment)| {
            let (first, last) = new_level.ends_of(slot, fragment)?;
            Some((slot, first, last))
        });
        let mut before: Option<(u32, u32)> = None;
        for (slot, first, last) in ends {
            if let Some(from) = before.filter(|(chunk, _)| *chunk != slot) {
                chain(from, (slot, first))?;
            }
            before = Some((slot, last));
        }
        array.push(&manifest.finish())?;
    }
    let ids: Vec<i64> = table.iter().collect();
    let arrays = array.finish_in(out.ids, &ids)?;
    let doc = match out.ids {
        IdsIn::Table => ObjectIndexDoc {
            object_ids_sorted: Some(ids.is_sorted_by(|a, b| a < b)),
            ..index_doc(level.key_rank(), &ids, present)
        },
        IdsIn::Rows => index_of_rows(level.key_rank(), rows.len()),
    };
    let doc = ObjectIndexDoc {
        extra: index_.doc().extra.clone(),
        node_extra: index_.doc().node_extra.clone(),
        ..doc
    };
    let mut nodes = Nodes::default();
    let document = match owners {
        Some(owners) => {
            let chunks = new_level.chunks.iter().map(ChunkCoord::as_slice);
            let chunks: Vec<&[i64]> = chunks.collect();
            let (cells, document) = (owners::cells_of(out.cells), index_document(&doc));
            nodes.extend(owners.write(&chunks, &cells, &document, out.target)?);
            document
        }
        None => doc.to_json(),
    };
    nodes.arrays.extend(arrays);
    nodes.groups.insert("object_index".to_owned(), document);
    Ok(Some(CopiedObjects { rows, nodes }))
}

/// The number of fragments of a chunk of the old level.
fn source_fragments(new_level: &NewLevel, slot: u32) -> Result<u64, WriteError> {
    match &new_level.moved {
        None => new_level.fragments(slot),
        Some(moved) => moved.fragments(slot),
    }
}

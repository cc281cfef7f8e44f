//! Loops over the manifests and links of a level, for code on blocking threads.
//!
//! The copier and the verification read with `zvf-store`, each through these loops.

use tokio::runtime::Handle;
use zvf_encode::WriteError;
use zvf_format::int::wide;
use zvf_store::{ChunkCoord, DecodedLinks, LinkReader, ObjectIndex, StoredLink};

/// Calls `each` with every row of an object index, and the chunks and fragments that its manifest names.
pub(crate) fn each_manifest(
    objects: &ObjectIndex,
    handle: &Handle,
    mut each: impl FnMut(u64, &mut dyn Iterator<Item = (ChunkCoord, i64)>) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    for number in 0..objects.manifest_chunks() {
        let part = handle.block_on(objects.manifest_chunk(number))?;
        let first = part.first_slot();
        for row in first..(first + wide(part.len())).min(objects.len()) {
            each(row, &mut objects.entries(row, part.blob(row))?)?;
        }
    }
    Ok(())
}

/// Calls `each` with every link of a family, and the cell that it is in.
pub(crate) fn each_link(
    reader: &LinkReader<'_>,
    handle: &Handle,
    mut each: impl FnMut(&DecodedLinks<'_>, &StoredLink<'_>) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    for batch in reader.batches() {
        for cell in handle.block_on(reader.read(&batch))? {
            cell.each(|link| each(&cell, link))?;
        }
    }
    Ok(())
}

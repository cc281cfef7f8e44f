//! What manifests name.

use zvf_encode::WriteError;
use zvf_format::manifest::Manifest;
use zvf_store::{ChunkCoord, ObjectIndex};

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

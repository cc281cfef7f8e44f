//! The owner column of a copy, compared with the manifests of the copy, from which it is made (0.9 §11.7).

use std::collections::BTreeSet;

use zvf_encode::WriteError;
use zvf_format::int::wide;
use zvf_store::owners::{NOBODY, SEVERAL, owners_in};
use zvf_store::{CellWant, ChunkCoord, IdTable};

use super::super::reading::each_manifest;
use super::level::{ComparedLevel, HashSum, hash, join};

/// Cells that are read together.
const BATCH: usize = 64;

/// Whether the column agrees with the manifests. True without a column, and if a fragment has several objects, because queries then read
/// manifests.
///
/// # Cost
/// All manifests and all cells of the column, once.
///
/// # Errors
/// I/O; malformed manifests.
pub(super) fn agree(side: &ComparedLevel, ids: &IdTable) -> Result<bool, WriteError> {
    let (level, handle) = (&side.level, &side.handle);
    let (Some(objects), Some(column)) = (level.object_index(), level.owner_column().current())
    else {
        return Ok(true);
    };
    let element =
        |chunk: &[i64], fragment: u64, owner: i64| join(hash(&(chunk, fragment)), hash(&owner));
    let mut wanted = HashSum::default();
    each_manifest(objects, handle, |row, entries| {
        let named: BTreeSet<_> = entries.collect();
        for (chunk, fragment) in named {
            let Ok(fragment) = u64::try_from(fragment) else {
                let what = format!("object {} has fragment {fragment}", ids.id(row));
                let place = format!("{}/object_index", level.number());
                return Err(WriteError::source(place, what));
            };
            wanted.add(1, element(chunk.as_slice(), fragment, ids.id(row)));
        }
        Ok(())
    })?;
    let (mut found, array) = (HashSum::default(), &column.array);
    let listed: Vec<ChunkCoord> = array.presence().iter().map(ChunkCoord::new).collect();
    for chunks in listed.chunks(BATCH) {
        let wants = chunks
            .iter()
            .map(|chunk| CellWant::new(array, chunk.as_slice()));
        let wants = wants.collect();
        let cells = handle.block_on(level.store().fetch(level.next_round(), wants))?;
        for (chunk, cell) in chunks.iter().zip(cells) {
            // With a lost or damaged cell, the column does not agree.
            let Ok(owners) = owners_in(array, chunk, cell.as_deref()) else {
                return Ok(false);
            };
            for (fragment, owner) in owners.into_iter().enumerate() {
                match owner {
                    NOBODY => {}
                    SEVERAL => return Ok(true),
                    owner => found.add(1, element(chunk.as_slice(), wide(fragment), owner)),
                }
            }
        }
    }
    Ok(found == wanted)
}

//! The object index: ids, manifests, and the fragments that they name.

use std::collections::HashSet;
use std::sync::Arc;

use zvf_format::manifest::Manifest;
use zvf_meta::Kind;
use zvf_store::owners::OWNER_COLUMN;
use zvf_store::{IdTable, ObjectIndex, StoreError};

use crate::chains::Chains;
use crate::check::{Check, Depth};
use crate::finding::Place;
use crate::level::LevelState;
use crate::owners::{Named, check_column};
use crate::run::Session;
use zvf_format::int::wide;

/// Checks the object index of a level. Returns the steps of its lines from chunk to chunk, if the level stores links for them.
///
/// # Cost
/// Reads the table of ids and every chunk of manifests once. Memory: one bit for each fragment, 8 bytes with an owner column.
///
/// # Errors
/// Failed requests. Defects of the store are findings.
pub(crate) async fn check(
    run: &mut Session<'_>,
    state: &LevelState,
) -> Result<Option<Chains>, StoreError> {
    let Some(objects) = state.level.object_index().map(Arc::clone) else {
        return Ok(None);
    };
    if !run.options.wants_array(&state.path("object_index")) {
        return Ok(None);
    }
    run.seen.objects = run.seen.objects.saturating_add(objects.len());
    let ids = objects.ids_in(state.level.next_round()).await;
    let place = || Place::at(state.path("object_index/object_ids"));
    let ids = run.keep(Check::ObjectTableReads, place, ids)?;
    if let Some(ids) = &ids {
        check_ids(run, state, &objects, ids);
    }
    let stated = objects.stated_ids_in(state.level.next_round()).await;
    if let Some(Some(table)) = run.keep(Check::ObjectTableReads, place, stated)?
        && let Some((row, id)) = (0_u64..)
            .zip(table.iter())
            .find(|(row, id)| i64::try_from(*row) != Ok(*id))
    {
        let place = place().row(row);
        run.findings.add(Check::ObjectIdsRows, place, id, row);
    }
    if let Some(ids) = &ids
        && let Some((row, stated)) = objects.misstated_id(ids)
    {
        let found = ids.get(row);
        let found = found.map_or("no id".to_owned(), |id| id.to_string());
        let place = place().row(row);
        run.findings.add(Check::ObjectIdsRows, place, found, stated);
    }
    let wants_owners = state
        .level
        .fragment_attributes()
        .iter()
        .any(|one| one.name == OWNER_COLUMN);
    let mut named = Named::new(state, wants_owners);
    let mut chains = Chains::new(run.options, state);
    let mut present = 0_u64;
    let mut all_read = true;
    let path = state.path("object_index/manifests");
    let what = format!("level {}: objects", state.number());
    for number in 0..objects.manifest_chunks() {
        let part = objects
            .manifest_chunk_in(state.level.next_round(), number)
            .await;
        let place = || Place::at(path.clone()).row(number);
        let Some(part) = run.keep(Check::ManifestReads, place, part)? else {
            all_read = false;
            continue;
        };
        let first = part.first_slot();
        let end = first.saturating_add(wide(part.len())).min(objects.len());
        for row in first..end {
            let id = ids
                .as_ref()
                .map_or_else(|| i64::try_from(row).unwrap_or(-1), |ids| ids.id(row));
            let blob = part.blob(row);
            match one(
                run,
                state,
                &objects,
                (row, id),
                blob,
                &mut named,
                &mut chains,
            ) {
                Some(filled) => {
                    present = present.saturating_add(u64::from(filled));
                    if filled && objects.deleted().binary_search(&id).is_ok() {
                        let place = Place::at(path.clone()).row(row).object(id);
                        let found = "a manifest of a deleted object";
                        run.findings.add(Check::DeletedEmpty, place, found, "none");
                    }
                }
                None => all_read = false,
            }
        }
        run.options.progress.tell(&what, end, objects.len());
    }
    run.measured(state.number()).present = all_read.then_some(present);
    if all_read
        && let Some(stated) = objects.doc().num_present
        && stated != present
    {
        let place =
            Place::at(state.path("object_index/zarr.json")).pointer("/attributes/num_present");
        run.findings
            .add(Check::PresentCount, place, stated, present);
    }
    if all_read && state.number() == 0 && !objects.is_empty() {
        named.orphans(run, state);
    }
    if all_read && wants_owners {
        check_column(run, state, &named).await?;
    }
    Ok(chains.filter(|_| all_read))
}

fn check_ids(run: &mut Session<'_>, state: &LevelState, objects: &ObjectIndex, ids: &IdTable) {
    let place = || Place::at(state.path("object_index/object_ids"));
    let ascending = ids.iter().is_sorted_by(|a, b| a < b);
    if ascending {
        return;
    }
    if objects.doc().object_ids_sorted == Some(true) && !ids.iter().is_sorted() {
        let row = ids.iter().zip(ids.iter().skip(1)).position(|(a, b)| a > b);
        let place = place().row(wide(row.unwrap_or(0)).saturating_add(1));
        let expected = "ascending ids, as object_ids_sorted states";
        run.findings
            .add(Check::ObjectIdsSorted, place, "a smaller id", expected);
    }
    let mut known = HashSet::new();
    for (row, id) in (0_u64..).zip(ids.iter()) {
        if !known.insert(id) {
            let place = place().row(row).object(id);
            run.findings.add(
                Check::ObjectIdUnique,
                place,
                "the id of an earlier row",
                "a different id",
            );
        }
    }
}

/// Checks one manifest. Returns whether it names a fragment; `None` if it cannot be decoded.
fn one(
    run: &mut Session<'_>,
    state: &LevelState,
    objects: &ObjectIndex,
    (row, id): (u64, i64),
    blob: &[u8],
    named: &mut Named,
    chains: &mut Option<Chains>,
) -> Option<bool> {
    let place = || {
        Place::at(state.path("object_index/manifests"))
            .row(row)
            .object(id)
    };
    if blob.is_empty() {
        // A row that was never written (T31).
        return Some(false);
    }
    let manifest = match Manifest::parse(blob, objects.key_rank()) {
        Ok(manifest) => manifest,
        Err(error) => {
            run.findings
                .add(Check::ManifestReads, place(), error, "a manifest");
            return None;
        }
    };
    let mut chunk = Vec::new();
    let mut vertices = 0_u64;
    let mut counted = true;
    if let Some(chains) = chains.as_mut() {
        chains.begin();
    }
    for block in manifest.blocks() {
        chunk.clear();
        chunk.extend(block.chunk.iter().map(|part| part.get()));
        let Some(slot) = state.slot(&chunk) else {
            counted = false;
            let place = place().chunk(&chunk);
            run.findings.add(
                Check::ManifestChunk,
                place,
                "a chunk without vertices",
                "one with vertices",
            );
            continue;
        };
        let Some(fragments) = state.fragments_of(slot) else {
            counted = false;
            continue;
        };
        if let Some(bad) = block.fragments.check(fragments) {
            counted = false;
            let place = place().chunk(&chunk);
            let expected = match fragments.checked_sub(1) {
                Some(last) => format!("0 to {last}"),
                None => "none: the chunk has no fragments".to_owned(),
            };
            run.findings.add(
                Check::ManifestFragment,
                place,
                format!("fragment {bad}"),
                expected,
            );
            continue;
        }
        for fragment in block.fragments.iter() {
            // The check above ensures that it is in range.
            let fragment = u32::try_from(fragment).unwrap_or(u32::MAX);
            named.add(slot, fragment, id);
            if let Some(chains) = chains.as_mut() {
                chains.add(state, slot, fragment);
            }
            if let Some((first, last)) = state.ends_of(slot, fragment) {
                vertices =
                    vertices.saturating_add(u64::from(last.abs_diff(first)).saturating_add(1));
            }
        }
    }
    let is_line = state.level.store().kind() == Kind::Line;
    if is_line
        && counted
        && state.number() == 0
        && state.ends.is_some()
        && !state.lists
        && run.options.depth >= Depth::Conformance
        && !manifest.is_empty()
        && vertices != 2
    {
        run.findings
            .add(Check::LineEnds, place(), format!("{vertices} vertices"), 2);
    }
    Some(!manifest.is_empty())
}

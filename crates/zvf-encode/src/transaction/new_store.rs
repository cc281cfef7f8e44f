//! A new store: the order in which its objects are written.
//!
//! ```text
//! zvf-unfinished.json     marker                         put only into an empty place
//! cells                   nothing names them yet
//! documents of arrays     their level does not exist yet
//! document of the level   its root does not exist yet
//! ── everything above is durable ──
//! zarr.json               the store exists               put only if absent
//! zvf-unfinished.json     removed
//! ```
//!
//! A crash before the last document leaves no store; the marker tells the next writer that the content may be removed. A crash after it leaves a
//! complete store, and at most the marker, which readers ignore.

use serde_json::Value;

use crate::WriteError;
use crate::target::Target;
use crate::transaction::holder::Holder;
pub use crate::transaction::inside::check as check_address;
use crate::transaction::marker::{MARKER, ROOT, StaleFiles, new_mark};
use crate::transaction::partition::unfinished;

/// Checks that a store may be written at an address: it is empty, or has stale files that may be removed.
///
/// # Cost
/// Two requests, and a listing.
///
/// # Errors
/// [`WriteError::Exists`]; [`WriteError::Busy`] if a writer is at work there. I/O.
pub fn check(target: &Target, address: &str, stale_files: StaleFiles) -> Result<(), WriteError> {
    let exists = |what: String| Err(WriteError::exists(address, what));
    if target.exists(ROOT)? {
        return Err(WriteError::Exists {
            store: address.to_owned(),
            what: "there is a store or another Zarr group already".to_owned(),
            root: true,
        });
    }
    if let Some(found) = target.read(MARKER)? {
        unfinished::check(target, address, stale_files)?;
        if stale_files == StaleFiles::Remove {
            return Ok(());
        }
        let by = Holder::of_marker(&found);
        if let Some(by) = by.filter(Holder::is_another_that_runs) {
            let what = format!("an unfinished store is written there ({MARKER}), by {by}");
            return Err(WriteError::busy(address, what));
        }
        return exists(format!(
            "an unfinished store lies there ({MARKER}): another writer is at work, or was interrupted; --clear-leftovers removes what an interrupted one left"
        ));
    }
    let Some(found) = target.any()? else {
        return Ok(());
    };
    if stale_files == StaleFiles::Refuse {
        return exists(format!(
            "{found} lies there, expected nothing: data of somebody else, or what an interrupted writer left"
        ));
    }
    // There is neither a root nor a marker: only files that must come from a writer of these stores may be removed.
    match target.keys()?.iter().find(|key| !is_piece(key)) {
        Some(foreign) => exists(format!(
            "{foreign} lies there, which no writer of such stores left: nothing was removed"
        )),
        None => Ok(()),
    }
}

/// The folders in a level.
const FAMILIES: [&str; 13] = [
    "vertices",
    "vertex_fragments",
    "vertex_attributes",
    "fragment_attributes",
    "links",
    "link_fragments",
    "link_attributes",
    "cross_chunk_links",
    "cross_chunk_link_attributes",
    "object_index",
    "object_attributes",
    "groupings",
    "groupings_attributes",
];

/// Whether a key, in a place without a root, can only belong to a store that was never finished.
fn is_piece(key: &str) -> bool {
    let (folder, rest) = key.split_once('/').unwrap_or((key, ""));
    if folder.starts_with("zvf-") || folder.starts_with(crate::target::TEMPORARY) {
        return true;
    }
    let family = rest.split('/').next().unwrap_or_default();
    let level = !folder.is_empty() && folder.bytes().all(|byte| byte.is_ascii_digit());
    let temporary = family.starts_with(crate::target::TEMPORARY);
    level && (rest == "zarr.json" || temporary || FAMILIES.contains(&family))
}

/// Puts the marker at an address, after [`check`], and removes stale files; returns the marker, which [`abandon`] needs.
///
/// # Errors
/// As [`check`].
pub fn begin(
    target: &Target,
    address: &str,
    stale_files: StaleFiles,
    details: Value,
) -> Result<Vec<u8>, WriteError> {
    let mark = new_mark(details);
    begin_as(target, address, stale_files, &mark)?;
    Ok(mark)
}

/// As [`begin`], with a marker that the caller made and recorded, so that it can resume.
///
/// # Errors
/// As [`check`].
pub fn begin_as(
    target: &Target,
    address: &str,
    stale_files: StaleFiles,
    mark: &[u8],
) -> Result<(), WriteError> {
    check(target, address, stale_files)?;
    if stale_files == StaleFiles::Remove {
        // If there is content without a marker, `check` has accepted it.
        let cleared = unfinished::clear(target, address)?;
        if !cleared && (target.exists(MARKER)? || target.any()?.is_some()) {
            target.clear(MARKER)?;
        }
    }
    let exists = |what: &str| Err(WriteError::exists(address, what));
    if !target.put_new(MARKER, mark.to_vec())? {
        let what = "another writer began at the same time";
        return Err(WriteError::busy(address, what));
    }
    // Another writer may have begun and finished before the marker was put.
    if target.exists(ROOT)? {
        target.remove_own(MARKER, mark)?;
        return exists("another store appeared");
    }
    Ok(())
}

/// Takes over a store that an interrupted writer began with the same details in its marker, with everything that it wrote. Returns the new marker, or
/// `None` if there is no such marker.
///
/// # Errors
/// [`WriteError::Busy`] if that writer is running, or another one takes over at the same time. I/O.
pub fn resume(
    target: &Target,
    address: &str,
    details: &Value,
) -> Result<Option<Vec<u8>>, WriteError> {
    let Some(seen) = target.see(MARKER)? else {
        return Ok(None);
    };
    let found: Value = serde_json::from_slice(&seen.bytes).unwrap_or_default();
    if found.get("details") != Some(details) {
        return Ok(None);
    }
    let by = Holder::of_marker(&seen.bytes);
    if let Some(by) = by.filter(Holder::is_another_that_runs) {
        let what = format!("an unfinished store is written there ({MARKER}), by {by}");
        return Err(WriteError::busy(address, what));
    }
    let mark = new_mark(details.clone());
    match target.replace(MARKER, &seen, mark.clone())? {
        Some(_) => Ok(Some(mark)),
        None => Err(WriteError::busy(
            address,
            "another writer takes over the unfinished store",
        )),
    }
}

/// Removes the written objects after a failure, if the marker is unchanged. If removing fails, the next writer does it, because the first failure is
/// reported.
pub fn abandon(target: &Target, mark: &[u8]) {
    if target
        .read(MARKER)
        .is_ok_and(|found| found.as_deref() == Some(mark))
        && target.clear_others(MARKER).is_ok()
    {
        let _ = target.remove_own(MARKER, mark);
        target.unmake();
    }
}

/// Puts the root, with which the store exists, and removes the marker and the objects below `notes`. All other objects must have been put before.
///
/// # Errors
/// [`WriteError::Exists`]: another writer was faster, or the marker is gone. [`WriteError::Tidying`]: the store is complete, but
/// the marker could not be removed. I/O.
pub fn commit(
    target: &Target,
    address: &str,
    root: String,
    notes: Option<&str>,
) -> Result<(), WriteError> {
    target.barrier()?;
    let Some(mark) = target.read(MARKER)? else {
        let what = format!("{MARKER} is gone: somebody removed what was written here");
        return Err(WriteError::exists(address, what));
    };
    if !target.put_new(ROOT, root.into_bytes())? {
        let what = "another store appeared while this one was written";
        return Err(WriteError::exists(address, what));
    }
    tidy(target, &mark, notes)
}

/// Removes the objects that [`commit`] removes, for a store whose root was put.
///
/// # Errors
/// [`WriteError::Tidying`].
pub fn tidy(target: &Target, mark: &[u8], notes: Option<&str>) -> Result<(), WriteError> {
    let tidied = notes.map_or(Ok(()), |notes| target.remove_below(notes));
    let tidied = tidied.and_then(|()| target.remove_own(MARKER, mark));
    tidied.map_err(|source| WriteError::Tidying {
        key: MARKER.to_owned(),
        source: Box::new(source),
    })
}

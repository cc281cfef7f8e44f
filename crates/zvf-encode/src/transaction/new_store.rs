//! A new store: the order in which its objects are written.
//!
//! ```text
//! zvf-unfinished.json     marker                         put only at an empty address
//! cells                   nothing names them yet
//! documents of arrays     their level does not exist yet
//! document of the level   its root does not exist yet
//! ── everything above is durable ──
//! zarr.json               the store exists               put only if absent
//! zvf-unfinished.json     removed
//! ```
//!
//! A crash before the last document leaves no store; because of the marker, the next writer may remove the content. A crash after it leaves a
//! complete store, and at most the marker, which readers ignore.

use serde_json::Value;

use crate::WriteError;
use crate::target::{SeenObject, TRUST, Target, is_held};
use crate::transaction::holder::Holder;
pub use crate::transaction::inside::check as check_address;
use crate::transaction::leftovers::{check_keys, check_leftovers, is_piece, is_written};
pub use crate::transaction::marker::COPIED;
use crate::transaction::marker::{MARKER, ROOT, StaleFiles, new_mark};
use crate::transaction::partition::unfinished;

/// Checks that a store may be written at an address: it is empty, or has stale files that may be removed.
///
/// # Cost
/// Two requests, and a listing.
///
/// # Errors
/// [`WriteError::Exists`]; [`WriteError::Busy`] if a writer is running there. I/O.
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
        // The files of a running writer are not stale, even if the caller allows their removal.
        let by = Holder::of_marker(&found);
        if let Some(by) = by.filter(Holder::is_another_that_runs) {
            let what = format!("an unfinished store is written there ({MARKER}), by {by}");
            return Err(WriteError::busy(address, what));
        }
        if stale_files == StaleFiles::Remove {
            return check_leftovers(target, address, &found);
        }
        return exists(format!(
            "an unfinished store is there ({MARKER}): its writer is running or was interrupted; if it was interrupted, --clear-leftovers removes its files (a --journal stays, and is continued)"
        ));
    }
    let Some(found) = target.any()? else {
        return Ok(());
    };
    if stale_files == StaleFiles::Refuse {
        return exists(format!(
            "found {found}, expected nothing there: it is other data, or was left by an interrupted writer"
        ));
    }
    // There is neither a root nor a marker: only files that must come from a writer of these stores may be removed.
    check_keys(target, address, is_piece)
}

/// Puts the marker at an address, after [`check`], and removes stale files; returns the marker, which [`abandon`] needs.
///
/// # Errors
/// As [`begin_as`].
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

/// Like [`begin`], with a marker that the caller made and recorded, so that it can resume.
///
/// # Errors
/// As [`check`]; [`WriteError::Busy`] also if another writer begins or takes over at the same time.
pub fn begin_as(
    target: &Target,
    address: &str,
    stale_files: StaleFiles,
    mark: &[u8],
) -> Result<(), WriteError> {
    check(target, address, stale_files)?;
    let exists = |what: &str| Err(WriteError::exists(address, what));
    let mut leftovers = false;
    if stale_files == StaleFiles::Remove && !unfinished::clear(target, address)? {
        if let Some(seen) = target.see(MARKER)? {
            // The writer of the replaced marker may still be running on another machine; without its marker it cannot commit.
            let held = is_held(&seen.bytes);
            replace_mark(target, address, &seen, mark)?;
            if target.exists(ROOT)? {
                target.unguard();
                target.remove_own(MARKER, mark)?;
                return exists("another program created a store there");
            }
            if held || Holder::of_marker(&seen.bytes).is_some_and(|by| by.is_elsewhere()) {
                // Within that time, the other writer checks its marker and stops.
                std::thread::sleep(TRUST * 2);
            }
            return target.clear_others(MARKER);
        }
        // `check` has accepted content without a marker.
        leftovers = target.any()?.is_some();
    }
    if !target.put_new(MARKER, mark.to_vec())? {
        let what = "another writer began at the same time";
        return Err(WriteError::busy(address, what));
    }
    // Another writer may have begun and finished before the marker was put.
    if target.exists(ROOT)? {
        target.remove_own(MARKER, mark)?;
        return exists("another program created a store there");
    }
    target.guard(address, MARKER, mark);
    // Under the marker, so that no other writer begins meanwhile.
    match leftovers {
        true => target.clear_others(MARKER),
        false => Ok(()),
    }
}

/// Takes over an unfinished store, with all objects written so far, from an interrupted writer whose marker has the same details. Returns the new
/// marker, or `None` if there is no such marker.
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
    let mark = new_mark(details.clone());
    replace_mark(target, address, &seen, &mark)?;
    Ok(Some(mark))
}

/// Replaces the marker of a writer that does not run on this machine.
///
/// # Errors
/// As [`resume`].
fn replace_mark(
    target: &Target,
    address: &str,
    seen: &SeenObject,
    mark: &[u8],
) -> Result<(), WriteError> {
    let by = Holder::of_marker(&seen.bytes);
    if let Some(by) = by.filter(Holder::is_another_that_runs) {
        let what = format!("an unfinished store is written there ({MARKER}), by {by}");
        return Err(WriteError::busy(address, what));
    }
    match target.take_over(MARKER, seen, mark.to_vec())? {
        Some(_) => {
            target.guard(address, MARKER, mark);
            Ok(())
        }
        None => Err(WriteError::busy(
            address,
            "another writer is taking over the unfinished store",
        )),
    }
}

/// Whether an unfinished store has one of the markers that earlier runs of a writer put.
///
/// # Errors
/// I/O.
pub fn is_marked_by(target: &Target, earlier: &[Vec<u8>]) -> Result<bool, WriteError> {
    if earlier.is_empty() || target.exists(ROOT)? {
        return Ok(false);
    }
    Ok(target
        .read(MARKER)?
        .is_some_and(|mark| earlier.contains(&mark)))
}

/// Like [`begin_as`], for an unfinished store with a marker that an earlier run of this writer put: removes the files of that run. Returns `false`, and
/// does nothing, if the store has no such marker.
///
/// # Errors
/// As [`resume`].
pub fn begin_again(
    target: &Target,
    address: &str,
    earlier: &[Vec<u8>],
    mark: &[u8],
) -> Result<bool, WriteError> {
    if !is_marked_by(target, earlier)? {
        return Ok(false);
    }
    check_keys(target, address, is_written)?;
    if !take_over(target, address, earlier, mark)? {
        return Ok(false);
    }
    target.clear_others(MARKER)?;
    Ok(true)
}

/// Replaces a marker that an earlier run of this writer put, and keeps the files of that run. Returns `false`, and does nothing, if there is no such
/// marker.
///
/// # Errors
/// As [`resume`].
pub fn take_over(
    target: &Target,
    address: &str,
    earlier: &[Vec<u8>],
    mark: &[u8],
) -> Result<bool, WriteError> {
    let seen = target.see(MARKER)?;
    match seen.filter(|seen| earlier.contains(&seen.bytes)) {
        Some(seen) => replace_mark(target, address, &seen, mark).map(|()| true),
        None => Ok(false),
    }
}

/// Removes the written objects after a failure, if the marker is unchanged. If this fails, the next writer removes them; the failure is not reported,
/// because an earlier one is.
pub fn abandon(target: &Target, mark: &[u8]) {
    if target
        .read(MARKER)
        .is_ok_and(|found| found.as_deref() == Some(mark))
        && check_leftovers(target, "", mark).is_ok()
        && target.clear_others(MARKER).is_ok()
    {
        let _ = target.remove_own(MARKER, mark);
        target.unmake();
    }
}

/// Removes a store that [`commit`] completed with this root. The marker is put again before the root is removed, so that the next writer may remove what an
/// interrupted removal leaves.
///
/// # Errors
/// [`WriteError::Busy`]: another writer has begun to change the store. [`WriteError::Exists`]: another writer has changed it. It is not removed then.
/// I/O: the store, or a part of it, is still there.
pub fn withdraw(
    target: &Target,
    address: &str,
    root: &str,
    details: Value,
) -> Result<(), WriteError> {
    let mark = new_mark(details);
    if !target.put_new(MARKER, mark.clone())? {
        let what = format!("another writer changes the store ({MARKER})");
        return Err(WriteError::busy(address, what));
    }
    // Every change replaces the root.
    let found = target.read(ROOT);
    if !matches!(&found, Ok(Some(found)) if found == root.as_bytes()) {
        target.remove_own(MARKER, &mark)?;
        let what = "another program has changed the store since it was written";
        return found.and(Err(WriteError::exists(address, what)));
    }
    // Files of others may have come there meanwhile.
    if let Err(error) = check_keys(target, address, |key| key == ROOT || is_written(key)) {
        target.remove_own(MARKER, &mark)?;
        return Err(error);
    }
    target.remove(ROOT)?;
    target.clear_others(MARKER)?;
    target.remove_own(MARKER, &mark)?;
    target.unmake();
    Ok(())
}

/// Puts the root, which makes the store exist; then removes the objects below `notes`, and the marker, which [`begin`] returned. All other objects
/// must have been put before.
///
/// # Errors
/// [`WriteError::Exists`]: another writer was faster, or the marker is gone. [`WriteError::Busy`]: another writer has taken over the address; objects of
/// this store may be removed, even if the root was put. [`WriteError::Tidying`]: the store is complete, but the marker could not be removed. I/O.
pub fn commit(
    target: &Target,
    address: &str,
    root: String,
    mark: &[u8],
    notes: Option<&str>,
) -> Result<(), WriteError> {
    target.barrier()?;
    match target.read(MARKER)? {
        None => {
            let what = format!(
                "{MARKER} was removed while the store was written, and possibly the store's files with it"
            );
            return Err(WriteError::exists(address, what));
        }
        Some(found) if found != mark => return Err(taken_over(address)),
        Some(_) => {}
    }
    target.remove_temporary_beside_root()?;
    if !target.put_new(ROOT, root.into_bytes())? {
        let what = "another program created a store there while this one was written";
        return Err(WriteError::exists(address, what));
    }
    tidy(target, address, mark, notes)
}

/// Removes the objects that [`commit`] removes, for a store whose root was put.
///
/// # Errors
/// [`WriteError::Busy`]: another writer has taken over the address. [`WriteError::Tidying`]: an object could not be removed.
pub fn tidy(
    target: &Target,
    address: &str,
    mark: &[u8],
    notes: Option<&str>,
) -> Result<(), WriteError> {
    target.unguard();
    let tidied = notes.map_or(Ok(()), |notes| target.remove_below(notes));
    let tidied = tidied.and_then(|()| target.remove_own(MARKER, mark));
    match tidied {
        Ok(true) => Ok(()),
        Ok(false) => Err(taken_over(address)),
        Err(source) => Err(WriteError::Tidying {
            key: MARKER.to_owned(),
            source: Box::new(source),
        }),
    }
}

#[cold]
fn taken_over(address: &str) -> WriteError {
    let what = format!(
        "another writer has taken over this address ({MARKER}) and removes the files written so far"
    );
    WriteError::busy(address, what)
}

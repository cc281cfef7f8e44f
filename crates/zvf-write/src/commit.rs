//! The order in which a store appears.
//!
//! ```text
//! zvf-unfinished.json     somebody writes here           put only where nothing lies
//! cells                   nothing names them yet
//! documents of arrays     their level does not exist yet
//! document of the level   its root does not exist yet
//! ── everything above is durable ──
//! zarr.json               the store exists               put only where none lies
//! zvf-unfinished.json     removed
//! ```
//!
//! A crash before the last document leaves no store, and the marker, by which the next writer knows that what lies there
//! may go; a crash after it leaves a complete store, and at most the marker, which no reader looks at.

use serde_json::{Value, json};

use crate::WriteError;
use crate::target::Target;

/// The marker of a store that is being written.
pub(crate) const MARKER: &str = "zvf-unfinished.json";
/// The document that makes a store.
pub(crate) const ROOT: &str = "zarr.json";

/// What is done with what an interrupted writer left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Leftovers {
    /// It is an error that says so.
    #[default]
    Refuse,
    /// It is removed, if it is known to be the rest of a store that was never finished.
    Remove,
}

/// Whether a store may be written here: nothing lies there, or leftovers that may go.
pub(crate) fn check(
    target: &Target,
    address: &str,
    leftovers: Leftovers,
) -> Result<(), WriteError> {
    let exists = |what: String| {
        Err(WriteError::Exists {
            store: address.to_owned(),
            what,
        })
    };
    if target.exists(ROOT)? {
        return exists("there is a store or another Zarr group already".to_owned());
    }
    if target.exists(MARKER)? {
        return match leftovers {
            Leftovers::Remove => Ok(()),
            Leftovers::Refuse => exists(format!(
                "an unfinished store lies there ({MARKER}): another writer is at work, or was interrupted"
            )),
        };
    }
    match target.any()? {
        Some(found) => exists(format!("{found} lies there, expected nothing")),
        None => Ok(()),
    }
}

/// Marks the place as being written; returns the mark.
pub(crate) fn begin(
    target: &Target,
    address: &str,
    leftovers: Leftovers,
    details: Value,
) -> Result<Vec<u8>, WriteError> {
    let mark = new_mark(details);
    begin_as(target, address, leftovers, &mark)?;
    Ok(mark)
}

/// The mark of a store that is written now.
pub(crate) fn new_mark(details: Value) -> Vec<u8> {
    mark(
        "a Zarr Vectors store is being written here; without zarr.json beside it, it was never finished",
        details,
    )
}

/// Marks the place as being written by whoever knows this mark.
pub(crate) fn begin_as(
    target: &Target,
    address: &str,
    leftovers: Leftovers,
    mark: &[u8],
) -> Result<(), WriteError> {
    check(target, address, leftovers)?;
    if leftovers == Leftovers::Remove && target.exists(MARKER)? {
        target.clear(MARKER)?;
    }
    let exists = |what: &str| {
        Err(WriteError::Exists {
            store: address.to_owned(),
            what: what.to_owned(),
        })
    };
    if !target.put_new(MARKER, mark.to_vec())? {
        return exists("another writer began at the same time");
    }
    // Another writer may have begun and finished between the look and the marker.
    if target.exists(ROOT)? {
        target.remove(MARKER)?;
        return exists("another store appeared");
    }
    Ok(())
}

/// Removes what was written after a failure, if the place still bears the mark. A failure to remove leaves it to the
/// next writer: the first failure is the one to tell.
pub(crate) fn abandon(target: &Target, mark: &[u8]) {
    if target
        .read(MARKER)
        .is_ok_and(|found| found.as_deref() == Some(mark))
    {
        let _ = target.clear(MARKER);
    }
}

/// Makes the store: everything was put before. Objects below `notes` are of no use after it.
pub(crate) fn commit(
    target: &Target,
    address: &str,
    root: String,
    notes: Option<&str>,
) -> Result<(), WriteError> {
    target.barrier()?;
    if !target.put_new(ROOT, root.into_bytes())? {
        let what = "another store appeared while this one was written".to_owned();
        return Err(WriteError::Exists {
            store: address.to_owned(),
            what,
        });
    }
    let tidied = notes.map_or(Ok(()), |notes| target.remove_below(notes));
    let tidied = tidied.and_then(|()| target.remove(MARKER));
    tidied.map_err(|source| WriteError::Tidying {
        key: MARKER.to_owned(),
        source: Box::new(source),
    })
}

/// The bytes of a marker that no other writer has.
pub(crate) fn mark(what: &str, details: Value) -> Vec<u8> {
    let marker = json!({
        "what": what,
        // Two writers that begin at once must not take each other's marker for their own.
        "writer": format!("{}-{:x}", std::process::id(), unique()),
        "details": details,
    });
    marker.to_string().into_bytes()
}

/// A number that no other writer has.
pub(crate) fn unique() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
}

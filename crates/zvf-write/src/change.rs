//! A change of a store that exists: one writer at a time, and no other's work is ever replaced.
//!
//! ```text
//! zvf-unfinished.json   put if absent: one change at a time
//! …                     objects that no reader asks for yet
//! zarr.json             replaced, if it is still the one that was read
//! zvf-unfinished.json   removed
//! ```
//!
//! The marker keeps writers of this crate apart; the root is compared because others do not know the marker. In a bucket
//! the comparison is the backend's (`If-Match`); on a local disk the root is read again right before it is renamed over,
//! so that a foreign writer has to come within microseconds to be missed.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::WriteError;
use crate::commit::{Leftovers, MARKER, ROOT, mark};
use crate::target::{Seen, Target};

/// A change that was begun.
#[derive(Debug)]
pub(crate) struct Change {
    target: Arc<Target>,
    address: String,
    mark: Vec<u8>,
    root: Seen,
}

impl Change {
    /// Marks an existing store as being changed and reads its root.
    ///
    /// `what` and `details` stand in the marker, for people and for whoever has to clear up.
    ///
    /// # Errors
    /// Misuse: no store; another change that goes on, or was interrupted ([`Change::interrupted`] says which). I/O.
    pub(crate) fn begin(
        target: Arc<Target>,
        address: &str,
        what: &str,
        details: Value,
    ) -> Result<Self, WriteError> {
        let missing = || WriteError::Missing {
            store: address.to_owned(),
        };
        if !target.exists(ROOT)? {
            return Err(missing());
        }
        let mark = mark(what, details);
        if !target.put_new(MARKER, mark.clone())? {
            return Err(WriteError::Busy {
                store: address.to_owned(),
                marker: MARKER,
            });
        }
        // Read under the marker: what is seen now is what the change builds on.
        let Some(root) = target.see(ROOT)? else {
            target.remove(MARKER)?;
            return Err(missing());
        };
        Ok(Self {
            target,
            address: address.to_owned(),
            mark,
            root,
        })
    }

    /// The details of a change that was begun here and not finished; `None` if there is none.
    ///
    /// # Errors
    /// I/O.
    pub(crate) fn interrupted(target: &Target) -> Result<Option<Value>, WriteError> {
        let Some(found) = target.read(MARKER)? else {
            return Ok(None);
        };
        // A marker of no known form is a change all the same.
        Ok(Some(serde_json::from_slice(&found).unwrap_or(json!({}))))
    }

    /// The bytes of the root document that the change builds on.
    pub(crate) fn root(&self) -> &[u8] {
        &self.root.bytes
    }

    /// Replaces the root, if nobody did since it was read. May be called again.
    ///
    /// # Errors
    /// [`WriteError::Changed`]: somebody else changed the store; the root was not touched. I/O.
    pub(crate) fn replace_root(&mut self, bytes: Vec<u8>) -> Result<(), WriteError> {
        self.target.barrier()?;
        match self.target.replace(ROOT, &self.root, bytes)? {
            Some(seen) => {
                self.root = seen;
                Ok(())
            }
            None => Err(WriteError::Changed {
                store: self.address.clone(),
            }),
        }
    }

    /// Ends the change.
    ///
    /// # Errors
    /// [`WriteError::Tidying`]: the store is as it shall be, but the marker is still there.
    pub(crate) fn finish(self) -> Result<(), WriteError> {
        self.target
            .remove(MARKER)
            .map_err(|source| WriteError::Tidying {
                key: MARKER.to_owned(),
                source: Box::new(source),
            })
    }

    /// Ends a change that did not come about: removes `groups`, which nobody reads, and the marker. A failure to remove
    /// leaves it to the next writer: the first failure is the one to tell.
    pub(crate) fn abandon(self, groups: &[String]) {
        let ours = self
            .target
            .read(MARKER)
            .is_ok_and(|found| found.as_deref() == Some(&*self.mark));
        if ours
            && groups
                .iter()
                .all(|group| self.target.remove_below(group).is_ok())
        {
            let _ = self.target.remove(MARKER);
        }
    }

    /// Takes over what an interrupted change left: removes `groups`, which nobody reads, then the marker.
    ///
    /// # Errors
    /// Misuse: `leftovers` refuses. I/O.
    pub(crate) fn clear_interrupted(
        target: &Target,
        address: &str,
        leftovers: Leftovers,
        groups: &[String],
    ) -> Result<(), WriteError> {
        if leftovers == Leftovers::Refuse {
            return Err(WriteError::Busy {
                store: address.to_owned(),
                marker: MARKER,
            });
        }
        groups
            .iter()
            .try_for_each(|group| target.remove_below(group))?;
        target.remove(MARKER)
    }
}

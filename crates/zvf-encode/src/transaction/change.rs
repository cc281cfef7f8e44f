//! A change of an existing store: one writer at a time, and the work of another writer is never replaced.
//!
//! ```text
//! zvf-unfinished.json   put if absent: one change at a time; renewed regularly, as a sign of life
//! …                     objects that no reader uses yet
//! zarr.json             replaced, if it is still the one that was read
//! zvf-unfinished.json   removed, if it is still ours
//! ```
//!
//! The marker excludes other writers of this crate; the root is compared because foreign writers do not know the marker. In a bucket the backend
//! compares (`If-Match`). On a local disk the root is read again right before it is replaced, so that only a foreign write within microseconds is
//! missed.
//!
//! The marker of a dead writer is removed by the next one: see [`lease`](crate::transaction::lease).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use zvf_store::{Class, IoError, StoreError};

use crate::WriteError;
use crate::target::{SeenObject, Target};
use crate::transaction::holder::Holder;
use crate::transaction::lease::{Lease, is_free};
use crate::transaction::marker::{MARKER, ROOT, mark};
use crate::transaction::unfinished::UnfinishedChanges;

/// A change of an existing store: one writer at a time, and the root is replaced only in the state in which it was read.
#[derive(Debug)]
pub struct Change {
    target: Arc<Target>,
    address: String,
    lease: Lease,
    root: SeenObject,
    /// The remains of changes whose markers this change took over.
    left: UnfinishedChanges,
    /// Whether a root was sent and its outcome is unknown.
    unsure: bool,
}

/// Which markers of other writers may be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// Markers whose lease has ended, whose writer has given them up, or whose change is complete: see [`is_free`](super::is_free).
    Expired,
    /// Any marker: the caller states that its writer is dead.
    Any,
}

/// The length and checksum of a root, by which a marker identifies the root that its change builds on.
fn sum(root: &[u8]) -> String {
    format!("{:x}-{:08x}", root.len(), crc32c::crc32c(root))
}

/// How often a change is begun: again if the root changed between reading it and putting the marker.
const ROUNDS: usize = 16;

impl Change {
    /// Marks an existing store as being changed and reads its root.
    ///
    /// `what` and `details` are stored in the marker, for users and for cleanup.
    ///
    /// # Errors
    /// [`WriteError::Busy`]: another change is running, or was interrupted (its marker in the store states which). [`WriteError::Changed`]: other writers
    /// kept changing the root. I/O, also if there is no store.
    pub fn begin(
        target: Arc<Target>,
        address: &str,
        what: &str,
        details: &Value,
        (take, length): (Take, Duration),
    ) -> Result<Self, WriteError> {
        for _ in 0..ROUNDS {
            let Some(root) = target.see(ROOT)? else {
                return Err(StoreError::no_root(address).into());
            };
            let marker = |left: &UnfinishedChanges| {
                let mut marker = mark(what, details.clone());
                // Settling the remains of other writers may change the root.
                if left.is_empty() && take == Take::Expired {
                    marker.insert("root".to_owned(), Value::from(sum(&root.bytes)));
                }
                if !left.is_empty() {
                    let after = json!({"edits": left.edits, "groups": left.groups});
                    marker.insert("after".to_owned(), after);
                }
                marker
            };
            let mut left = UnfinishedChanges::default();
            let mut lease = Lease::begin(&target, MARKER, marker(&left), length)?;
            if lease.is_none()
                && let Some((found, seen)) = may_take(&target, &root, take)?
            {
                left = found;
                lease = Lease::take(&target, MARKER, marker(&left), length, &seen)?;
            }
            let Some(lease) = lease else {
                let found = target.read(MARKER)?;
                return Err(WriteError::held(address, MARKER, found.as_deref()));
            };
            // Read under the marker, so that the change and the marker refer to the current root.
            let now = target.see(ROOT)?;
            match now {
                Some(now) if now.bytes == root.bytes => {
                    return Ok(Self {
                        target,
                        address: address.to_owned(),
                        lease,
                        root: now,
                        left,
                        unsure: false,
                    });
                }
                // This marker still records the remains of other writers, and the next round takes it over.
                _ if !left.is_empty() => lease.give_up(),
                _ => lease.end()?,
            }
        }
        Err(WriteError::changed(address))
    }

    /// The details of an unfinished change of this store; `None` if there is none.
    ///
    /// # Errors
    /// I/O.
    pub(crate) fn interrupted(target: &Target) -> Result<Option<Value>, WriteError> {
        let Some(found) = target.read(MARKER)? else {
            return Ok(None);
        };
        // A marker that cannot be parsed also belongs to a change.
        Ok(Some(serde_json::from_slice(&found).unwrap_or(json!({}))))
    }

    /// The bytes of the root document that the change builds on.
    pub fn root(&self) -> &[u8] {
        &self.root.bytes
    }

    /// The remains of changes whose markers this change took over. They must be settled first.
    pub(crate) fn left(&self) -> &UnfinishedChanges {
        &self.left
    }

    /// Records that the remains of other writers are settled.
    pub(crate) fn settled(&mut self) {
        self.left = UnfinishedChanges::default();
    }

    /// Checks that this change still holds the marker; called before committed objects are replaced.
    ///
    /// # Errors
    /// [`WriteError::Lost`].
    pub(crate) fn check(&self) -> Result<(), WriteError> {
        match self.lease.holds() {
            true => Ok(()),
            false => Err(self.lost()),
        }
    }

    /// Returns a function that reports whether this change certainly still holds the marker.
    pub fn watch(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        self.lease.watch()
    }

    /// Reads the marker, and fails if it belongs to another change: a forced take-over ([`Take::Any`]) does not wait until the lease ends.
    ///
    /// # Errors
    /// [`WriteError::Lost`].
    pub fn confirm(&self) -> Result<(), WriteError> {
        match self.lease.is_taken_over() {
            false => self.check(),
            true => Err(self.lost()),
        }
    }

    fn lost(&self) -> WriteError {
        WriteError::Lost {
            store: self.address.clone(),
        }
    }

    /// Replaces the root, if it is in the state in which it was read. May be called again.
    ///
    /// # Errors
    /// [`WriteError::Changed`]: another writer changed the store; the root was not touched. [`WriteError::Lost`]. I/O.
    pub fn replace_root(&mut self, bytes: Vec<u8>) -> Result<(), WriteError> {
        self.target.barrier()?;
        self.check()?;
        let done = self.target.replace(ROOT, &self.root, bytes);
        self.unsure = done.is_err();
        match done? {
            Some(seen) => {
                self.root = seen;
                Ok(())
            }
            None => Err(WriteError::changed(&self.address)),
        }
    }

    /// Ends the change.
    ///
    /// # Errors
    /// [`WriteError::Tidying`]: the store is complete, but the marker still exists.
    pub fn finish(self) -> Result<(), WriteError> {
        self.lease.end().map_err(|source| WriteError::Tidying {
            key: MARKER.to_owned(),
            source: Box::new(source),
        })
    }

    /// Ends a change before its commit: removes `groups`, which no reader uses, and the marker. If this fails, the next writer removes them; the
    /// failure is not reported, because an earlier one is.
    ///
    /// If a root was sent and its outcome is unknown, another root is put first, so that the sent one can no longer replace it. If that is
    /// impossible, nothing is removed, because the sent root may refer to it.
    pub fn abandon(mut self, groups: &[String]) {
        if self.unsure {
            let other = crate::transaction::root_mark::fenced(self.root());
            if self.replace_root(other).is_err() {
                return;
            }
        }
        let ours = self.left.is_empty() && self.lease.is_there();
        if ours
            && groups
                .iter()
                .all(|group| self.target.remove_below(group).is_ok())
        {
            let _ = self.lease.end();
        }
    }

    /// As [`abandon`](Self::abandon), for a change that failed with `error`; returns the error to report.
    #[must_use]
    pub fn fail(self, groups: &[String], error: WriteError) -> WriteError {
        let error = self.cause(error);
        self.abandon(groups);
        error
    }

    /// The cause of an error before the commit: a program that has taken this change over removes its files, so that reading or writing them fails.
    pub(crate) fn cause(&self, error: WriteError) -> WriteError {
        let stopped = matches!(error, WriteError::Store(StoreError::Io(IoError::Stopped)));
        if stopped || error.class() != Class::Io || !self.lease.is_taken_over() {
            return error;
        }
        let what = "another program has taken this change over, and nothing of it was stored";
        WriteError::busy(&self.address, what)
    }

    /// Whether another writer has certainly taken this change over, and no root of this change can be in the store.
    pub(crate) fn is_void(&self) -> bool {
        !self.unsure && self.lease.is_taken_over()
    }

    /// Ends a change that is committed and applied, but not cleaned up: the next writer does that.
    pub(crate) fn give_up(self) {
        self.lease.give_up();
    }

    /// Keeps the marker; the writer that takes it over handles the rest.
    pub(crate) fn leave(self) {
        self.lease.leave();
    }
}

/// The marker if it may be taken over, and the possible remains of its change; `None` if no marker may be taken over.
fn may_take(
    target: &Target,
    root: &SeenObject,
    take: Take,
) -> Result<Option<(UnfinishedChanges, SeenObject)>, WriteError> {
    let Some(seen) = target.see(MARKER)? else {
        return Ok(None);
    };
    let marker: Value = serde_json::from_slice(&seen.bytes).unwrap_or_default();
    let Some(left) = UnfinishedChanges::of(&marker) else {
        return Ok(None);
    };
    let text = |name: &str| marker.get(name).and_then(Value::as_str);
    let (base, edit) = (text("root"), marker.pointer("/details/edit"));
    // If the root names no edit, and is not the one that the edit builds on, the edit is committed and applied, or can never be committed.
    let over = edit.is_some()
        && base.is_some_and(|base| base != sum(&root.bytes))
        && crate::transaction::root_mark::names_no_edit(&root.bytes);
    // A writer that certainly runs on this machine is not dead.
    let runs = Holder::of_marker(&seen.bytes).is_some_and(|by| by.is_another_that_runs());
    let by_force = take == Take::Any && !runs;
    let taken = by_force || is_free(target, &marker, &seen, (root, over))?;
    Ok(taken.then_some((left, seen)))
}

//! How an edit becomes visible at once: a redo log (see [`zvf_store::writing::Redo`]).
//!
//! ```text
//! 1  zvf-unfinished.json            one change at a time
//! 2  zvf-edit-<id>/<key>            every new object, under its own key in a folder that no reader uses
//!    zvf-edit-<id>/manifest.json    what is put and what is removed
//!    ── everything above is durable ──
//! 3  zarr.json                      the new root, which names the edit: this commits the edit
//! 4  <key>                          objects are copied into place (by the server; hard links on a disk), others are removed
//!    ── everything above is durable ──
//! 5  zarr.json                      the new root no longer names an edit
//! 6  zvf-edit-<id>/, zvf-unfinished.json   removed
//! ```
//!
//! A crash before 3 leaves the old store. A crash after 3 leaves the new one: readers of this workspace read from the folder, and any program can
//! repeat the remaining steps, as often as necessary.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use zvf_meta::RootDoc;
use zvf_store::StoreError;
use zvf_store::writing::Redo;

use crate::WriteError;
use crate::target::{ObjectPut, Stage, Target};
use crate::transaction::change::{Change, Take};
use crate::transaction::marker::{MARKER, ROOT, StaleFiles};
use crate::transaction::root_mark::{EditMark, fenced, named, new_id, with_mark};
use crate::transaction::unfinished::UnfinishedChanges;
use zvf_format::int::wide;

/// Objects that are copied together.
const BATCH: usize = 64;

/// A change of objects that readers use: it takes effect as a whole, with the root, or not at all.
#[derive(Debug)]
pub struct Transaction {
    target: Arc<Target>,
    address: String,
    /// Boxed, because a transaction is moved through the futures of edits, which are on the stack.
    change: Box<Change>,
    id: String,
}

/// How many objects a transaction changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangedObjects {
    /// Objects that were replaced or added.
    pub put: u64,
    /// Objects that were removed.
    pub removed: u64,
}

impl Transaction {
    /// Begins a transaction. An interrupted one is finished or rolled back first, if its lease has ended or `stale_files` allows it.
    ///
    /// # Errors
    /// [`StoreError::NoStore`]; [`WriteError::Busy`] if another change is running. I/O.
    pub fn begin(
        target: Arc<Target>,
        address: &str,
        stale_files: StaleFiles,
        lease: Duration,
    ) -> Result<Self, WriteError> {
        let take = match stale_files {
            StaleFiles::Refuse => Take::Expired,
            StaleFiles::Remove => Take::Any,
        };
        let id = new_id();
        let details = json!({"edit": id});
        let place = Arc::clone(&target);
        let change = Change::begin(place, address, "edit", &details, (take, lease))?;
        let change = Box::new(change);
        let mut transaction = Self {
            target,
            address: address.to_owned(),
            change,
            id,
        };
        // If the root names an edit whose marker is missing, the writer of that edit may still be running. Then the new marker stays without being
        // renewed: it stops that writer, and can be taken over later.
        let taken = !transaction.change.left().is_empty() || take == Take::Any;
        match transaction.doc().and_then(|doc| named(&doc)) {
            Ok(Some(_)) if !taken => {
                transaction.change.leave();
                Err(WriteError::held(address, Redo::ATTRIBUTE, None))
            }
            Err(error) if !taken => {
                transaction.abandon();
                Err(error)
            }
            _ => match settle_under(&mut transaction.change, &transaction.target) {
                Ok(_) => Ok(transaction),
                Err(error) => {
                    transaction.change.leave();
                    Err(error)
                }
            },
        }
    }

    /// The root that the edit builds on.
    pub fn doc(&self) -> Result<RootDoc, WriteError> {
        Ok(RootDoc::parse(self.change.root())?)
    }

    /// The bytes of the root that the edit builds on.
    pub fn root(&self) -> &[u8] {
        self.change.root()
    }

    /// The store that the edit changes.
    pub fn target(&self) -> Arc<Target> {
        Arc::clone(&self.target)
    }

    /// The id of the edit.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Makes all later writes to the target fail once the marker may have been taken over, also those outside of the folder of the edit.
    pub fn fence(&self) {
        self.target.fence(&self.address, self.change.watch());
    }

    /// Rolls back: the store is unchanged.
    pub fn abandon(self) {
        let folder = Redo::folder_of(&self.id);
        let void = self.change.is_void();
        self.change.abandon(std::slice::from_ref(&folder));
        if void {
            // Removes files that were put after the other program had removed the folder. An error is ignored, because an earlier one is reported.
            let _ = self.target.remove_below(&folder);
        }
    }

    /// Rolls back after `error`; returns the error to report: if another program has taken this change over, that is the cause.
    #[must_use]
    pub fn fail(self, error: WriteError) -> WriteError {
        let error = self.change.cause(error);
        self.abandon();
        error
    }

    /// Commits: `objects` are put, the keys of `removed` are removed, `root` is the new root.
    ///
    /// # Errors
    /// If [`WriteError::is_committed`], the edit took effect in spite of the error. Otherwise the store is unchanged.
    pub fn commit(
        self,
        objects: impl Iterator<Item = Result<Vec<ObjectPut>, WriteError>>,
        removed: BTreeSet<String>,
        root: &RootDoc,
    ) -> Result<ChangedObjects, WriteError> {
        let put = match self.stage(objects) {
            Ok(put) => put,
            Err(error) => return Err(self.fail(error)),
        };
        self.commit_staged(put, removed, root)
    }

    /// Like [`commit`](Self::commit), with a root of exactly these bytes.
    pub fn commit_exact(
        self,
        objects: Vec<ObjectPut>,
        root: Vec<u8>,
    ) -> Result<ChangedObjects, WriteError> {
        let staged = RootDoc::parse(&root)
            .map_err(WriteError::from)
            .and_then(|doc| Ok((doc, self.stage([Ok(objects)].into_iter())?)));
        match staged {
            Ok((doc, put)) => {
                let named = with_mark(&doc, EditMark::Committed(&self.id));
                self.commit_roots(put, BTreeSet::new(), named, root)
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Like [`commit`](Self::commit), for objects that are already in the folder of the transaction.
    pub fn commit_staged(
        self,
        put: BTreeSet<String>,
        removed: BTreeSet<String>,
        root: &RootDoc,
    ) -> Result<ChangedObjects, WriteError> {
        let named = with_mark(root, EditMark::Committed(&self.id));
        let plain = with_mark(root, EditMark::Done(&self.id));
        self.commit_roots(put, removed, named, plain)
    }

    /// `named` is the root that names the edit, `plain` the root after it.
    fn commit_roots(
        mut self,
        put: BTreeSet<String>,
        removed: BTreeSet<String>,
        named: Vec<u8>,
        plain: Vec<u8>,
    ) -> Result<ChangedObjects, WriteError> {
        let staged = match self.list(put, removed) {
            Ok(staged) => staged,
            Err(error) => return Err(self.fail(error)),
        };
        let written = ChangedObjects {
            put: wide(staged.put().count()),
            removed: wide(staged.removed().count()),
        };
        if let Err(error) = self.change.replace_root(named) {
            // The root may have been put although its answer was lost.
            let sent = !matches!(error, WriteError::Changed { .. } | WriteError::Lost { .. });
            if sent && current(&self.target).is_ok_and(|id| id.as_ref() == Some(&self.id)) {
                self.change.leave();
                return Err(pending(&self.address, error));
            }
            return Err(self.fail(error));
        }
        let carried_out = apply(&self.change, &self.target, &staged)
            .and_then(|()| self.change.replace_root(plain));
        if let Err(error) = carried_out {
            let id = current(&self.target);
            self.change.leave();
            return match id {
                // The program that took over this change has applied it.
                Ok(id) if id.as_ref() != Some(&self.id) => Ok(written),
                _ => Err(pending(&self.address, error)),
            };
        }
        let folder = Redo::folder_of(&self.id);
        if let Err(source) = self.target.remove_below(&folder) {
            self.change.give_up();
            return Err(WriteError::Tidying {
                key: folder,
                source: Box::new(source),
            });
        }
        self.change.finish().map(|()| written)
    }

    /// Puts objects into the folder of the edit; returns their keys.
    fn stage(
        &self,
        objects: impl Iterator<Item = Result<Vec<ObjectPut>, WriteError>>,
    ) -> Result<BTreeSet<String>, WriteError> {
        let stage = Stage::new(Redo::folder_of(&self.id), BTreeSet::new());
        for some in objects {
            stage.put(&self.target, some?)?;
        }
        Ok(stage.finish().put)
    }

    /// Puts the list of the objects that the edit puts and removes into its folder.
    fn list(&self, put: BTreeSet<String>, removed: BTreeSet<String>) -> Result<Redo, WriteError> {
        let removed = removed.difference(&put).cloned().collect::<Vec<_>>();
        let redo = Redo::new(&self.id, put, removed)?;
        // After the commit, the edit must be applicable.
        self.target.check(redo.put().chain(redo.removed()))?;
        let manifest = (Redo::manifest_of(&self.id), redo.to_json().into_bytes());
        self.target.put(vec![manifest])?;
        Ok(redo)
    }
}

/// The edit is committed, but not applied.
#[cold]
fn pending(address: &str, source: WriteError) -> WriteError {
    WriteError::Pending {
        store: address.to_owned(),
        source: Box::new(source),
    }
}

/// Whether a root that cannot be parsed may name an edit.
fn mentions_edit(root: &[u8]) -> bool {
    let name = Redo::ATTRIBUTE.as_bytes();
    root.windows(name.len()).any(|part| part == name)
}

/// The edit that the root names now.
fn current(target: &Target) -> Result<Option<String>, WriteError> {
    match target.read(ROOT)? {
        Some(root) => named(&RootDoc::parse(&root)?),
        None => Ok(None),
    }
}

/// Copies the objects of an edit into place, and removes the removed ones. May be repeated.
///
/// Programs that do not support the log must not see a coarse level while its cells change: its document is removed first, and put last.
fn apply(change: &Change, target: &Target, redo: &Redo) -> Result<(), WriteError> {
    let (levels, others): (Vec<&str>, Vec<&str>) = redo.put().partition(|key| is_coarse(key));
    let gone = redo.removed().filter(|key| is_coarse(key));
    let mut hidden = levels.iter().copied().chain(gone);
    // A writer that was assumed dead must not revert a later edit here.
    let remove = |key: &str| change.check().and_then(|()| target.remove(key));
    hidden.try_for_each(remove)?;
    copy(change, target, redo, &others)?;
    let removed: Vec<&str> = redo.removed().collect();
    for some in removed.chunks(BATCH) {
        // Unlike copies, removals would succeed after another program has finished this edit.
        change.confirm()?;
        some.iter().try_for_each(|key| remove(key))?;
    }
    target.prune(redo.removed());
    copy(change, target, redo, &levels)
}

/// Whether a key is the document of a coarse level.
fn is_coarse(key: &str) -> bool {
    let level = key.strip_suffix("/zarr.json");
    level.is_some_and(|level| level.parse::<u32>().is_ok_and(|level| level > 0))
}

fn copy(change: &Change, target: &Target, redo: &Redo, keys: &[&str]) -> Result<(), WriteError> {
    for some in keys.chunks(BATCH) {
        let copies = some.iter().map(|key| (redo.staged(key), (*key).to_owned()));
        target.copy_while(copies.collect(), || change.check())?;
    }
    Ok(())
}

/// The result of [`settle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Nothing was interrupted.
    Nothing,
    /// An edit was already committed, and is now applied.
    Finished,
    /// An edit was not committed; its remains are removed.
    TakenBack,
}

/// Finishes an interrupted change, or rolls it back if its root was not put yet.
///
/// For a change whose writer has ended or has lost its marker. A writer that is still running fails because the root has changed, or stops because its
/// marker was taken over.
pub fn settle(target: &Arc<Target>, address: &str, lease: Duration) -> Result<Settled, WriteError> {
    let Some(root) = target.read(ROOT)? else {
        return Err(StoreError::no_root(address).into());
    };
    match Change::interrupted(target)? {
        None => {
            if named(&RootDoc::parse(&root)?)?.is_none() {
                return Ok(Settled::Nothing);
            }
        }
        // Another kind of change: only its own command can finish it.
        Some(marker) if UnfinishedChanges::of(&marker).is_none() => {
            let found = target.read(MARKER)?;
            return Err(WriteError::held(address, MARKER, found.as_deref()));
        }
        Some(_) => {}
    }
    let details = json!({"edit": new_id()});
    let place = Arc::clone(target);
    let mut change = Change::begin(place, address, "resume", &details, (Take::Any, lease))?;
    match settle_under(&mut change, target) {
        Ok(done) => change.finish().map(|()| done),
        Err(error) => {
            change.leave();
            Err(error)
        }
    }
}

/// Settles the remains that a change found when it began, under its own marker.
fn settle_under(change: &mut Change, target: &Target) -> Result<Settled, WriteError> {
    let mut left = change.left().clone();
    let root = change.root().to_vec();
    let done = match RootDoc::parse(&root) {
        // This root cannot be parsed and mentions no edit, so no edit is committed: the marker is that of a repair.
        Err(_) if !left.edits.is_empty() && !mentions_edit(&root) => Settled::TakenBack,
        Err(error) => return Err(error.into()),
        Ok(doc) => match named(&doc)? {
            Some(id) => {
                let key = Redo::manifest_of(&id);
                let Some(manifest) = target.read(&key)? else {
                    let expected = "the manifest of the edit that zarr.json names";
                    return Err(WriteError::input(key, "nothing", expected));
                };
                apply(change, target, &Redo::parse(&id, &manifest)?)?;
                change.replace_root(with_mark(&doc, EditMark::Done(&id)))?;
                left.edits.push(id);
                Settled::Finished
            }
            None if left.edits.is_empty() && left.groups.is_empty() => Settled::Nothing,
            None => {
                let last = doc.extra.get(Redo::LAST).and_then(Value::as_str);
                let mut counted = left.edits.iter().any(|id| Some(id.as_str()) == last);
                // The root that names the levels was the last step. A damaged root may have named levels that do not exist.
                let is_named = doc.multiscales.dataset(1).is_some();
                if is_named && target.exists("1/zarr.json")? {
                    counted |= !left.groups.is_empty();
                    left.groups.clear();
                }
                if counted {
                    Settled::Finished
                } else {
                    change.replace_root(fenced(&root))?;
                    Settled::TakenBack
                }
            }
        },
    };
    let folders = left.edits.iter().map(|id| Redo::folder_of(id));
    for group in folders.chain(left.groups) {
        change.check()?;
        target.remove_below(&group)?;
    }
    if done != Settled::Nothing {
        target.remove_temporary()?;
    }
    change.settled();
    Ok(done)
}

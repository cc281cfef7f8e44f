//! How an edit becomes visible at once: a redo log (see [`zvf_store::writing::Redo`]).
//!
//! ```text
//! 1  zvf-unfinished.json            one change at a time
//! 2  zvf-edit-<id>/<key>            every new object, under its own key in a folder that nobody reads
//!    zvf-edit-<id>/manifest.json    what is put and what is removed
//!    ── everything above is durable ──
//! 3  zarr.json                      the new root, which names the edit: from here on it counts
//! 4  <key>                          objects are copied to where they belong, others are removed
//!    ── everything above is durable ──
//! 5  zarr.json                      the new root names no edit any more
//! 6  zvf-edit-<id>/, zvf-unfinished.json   removed
//! ```
//!
//! A crash before 3 leaves the old store. A crash after 3 leaves the new one: readers of this workspace look into the
//! folder, and the steps that are left can be repeated by anybody, as often as it takes.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use zvf_meta::RootDoc;
use zvf_store::writing::Redo;

use crate::WriteError;
use crate::change::Change;
use crate::commit::{Leftovers, MARKER, ROOT, unique};
use crate::shard::Object;
use crate::target::Target;

/// Objects that are copied at a time.
const BATCH: usize = 64;

/// An edit that was begun.
#[derive(Debug)]
pub(crate) struct Journal {
    target: Arc<Target>,
    address: String,
    change: Change,
    id: String,
}

/// What an edit did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// Objects that were replaced or added.
    pub(crate) put: u64,
    /// Objects that were removed.
    pub(crate) removed: u64,
}

impl Journal {
    /// Begins an edit. One that was interrupted is finished, or taken back, first, where `leftovers` allows it.
    pub(crate) fn begin(
        target: Arc<Target>,
        address: &str,
        leftovers: Leftovers,
    ) -> Result<Self, WriteError> {
        if leftovers == Leftovers::Remove {
            settle(&target, address)?;
        }
        let id = format!("{:x}", unique());
        let details = json!({"edit": id});
        let change = Change::begin(Arc::clone(&target), address, "edit", details)?;
        let journal = Self {
            target,
            address: address.to_owned(),
            change,
            id,
        };
        // Without a marker that should not be; the edit that is named would be lost.
        match journal.doc().and_then(|doc| named(&doc)) {
            Ok(None) => Ok(journal),
            Ok(Some(_)) => {
                let store = journal.address.clone();
                journal.abandon();
                Err(WriteError::Busy {
                    store,
                    marker: Redo::ATTRIBUTE,
                })
            }
            Err(error) => {
                journal.abandon();
                Err(error)
            }
        }
    }

    /// The root that the edit builds on.
    pub(crate) fn doc(&self) -> Result<RootDoc, WriteError> {
        Ok(RootDoc::parse(self.change.root())?)
    }

    /// The bytes of the root that the edit builds on.
    pub(crate) fn root(&self) -> &[u8] {
        self.change.root()
    }

    /// The id of the edit.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Gives the edit up: the store is as it was.
    pub(crate) fn abandon(self) {
        self.change.abandon(&[Redo::folder_of(&self.id)]);
    }

    /// Makes the edit: `objects` are put, `removed` are removed, `root` is the new root.
    ///
    /// # Errors
    /// Where [`WriteError::is_committed`] says so, the edit counts all the same. Else the store is as it was.
    pub(crate) fn commit(
        self,
        objects: impl Iterator<Item = Result<Vec<Object>, WriteError>>,
        removed: BTreeSet<String>,
        root: &RootDoc,
    ) -> Result<Written, WriteError> {
        let put = match self.stage(objects) {
            Ok(put) => put,
            Err(error) => {
                self.abandon();
                return Err(error);
            }
        };
        self.commit_staged(put, removed, root)
    }

    /// As [`commit`](Self::commit), of a root that is to have exactly these bytes.
    pub(crate) fn commit_exact(
        self,
        objects: Vec<Object>,
        root: Vec<u8>,
    ) -> Result<Written, WriteError> {
        let staged = RootDoc::parse(&root)
            .map_err(WriteError::from)
            .and_then(|doc| Ok((doc, self.stage([Ok(objects)].into_iter())?)));
        match staged {
            Ok((doc, put)) => {
                let named = under(&doc, Some(&self.id));
                self.commit_roots(put, BTreeSet::new(), named, root)
            }
            Err(error) => {
                self.abandon();
                Err(error)
            }
        }
    }

    /// As [`commit`](Self::commit), of objects that lie in the folder of the edit already.
    pub(crate) fn commit_staged(
        self,
        put: BTreeSet<String>,
        removed: BTreeSet<String>,
        root: &RootDoc,
    ) -> Result<Written, WriteError> {
        let (named, plain) = (under(root, Some(&self.id)), under(root, None));
        self.commit_roots(put, removed, named, plain)
    }

    /// `named` is the root that names the edit, `plain` the one that comes after it.
    fn commit_roots(
        mut self,
        put: BTreeSet<String>,
        removed: BTreeSet<String>,
        named: Vec<u8>,
        plain: Vec<u8>,
    ) -> Result<Written, WriteError> {
        let staged = match self.list(put, removed) {
            Ok(staged) => staged,
            Err(error) => {
                self.abandon();
                return Err(error);
            }
        };
        let written = Written {
            put: crate::int::wide(staged.put().count()),
            removed: crate::int::wide(staged.removed().count()),
        };
        if let Err(error) = self.change.replace_root(named) {
            // The answer may have been lost, and not the root.
            match (&error, current(&self.target)) {
                (WriteError::Changed { .. }, _) => self.abandon(),
                (_, Ok(Some(id))) if id == self.id => {
                    return Err(pending(&self.address, error));
                }
                (_, Ok(_)) => self.abandon(),
                (_, Err(_)) => {}
            }
            return Err(error);
        }
        let failed = |error| pending(&self.address, error);
        apply(&self.target, &staged).map_err(failed)?;
        self.change.replace_root(plain).map_err(failed)?;
        let folder = Redo::folder_of(&self.id);
        self.target
            .remove_below(&folder)
            .map_err(|source| WriteError::Tidying {
                key: folder,
                source: Box::new(source),
            })?;
        self.change.finish().map(|()| written)
    }

    /// Lays objects into the folder of the edit; returns their keys.
    fn stage(
        &self,
        objects: impl Iterator<Item = Result<Vec<Object>, WriteError>>,
    ) -> Result<BTreeSet<String>, WriteError> {
        let folder = Redo::folder_of(&self.id);
        let mut put = BTreeSet::new();
        for some in objects {
            let some = some?;
            put.extend(some.iter().map(|(key, _)| key.clone()));
            let staged = |(key, bytes)| (format!("{folder}/{key}"), bytes);
            self.target.put(some.into_iter().map(staged).collect())?;
        }
        Ok(put)
    }

    /// Writes what the edit puts and removes into its folder.
    fn list(&self, put: BTreeSet<String>, removed: BTreeSet<String>) -> Result<Redo, WriteError> {
        let removed = removed.difference(&put).cloned().collect::<Vec<_>>();
        let redo = Redo::new(&self.id, put, removed)?;
        let manifest = (Redo::manifest_of(&self.id), redo.to_json().into_bytes());
        self.target.put(vec![manifest])?;
        Ok(redo)
    }
}

/// The edit counts, but is not carried out.
#[cold]
fn pending(address: &str, source: WriteError) -> WriteError {
    WriteError::Pending {
        store: address.to_owned(),
        source: Box::new(source),
    }
}

/// The bytes of a root that names an edit, or none.
fn under(root: &RootDoc, id: Option<&str>) -> Vec<u8> {
    let mut root = root.clone();
    match id {
        Some(id) => root
            .extra
            .insert(Redo::ATTRIBUTE.to_owned(), Value::from(id)),
        None => root.extra.remove(Redo::ATTRIBUTE),
    };
    root.to_json().into_bytes()
}

fn named(root: &RootDoc) -> Result<Option<String>, WriteError> {
    Ok(Redo::named(&root.extra)?)
}

/// Whether a root that cannot be read may name an edit.
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

/// Copies the objects of an edit to where they belong, and removes those that it removes. May be done again.
///
/// Programs that do not know the log find no coarse level while its cells change: its document goes first, and comes last.
fn apply(target: &Target, redo: &Redo) -> Result<(), WriteError> {
    let (levels, others): (Vec<&str>, Vec<&str>) = redo.put().partition(|key| is_coarse(key));
    let gone = redo.removed().filter(|key| is_coarse(key));
    let mut hidden = levels.iter().copied().chain(gone);
    hidden.try_for_each(|key| target.remove(key))?;
    copy(target, redo, &others)?;
    redo.removed().try_for_each(|key| target.remove(key))?;
    target.prune(redo.removed());
    copy(target, redo, &levels)
}

/// Whether a key is that of the document of a coarse level.
fn is_coarse(key: &str) -> bool {
    let level = key.strip_suffix("/zarr.json");
    level.is_some_and(|level| level.parse::<u32>().is_ok_and(|level| level > 0))
}

fn copy(target: &Target, redo: &Redo, keys: &[&str]) -> Result<(), WriteError> {
    for some in keys.chunks(BATCH) {
        let mut objects = Vec::with_capacity(some.len());
        for key in some {
            let staged = redo.staged(key);
            let Some(bytes) = target.read(&staged)? else {
                let expected = "the object that the edit puts";
                return Err(WriteError::input(staged, "nothing", expected));
            };
            objects.push(((*key).to_owned(), bytes));
        }
        target.put(objects)?;
    }
    Ok(())
}

/// What [`settle`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// Nothing was interrupted.
    Nothing,
    /// An edit counted already, and is carried out now.
    Finished,
    /// An edit did not count yet, and what it left is removed.
    TakenBack,
}

/// Finishes an edit that was interrupted, or takes it back where it did not count yet.
///
/// Its writer must be dead: one that goes on meanwhile finds the root changed and fails, but what it copies in its step 4
/// may come later than the next edit.
pub(crate) fn settle(target: &Target, address: &str) -> Result<Settled, WriteError> {
    let Some(root) = target.see(ROOT)? else {
        return Err(WriteError::Missing {
            store: address.to_owned(),
        });
    };
    let changed = || WriteError::Changed {
        store: address.to_owned(),
    };
    let left = Change::interrupted(target)?;
    let mark = left.as_ref().map(|mark| mark.pointer("/details/edit"));
    let ours = match mark {
        None => None,
        Some(Some(Value::String(id))) => {
            Some(Redo::new(id, [], []).map(|redo| redo.id().to_owned())?)
        }
        // Another kind of change: its own command knows what to do.
        Some(_) => {
            return Err(WriteError::Busy {
                store: address.to_owned(),
                marker: MARKER,
            });
        }
    };
    let doc = match RootDoc::parse(&root.bytes) {
        Ok(doc) => doc,
        // What cannot be read names no edit that counts: only the marker of a repair can lie beside it.
        Err(_) if ours.is_some() && !mentions_edit(&root.bytes) => {
            let folder = ours.iter().map(|id| Redo::folder_of(id));
            let groups: Vec<String> = folder.collect();
            Change::clear_interrupted(target, address, Leftovers::Remove, &groups)?;
            return Ok(Settled::TakenBack);
        }
        Err(error) => return Err(error.into()),
    };
    let done = match (named(&doc)?, &ours) {
        (Some(id), _) => {
            let key = Redo::manifest_of(&id);
            let Some(manifest) = target.read(&key)? else {
                let expected = "the manifest of the edit that zarr.json names";
                return Err(WriteError::input(key, "nothing", expected));
            };
            apply(target, &Redo::parse(&id, &manifest)?)?;
            target.barrier()?;
            target
                .replace(ROOT, &root, under(&doc, None))?
                .ok_or_else(changed)?;
            target.remove_below(&Redo::folder_of(&id))?;
            Settled::Finished
        }
        (None, Some(_)) => {
            // Other bytes of the same document: a writer that lives after all finds that the root is not the one it read.
            let mut bytes = root.bytes.clone();
            if bytes.ends_with(b"\n") {
                bytes.pop();
            } else {
                bytes.push(b'\n');
            }
            target.replace(ROOT, &root, bytes)?.ok_or_else(changed)?;
            Settled::TakenBack
        }
        (None, None) => return Ok(Settled::Nothing),
    };
    if let Some(id) = ours {
        let groups = [Redo::folder_of(&id)];
        Change::clear_interrupted(target, address, Leftovers::Remove, &groups)?;
    }
    Ok(done)
}

//! Changes existing levels as edits change level 0, through a redo log: objects that differ from the stored ones are staged in a folder that the new
//! root names.

use std::collections::BTreeSet;
use std::sync::Arc;

use zvf_meta::{LevelDoc, RootDoc};
use zvf_store::writing::Redo;
use zvf_store::{Need, Store};

use super::make::{Levels, MadeLevel};
use super::plan::WantedLevels;
use super::root;
use super::run::{PyramidReport, PyramidRun, level_documents, reported};
use super::spec::MOST_LEVELS;
use zvf_encode::target::{Stage, StagedObjects, node};
use zvf_encode::transaction::Transaction;
use zvf_encode::{StaleFiles, WriteError};

impl PyramidRun<'_> {
    /// Replaces the existing levels by others, or removes them.
    pub(super) fn replace(
        &self,
        store: &Store,
        wanted: Option<&WantedLevels<'_>>,
        report: PyramidReport,
    ) -> Result<PyramidReport, WriteError> {
        let journal = Transaction::begin(
            Arc::clone(self.target),
            self.address,
            StaleFiles::Refuse,
            self.options.lease,
        )?;
        let done = journal.doc().and_then(|root| {
            self.unchanged(&root, store)?;
            // Levels that the root does not name are ignored during a change, but are removed together with the others.
            let known = self.known(store)?;
            let store = self.reopen(journal.id())?;
            self.unchanged(&root, &store)?;
            self.stage((&store, known), root, wanted, journal.id())
        });
        let (levels, staged) = match done {
            Ok(done) => done,
            Err(error) => return Err(journal.fail(error)),
        };
        let root = self.recorded(&levels.root);
        let written = journal.commit_staged(staged.put, staged.removed, &root)?;
        let method = wanted.map(WantedLevels::method);
        let mut report = reported(PyramidReport { method, ..report }, levels);
        (report.put, report.removed) = (written.put, written.removed);
        Ok(report)
    }

    /// Opens the store together with the folder of the change, so that objects added to it later do not count as changes by another writer.
    fn reopen(&self, id: &str) -> Result<Store, WriteError> {
        let nothing = Redo::new(id, [], [])?.to_json().into_bytes();
        self.target.put(vec![(Redo::manifest_of(id), nothing)])?;
        self.open()
    }

    /// Stages the objects of a change of levels.
    fn stage(
        &self,
        (store, known): (&Store, BTreeSet<String>),
        mut root: RootDoc,
        wanted: Option<&WantedLevels<'_>>,
        id: &str,
    ) -> Result<(Levels, StagedObjects), WriteError> {
        let stage = Stage::new(Redo::folder_of(id), known);
        // Coarse levels that cannot be read are replaced and removed, too.
        let finest = self.handle.block_on(store.level(0, &Need::nothing()))?;
        let finest = finest.doc().clone();
        if matches!(wanted, Some(WantedLevels::Planned(_))) {
            // If levels are rebuilt in the same way, the root's members about them are kept.
            root::drop_capabilities(&mut root, &finest);
        } else {
            root::drop_levels(&mut root, &finest);
        }
        let levels = match wanted {
            Some(wanted) => self.make(store, root, wanted, Some(&stage))?,
            None => Levels {
                root,
                made: Vec::new(),
                chosen: None,
                mixed: None,
                held: 0,
            },
        };
        let read = self.handle.block_on(store.level(0, &Need::nothing()))?;
        self.handle.block_on(store.verify(read.next_round()))?;
        let mut staged = stage.finish();
        self.stage_documents(&levels.made, &mut staged, id)?;
        self.drop_empty_links(&mut staged, finest, id)?;
        Ok((levels, staged))
    }

    /// Stages the documents of all changed levels, since they are written last.
    fn stage_documents(
        &self,
        made: &[MadeLevel],
        staged: &mut StagedObjects,
        id: &str,
    ) -> Result<(), WriteError> {
        let folder = Redo::folder_of(id);
        for (key, bytes) in level_documents(made) {
            staged.removed.remove(&key);
            let group = key.trim_end_matches("zarr.json");
            let touches = |keys: &BTreeSet<String>| {
                let mut from = keys.range(group.to_owned()..);
                from.next().is_some_and(|key| key.starts_with(group))
            };
            let changed = touches(&staged.put) || touches(&staged.removed);
            if changed || self.target.read(&key)?.is_none_or(|found| found != bytes) {
                self.target.put(vec![(format!("{folder}/{key}"), bytes)])?;
                staged.put.insert(key);
            }
        }
        Ok(())
    }

    /// Removes the group of links of level 0, and its name in the level's document, if it has only links to levels that are removed.
    fn drop_empty_links(
        &self,
        staged: &mut StagedObjects,
        mut finest: LevelDoc,
        id: &str,
    ) -> Result<(), WriteError> {
        const GROUP: &str = "0/links/";
        let inside = |keys: &BTreeSet<String>| keys.iter().any(|key| key.starts_with(GROUP));
        if !inside(&staged.removed) || inside(&staged.put) || inside(&staged.same) {
            return Ok(());
        }
        let document = format!("{GROUP}zarr.json");
        if self.target.exists("0/links/0/zarr.json")? {
            return Ok(());
        }
        let left = self.target.keys_below("0/links")?;
        let stays = |key: &String| *key != document && !staged.removed.contains(key);
        if left.iter().any(stays) {
            return Ok(());
        }
        staged.removed.insert(document);
        // Copies of a store, and other programs, list the family even if it only has links between levels.
        let before = finest.arrays_present.len();
        finest.arrays_present.retain(|family| family != "links");
        if finest.arrays_present.len() < before {
            let (key, bytes) = node(0, finest.to_json());
            let folder = Redo::folder_of(id);
            self.target.put(vec![(format!("{folder}/{key}"), bytes)])?;
            staged.put.insert(key);
        }
        Ok(())
    }

    /// The keys of all objects of coarse levels, and of links of level 0 to them.
    fn known(&self, store: &Store) -> Result<BTreeSet<String>, WriteError> {
        let coarse = store.levels().iter().filter(|level| **level > 0);
        let mut groups: Vec<String> = coarse.map(ToString::to_string).collect();
        // Removed levels of other programs may have left their links.
        groups.extend((1..=MOST_LEVELS).map(|step| format!("0/links/+{step}")));
        let mut known = BTreeSet::new();
        for group in groups {
            known.extend(self.target.keys_below(&group)?);
        }
        Ok(known)
    }
}

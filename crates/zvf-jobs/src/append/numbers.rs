//! Assigns ids in the store to the objects of an append.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use zvf_convert::{IdMap, ObjectIds};
use zvf_edit::Edit;

use crate::JobError;
use crate::error::Result;

/// Most runs of consecutive ids in a message.
const LISTED: usize = 8;

/// The ids in the store of the objects of all files.
#[derive(Debug)]
pub(super) struct ObjectNumbering {
    taken: BTreeSet<i64>,
    /// Whether ids of the files are kept.
    pub(super) keep: bool,
    files: Vec<PathBuf>,
    map: IdMap,
    /// The ids in the store, by the id that [`IdMap`] makes of a file and an id in it.
    given: BTreeMap<i64, i64>,
    /// The ids in the store of objects without an id in their file.
    unnamed: Vec<i64>,
    next: Option<i64>,
    /// The new id of object 0, if the files number their objects from 0. Object N then gets this id plus N, whichever object is read first.
    first: Option<i64>,
    /// The first error of an assignment, which [`check`](Self::check) returns.
    wrong: Option<JobError>,
}

impl ObjectNumbering {
    /// Begins without any id. If the reader already made the ids of several files distinct, the rule is [`ObjectIds::Kept`] and `files` is empty.
    pub(super) fn of(edit: &Edit, rule: ObjectIds, files: &[PathBuf]) -> Result<Self> {
        let taken: BTreeSet<i64> = edit.object_ids().collect();
        let next = taken.last().map_or(Some(0), |last| last.checked_add(1));
        Ok(Self {
            taken,
            keep: rule != ObjectIds::New,
            files: files.to_vec(),
            map: IdMap::new(rule, files)?,
            given: BTreeMap::new(),
            unnamed: Vec::new(),
            next: next.map(|next| next.max(0)),
            first: None,
            wrong: None,
        })
    }

    /// For files that number their objects from 0: object N gets the next free id plus N.
    pub(super) fn follow(&mut self) {
        self.first = self.next;
    }

    /// All assigned ids, in rising order.
    pub(super) fn ids(&self) -> Vec<i64> {
        let all = self.given.values().chain(&self.unnamed).copied();
        Vec::from_iter(all.collect::<BTreeSet<i64>>())
    }

    /// The next new id.
    fn fresh(&mut self) -> i64 {
        // If no id is left, several objects get the last one, which `check` reports.
        let number = self.next.unwrap_or(i64::MAX);
        self.next = number.checked_add(1);
        number
    }

    /// The id in the store for object `id` of file number `file`.
    pub(super) fn of_file(&mut self, file: usize, id: i64) -> i64 {
        let id = match self.map.id(file, id) {
            Ok(id) => id,
            Err((found, expected)) => {
                let name = self
                    .files
                    .get(file)
                    .map_or_else(String::new, |file| format!("{}: ", file.display()));
                let wrong = || JobError::usage(format!("{name}found {found}, expected {expected}"));
                self.wrong.get_or_insert_with(wrong);
                id
            }
        };
        if let Some(known) = self.given.get(&id) {
            return *known;
        }
        let number = match (self.keep, self.first) {
            (true, _) => id,
            (false, Some(first)) => first.checked_add(id).unwrap_or_else(|| {
                let found = format!("found object {id} of the files, which would be numbered after object {first} of the store");
                let wrong = || JobError::usage(format!("{found}, expected ids of 64 bits"));
                self.wrong.get_or_insert_with(wrong);
                id
            }),
            (false, None) => self.fresh(),
        };
        self.given.insert(id, number);
        number
    }

    /// The id in the store for the `at`-th object without an id in file number `file`.
    pub(super) fn of_unnamed(&mut self, file: usize, at: i64, rule: ObjectIds) -> i64 {
        match rule {
            ObjectIds::FromFile | ObjectIds::Offset { .. } => self.of_file(file, at),
            ObjectIds::Kept | ObjectIds::New => {
                let number = self.fresh();
                self.unnamed.push(number);
                number
            }
        }
    }

    /// Checks the assigned ids after all objects have one.
    ///
    /// # Errors
    ///
    /// Usage: an id that could not be assigned, that two objects share, or that the store already has.
    pub(super) fn check(&mut self) -> Result<()> {
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        let all = self.given.values().chain(&self.unnamed);
        let count = self.given.len().saturating_add(self.unnamed.len());
        let distinct: BTreeSet<i64> = all.copied().collect();
        if distinct.len() < count {
            return Err(JobError::usage(format!(
                "objects: found {count} in the files, expected different ids; objects without an id in their file get \
                 one above {}, and ids have 64 bits: --new-ids gives all of them new ids",
                self.taken.last().copied().unwrap_or_default(),
            )));
        }
        let clash: Vec<i64> = distinct.intersection(&self.taken).copied().collect();
        match clash.first() {
            None => Ok(()),
            Some(_) => Err(JobError::usage(format!(
                "object {}: the store has {} already; --new-ids gives new ids, --id-offset N adds N, --id-from-file takes the number in the \
                 file's name, `zvf edit STORE delete` removes old objects, and `zvf edit STORE append` continues points, polylines and \
                 streamlines",
                listed(&clash),
                if clash.len() == 1 { "it" } else { "them" }
            ))),
        }
    }
}

/// Ids as text for users. Consecutive ids are written as `3-9`; a list with more than [`LISTED`] of these runs is cut.
pub(super) fn listed(ids: &[i64]) -> String {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for &id in ids {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(id) => *last = id,
            _ => runs.push((id, id)),
        }
    }
    let shown = runs.iter().take(LISTED).map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if runs.len() > LISTED {
        text.push_str(&format!(", .. ({} in all)", ids.len()));
    }
    text
}

//! Objects of a change, stored in a folder until it is committed.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::WriteError;
use crate::lock::lock;
use crate::target::{ObjectPut, Target};

/// The staging folder of a change. Objects that the store already has with the same bytes are not put into it.
#[derive(Debug)]
pub struct Stage {
    folder: String,
    /// The existing objects that the change replaces.
    known: BTreeSet<String>,
    done: Mutex<StagedKeys>,
}

/// Keys of objects that were put, and of objects that the store has with the same bytes.
#[derive(Debug, Default)]
struct StagedKeys {
    put: BTreeSet<String>,
    same: BTreeSet<String>,
}

/// The objects that a change puts and removes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StagedObjects {
    /// Keys of objects in the folder.
    pub put: BTreeSet<String>,
    /// Keys of known objects that the change no longer has.
    pub removed: BTreeSet<String>,
    /// Keys of unchanged objects.
    pub same: BTreeSet<String>,
}

impl Stage {
    /// A stage in a folder of the store that no reader uses.
    pub fn new(folder: String, known: BTreeSet<String>) -> Self {
        Self {
            folder,
            known,
            done: Mutex::default(),
        }
    }

    fn done(&self) -> MutexGuard<'_, StagedKeys> {
        lock(&self.done)
    }

    /// Puts objects into the folder, except for those that the store has with the same bytes.
    pub(crate) fn put(&self, target: &Target, objects: Vec<ObjectPut>) -> Result<(), WriteError> {
        let mut new = Vec::new();
        for (key, bytes) in objects {
            let known = self.known.contains(&key);
            if known && target.read(&key)?.is_some_and(|found| found == bytes) {
                self.done().same.insert(key);
                continue;
            }
            new.push((format!("{}/{key}", self.folder), bytes));
            self.done().put.insert(key);
        }
        target.put(new)
    }

    /// Whether the change has an object with this key.
    pub fn has(&self, key: &str) -> bool {
        let done = self.done();
        done.put.contains(key) || done.same.contains(key)
    }

    /// Returns the objects that the change puts and removes.
    pub fn finish(self) -> StagedObjects {
        let StagedKeys { put, same } = self
            .done
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let left = self.known.iter().filter(|key| !put.contains(*key));
        let removed = left.filter(|key| !same.contains(*key)).cloned().collect();
        StagedObjects { put, removed, same }
    }
}

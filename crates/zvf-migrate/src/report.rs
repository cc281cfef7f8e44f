//! The report of a copy: copied, repaired and lost content.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Counts of one level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LevelCounts {
    /// Number of the level.
    pub level: u32,
    /// Rows of all chunks.
    pub vertices: u64,
    /// Chunks.
    pub chunks: u64,
    /// Fragments.
    pub fragments: u64,
    /// Rows of the object index.
    pub objects: u64,
    /// Stored links of all families, each counted once.
    pub links: u64,
    /// Groups.
    pub groups: u64,
}

/// A defect of the old store that the new one does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Repair {
    /// The array, or another part of the store.
    pub place: String,
    /// The defect and its repair.
    pub what: Cow<'static, str>,
    /// Number of occurrences.
    pub count: u64,
}

/// Content that the new store lacks, or a defect that it keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Loss {
    /// The array, chunk or object.
    pub place: String,
    /// What is missing or doubtful, and why.
    pub what: String,
}

/// Counts of the compared content of a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verified {
    /// Rows, with position and all attributes.
    pub vertices: u64,
    /// Objects, row for row in manifest order.
    pub objects: u64,
    /// Links, with all attributes.
    pub links: u64,
    /// Values of objects and groups.
    pub values: u64,
}

/// The result of a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MigrationReport {
    /// Version of the old store, as stated by its root.
    pub from: String,
    /// Version of the new one.
    pub to: String,
    /// The levels.
    pub levels: Vec<LevelCounts>,
    /// The repairs.
    pub repairs: Vec<Repair>,
    /// The losses.
    pub losses: Vec<Loss>,
    /// Differences that are no defects.
    pub notes: Vec<String>,
    /// The comparison afterwards; `None` if it was skipped.
    pub verified: Option<Verified>,
}

impl MigrationReport {
    /// The report of a copy from `source` to `target` as JSON, in the form of `zvf migrate --json`.
    #[must_use]
    pub fn to_json(&self, source: &str, target: &str) -> Value {
        // The names of the members are part of the program's interface.
        json!({
            "source": source,
            "store": target,
            "from": self.from,
            "to": self.to,
            "levels": self.levels,
            "repairs": self.repairs,
            "losses": self.losses,
            "notes": self.notes,
            "verified": self.verified,
        })
    }
}

/// Largest number of losses that are listed; further ones are only counted.
const MOST: usize = 100;

/// Collects repairs, losses and notes of several threads.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    inner: Mutex<NotesInner>,
}

#[derive(Debug, Default)]
struct NotesInner {
    repairs: BTreeMap<(String, Cow<'static, str>), u64>,
    losses: Vec<Loss>,
    more: u64,
    notes: Vec<String>,
}

impl Notes {
    fn lock(&self) -> MutexGuard<'_, NotesInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a repair.
    pub(crate) fn repaired(&self, place: &str, what: impl Into<Cow<'static, str>>, count: u64) {
        if count > 0 {
            let mut inner = self.lock();
            let sum = inner
                .repairs
                .entry((place.to_owned(), what.into()))
                .or_default();
            *sum += count;
        }
    }

    /// Records a loss.
    pub(crate) fn lost(&self, place: impl Into<String>, what: impl Into<String>) {
        let loss = Loss {
            place: place.into(),
            what: what.into(),
        };
        let mut inner = self.lock();
        match inner.losses.len() >= MOST {
            _ if inner.losses.contains(&loss) => {}
            true => inner.more += 1,
            false => inner.losses.push(loss),
        }
    }

    /// Records a note, once.
    pub(crate) fn note(&self, what: impl Into<String>) {
        let what = what.into();
        let mut inner = self.lock();
        if !inner.notes.contains(&what) {
            inner.notes.push(what);
        }
    }

    /// The repairs and losses so far, and the number of losses that are only counted.
    pub(crate) fn so_far(&self) -> (Vec<Repair>, Vec<Loss>, u64) {
        let inner = self.lock();
        let repairs = inner.repairs.iter().map(|((place, what), count)| Repair {
            what: what.clone(),
            place: place.clone(),
            count: *count,
        });
        (repairs.collect(), inner.losses.clone(), inner.more)
    }

    /// Adds the repairs and losses that an earlier run recorded.
    pub(crate) fn add(&self, (repairs, losses, more): (Vec<Repair>, Vec<Loss>, u64)) {
        for one in repairs {
            self.repaired(&one.place, one.what, one.count);
        }
        for one in losses {
            self.lost(one.place, one.what);
        }
        self.lock().more += more;
    }

    /// Adds the repairs, losses and notes of `other`.
    pub(crate) fn absorb(&self, other: &Self) {
        self.add(other.so_far());
        let notes = other.lock().notes.clone();
        notes.into_iter().for_each(|note| self.note(note));
    }

    /// Moves everything into a report.
    pub(crate) fn finish(&self, report: &mut MigrationReport) {
        let mut inner = self.lock();
        let repairs = std::mem::take(&mut inner.repairs).into_iter();
        report
            .repairs
            .extend(repairs.map(|((place, what), count)| Repair { what, place, count }));
        report.losses.append(&mut inner.losses);
        report
            .losses
            .sort_by(|a, b| (&a.place, &a.what).cmp(&(&b.place, &b.what)));
        if inner.more > 0 {
            let what = format!("{} more losses", inner.more);
            let place = String::from("the store");
            report.losses.push(Loss { place, what });
        }
        report.notes.append(&mut inner.notes);
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, MigrationReport, Notes};

    /// A resumed copy reports as many losses as the runs before it found.
    #[test]
    fn losses_that_are_only_counted_are_carried_over() {
        let earlier = Notes::default();
        (0..MOST + 5).for_each(|one| earlier.lost(format!("{one}"), "gone"));
        let resumed = Notes::default();
        resumed.add(earlier.so_far());
        let mut report = MigrationReport::default();
        resumed.finish(&mut report);
        assert_eq!(report.losses.len(), MOST + 1);
        assert_eq!(report.losses[MOST].what, "5 more losses");
    }
}

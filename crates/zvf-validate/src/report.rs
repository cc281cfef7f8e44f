//! The result of a validation.

use std::collections::BTreeMap;

use zvf_meta::rules::Severity;

use crate::check::{Check, Depth};
use crate::finding::Finding;
use crate::measured::Measured;

/// The result of a validation: options, findings, counts, and the parts that were skipped.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// The address of the store.
    pub store: String,
    /// The version that the root states, as text; `None` if it cannot be read.
    pub version: Option<String>,
    /// The kind of geometry that decides how the store is read.
    pub kind: Option<String>,
    /// The deepest level of checks that ran.
    pub depth: Depth,
    /// Findings by code; those of one check in the order of levels, arrays and chunks. The same store and options give the same list.
    pub findings: Vec<Finding>,
    /// The number of violations of each check, including those that are not in the list.
    pub counts: BTreeMap<Check, u64>,
    /// The parts of the store that were skipped, and why.
    pub skipped: Vec<String>,
    /// The amount that was read.
    pub seen: Seen,
    /// Counted numbers, with [`ValidateOptions::measure`](crate::ValidateOptions::measure).
    pub measured: Option<Measured>,
}

/// The amount that a validation read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// Documents.
    pub documents: u64,
    /// Levels whose cells were read.
    pub levels: u64,
    /// Cells.
    pub cells: u64,
    /// Their decoded bytes.
    pub bytes: u64,
    /// Vertices.
    pub vertices: u64,
    /// Stored records of links.
    pub links: u64,
    /// Rows of object indexes.
    pub objects: u64,
}

impl Report {
    /// How often checks of a severity failed.
    #[must_use]
    pub fn count(&self, severity: Severity) -> u64 {
        self.counts
            .iter()
            .filter(|(check, _)| check.severity() == severity)
            .fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Whether no error was found.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.count(Severity::Error) == 0
    }

    /// Whether nothing as bad as `severity` was found.
    #[must_use]
    pub fn is_clean(&self, severity: Severity) -> bool {
        self.counts
            .iter()
            .all(|(check, count)| check.severity() < severity || *count == 0)
    }

    /// How often a check failed.
    #[must_use]
    pub fn count_of(&self, check: Check) -> u64 {
        self.counts.get(&check).copied().unwrap_or(0)
    }

    /// Checks with more violations than the list has, with the number of missing ones.
    #[must_use]
    pub fn dropped(&self) -> Vec<(Check, u64)> {
        let kept = |check: Check| {
            let kept = self.findings.iter().filter(|one| one.check == check);
            u64::try_from(kept.count()).unwrap_or(u64::MAX)
        };
        self.counts
            .iter()
            .map(|(check, count)| (*check, count.saturating_sub(kept(*check))))
            .filter(|(_, more)| *more > 0)
            .collect()
    }
}

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
    /// The kind of geometry that determines how the store is read.
    pub kind: Option<String>,
    /// The deepest level of checks that ran.
    pub depth: Depth,
    /// Findings by code; for one check in the order of levels, arrays and chunks. The same store and options give the same list.
    pub findings: Vec<Finding>,
    /// The number of violations of each check, including those not in the list.
    pub counts: BTreeMap<Check, u64>,
    /// The parts of the store that were skipped, with the reason.
    pub skipped: Vec<String>,
    /// What was read.
    pub seen: Seen,
    /// Counted numbers, with [`ValidateOptions::measure`](crate::ValidateOptions::measure).
    pub measured: Option<Measured>,
}

/// The amounts that a validation read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// Documents.
    pub documents: u64,
    /// Levels whose cells were read.
    pub levels: u64,
    /// Cells.
    pub cells: u64,
    /// Bytes of the decoded cells.
    pub bytes: u64,
    /// Vertices.
    pub vertices: u64,
    /// Stored records of links.
    pub links: u64,
    /// Rows of object indexes.
    pub objects: u64,
}

impl Report {
    /// Number of violations of a severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> u64 {
        self.counts
            .iter()
            .filter(|(check, _)| check.severity() == severity)
            .fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Whether there are no errors.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.count(Severity::Error) == 0
    }

    /// Whether there are no findings of this severity or worse.
    #[must_use]
    pub fn is_clean(&self, severity: Severity) -> bool {
        self.counts
            .iter()
            .all(|(check, count)| check.severity() < severity || *count == 0)
    }

    /// Number of violations of a check.
    #[must_use]
    pub fn count_of(&self, check: Check) -> u64 {
        self.counts.get(&check).copied().unwrap_or(0)
    }

    /// Checks with more violations than the list contains, with the number of omitted ones.
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

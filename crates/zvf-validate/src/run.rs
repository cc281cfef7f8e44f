//! The state that all parts of a validation share.

use std::collections::BTreeMap;

use zvf_store::StoreError;

use crate::chains::StepMultiset;
use crate::check::Check;
use crate::finding::{Findings, Place};
use crate::journal::ValidationJournal;
use crate::measured::{Measured, MeasuredLevel};
use crate::options::ValidateOptions;
use crate::report::Seen;

/// A running validation.
pub(crate) struct Session<'o> {
    pub(crate) options: &'o ValidateOptions,
    pub(crate) findings: Findings,
    pub(crate) seen: Seen,
    /// Whether a change of the store is unfinished. Readers ignore the objects that it wrote.
    pub(crate) is_unfinished: bool,
    pub(crate) skipped: Vec<String>,
    pub(crate) measured: Measured,
    /// Links between levels as multisets, by level and delta, of completely read families.
    pub(crate) between: BTreeMap<(u32, i32), StepMultiset>,
    /// The journal of this run, with the results of an interrupted earlier run.
    pub(crate) journal: Option<ValidationJournal>,
}

impl Session<'_> {
    /// Maximum number of concurrent batches.
    pub(crate) fn batches(&self) -> usize {
        let workers = std::thread::available_parallelism().map_or(2, usize::from);
        (workers * 2).clamp(2, 32)
    }

    /// The measured numbers of a level.
    pub(crate) fn measured(&mut self, level: u32) -> &mut MeasuredLevel {
        self.measured.levels.entry(level).or_default()
    }

    /// Turns a defect of the store into a finding, and returns any other error.
    pub(crate) fn keep<T>(
        &mut self,
        check: Check,
        place: impl FnOnce() -> Place,
        outcome: Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_defect() => {
                self.findings
                    .add(check, place(), &error, "what the format requires");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

//! The options of a validation.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use zvf_store::OpenOptions;

use crate::check::Depth;

/// The options of [`validate`](crate::validate).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ValidateOptions {
    /// The deepest level of checks. Default [`Depth::Consistency`].
    pub depth: Depth,
    /// The levels whose cells are read. Default all.
    pub levels: Option<Vec<u32>>,
    /// The arrays whose cells are read, by their path below the level or a prefix of it (`vertices`, `links/0`). Default all.
    pub arrays: Option<Vec<String>>,
    /// Reads only a sample of the cells. Default all cells.
    pub sample: Option<Sample>,
    /// The maximum number of findings of one check in the report; all are counted. Default 20.
    pub most: usize,
    /// Whether [`ParentThere`](crate::Check::ParentThere) is checked. Default false.
    pub coverage: bool,
    /// Additional checks for a particular use of the store. Default none.
    pub profile: Option<Profile>,
    /// Whether the report has [`Measured`](crate::Measured), which includes every document. Default false.
    pub measure: bool,
    /// A local file that records progress, so that the same validation, started again after an interruption, reads only the remaining cells. It is
    /// removed at the end, and started again if the options or a document of the store changed. A cell that was rewritten in the meantime is not read
    /// again. Default none.
    pub journal: Option<PathBuf>,
    /// Receives progress.
    pub progress: Progress,
    /// How the store is opened.
    pub open: OpenOptions,
}

impl Default for ValidateOptions {
    fn default() -> Self {
        Self {
            depth: Depth::Consistency,
            levels: None,
            arrays: None,
            sample: None,
            most: 20,
            coverage: false,
            profile: None,
            measure: false,
            journal: None,
            progress: Progress::default(),
            open: OpenOptions::default(),
        }
    }
}

impl ValidateOptions {
    /// All levels and arrays, up to the given depth.
    #[must_use]
    pub fn new(depth: Depth) -> Self {
        Self {
            depth,
            ..Self::default()
        }
    }

    /// Sets [`levels`](Self::levels).
    #[must_use]
    pub fn with_levels(mut self, levels: impl Into<Vec<u32>>) -> Self {
        self.levels = Some(levels.into());
        self
    }

    /// Sets [`arrays`](Self::arrays).
    #[must_use]
    pub fn with_arrays<T: Into<String>>(mut self, arrays: impl IntoIterator<Item = T>) -> Self {
        self.arrays = Some(arrays.into_iter().map(Into::into).collect());
        self
    }

    /// Sets [`sample`](Self::sample).
    #[must_use]
    pub fn with_sample(mut self, sample: Sample) -> Self {
        self.sample = Some(sample);
        self
    }

    /// Sets [`most`](Self::most).
    #[must_use]
    pub fn with_most(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// Sets [`coverage`](Self::coverage).
    #[must_use]
    pub fn with_coverage(mut self, coverage: bool) -> Self {
        self.coverage = coverage;
        self
    }

    /// Sets [`profile`](Self::profile).
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// Sets [`measure`](Self::measure).
    #[must_use]
    pub fn with_measure(mut self, measure: bool) -> Self {
        self.measure = measure;
        self
    }

    /// Sets [`journal`](Self::journal).
    #[must_use]
    pub fn with_journal(mut self, path: impl Into<PathBuf>) -> Self {
        self.journal = Some(path.into());
        self
    }

    /// Sets [`progress`](Self::progress).
    #[must_use]
    pub fn with_progress(mut self, call: impl Fn(&ValidationStep) + Send + Sync + 'static) -> Self {
        self.progress = Progress::to(call);
        self
    }

    /// Sets [`open`](Self::open).
    #[must_use]
    pub fn with_open(mut self, open: OpenOptions) -> Self {
        self.open = open;
        self
    }

    pub(crate) fn wants_level(&self, level: u32) -> bool {
        self.levels
            .as_ref()
            .is_none_or(|list| list.contains(&level))
    }

    /// Whether the cells of an array are read. `path` is inside the store.
    pub(crate) fn wants_array(&self, path: &str) -> bool {
        let Some(list) = &self.arrays else {
            return true;
        };
        let below = path.split_once('/').map_or("", |(_, below)| below);
        list.iter().any(|one| {
            below
                .strip_prefix(one.trim_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// A use of a store that has more requirements than the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Profile {
    /// Additionally checks whether viewers can show the store. The names of these checks begin with `viewer-`.
    Viewer,
}

/// How many cells of an array are read, and how they are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Number of chunks of a level, and of cells of each array of links.
    pub cells: usize,
    /// The same seed chooses the same cells.
    pub seed: u64,
}

impl Sample {
    /// The indexes of the cells that are read out of `count`, ascending: one from each of equal parts.
    pub(crate) fn choose(self, count: usize, salt: u64) -> Vec<usize> {
        if count <= self.cells {
            return (0..count).collect();
        }
        let mut state = self.seed ^ salt.rotate_left(17);
        (0..self.cells)
            .map(|at| {
                let part = |at: usize| {
                    usize::try_from(at as u128 * count as u128 / self.cells.max(1) as u128)
                        .unwrap_or(count)
                };
                let (from, to) = (part(at), part(at.saturating_add(1)));
                let width = to.saturating_sub(from).max(1);
                // SplitMix64.
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut mixed = state;
                mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                mixed ^= mixed >> 31;
                let step = usize::try_from(mixed % width as u64).unwrap_or(0);
                from.saturating_add(step).min(count.saturating_sub(1))
            })
            .collect()
    }
}

/// The progress of one part of a validation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValidationStep {
    /// The part of the work, such as `level 0: chunks`.
    pub what: String,
    /// Number of processed cells or rows.
    pub done: u64,
    /// Number processed since the previous call for this part.
    pub added: u64,
    /// Total number of cells or rows.
    pub all: u64,
}

/// Receives progress.
#[derive(Clone, Default)]
pub struct Progress(Option<(Arc<ProgressFn>, Arc<Mutex<LastReport>>)>);

type ProgressFn = dyn Fn(&ValidationStep) + Send + Sync;

/// The part of the last call, and the number processed.
type LastReport = (String, u64);

impl Progress {
    /// Reports progress by calling `report`.
    #[must_use]
    pub fn to(report: impl Fn(&ValidationStep) + Send + Sync + 'static) -> Self {
        Self(Some((Arc::new(report), Arc::default())))
    }

    pub(crate) fn tell(&self, what: &str, done: u64, all: u64) {
        if let Some((report, last)) = &self.0 {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.0 != what {
                *last = (what.to_owned(), 0);
            }
            let added = done.saturating_sub(last.1);
            last.1 = last.1.max(done);
            drop(last);
            report(&ValidationStep {
                what: what.to_owned(),
                done,
                added,
                all,
            });
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Progress"
        } else {
            "no Progress"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_and_repeats() {
        let sample = Sample { cells: 10, seed: 7 };
        assert_eq!(sample.choose(4, 0), [0, 1, 2, 3]);
        let chosen = sample.choose(1005, 3);
        assert_eq!(chosen, sample.choose(1005, 3));
        assert_ne!(chosen, sample.choose(1005, 4));
        assert_eq!(chosen.len(), 10);
        assert!(chosen.is_sorted_by(|a, b| a < b) && chosen.iter().all(|&at| at < 1005));
    }

    #[test]
    fn arrays_are_chosen_by_whole_parts_of_their_path() {
        let options = ValidateOptions::default().with_arrays(["links/0", "vertices"]);
        assert!(options.wants_array("0/vertices") && options.wants_array("2/links/0/+1.0.0"));
        assert!(
            !options.wants_array("0/vertices_graph") && !options.wants_array("0/links/+1/0.0.0")
        );
    }
}

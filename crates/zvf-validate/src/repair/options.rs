//! The options of a repair.

use crate::{Check, Depth, Progress, ValidationStep};
use zvf_encode::WriteOptions;

/// The options of [`plan`](super::plan) and [`apply`](super::apply).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RepairOptions {
    /// The deepest level of checks. Default all.
    pub depth: Depth,
    /// The checks whose findings are resolved. Default all.
    pub only: Option<Vec<Check>>,
    /// The maximum number of findings of one check that are resolved in one validation; the others need another one. Default 100,000.
    pub most: usize,
    /// Whether losses are accepted. Missing cells are removed from presence lists although other arrays list their chunks; the lost values then read as
    /// missing. Numbers of vertices, links, objects and groups are lowered to the numbers found, and lost levels and lost links between levels are
    /// removed from documents. Default false: a loss remains a finding.
    pub accept_loss: bool,
    /// Receives progress.
    pub progress: Progress,
    /// How the store is opened and written.
    pub write: WriteOptions,
}

impl Default for RepairOptions {
    fn default() -> Self {
        Self {
            depth: Depth::Multiscale,
            only: None,
            most: 100_000,
            accept_loss: false,
            progress: Progress::default(),
            write: WriteOptions::new(),
        }
    }
}

impl RepairOptions {
    /// Sets [`depth`](Self::depth).
    #[must_use]
    pub fn with_depth(mut self, depth: Depth) -> Self {
        self.depth = depth;
        self
    }

    /// Sets [`only`](Self::only).
    #[must_use]
    pub fn with_only(mut self, only: impl Into<Vec<Check>>) -> Self {
        self.only = Some(only.into());
        self
    }

    /// Sets [`accept_loss`](Self::accept_loss).
    #[must_use]
    pub fn with_accept_loss(mut self, accept_loss: bool) -> Self {
        self.accept_loss = accept_loss;
        self
    }

    /// Sets [`progress`](Self::progress).
    #[must_use]
    pub fn with_progress(mut self, call: impl Fn(&ValidationStep) + Send + Sync + 'static) -> Self {
        self.progress = Progress::to(call);
        self
    }

    /// Sets [`write`](Self::write).
    #[must_use]
    pub fn with_write(mut self, write: WriteOptions) -> Self {
        self.write = write;
        self
    }

    /// Whether a stated number may be replaced by the number that was found. A higher stated number may be the only sign of a loss.
    pub(crate) fn may_count(&self, stated: u64, found: u64) -> bool {
        found >= stated || self.accept_loss
    }

    /// Whether findings of a check are to be resolved.
    pub(crate) fn wants(&self, check: Check) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&check))
    }
}

//! The progress of a write.

use std::fmt;
use std::sync::Arc;

/// A step of writing a level; steps run in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Step {
    /// Cells of vertices are encoded and written; counted in vertices.
    Vertices,
    /// Manifests are written; counted in fragments.
    Objects,
    /// Links are placed and their cells are written; counted in links, where links between pushed vertices count twice.
    Links,
}

/// How much of a step is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The step.
    pub step: Step,
    /// The amount that is done, in vertices, fragments or links: see [`Step`].
    pub done: u64,
    /// The total amount.
    pub total: u64,
}

/// Receives the progress of a write. Called often, from the thread that writes, so it must be quick.
#[derive(Clone, Default)]
pub struct Watch(pub(crate) Option<Arc<dyn Fn(Progress) + Send + Sync>>);

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch").field(&self.0.is_some()).finish()
    }
}

impl Watch {
    /// Begins a step; `total` is its amount.
    pub fn step(&self, step: Step, total: u64) -> StepProgress<'_> {
        let steps = StepProgress {
            watch: self,
            step,
            done: 0,
            total,
        };
        steps.report();
        steps
    }
}

/// A running step.
#[derive(Debug)]
pub struct StepProgress<'w> {
    watch: &'w Watch,
    step: Step,
    done: u64,
    total: u64,
}

impl StepProgress<'_> {
    /// Adds to the amount that is done.
    pub(crate) fn add(&mut self, done: u64) {
        self.done += done;
        self.report();
    }

    fn report(&self) {
        if let Some(watch) = &self.watch.0 {
            watch(Progress {
                step: self.step,
                done: self.done,
                total: self.total,
            });
        }
    }
}

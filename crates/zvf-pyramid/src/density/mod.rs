//! The density method: real vertices are kept, so that a level has the kind of the store and all data of its vertices.
//!
//! The vertices of level 0 are read twice, for any number of levels. The first pass writes positions and links to temporary files; from these files
//! the first level is computed, and each further level from the files of the level before: the kept vertices, and the remaining links. The second
//! pass reads level 0 with all its data, and passes the kept part to the writers of all levels.

mod builder;
mod contract;
mod endpoints;
mod finest;
mod level;
mod measure;
mod metadata;
mod paged;
mod pieces;
mod points;
mod representatives;
mod simplify;
mod tables;
mod thin;
mod vanished;
mod write;
mod zorder;

use tokio::runtime::Handle;
use zvf_store::Store;

use super::bin::{Bin, Means};
use super::sample;
pub(crate) use builder::LevelBuilder;
pub(crate) use level::Vanished;
pub(crate) use metadata::Numbered;
pub(crate) use write::{LevelTarget, WrittenLevel};
use zvf_encode::WriteError;
use zvf_encode::error::OrBug;
use zvf_meta::Metric;

/// The source and the resources of levels.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'r> {
    pub(crate) store: &'r Store,
    pub(crate) handle: &'r Handle,
    pub(crate) means: Means<'r>,
    /// Whether the places of vertices are requested.
    pub(crate) placed: bool,
}

impl std::fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading")
            .field("means", &self.means)
            .field("placed", &self.placed)
            .finish_non_exhaustive()
    }
}

/// A computed level, before it is written.
#[derive(Debug)]
pub(crate) struct ComputedLevel {
    /// Vertices of the finer level.
    pub(crate) before: u64,
    pub(crate) vertices: u64,
    /// Objects with vertices.
    pub(crate) objects: u64,
    /// Largest distance from any part of level 0 to the level; `None` if the level is a sample of points.
    pub(crate) error: Option<f64>,
    pub(crate) vanished: Vanished,
    /// The mean distance of consecutive vertices of an object; 0 if there are none.
    pub(crate) step: f64,
    /// For each vertex of the finer level the number of its representative, [`NONE`](super::bins::NONE) if it has none; only if places were
    /// requested.
    pub(crate) representatives: Vec<u32>,
}

/// Draws a share of the objects that have vertices at the finer level. Returns for each object whether the next level keeps it.
///
/// The reference method draws from all objects, including those without vertices, and with the same seed at every level. If the finer level has
/// vertices of all objects, both methods keep the same objects.
fn drawn(has_vertices: &[bool], share: f64, seed: u64) -> Result<Vec<bool>, WriteError> {
    let objects = has_vertices.iter().enumerate();
    let objects: Vec<usize> = objects.filter_map(|(at, has)| has.then_some(at)).collect();
    let mut kept = vec![false; has_vertices.len()];
    let count = sample::kept_count(objects.len(), share);
    for at in sample::draw(objects.len(), count, seed)? {
        let object = objects.get(at).and_then(|object| kept.get_mut(*object));
        *object.or_bug(format_args!("object {at} of {}", objects.len()))? = true;
    }
    Ok(kept)
}

/// The squared distance in space of a position from the middle of its bin, with the size of a bin as the unit.
fn off_middle(metric: Metric, position: &[f64], bin: &Bin, bins: &[f64]) -> f64 {
    let axes = metric.space(position).iter().zip(metric.space(bin));
    axes.zip(metric.space(bins))
        .map(|((value, bin), size)| {
            let off = value / size - *bin as f64 - 0.5;
            off * off
        })
        .sum()
}

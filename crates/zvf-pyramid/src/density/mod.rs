//! The density method: real vertices are kept, so that a level has the kind of the store and all data of its vertices.
//!
//! Level 0 is read twice, for any number of levels. First its vertices and links are written to temporary files, and every level is
//! computed from the files of the finer one: the kept vertices, and the remaining links. Then level 0 is read with all its
//! data, and the kept part is passed to the writers of all levels.

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
mod write;
mod zorder;

use tokio::runtime::Handle;
use zvf_store::Store;

use super::bin::{Bin, Means};
use super::plan::PlannedLevel;
use super::sample;
pub(crate) use builder::LevelBuilder;
pub(crate) use metadata::Numbered;
pub(crate) use write::{LevelTarget, WrittenLevel};
use zvf_encode::error::OrBug;
use zvf_encode::{Axis, WriteError};

/// What levels are made with.
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
    /// Largest distance from any part of level 0 to the level; none if the level is a sample of points.
    pub(crate) error: Option<f64>,
    /// The mean distance of consecutive vertices of an object; 0 if there are none.
    pub(crate) step: f64,
    /// For each vertex of the finer level the number of its representative, [`NONE`](super::bins::NONE) if it has
    /// none; only if places were requested.
    pub(crate) representatives: Vec<u32>,
}

/// The objects of a level that the next one keeps, of a step that draws them; `None` for all of them.
///
/// Objects without vertices are there, and are drawn like others: the same objects as by the other method.
fn drawn(objects: usize, step: &PlannedLevel, seed: u64) -> Result<Option<Vec<bool>>, WriteError> {
    if step.share >= 1.0 || objects <= 1 {
        return Ok(None);
    }
    let mut kept = vec![false; objects];
    for object in sample::draw(objects, sample::kept_count(objects, step.share), seed)? {
        let one = kept.get_mut(object);
        *one.or_bug(format_args!("object {object} of {objects}"))? = true;
    }
    Ok(Some(kept))
}

/// How distances are measured: in space. Axes of time come before all others (0.9 §5.1).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Metric {
    /// Axes of time.
    times: usize,
}

impl Metric {
    pub(crate) fn of(axes: &[Axis]) -> Self {
        let times = axes.iter().take_while(|axis| axis.kind() == "time");
        Self {
            times: times.count(),
        }
    }

    /// A position, or what belongs to its axes, without its time.
    fn space<T>(self, position: &[T]) -> &[T] {
        position.get(self.times..).unwrap_or_default()
    }

    /// How far a position is from the middle of its bin, in bins, squared.
    fn off_middle(self, position: &[f64], bin: &Bin, bins: &[f64]) -> f64 {
        let axes = self.space(position).iter().zip(self.space(bin));
        axes.zip(self.space(bins))
            .map(|((value, bin), size)| {
                let off = value / size - *bin as f64 - 0.5;
                off * off
            })
            .sum()
    }

    /// The square of the distance of two positions.
    pub(crate) fn square(self, a: &[f64], b: &[f64]) -> f64 {
        square(self.space(a), self.space(b))
    }

    /// The square of the distance of a position from a segment; with an axis of time, from the point of the segment at that time.
    fn to_segment(self, position: &[f64], a: &[f64], b: &[f64]) -> f64 {
        let axes = || {
            let axes = self.space(position).iter().zip(self.space(a));
            axes.zip(self.space(b)).map(|((p, a), b)| (p, a, b))
        };
        let share = match (self.times, position, a, b) {
            (1, [p, ..], [a, ..], [b, ..]) if a != b => (p - a) / (b - a),
            _ => {
                let length = self.square(a, b);
                if length == 0.0 {
                    return self.square(position, a);
                }
                axes().map(|(p, a, b)| (p - a) * (b - a)).sum::<f64>() / length
            }
        };
        let share = share.clamp(0.0, 1.0);
        axes()
            .map(|(p, a, b)| p - (a + share * (b - a)))
            .map(|far| far * far)
            .sum()
    }
}

/// The square of the distance of two positions.
pub(crate) fn square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

//! Bins of level 0 for a store that declares none: halves of the chunk that fit the data.

use std::fmt;

use rustc_hash::FxHashSet;
use zvf_meta::Kind;

use super::bins::{Bin, bin_of};
use super::density::{Geometry, State, square};
use crate::WriteError;
use crate::int::index;

/// Most often that a chunk is halved.
const MOST_HALVES: u32 = 20;
/// Most chunks that points are counted in.
const SAMPLE: usize = 32;

/// Bins of level 0 that were chosen from the data.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ChosenBins {
    /// Size along each axis, in world units: a chunk, halved a number of times.
    pub shape: Vec<f64>,
    /// What they were chosen by.
    pub reason: BinReason,
}

/// What bins were chosen by.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum BinReason {
    /// The median distance of neighbouring vertices: bins are that large, and less than twice that.
    Step(f64),
    /// The largest bins of which those that hold vertices hold fewer than two different positions on average.
    Spacing,
}

impl fmt::Display for BinReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(step) => write!(
                f,
                "half of the steps between neighbours are {step:.6} or less"
            ),
            Self::Spacing => {
                f.write_str("bins with vertices hold fewer than two positions on average")
            }
        }
    }
}

/// Chooses bins of level 0.
///
/// Where vertices have neighbours (all kinds but points and lines) by the median of the steps between them, else by how densely
/// vertices lie in some of the chunks, evenly picked.
///
/// # Errors
/// Positions that lie in no bin.
pub(crate) fn choose(
    geometry: Geometry<'_>,
    finest: &State,
    chunk_shape: &[f64],
) -> Result<ChosenBins, WriteError> {
    if let Some(step) = median(steps(geometry, finest)) {
        return Ok(of_step(step, chunk_shape));
    }
    let each = |take: Take<'_>| {
        let mut rows = finest.rows.iter();
        rows.try_for_each(|&row| take(geometry.position(row)))
    };
    spacing(each, geometry.dims, chunk_shape)
}

/// Bins of level 0 by the median distance of neighbours.
pub(crate) fn of_step(step: f64, chunk_shape: &[f64]) -> ChosenBins {
    let halves = |&size: &f64| {
        let mut bin = size;
        for _ in 0..MOST_HALVES {
            if bin / 2.0 < step {
                break;
            }
            bin /= 2.0;
        }
        bin
    };
    ChosenBins {
        shape: chunk_shape.iter().map(halves).collect(),
        reason: BinReason::Step(step),
    }
}

/// What is done with each position.
pub(crate) type Take<'t> = &'t mut dyn FnMut(&[f64]) -> Result<(), WriteError>;

/// Chooses bins of level 0 by how densely vertices lie in some of the chunks, evenly picked. `each` goes through all
/// positions, twice.
///
/// # Cost
/// The coordinates of all chunks and the positions of those that were picked, in memory.
///
/// # Errors
/// Positions that lie in no bin; those of `each`.
pub(crate) fn spacing(
    mut each: impl FnMut(Take<'_>) -> Result<(), WriteError>,
    dims: usize,
    chunk_shape: &[f64],
) -> Result<ChosenBins, WriteError> {
    let mut chunks: FxHashSet<Bin> = FxHashSet::default();
    each(&mut |position| {
        chunks.insert(bin_of(position, chunk_shape)?);
        Ok(())
    })?;
    let every = chunks.len().div_ceil(SAMPLE).max(1);
    let mut chunks: Vec<Bin> = chunks.into_iter().collect();
    chunks.sort_unstable();
    let picked: FxHashSet<Bin> = chunks.into_iter().step_by(every).collect();
    let mut sample = Vec::new();
    each(&mut |position| {
        if picked.contains(&bin_of(position, chunk_shape)?) {
            sample.extend_from_slice(position);
        }
        Ok(())
    })?;
    let distinct = occupied(&sample, dims, chunk_shape, MOST_HALVES)?;
    // Bins are nested: the more often a chunk is halved, the more of them hold something.
    let (mut low, mut high) = (0, MOST_HALVES);
    while low < high {
        let middle = low.midpoint(high);
        let found = occupied(&sample, dims, chunk_shape, middle)?;
        if found.saturating_mul(2) > distinct {
            high = middle;
        } else {
            low = middle.saturating_add(1);
        }
    }
    Ok(ChosenBins {
        shape: halved(chunk_shape, low),
        reason: BinReason::Spacing,
    })
}

/// A chunk, halved so often along every axis.
fn halved(chunk_shape: &[f64], times: u32) -> Vec<f64> {
    let parts = f64::from(1_u32 << times.min(MOST_HALVES));
    chunk_shape.iter().map(|size| size / parts).collect()
}

/// Squares of the distances of neighbours, without those at the same place.
pub(crate) fn steps(geometry: Geometry<'_>, state: &State) -> Vec<f64> {
    let position = |place: u32| {
        let row = state.rows.get(index(place)).copied().unwrap_or(u32::MAX);
        geometry.position(row)
    };
    let mut steps = Vec::new();
    match geometry.kind {
        Kind::PointCloud | Kind::Line => {}
        Kind::Polyline | Kind::Streamline => {
            let mut start = 0_usize;
            for &(_, count) in &state.runs {
                let end = start.saturating_add(count);
                let rows = state.rows.get(start..end).unwrap_or_default();
                let pairs = rows.iter().zip(rows.iter().skip(1));
                steps.extend(
                    pairs.map(|(&a, &b)| square(geometry.position(a), geometry.position(b))),
                );
                start = end;
            }
        }
        Kind::Graph | Kind::Skeleton | Kind::Mesh => {
            for link in state.links.chunks_exact(geometry.width.max(1)) {
                let pairs = link.iter().zip(link.iter().skip(1));
                steps.extend(pairs.map(|(&a, &b)| square(position(a), position(b))));
            }
        }
    }
    steps.retain(is_step);
    steps
}

/// Whether a square is one of a distance of two places.
pub(crate) fn is_step(square: &f64) -> bool {
    *square > 0.0 && square.is_finite()
}

/// The root of the lower median.
fn median(mut squares: Vec<f64>) -> Option<f64> {
    let middle = squares.len().checked_sub(1)? / 2;
    let (_, median, _) = squares.select_nth_unstable_by(middle, f64::total_cmp);
    Some(median.sqrt())
}

/// How many bins hold positions, of chunks that were halved so often.
fn occupied(
    positions: &[f64],
    dims: usize,
    chunk_shape: &[f64],
    times: u32,
) -> Result<usize, WriteError> {
    let bins = halved(chunk_shape, times);
    let mut found: FxHashSet<Bin> = FxHashSet::default();
    for position in positions.chunks_exact(dims.max(1)) {
        found.insert(bin_of(position, &bins)?);
    }
    Ok(found.len())
}

#[cfg(test)]
mod tests {
    use zvf_meta::Kind;

    use super::{BinReason, choose, median};
    use crate::pyramid::density::{Geometry, State};

    fn geometry(kind: Kind, positions: &[f64]) -> Geometry<'_> {
        Geometry {
            kind,
            dims: 2,
            positions,
            width: 2,
            directed: false,
        }
    }

    #[test]
    fn medians_are_the_lower_ones() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![9.0, 1.0, 4.0, 16.0]), Some(2.0));
    }

    #[test]
    fn bins_of_chains_are_steps() {
        // Two objects; the step between them does not count, nor do two vertices at one place.
        let x = [0.0, 3.0, 6.0, 6.0, 50.0, 54.0, 57.0];
        let positions: Vec<f64> = x.iter().flat_map(|&x| [x, 0.0]).collect();
        let state = State {
            rows: (0..7).collect(),
            runs: vec![(0, 4), (1, 3)],
            ..State::default()
        };
        let chosen = choose(geometry(Kind::Polyline, &positions), &state, &[100.0, 10.0]).unwrap();
        assert_eq!(chosen.reason, BinReason::Step(3.0));
        assert_eq!(chosen.shape, [3.125, 5.0]);
    }

    #[test]
    fn bins_of_points_hold_about_one() {
        // A grid of points two apart, each of them twice.
        let positions: Vec<f64> = (0..512)
            .map(|n| n % 256)
            .flat_map(|n| [f64::from(n % 16) * 2.0, f64::from(n / 16) * 2.0])
            .collect();
        let state = State {
            rows: (0..512).collect(),
            ..State::default()
        };
        let found = |chunk: f64| {
            let geometry = geometry(Kind::PointCloud, &positions);
            choose(geometry, &state, &[chunk; 2]).unwrap()
        };
        assert_eq!(found(32.0).shape, [2.0; 2]);
        assert_eq!(found(16.0).shape, [2.0; 2]);
        assert_eq!(found(2.0).shape, [2.0; 2]);
        assert_eq!(found(32.0).reason, BinReason::Spacing);
    }
}

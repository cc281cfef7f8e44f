//! Bins of level 0 for a store that declares none: the chunk is halved until the bins fit the data.

use std::fmt;

use rustc_hash::FxHashSet;

use super::bin::{Bin, bin_of};
use zvf_encode::{Axis, WriteError};

/// Most times that a chunk is halved.
const MOST_HALVES: u32 = 20;
/// Most chunks whose points are counted.
const SAMPLE: usize = 32;

/// Bins of level 0 that were chosen from the data.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ChosenBins {
    /// Size along each axis, in world units. Along axes of space a chunk, halved a number of times; along axes of time and channels one frame or
    /// channel, if chunks have a whole number of them.
    pub shape: Vec<f64>,
    /// The reason for the choice.
    pub reason: BinReason,
}

/// The reason for a choice of bins.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum BinReason {
    /// The median distance of neighbouring vertices. Along axes of space, a chunk is halved, at most 20 times, while the halves are at least
    /// that large.
    Step(f64),
    /// The largest bins for which an occupied bin has fewer than two different positions on average.
    Spacing,
}

impl fmt::Display for BinReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(step) if *step < 1e-5 => write!(
                f,
                "half of the steps between neighbours are {step:.3e} or less"
            ),
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

/// For each axis, whether it is not of space, but of time or channels. Bins do not grow along such axes, and distances do not include them.
pub(crate) fn beside_space(axes: &[Axis]) -> Vec<bool> {
    axes.iter().map(|axis| !axis.is_space()).collect()
}

/// The bin along an axis of time or channels: one frame or channel if chunks have a whole number of them, else a sixteenth of a chunk.
pub(crate) fn time_bin(chunk: f64) -> f64 {
    match chunk.fract() == 0.0 {
        true => 1.0,
        false => chunk / 16.0,
    }
}

/// Bins of level 0 from the median distance of neighbours.
pub(crate) fn of_step(step: f64, chunk_shape: &[f64], beside: &[bool]) -> ChosenBins {
    let halves = |(&size, &time): (&f64, &bool)| {
        if time {
            return time_bin(size);
        }
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
        shape: chunk_shape.iter().zip(beside).map(halves).collect(),
        reason: BinReason::Step(step),
    }
}

/// Receives each position.
pub(crate) type TakePosition<'t> = &'t mut dyn FnMut(&[f64]) -> Result<(), WriteError>;

/// Chooses bins of level 0 from the density of the vertices in evenly picked chunks. `each` iterates over all positions, and is called twice.
///
/// # Cost
/// Memory: the coordinates of all chunks, and the positions in the picked ones.
///
/// # Errors
/// Malformed data: a position that is not finite, or beyond the range of bin numbers. The errors of `each`.
pub(crate) fn spacing(
    mut each: impl FnMut(TakePosition<'_>) -> Result<(), WriteError>,
    dims: usize,
    chunk_shape: &[f64],
    beside: &[bool],
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
    let distinct = occupied(&sample, dims, &halved(chunk_shape, MOST_HALVES, beside))?;
    // Bins are nested: the more often a chunk is halved, the more bins are occupied.
    let (mut low, mut high) = (0, MOST_HALVES);
    while low < high {
        let middle = low.midpoint(high);
        let found = occupied(&sample, dims, &halved(chunk_shape, middle, beside))?;
        if found * 2 > distinct {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(ChosenBins {
        shape: halved(chunk_shape, low, beside),
        reason: BinReason::Spacing,
    })
}

/// The shape of a chunk, halved `often` times along each axis of space, and divided into [frames](time_bin) along the others.
fn halved(chunk_shape: &[f64], often: u32, beside: &[bool]) -> Vec<f64> {
    let parts = f64::from(1_u32 << often.min(MOST_HALVES));
    let axes = chunk_shape.iter().zip(beside);
    axes.map(|(size, time)| match time {
        true => time_bin(*size),
        false => size / parts,
    })
    .collect()
}

/// Whether a squared distance is finite and between two different positions.
pub(crate) fn is_step(square: &f64) -> bool {
    *square > 0.0 && square.is_finite()
}

/// The number of occupied bins.
fn occupied(positions: &[f64], dims: usize, bins: &[f64]) -> Result<usize, WriteError> {
    let mut found: FxHashSet<Bin> = FxHashSet::default();
    for position in positions.chunks_exact(dims.max(1)) {
        found.insert(bin_of(position, bins)?);
    }
    Ok(found.len())
}

#[cfg(test)]
mod tests {
    use super::{BinReason, of_step, spacing};

    #[test]
    fn bins_of_chains_are_steps() {
        let chosen = of_step(3.0, &[100.0, 10.0], &[false; 2]);
        assert_eq!(chosen.reason, BinReason::Step(3.0));
        assert_eq!(chosen.shape, [3.125, 5.0]);
        // Frames stay separate.
        let chosen = of_step(3.0, &[100.0, 100.0], &[true, false]);
        assert_eq!(chosen.shape, [1.0, 3.125]);
    }

    #[test]
    fn bins_of_points_hold_about_one_position() {
        // A grid of points at a distance of two, each point twice.
        let positions: Vec<[f64; 2]> = (0..512)
            .map(|n| n % 256)
            .map(|n| [f64::from(n % 16) * 2.0, f64::from(n / 16) * 2.0])
            .collect();
        let found = |chunk: f64| {
            let each = |take: super::TakePosition<'_>| {
                let mut positions = positions.iter();
                positions.try_for_each(|position| take(position))
            };
            spacing(each, 2, &[chunk; 2], &[false; 2]).unwrap()
        };
        assert_eq!(found(32.0).shape, [2.0; 2]);
        assert_eq!(found(16.0).shape, [2.0; 2]);
        assert_eq!(found(2.0).shape, [2.0; 2]);
        assert_eq!(found(32.0).reason, BinReason::Spacing);
    }
}

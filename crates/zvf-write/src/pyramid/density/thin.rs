//! Points and lines: one of those that are alike stays.

use rustc_hash::FxHashMap;

use super::square;
use crate::WriteError;
use crate::pyramid::bins::{Bin, bin_of};

/// How far a position is from the middle of its bin, in bins, squared.
pub(super) fn off_middle(position: &[f64], bin: &Bin, bins: &[f64]) -> f64 {
    let axes = position.iter().zip(bin).zip(bins);
    axes.map(|((value, bin), size)| {
        let off = value / size - *bin as f64 - 0.5;
        off * off
    })
    .sum()
}

/// Tells `stands` what stands for each end of lines, which are given by their first ends; the other one follows it. Returns
/// the square of the largest distance of an end from the one that stands for it.
///
/// # Errors
/// Positions that lie in no bin.
pub(super) fn pairs<'p>(
    lines: impl Iterator<Item = u32>,
    position: impl Fn(u32) -> &'p [f64],
    bins: &[f64],
    mut stands: impl FnMut(u32, u32),
) -> Result<f64, WriteError> {
    let mut first: FxHashMap<[Bin; 2], u32> = FxHashMap::default();
    let mut moved = 0.0_f64;
    for start in lines {
        let ends = [start, start.saturating_add(1)];
        let pair = pair_of(ends.map(&position), bins)?;
        let kept = *first.entry(pair).or_insert(start);
        if kept == start {
            ends.iter().for_each(|&end| stands(end, end));
            continue;
        }
        // Ends that share a bin are compared with each other.
        let other = [kept, kept.saturating_add(1)];
        let far = |a: u32, b: u32| square(position(a), position(b));
        let straight = far(ends[0], other[0]).max(far(ends[1], other[1]));
        let crossed = far(ends[0], other[1]).max(far(ends[1], other[0]));
        moved = moved.max(straight.min(crossed));
        let [near, off] = other;
        let kept = if crossed < straight {
            [off, near]
        } else {
            [near, off]
        };
        let both = ends.into_iter().zip(kept);
        both.for_each(|(end, kept)| stands(end, kept));
    }
    Ok(moved)
}

/// The bins of the ends of a line, whichever way it goes.
pub(super) fn pair_of(ends: [&[f64]; 2], bins: &[f64]) -> Result<[Bin; 2], WriteError> {
    let mut pair = [bin_of(ends[0], bins)?, bin_of(ends[1], bins)?];
    pair.sort_unstable();
    Ok(pair)
}

//! Lines: keeps one of several lines whose ends are in the same bins.

use rustc_hash::FxHashMap;

use crate::bin::{Bin, bin_of};
use zvf_encode::WriteError;
use zvf_meta::Metric;

/// Calls `stands` with each end of a line and its representative. Line `n` has the ends `2 n` and `2 n + 1`. Returns the square of the largest distance
/// of an end from its representative.
///
/// # Errors
/// Positions outside every bin.
pub(super) fn pairs(
    lines: &[[&[f64]; 2]],
    (bins, metric): (&[f64], Metric),
    mut stands: impl FnMut(usize, usize),
) -> Result<f64, WriteError> {
    let mut first: FxHashMap<[Bin; 2], (usize, [&[f64]; 2])> = FxHashMap::default();
    let mut moved = 0.0_f64;
    for (number, &[a, b]) in lines.iter().enumerate() {
        let ends = [2 * number, 2 * number + 1];
        let pair = pair_of([a, b], bins)?;
        let (kept, [c, d]) = *first.entry(pair).or_insert((number, [a, b]));
        if kept == number {
            ends.iter().for_each(|&end| stands(end, end));
            continue;
        }
        // Pairs the ends in the direction that gives the smaller distance.
        let straight = metric.square(a, c).max(metric.square(b, d));
        let crossed = metric.square(a, d).max(metric.square(b, c));
        moved = moved.max(straight.min(crossed));
        let [near, off] = [2 * kept, 2 * kept + 1];
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

/// The bins of the ends of a line, independent of its direction.
pub(super) fn pair_of(ends: [&[f64]; 2], bins: &[f64]) -> Result<[Bin; 2], WriteError> {
    let mut pair = [bin_of(ends[0], bins)?, bin_of(ends[1], bins)?];
    pair.sort_unstable();
    Ok(pair)
}

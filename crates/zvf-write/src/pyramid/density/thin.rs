//! Points and lines: one of those that are alike stays.

use rustc_hash::FxHashMap;

use super::{Geometry, Kept, State, square};
use crate::WriteError;
use crate::int::index;
use crate::pyramid::bins::{Bin, NONE, bin_of};

/// One point a bin: the one nearest to the middle of the bin, of equal ones the first.
pub(super) fn points(
    geometry: Geometry<'_>,
    state: &State,
    bins: &[f64],
) -> Result<State, WriteError> {
    let mut best: FxHashMap<Bin, (f64, u32)> = FxHashMap::default();
    let mut all = Vec::with_capacity(state.rows.len());
    for (place, &row) in (0_u32..).zip(&state.rows) {
        let position = geometry.position(row);
        let bin = bin_of(position, bins)?;
        all.push(bin);
        let far = off_middle(position, &bin, bins);
        let slot = best.entry(bin).or_insert((far, place));
        if far < slot.0 {
            *slot = (far, place);
        }
    }
    let mut stays = vec![false; state.rows.len()];
    for (_, place) in best.values() {
        if let Some(flag) = stays.get_mut(index(*place)) {
            *flag = true;
        }
    }
    let mut moved = 0.0_f64;
    let mut stand_ins = Vec::with_capacity(state.rows.len());
    for (&row, bin) in state.rows.iter().zip(&all) {
        let place = best.get(bin).map_or(NONE, |(_, place)| *place);
        if let Some(&kept) = state.rows.get(index(place)) {
            moved = moved.max(square(geometry.position(row), geometry.position(kept)));
        }
        stand_ins.push(place);
    }
    Kept::vertices(stays, stand_ins, moved).apply(state)
}

/// How far a position is from the middle of its bin, in bins, squared.
pub(super) fn off_middle(position: &[f64], bin: &Bin, bins: &[f64]) -> f64 {
    let axes = position.iter().zip(bin).zip(bins);
    axes.map(|((value, bin), size)| {
        let off = value / size - *bin as f64 - 0.5;
        off * off
    })
    .sum()
}

/// One line for each pair of bins that ends lie in: the first. Objects of more or fewer vertices are no lines, and go.
pub(super) fn lines(
    geometry: Geometry<'_>,
    state: &State,
    bins: &[f64],
) -> Result<State, WriteError> {
    let mut stand_ins = vec![NONE; state.rows.len()];
    let mut start = 0_u32;
    let runs = state.runs.iter().filter_map(|&(_, count)| {
        let first = start;
        start = start.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        (count == 2).then_some(first)
    });
    let position = |end: u32| {
        let row = state.rows.get(index(end)).copied().unwrap_or(u32::MAX);
        geometry.position(row)
    };
    let moved = pairs(runs, position, bins, |end, kept| {
        if let Some(slot) = stand_ins.get_mut(index(end)) {
            *slot = kept;
        }
    })?;
    let stays = (0_u32..).zip(&stand_ins).map(|(end, kept)| end == *kept);
    Kept::vertices(stays.collect(), stand_ins, moved).apply(state)
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

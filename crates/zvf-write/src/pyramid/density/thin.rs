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

/// One line for each pair of bins that ends lie in: the first.
pub(super) fn lines(
    geometry: Geometry<'_>,
    state: &State,
    bins: &[f64],
) -> Result<State, WriteError> {
    let mut first: FxHashMap<[Bin; 2], u32> = FxHashMap::default();
    let mut stays = vec![false; state.rows.len()];
    let mut stand_ins = vec![NONE; state.rows.len()];
    let mut stands = |end: u32, kept: u32| {
        if let Some(slot) = stand_ins.get_mut(index(end)) {
            *slot = kept;
        }
    };
    let (mut start, mut moved) = (0_u32, 0.0_f64);
    for &(_, count) in &state.runs {
        let ends = [start, start.saturating_add(1)];
        start = start.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        if count != 2 {
            continue;
        }
        let place = |end: u32| {
            let row = state.rows.get(index(end)).copied().unwrap_or(u32::MAX);
            geometry.position(row)
        };
        let mut pair = [bin_of(place(ends[0]), bins)?, bin_of(place(ends[1]), bins)?];
        let turned = pair[1] < pair[0];
        if turned {
            pair.swap(0, 1);
        }
        let kept = *first.entry(pair).or_insert(ends[0]);
        if kept == ends[0] {
            for end in ends {
                if let Some(flag) = stays.get_mut(index(end)) {
                    *flag = true;
                }
                stands(end, end);
            }
            continue;
        }
        // Ends that share a bin are compared with each other.
        let other = [kept, kept.saturating_add(1)];
        let straight =
            square(place(ends[0]), place(other[0])).max(square(place(ends[1]), place(other[1])));
        let crossed =
            square(place(ends[0]), place(other[1])).max(square(place(ends[1]), place(other[0])));
        moved = moved.max(straight.min(crossed));
        let [first, second] = other;
        let kept = if crossed < straight {
            [second, first]
        } else {
            [first, second]
        };
        ends.into_iter()
            .zip(kept)
            .for_each(|(end, kept)| stands(end, kept));
    }
    Kept::vertices(stays, stand_ins, moved).apply(state)
}

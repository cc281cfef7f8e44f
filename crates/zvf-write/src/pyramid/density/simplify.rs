//! Polylines and streamlines: vertices go whose absence shows least (Douglas and Peucker, 1973).

use super::{Geometry, Kept, State, square};
use crate::WriteError;
use crate::int::narrow;

/// Simplifies every chain: no vertex that goes is farther than half a bin from the line that stays; the ends stay.
pub(super) fn chains(
    geometry: Geometry<'_>,
    state: &State,
    bins: &[f64],
) -> Result<State, WriteError> {
    let tolerance = bins.iter().copied().fold(f64::INFINITY, f64::min) / 2.0;
    let mut stays = vec![false; state.rows.len()];
    let mut stand_ins = Vec::with_capacity(state.rows.len());
    let (mut start, mut moved) = (0_usize, 0.0_f64);
    for &(_, count) in &state.runs {
        let end = start.saturating_add(count);
        let rows = state.rows.get(start..end).unwrap_or_default();
        let line: Vec<&[f64]> = rows.iter().map(|&row| geometry.position(row)).collect();
        let stays = stays.get_mut(start..end).unwrap_or_default();
        moved = moved.max(simplify(&line, tolerance * tolerance, stays));
        let neighbours = neighbours(&line, stays);
        let places = neighbours.map(|at| narrow("vertices", start.saturating_add(at)));
        for place in places {
            stand_ins.push(place?);
        }
        start = end;
    }
    Kept::vertices(stays, stand_ins, moved).apply(state)
}

/// For each vertex of a line the nearer one of the two that stay before and behind it; of equally near ones the one before.
fn neighbours(line: &[&[f64]], stays: &[bool]) -> impl Iterator<Item = usize> {
    let mut behind = stays.iter().enumerate().filter(|(_, stays)| **stays);
    let (mut before, mut next) = (0_usize, 0_usize);
    (0..line.len()).map(move |at| {
        if at >= next {
            before = next;
            next = behind
                .find(|(kept, _)| *kept >= at)
                .map_or(before, |(kept, _)| kept);
        }
        if at >= next {
            return next;
        }
        let far = |kept: usize| match (line.get(at), line.get(kept)) {
            (Some(a), Some(b)) => square(a, b),
            _ => f64::INFINITY,
        };
        if far(next) < far(before) {
            next
        } else {
            before
        }
    })
}

/// Marks what stays of one line; returns the square of the largest distance of what does not.
///
/// # Cost
/// O(n log n) where the line is cut evenly, O(n²) at worst; no recursion.
fn simplify(line: &[&[f64]], tolerance: f64, stays: &mut [bool]) -> f64 {
    let Some(last) = line.len().checked_sub(1) else {
        return 0.0;
    };
    for end in [0, last] {
        if let Some(flag) = stays.get_mut(end) {
            *flag = true;
        }
    }
    let (mut most, mut stack) = (0.0_f64, vec![(0_usize, last)]);
    while let Some((from, to)) = stack.pop() {
        let inner = from.saturating_add(1)..to;
        let (Some(a), Some(b)) = (line.get(from), line.get(to)) else {
            continue;
        };
        let mut worst = (0.0_f64, from);
        for (at, position) in inner.clone().zip(line.get(inner).unwrap_or_default()) {
            let far = from_segment(position, a, b);
            // What is no number is not nearer than anything.
            if far > worst.0 {
                worst = (far, at);
            }
        }
        if worst.0 > tolerance {
            if let Some(flag) = stays.get_mut(worst.1) {
                *flag = true;
            }
            stack.push((from, worst.1));
            stack.push((worst.1, to));
        } else {
            most = most.max(worst.0);
        }
    }
    most
}

/// The square of the distance of a position from a segment.
fn from_segment(position: &[f64], a: &[f64], b: &[f64]) -> f64 {
    let length = square(a, b);
    if length == 0.0 {
        return square(position, a);
    }
    let axes = position.iter().zip(a).zip(b);
    let along: f64 = axes.map(|((p, a), b)| (p - a) * (b - a)).sum();
    let share = (along / length).clamp(0.0, 1.0);
    let nearest = a.iter().zip(b).map(|(a, b)| a + share * (b - a));
    position
        .iter()
        .zip(nearest)
        .map(|(p, n)| (p - n) * (p - n))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::{from_segment, simplify};

    #[test]
    fn distances_are_those_of_segments_not_of_lines() {
        assert_eq!(from_segment(&[1.0, 2.0], &[0.0, 0.0], &[4.0, 0.0]), 4.0);
        assert_eq!(from_segment(&[7.0, 4.0], &[0.0, 0.0], &[4.0, 0.0]), 25.0);
        assert_eq!(from_segment(&[3.0, 4.0], &[0.0, 0.0], &[0.0, 0.0]), 25.0);
    }

    #[test]
    fn corners_stay_and_straight_parts_go() {
        let line: Vec<[f64; 2]> = vec![
            [0.0, 0.0],
            [1.0, 0.1],
            [2.0, 0.0],
            [2.0, 1.0],
            [2.1, 2.0],
            [2.0, 3.0],
        ];
        let line: Vec<&[f64]> = line.iter().map(|p| &p[..]).collect();
        let mut stays = vec![false; 6];
        let most = simplify(&line, 0.25, &mut stays);
        assert_eq!(stays, [true, false, true, false, false, true]);
        assert!((most - 0.01).abs() < 1e-12);
        // A closed line does not vanish.
        let round: Vec<&[f64]> = vec![&[0.0, 0.0], &[5.0, 0.0], &[5.0, 5.0], &[0.0, 0.0]];
        let mut stays = vec![false; 4];
        simplify(&round, 0.25, &mut stays);
        assert_eq!(stays, [true; 4]);
        let mut none: [bool; 0] = [];
        assert_eq!(simplify(&[], 1.0, &mut none), 0.0);
    }
}

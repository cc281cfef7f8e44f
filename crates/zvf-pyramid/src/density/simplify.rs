//! Polylines and streamlines: removes the vertices whose absence changes the line least (Douglas and Peucker, 1973).

use zvf_meta::Metric;

/// For each vertex of a line the nearer one of the two kept vertices before and after it; of equally near ones the one before.
pub(super) fn neighbours(
    line: &[&[f64]],
    stays: &[bool],
    metric: Metric,
) -> impl Iterator<Item = usize> {
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
            (Some(a), Some(b)) => metric.square(a, b),
            _ => f64::INFINITY,
        };
        if far(next) < far(before) {
            next
        } else {
            before
        }
    })
}

/// Marks the vertices of one line that are kept; returns the square of the largest distance of a removed one from the result.
///
/// # Cost
/// O(n log n) if the line is divided evenly, O(n²) at worst; no recursion.
pub(super) fn simplify(line: &[&[f64]], tolerance: f64, metric: Metric, stays: &mut [bool]) -> f64 {
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
        // A line of one vertex has nothing between two.
        let Some([a, inner @ .., b]) = line.get(from..=to) else {
            continue;
        };
        let mut worst = (0.0_f64, from);
        for (at, position) in (from + 1..).zip(inner) {
            let far = metric.square_to_segment(position, a, b);
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

/// For each vertex of a line but its ends the square of the largest tolerance below which it stays.
pub(super) fn tolerances(line: &[&[f64]], metric: Metric, mut take: impl FnMut(f64)) {
    let Some(last) = line.len().checked_sub(1) else {
        return;
    };
    let mut stack = vec![(0_usize, last, f64::INFINITY)];
    while let Some((from, to, most)) = stack.pop() {
        // A line of one vertex has nothing between two.
        let Some([a, inner @ .., b]) = line.get(from..=to) else {
            continue;
        };
        let mut worst: Option<(f64, usize)> = None;
        for (at, position) in (from + 1..).zip(inner) {
            let far = metric.square_to_segment(position, a, b);
            if worst.is_none_or(|(most, _)| far > most) {
                worst = Some((far, at));
            }
        }
        if let Some((far, at)) = worst {
            let far = far.min(most);
            take(far);
            stack.push((from, at, far));
            stack.push((at, to, far));
        }
    }
}

#[cfg(test)]
mod tests {
    use zvf_meta::{Axis, Metric};

    use super::{simplify, tolerances};

    #[test]
    fn tolerances_are_those_below_which_a_vertex_stays() {
        let number = |n: i32| f64::from((n * 7919).rem_euclid(101)) / 25.0;
        let line: Vec<[f64; 2]> = (0..60).map(|n| [f64::from(n), number(n)]).collect();
        let line: Vec<&[f64]> = line.iter().map(|p| &p[..]).collect();
        let mut all = Vec::new();
        tolerances(&line, Metric::default(), |one| all.push(one));
        assert_eq!(all.len(), 58);
        for tolerance in [0.01, 0.3, 1.0, 2.0, 9.0] {
            let mut stays = vec![false; 60];
            simplify(&line, tolerance, Metric::default(), &mut stays);
            let kept = stays.iter().filter(|stays| **stays).count();
            assert_eq!(kept, 2 + all.iter().filter(|one| **one > tolerance).count());
        }
        tolerances(&line[..1], Metric::default(), |_| panic!("no inner vertex"));
        tolerances(&[], Metric::default(), |_| panic!("no vertex"));
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
        let most = simplify(&line, 0.25, Metric::default(), &mut stays);
        assert_eq!(stays, [true, false, true, false, false, true]);
        assert!((most - 0.01).abs() < 1e-12);
        // A closed line does not vanish.
        let round: Vec<&[f64]> = vec![&[0.0, 0.0], &[5.0, 0.0], &[5.0, 5.0], &[0.0, 0.0]];
        let mut stays = vec![false; 4];
        simplify(&round, 0.25, Metric::default(), &mut stays);
        assert_eq!(stays, [true; 4]);
        let mut none: [bool; 0] = [];
        assert_eq!(simplify(&[], 1.0, Metric::default(), &mut none), 0.0);
    }

    #[test]
    fn distances_in_time_are_those_at_the_same_moment() {
        let timed = Metric::of(&["t", "x"].map(Axis::named));
        // A cell that rests until frame 20, then moves 10 until frame 40: straight in space, but not in time.
        let line: Vec<[f64; 2]> = (0..=40_i32)
            .map(|frame| [f64::from(frame), f64::from((frame - 20).max(0)) / 2.0])
            .collect();
        let line: Vec<&[f64]> = line.iter().map(|p| &p[..]).collect();
        let mut stays = vec![false; line.len()];
        let moved = simplify(&line, 1e-12, timed, &mut stays);
        let kept: Vec<usize> = (0..stays.len()).filter(|at| stays[*at]).collect();
        assert_eq!(kept, [0, 20, 40]);
        assert!(moved <= 1e-12);
    }
}

//! Polylines and streamlines: removes the vertices that change the line least (Douglas and Peucker, 1973).

use zvf_meta::Metric;

/// For each vertex of a line, the index of the nearer of the kept vertices before and after it; at equal distances, the one before.
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

/// Calls `take` for each vertex of a line except its ends, in any order, with the square of the largest tolerance at which the vertex is kept.
pub(super) fn tolerances(line: &[&[f64]], metric: Metric, mut take: impl FnMut(f64)) {
    let Some(last) = line.len().checked_sub(1) else {
        return;
    };
    let mut stack = vec![(0_usize, last, f64::INFINITY)];
    while let Some((from, to, most)) = stack.pop() {
        // A range of one vertex has no inner vertices.
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
    use zvf_meta::Metric;

    use super::tolerances;

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
            Metric::default().simplify(&line, tolerance, &mut stays);
            let kept = stays.iter().filter(|stays| **stays).count();
            assert_eq!(kept, 2 + all.iter().filter(|one| **one > tolerance).count());
        }
        tolerances(&line[..1], Metric::default(), |_| panic!("no inner vertex"));
        tolerances(&[], Metric::default(), |_| panic!("no vertex"));
    }
}

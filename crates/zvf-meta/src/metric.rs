//! Distances between positions, in space.

use crate::{AxesDiffer, Axis, units};

/// Measures distances between positions of a store along the axes of space. Axes of time and of channels come before them (0.9 §5.1) and do not count.
///
/// # Examples
///
/// ```
/// use zvf_meta::{Axis, Metric};
///
/// let axes = ["t", "x", "y"].map(Axis::named);
/// let metric = Metric::of_lengths(&axes)?;
/// assert_eq!(metric.distance(&[0.0, 0.0, 0.0], &[9.0, 3.0, 4.0]), 5.0);
/// # Ok::<(), zvf_meta::AxesDiffer>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Metric {
    /// The number of axes of time and channels, which come first.
    before: usize,
    /// Whether the first axis is the only axis of time.
    timed: bool,
}

impl Metric {
    /// Distances in the numbers of the axes, whatever their units.
    #[must_use]
    pub fn of(axes: &[Axis]) -> Self {
        let before = || axes.iter().take_while(|axis| !axis.is_space());
        let is_time = |axis: &Axis| axis.kind() == "time";
        let times = before().filter(|axis| is_time(axis)).count();
        Self {
            before: before().count(),
            timed: times == 1 && axes.first().is_some_and(is_time),
        }
    }

    /// Distances that are lengths: all axes of space have the same unit. An axis without a unit is assumed to have it, too.
    ///
    /// # Errors
    /// Two axes of space have different units, or an axis of time or channels follows one of space.
    pub fn of_lengths(axes: &[Axis]) -> Result<Self, AxesDiffer> {
        let metric = Self::of(axes);
        let space = || axes.iter().skip(metric.before);
        if let Some(axis) = space().find(|axis| !axis.is_space()) {
            return Err(AxesDiffer {
                found: format!(
                    "the axis {} of type {} after those of space",
                    axis.name,
                    axis.kind()
                ),
                expected: "axes of space last".to_owned(),
            });
        }
        let stated = |axis: &'_ Axis| axis.unit.clone().map(|unit| (axis.name.clone(), unit));
        let mut stated = space().filter_map(stated);
        if let Some((first, unit)) = stated.next()
            && let Some((name, other)) = stated.find(|(_, other)| !units::same(&unit, other))
        {
            return Err(AxesDiffer {
                found: format!("axis {first} in {unit} and axis {name} in {other}"),
                expected: "one unit of length".to_owned(),
            });
        }
        Ok(metric)
    }

    /// The number of axes of time and channels, which come first.
    #[must_use]
    pub const fn before(self) -> usize {
        self.before
    }

    /// The part of a list that belongs to the axes of space. The list has one value for each axis, as a position has. The part is empty if the list
    /// is too short.
    #[must_use]
    pub fn space<T>(self, position: &[T]) -> &[T] {
        position
            .split_at_checked(self.before)
            .map_or(&[], |(_, space)| space)
    }

    /// The distance between two positions.
    #[must_use]
    pub fn distance(self, a: &[f64], b: &[f64]) -> f64 {
        self.square(a, b).sqrt()
    }

    /// The squared distance between two positions.
    #[must_use]
    pub fn square(self, a: &[f64], b: &[f64]) -> f64 {
        let axes = self.space(a).iter().zip(self.space(b));
        axes.map(|(a, b)| (a - b) * (a - b)).sum()
    }

    /// The squared distance of a position from a segment; if the first axis is the only one of time, from the point of the segment at that time.
    #[must_use]
    pub fn square_to_segment(self, position: &[f64], a: &[f64], b: &[f64]) -> f64 {
        let axes = || {
            let axes = self.space(position).iter().zip(self.space(a));
            axes.zip(self.space(b)).map(|((p, a), b)| (p, a, b))
        };
        let share = match (self.timed, position, a, b) {
            (true, [p, ..], [a, ..], [b, ..]) if a != b => (p - a) / (b - a),
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

    /// Simplifies a line by the algorithm of Ramer, Douglas and Peucker. Marks vertices such that every other vertex is at most the root of `square`
    /// away from the segment between the marked vertices around it. The ends are marked. A part between two marked vertices is divided at the vertex
    /// that is farthest from the segment between them (the first such vertex), which is marked, until no vertex is too far away. Returns the squared
    /// largest distance of an unmarked vertex. Vertices with NaN coordinates are not marked, except at the ends.
    ///
    /// # Cost
    /// O(n log n) if the line is divided evenly, O(n²) at worst; no recursion.
    ///
    /// # Examples
    ///
    /// ```
    /// let line: [&[f64]; 4] = [&[0.0, 0.0], &[1.0, 0.1], &[2.0, 5.0], &[4.0, 0.0]];
    /// let mut marks = [false; 4];
    /// zvf_meta::Metric::default().simplify(&line, 4.0, &mut marks);
    /// assert_eq!(marks, [true, false, true, true]);
    /// ```
    pub fn simplify(self, line: &[&[f64]], square: f64, marks: &mut [bool]) -> f64 {
        let Some(last) = line.len().checked_sub(1) else {
            return 0.0;
        };
        let mut mark = |at: usize| {
            if let Some(mark) = marks.get_mut(at) {
                *mark = true;
            }
        };
        mark(0);
        mark(last);
        let (mut most, mut parts) = (0.0_f64, vec![(0_usize, last)]);
        while let Some((start, end)) = parts.pop() {
            // A line of one vertex has no vertex between its ends.
            let Some([a, inner @ .., b]) = line.get(start..=end) else {
                continue;
            };
            let mut farthest = (0.0_f64, start);
            for (at, position) in (start + 1..).zip(inner) {
                let far = self.square_to_segment(position, a, b);
                if far > farthest.0 {
                    farthest = (far, at);
                }
            }
            let (far, at) = farthest;
            if far > square {
                mark(at);
                parts.push((start, at));
                parts.push((at, end));
            } else {
                most = most.max(far);
            }
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_segments_not_of_lines() {
        let all = Metric::default();
        let far = |p: [f64; 2], b: [f64; 2]| all.square_to_segment(&p, &[0.0, 0.0], &b);
        assert_eq!(far([1.0, 2.0], [4.0, 0.0]), 4.0);
        assert_eq!(far([7.0, 4.0], [4.0, 0.0]), 25.0);
        assert_eq!(far([3.0, 4.0], [0.0, 0.0]), 25.0);
    }

    #[test]
    fn lengths_need_one_unit() {
        let axes = |units: [Option<&str>; 4]| {
            let named = ["t", "x", "y", "z"].into_iter().zip(units);
            let axis = |(name, unit): (&str, Option<&str>)| Axis {
                unit: unit.map(str::to_owned),
                ..Axis::named(name)
            };
            named.map(axis).collect::<Vec<_>>()
        };
        let um = Some("micrometer");
        for same in [
            [None; 4],
            [Some("s"), um, Some("um"), um],
            [um, None, um, um],
        ] {
            let metric = Metric::of_lengths(&axes(same)).unwrap();
            assert_eq!(metric.before(), 1);
            assert_eq!(
                metric.square(&[0.0, 3.0, 0.0, 0.0], &[9.0, 0.0, 4.0, 0.0]),
                25.0
            );
        }
        let other = Metric::of_lengths(&axes([None, um, um, Some("nm")])).unwrap_err();
        let said = "found axis x in micrometer and axis z in nm, expected one unit of length";
        assert_eq!(other.to_string(), said);
        let mut late = axes([None; 4]);
        late.rotate_left(1);
        assert!(Metric::of_lengths(&late).is_err());
    }

    #[test]
    fn channels_are_not_in_space() {
        let mut axes = ["t", "c", "x", "y"].map(Axis::named).to_vec();
        axes[1] = Axis::new("c", "channel");
        for (first, before) in [(0, 2), (1, 1), (2, 0)] {
            let metric = Metric::of_lengths(&axes[first..]).unwrap();
            assert_eq!(metric.before(), before);
            assert_eq!(
                metric.distance(
                    &[9.0, 9.0, 0.0, 0.0][first..],
                    &[0.0, 0.0, 3.0, 4.0][first..]
                ),
                5.0
            );
        }
        // Channels do not count: the nearest point is determined in space only.
        let metric = Metric::of(&axes[1..]);
        assert_eq!(
            metric.square_to_segment(&[1.0, 1.0, 2.0], &[0.0, 0.0, 0.0], &[9.0, 2.0, 0.0]),
            4.0
        );
        axes.swap(1, 3);
        assert!(Metric::of_lengths(&axes).is_err());
    }

    fn kept(points: &[[f64; 2]], tolerance: f64) -> Vec<usize> {
        let line: Vec<&[f64]> = points.iter().map(|one| &one[..]).collect();
        let mut marks = vec![false; line.len()];
        Metric::default().simplify(&line, tolerance * tolerance, &mut marks);
        (0..marks.len()).filter(|at| marks[*at]).collect()
    }

    #[test]
    fn what_is_near_enough_goes() {
        let points = [
            [0.0, 0.0],
            [1.0, 0.1],
            [2.0, -0.1],
            [3.0, 5.0],
            [4.0, 6.0],
            [5.0, 7.0],
        ];
        assert_eq!(kept(&points, 1.0), [0, 2, 3, 5]);
        assert_eq!(kept(&points, 0.0), [0, 1, 2, 3, 5]);
        assert_eq!(kept(&points, 100.0), [0, 5]);
        // The nearest point of a segment can be one of its ends.
        assert_eq!(kept(&[[0.0, 0.0], [9.0, 0.0], [5.0, 0.0]], 1.0), [0, 1, 2]);
        assert_eq!(kept(&[[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]], 4.9), [0, 1, 2]);
        assert_eq!(kept(&[[0.0, 0.0], [1.0, 1.0]], 1.0), [0, 1]);
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
        let most = Metric::default().simplify(&line, 0.25, &mut stays);
        assert_eq!(stays, [true, false, true, false, false, true]);
        assert!((most - 0.01).abs() < 1e-12);
        // A closed line is not simplified to nothing.
        let round: Vec<&[f64]> = vec![&[0.0, 0.0], &[5.0, 0.0], &[5.0, 5.0], &[0.0, 0.0]];
        let mut stays = vec![false; 4];
        Metric::default().simplify(&round, 0.25, &mut stays);
        assert_eq!(stays, [true; 4]);
        let mut none: [bool; 0] = [];
        assert_eq!(Metric::default().simplify(&[], 1.0, &mut none), 0.0);
    }

    #[test]
    fn distances_in_time_are_those_at_the_same_moment() {
        let timed = Metric::of(&["t", "x"].map(Axis::named));
        // A cell that rests until frame 20, then moves by 10 until frame 40: straight in space, but not in time.
        let line: Vec<[f64; 2]> = (0..=40_i32)
            .map(|frame| [f64::from(frame), f64::from((frame - 20).max(0)) / 2.0])
            .collect();
        let line: Vec<&[f64]> = line.iter().map(|p| &p[..]).collect();
        let mut stays = vec![false; line.len()];
        let moved = timed.simplify(&line, 1e-12, &mut stays);
        let kept: Vec<usize> = (0..stays.len()).filter(|at| stays[*at]).collect();
        assert_eq!(kept, [0, 20, 40]);
        assert!(moved <= 1e-12);
    }
}

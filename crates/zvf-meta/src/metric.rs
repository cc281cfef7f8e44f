//! Distances between positions, in space.

use crate::{AxesDiffer, Axis, units};

/// How distances between positions of a store are measured: along the axes of space. Axes of time come before them (0.9 §5.1) and do not count.
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
    /// The number of axes of time.
    times: usize,
}

impl Metric {
    /// Distances in the numbers of the axes, whatever their units are.
    #[must_use]
    pub fn of(axes: &[Axis]) -> Self {
        let times = axes.iter().take_while(|axis| axis.kind() == "time");
        Self {
            times: times.count(),
        }
    }

    /// Distances that are lengths: all axes of space have the same unit. Axes without a unit have that of the others.
    ///
    /// # Errors
    /// Two axes of space have different units, or an axis of time follows one of space.
    pub fn of_lengths(axes: &[Axis]) -> Result<Self, AxesDiffer> {
        let metric = Self::of(axes);
        let space = || axes.iter().skip(metric.times);
        if let Some(axis) = space().find(|axis| axis.kind() == "time") {
            return Err(AxesDiffer {
                found: format!("the axis of time {} after those of space", axis.name),
                expected: "axes of time first".to_owned(),
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

    /// The number of axes of time, which are the first ones.
    #[must_use]
    pub const fn times(self) -> usize {
        self.times
    }

    /// The part of a list that belongs to the axes of space, of a list with one value for each axis such as a position. A list that has no values
    /// for them has an empty part.
    #[must_use]
    pub fn space<T>(self, position: &[T]) -> &[T] {
        position
            .split_at_checked(self.times)
            .map_or(&[], |(_, space)| space)
    }

    /// The distance of two positions.
    #[must_use]
    pub fn distance(self, a: &[f64], b: &[f64]) -> f64 {
        self.square(a, b).sqrt()
    }

    /// The square of the distance of two positions.
    #[must_use]
    pub fn square(self, a: &[f64], b: &[f64]) -> f64 {
        let axes = self.space(a).iter().zip(self.space(b));
        axes.map(|(a, b)| (a - b) * (a - b)).sum()
    }

    /// The square of the distance of a position from a segment; with one axis of time, from the point of the segment at that time.
    #[must_use]
    pub fn square_to_segment(self, position: &[f64], a: &[f64], b: &[f64]) -> f64 {
        let axes = || {
            let axes = self.space(position).iter().zip(self.space(a));
            axes.zip(self.space(b)).map(|((p, a), b)| (p, a, b))
        };
        let share = match (self.times, position, a, b) {
            (1, [p, ..], [a, ..], [b, ..]) if a != b => (p - a) / (b - a),
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
            assert_eq!(metric.times(), 1);
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
}

//! Positions along a chain of points, by arc length.

use serde::Serialize;

/// The positions of the new points of a line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum NewPoints {
    /// This number of points at equal arc length, both ends included: 2 or more.
    #[serde(rename = "points")]
    Count(u32),
    /// A point at every multiple of this arc length, and the end of the line. A last segment of less than a millionth of the step is joined to
    /// the previous one.
    #[serde(rename = "step")]
    Step(f64),
    /// A subset of the vertices with both ends: vertices that are left out are at most this far from the new line, in units of the axes (Ramer,
    /// Douglas and Peucker).
    #[serde(rename = "tolerance")]
    Tolerance(f64),
}

impl NewPoints {
    /// The first number that is out of range: its name, the value found, and what is expected.
    #[must_use]
    pub fn problem(self) -> Option<(&'static str, String, &'static str)> {
        match self {
            Self::Count(count) if count < 2 => {
                Some(("points", count.to_string(), "2 or more, for both ends"))
            }
            Self::Step(step) if !(step.is_finite() && step > 0.0) => {
                Some(("step", step.to_string(), "a length above 0"))
            }
            Self::Tolerance(far) if !(far.is_finite() && far >= 0.0) => {
                Some(("tolerance", far.to_string(), "a distance of 0 or more"))
            }
            _ => None,
        }
    }
}

/// A position on the segment between the rows `from` and `to`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OnSegment {
    pub(super) from: usize,
    pub(super) to: usize,
    /// 0 at `from`, and below 1.
    pub(super) share: f64,
}

impl OnSegment {
    /// The position of a row.
    pub(super) const fn at(row: usize) -> Self {
        Self {
            from: row,
            to: row,
            share: 0.0,
        }
    }

    /// The nearer row; `from` if both are equally near.
    pub(super) fn nearest(self) -> usize {
        match self.share > 0.5 {
            true => self.to,
            false => self.from,
        }
    }
}

/// The rows of a line in order, with the arc length up to each.
#[derive(Debug, Default)]
pub(super) struct ArcLength {
    rows: Vec<usize>,
    ways: Vec<f64>,
}

impl ArcLength {
    /// The rows.
    pub(super) fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Adds the next row, at distance `far` from the previous one.
    pub(super) fn add(&mut self, row: usize, far: f64) {
        let way = self.ways.last().map_or(0.0, |way| way + far);
        self.rows.push(row);
        self.ways.push(way);
    }

    /// The length of the line.
    pub(super) fn length(&self) -> f64 {
        self.ways.last().copied().unwrap_or(0.0)
    }

    /// The number of new points on a line of two rows or more; `None`: more than 2^31, or not at equal spacing.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole numbers from 2 to 2^31"
    )]
    pub(super) fn count(&self, spacing: NewPoints) -> Option<u64> {
        // More points would fill a disk; such a step is probably in another unit than the positions.
        const MOST: u32 = 1 << 31;
        match spacing {
            NewPoints::Count(count) => (count <= MOST).then_some(u64::from(count)),
            NewPoints::Tolerance(_) => None,
            NewPoints::Step(step) => {
                let pieces = (self.length() / step - 1e-6).ceil().max(1.0);
                (pieces < f64::from(MOST)).then(|| pieces as u64 + 1)
            }
        }
    }

    /// The [`count`](Self::count) new points of a line of two rows or more, both ends included.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of points are far below 2^53"
    )]
    pub(super) fn places(
        &self,
        spacing: NewPoints,
        count: u64,
    ) -> impl Iterator<Item = OnSegment> + '_ {
        let last = count.saturating_sub(1);
        let mut before = 0;
        (0..count).filter_map(move |number| {
            if number == 0 || number == last {
                let row = if number == 0 {
                    self.rows.first()
                } else {
                    self.rows.last()
                };
                return row.map(|row| OnSegment::at(*row));
            }
            let way = match spacing {
                NewPoints::Count(_) => self.length() * (number as f64 / last as f64),
                NewPoints::Step(step) => step * number as f64,
                NewPoints::Tolerance(_) => return None,
            };
            while self.ways.get(before + 1).is_some_and(|next| *next <= way)
                && before + 2 < self.ways.len()
            {
                before += 1;
            }
            let (from, to) = (*self.rows.get(before)?, *self.rows.get(before + 1)?);
            let (start, end) = (*self.ways.get(before)?, *self.ways.get(before + 1)?);
            Some(match (way - start) / (end - start) {
                share if share >= 1.0 => OnSegment::at(to),
                share if share > 0.0 => OnSegment { from, to, share },
                // The share of a segment without length is NaN.
                _ => OnSegment::at(from),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ways: &[f64], spacing: NewPoints) -> Vec<f64> {
        let mut line = ArcLength::default();
        let mut before = 0.0;
        for (row, way) in ways.iter().enumerate() {
            line.add(row, way - before);
            before = *way;
        }
        let count = line.count(spacing).unwrap();
        let places: Vec<OnSegment> = line.places(spacing, count).collect();
        assert_eq!(places.len() as u64, count);
        let ways = places
            .iter()
            .map(|one| ways[one.from] * (1.0 - one.share) + ways[one.to] * one.share);
        ways.collect()
    }

    #[test]
    fn places_are_where_the_spacing_says() {
        let ways = [0.0, 1.0, 1.0, 4.0, 10.0];
        assert_eq!(found(&ways, NewPoints::Count(2)), [0.0, 10.0]);
        assert_eq!(
            found(&ways, NewPoints::Count(5)),
            [0.0, 2.5, 5.0, 7.5, 10.0]
        );
        assert_eq!(found(&ways, NewPoints::Step(4.0)), [0.0, 4.0, 8.0, 10.0]);
        assert_eq!(found(&ways, NewPoints::Step(5.0)), [0.0, 5.0, 10.0]);
        assert_eq!(found(&ways, NewPoints::Step(10.0)), [0.0, 10.0]);
        assert_eq!(found(&ways, NewPoints::Step(1e300)), [0.0, 10.0]);
        // There is no last segment of almost no length.
        assert_eq!(found(&ways, NewPoints::Step(10.0 / 3.0)).len(), 4);
        assert_eq!(found(&[0.0, 0.0], NewPoints::Count(3)), [0.0, 0.0, 0.0]);
        assert_eq!(found(&[0.0, 0.0, 0.0], NewPoints::Step(1.0)), [0.0, 0.0]);
        let mut line = ArcLength::default();
        line.add(0, 0.0);
        line.add(1, 1.0);
        assert_eq!(line.count(NewPoints::Step(1e-300)), None);
        assert_eq!(line.count(NewPoints::Step(1e-10)), None);
        assert_eq!(line.count(NewPoints::Step(1e-9)), Some(1_000_000_001));
        assert_eq!(line.count(NewPoints::Count(u32::MAX)), None);
    }

    #[test]
    fn the_middle_belongs_to_the_first_row() {
        let on = |share| OnSegment {
            from: 3,
            to: 4,
            share,
        };
        assert_eq!(
            [0.0, 0.5, 0.500_000_1].map(|share| on(share).nearest()),
            [3, 3, 4]
        );
    }
}

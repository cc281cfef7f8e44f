//! The scale and offset between the stored integers of a file and coordinates.

use std::ops::RangeInclusive;

/// A scale and an offset: the coordinate of a number is `number * scale + offset`, as the reader computes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScaleOffset {
    pub(super) scale: f64,
    pub(super) offset: f64,
}

impl ScaleOffset {
    /// The stored integer nearest to a coordinate; `None` beyond 32 bits.
    pub(super) fn number(self, coordinate: f64) -> Option<i32> {
        let number = self.whole(coordinate, f64::from(i32::MIN)..=f64::from(i32::MAX))?;
        i32::try_from(number).ok()
    }

    /// The stored integer nearest to a value; `None` outside of `range`, whose ends float64 represents exactly.
    pub(super) fn whole(self, value: f64, range: RangeInclusive<f64>) -> Option<i64> {
        let number = ((value - self.offset) / self.scale).round();
        #[expect(clippy::cast_possible_truncation, reason = "checked just here")]
        let number = range.contains(&number).then_some(number as i64);
        number
    }

    /// The coordinate of a stored integer.
    pub(super) fn coordinate(self, number: i32) -> f64 {
        f64::from(number) * self.scale + self.offset
    }
}

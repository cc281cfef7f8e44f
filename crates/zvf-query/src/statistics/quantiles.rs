//! Quantiles of a stream of numbers in bounded memory.
//!
//! Numbers are collected up to the capacity. Then they are sorted, every second one is dropped, and the others move to the next level with twice the
//! weight; full levels are halved in the same way (Manku, Rajagopalan and Lindsay, 1998). The result is deterministic: the same numbers in the same
//! order have the same quantiles. Dropping half of a sorted buffer changes the rank of any number by at most the weight of its elements; the sum of
//! these weights is the stated error.

use crate::QueryError;
use crate::error::{OrBug, internal};

/// Quantiles of numbers, which are given as keys with the same order.
#[derive(Debug, Clone)]
pub(super) struct QuantileSketch {
    capacity: usize,
    /// Keys by level; the weight is 2 to the power of the level.
    levels: Vec<Vec<u64>>,
    /// For each level, whether the keys at odd indices were kept the last time.
    odd: Vec<bool>,
    count: u64,
    error: u64,
}

/// The keys on both sides of a quantile, and its position between them, from 0 at `low` to 1 at `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Between {
    pub(super) low: u64,
    pub(super) high: u64,
    pub(super) fraction: f64,
}

impl QuantileSketch {
    /// A sketch that is exact for up to `capacity` numbers.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(2),
            levels: vec![Vec::new()],
            odd: vec![false],
            count: 0,
            error: 0,
        }
    }

    /// Adds numbers.
    pub(super) fn extend(&mut self, keys: impl Iterator<Item = u64>) -> Result<(), QueryError> {
        for key in keys {
            self.count += 1;
            let lowest = self.levels.first_mut().or_bug("a sketch without levels")?;
            lowest.push(key);
            if lowest.len() > self.capacity {
                self.compact()?;
            }
        }
        Ok(())
    }

    /// Halves every full level, from the lowest on.
    fn compact(&mut self) -> Result<(), QueryError> {
        let mut level = 0;
        while (self.levels.get(level)).is_some_and(|keys| keys.len() > self.capacity) {
            if level + 1 == self.levels.len() {
                self.levels.push(Vec::new());
                self.odd.push(false);
            }
            let odd = self.odd.get_mut(level).or_bug("a level without parity")?;
            *odd = !*odd;
            let first = usize::from(*odd);
            let keys = self.levels.get_mut(level).or_bug("a missing level")?;
            let mut keys = std::mem::take(keys);
            keys.sort_unstable();
            // With an odd number of keys, the last one remains.
            let left = (keys.len() % 2 == 1).then(|| keys.pop()).flatten();
            let above = self.levels.get_mut(level + 1).or_bug("a missing level")?;
            above.extend(keys.iter().skip(first).step_by(2));
            keys.clear();
            keys.extend(left);
            *self.levels.get_mut(level).or_bug("a missing level")? = keys;
            self.error = self
                .error
                .saturating_add(1_u64.checked_shl(narrow(level)).unwrap_or(u64::MAX));
            level += 1;
        }
        Ok(())
    }

    /// The largest possible difference in rank between a returned number and the exact quantile; 0 if quantiles are exact.
    pub(super) fn error(&self) -> u64 {
        self.error
    }

    /// The positions of quantiles between keys, interpolated linearly as NumPy does by default; empty without numbers.
    ///
    /// # Errors
    ///
    /// Bug: the weights do not add up.
    pub(super) fn at(&self, probabilities: &[f64]) -> Result<Vec<Between>, QueryError> {
        let mut all: Vec<(u64, u64)> = Vec::new();
        for (level, keys) in self.levels.iter().enumerate() {
            let weight = 1_u64
                .checked_shl(narrow(level))
                .or_bug("a level of no weight")?;
            all.extend(keys.iter().map(|key| (*key, weight)));
        }
        all.sort_unstable();
        let mut total = 0_u64;
        for (_, weight) in &mut all {
            total += *weight;
            *weight = total;
        }
        internal!(
            total == self.count,
            "weights of {total} for {} numbers",
            self.count
        );
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let last = self.count - 1;
        let ranked = |rank: u64| {
            let at = all.partition_point(|(_, end)| *end <= rank);
            all.get(at)
                .map(|(key, _)| *key)
                .or_bug("a rank beyond all numbers")
        };
        let one = |probability: &f64| {
            let place = probability * real(last);
            let low = whole(place).min(last);
            Ok(Between {
                low: ranked(low)?,
                high: ranked(low.saturating_add(1).min(last))?,
                fraction: place - real(low),
            })
        };
        probabilities.iter().map(one).collect()
    }
}

fn narrow(level: usize) -> u32 {
    u32::try_from(level).unwrap_or(u32::MAX)
}

/// A count as a float; rounded beyond 2^53.
#[expect(clippy::cast_precision_loss, reason = "rounding is documented")]
pub(crate) fn real(count: u64) -> f64 {
    count as f64
}

/// The integer part of a rank, which is neither negative nor NaN.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "returns the integer part"
)]
fn whole(place: f64) -> u64 {
    place as u64
}

/// The key of a float; keys have the order of the numbers.
pub(super) fn key_of_float(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

/// The float of a key.
pub(super) fn float_of_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 {
        key & !(1 << 63)
    } else {
        !key
    })
}

impl Between {
    /// The quantile, from the numbers of the keys, computed as in NumPy.
    pub(super) fn value(self, number: impl Fn(u64) -> f64) -> f64 {
        let (low, high) = (number(self.low), number(self.high));
        if self.fraction == 0.0 || self.low == self.high {
            return low;
        }
        let step = high - low;
        match self.fraction >= 0.5 {
            true => high - step * (1.0 - self.fraction),
            false => low + step * self.fraction,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_floats() {
        let all = [
            f64::NEG_INFINITY,
            -2.5,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            1e-300,
            3.0,
            f64::INFINITY,
        ];
        let keys: Vec<u64> = all.iter().copied().map(key_of_float).collect();
        assert!(keys.is_sorted());
        let back: Vec<f64> = keys.into_iter().map(float_of_key).collect();
        assert_eq!(back, all);
    }

    #[test]
    fn few_numbers_are_exact() {
        let mut sketch = QuantileSketch::new(8);
        sketch
            .extend([4.0, 1.0, 3.0, 2.0].map(key_of_float).into_iter())
            .unwrap();
        let found = sketch.at(&[0.0, 0.25, 0.5, 1.0]).unwrap();
        let found: Vec<f64> = found
            .into_iter()
            .map(|one| one.value(float_of_key))
            .collect();
        // numpy.quantile([4, 1, 3, 2], [0, 0.25, 0.5, 1])
        assert_eq!(found, [1.0, 1.75, 2.5, 4.0]);
        assert_eq!(sketch.error(), 0);
        let mut full = QuantileSketch::new(8);
        full.extend(0..8).unwrap();
        assert_eq!(full.error(), 0);
        full.extend(8..9).unwrap();
        assert_eq!(full.error(), 1);
        assert!(QuantileSketch::new(8).at(&[0.5]).unwrap().is_empty());
    }

    #[test]
    fn many_numbers_are_within_the_stated_error_in_bounded_memory() {
        const COUNT: u64 = 200_000;
        // Every number below the count once, in an order that is neither sorted nor random.
        let numbers = || (0..COUNT).map(|number| number * 77_773 % COUNT);
        for capacity in [64, 1000, 4096] {
            let mut sketch = QuantileSketch::new(capacity);
            sketch.extend(numbers()).unwrap();
            assert!(
                sketch.error() > 0 && sketch.error() < COUNT / 4,
                "{}",
                sketch.error()
            );
            let kept: usize = sketch.levels.iter().map(Vec::len).sum();
            assert!(kept <= 20 * capacity, "{kept}");
            for percent in 0..=100_u32 {
                let found = sketch.at(&[f64::from(percent) / 100.0]).unwrap()[0].low;
                let wanted = (COUNT - 1) * u64::from(percent) / 100;
                // The numbers are 0, 1, 2, .., so each number is its own rank.
                assert!(
                    found.abs_diff(wanted) <= sketch.error(),
                    "{percent}: {found}, {wanted}"
                );
            }
        }
    }
}

//! Histograms of numbers with an unknown range: counts are exact, and bins widen with the range.
//!
//! The width of the bins is a power of two, and their edges are multiples of it. For a number outside of all bins, the width is doubled until the
//! requested number of bins covers all numbers. Then pairs of bins are merged, so earlier numbers need not be counted again.

use zvf_store::format::int;

use crate::QueryError;
use crate::error::{OrBug, internal};

/// The exponent of the narrowest bins, chosen so that all scales are finite.
const NARROWEST: i32 = -1000;

/// The exponent of the widest bins.
const WIDEST: i32 = 1023;

/// Counts by bins of one width.
#[derive(Debug, Clone)]
pub(super) struct Histogram {
    most: usize,
    /// The width of bins is 2 to this power.
    exponent: i32,
    /// The lower edge of the first bin, as a multiple of the width.
    first: i128,
    counts: Vec<u64>,
}

/// Integers or floats.
#[derive(Debug, Clone, Copy)]
pub(super) enum Numbers<'a> {
    Integers(&'a [i128]),
    /// Finite numbers.
    Floats(&'a [f64]),
}

impl Histogram {
    /// A histogram of at most `most` bins, or 4 if `most` is less.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most: most.max(4),
            exponent: NARROWEST,
            first: 0,
            counts: Vec::new(),
        }
    }

    /// Counts numbers.
    ///
    /// # Errors
    ///
    /// Bug: a number is in no bin.
    pub(super) fn extend(&mut self, numbers: Numbers<'_>) -> Result<(), QueryError> {
        match numbers {
            Numbers::Integers(all) => {
                let ends = all.iter().min().zip(all.iter().max());
                let Some((low, high)) = ends else {
                    return Ok(());
                };
                self.widen(0, &|exponent| {
                    (integer_bin(*low, exponent), integer_bin(*high, exponent))
                })?;
                for number in all {
                    self.count(integer_bin(*number, self.exponent))?;
                }
            }
            Numbers::Floats(all) => {
                let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
                for number in all {
                    (low, high) = (low.min(*number), high.max(*number));
                }
                if low > high {
                    return Ok(());
                }
                // Bins are not narrower than the distance between neighbouring floats.
                let narrowest = (exponent_of(low.abs().max(high.abs())) - 52).max(NARROWEST);
                let ends = |exponent| {
                    let scale = scale(exponent);
                    (float_bin(low, scale), float_bin(high, scale))
                };
                self.widen(narrowest, &ends)?;
                let scale = scale(self.exponent);
                for number in all {
                    self.count(float_bin(*number, scale))?;
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, bin: i128) -> Result<(), QueryError> {
        let at = usize::try_from(bin - self.first).ok();
        let count = at.and_then(|at| self.counts.get_mut(at));
        *count.or_bug("a number in no bin of its histogram")? += 1;
        Ok(())
    }

    /// Widens the bins until they also cover a range. `ends` returns the first and the last bin of the range for an exponent; `narrowest` is the least
    /// exponent that may be used.
    fn widen(
        &mut self,
        narrowest: i32,
        ends: &dyn Fn(i32) -> (i128, i128),
    ) -> Result<(), QueryError> {
        let old =
            (!self.counts.is_empty()).then(|| (self.first, self.first + length(&self.counts) - 1));
        let mut exponent = self.exponent.max(narrowest);
        loop {
            let shift = int_shift(exponent - self.exponent);
            let (mut first, mut last) = ends(exponent);
            if let Some((old_first, old_last)) = old {
                (first, last) = (first.min(old_first >> shift), last.max(old_last >> shift));
            }
            let bins = usize::try_from(last - first)
                .ok()
                .and_then(|bins| bins.checked_add(1));
            if let Some(bins) = bins.filter(|bins| *bins <= self.most) {
                let mut counts = vec![0; bins];
                for (bin, count) in (self.first..).zip(&self.counts) {
                    let at = usize::try_from((bin >> shift) - first).ok();
                    *at.and_then(|at| counts.get_mut(at))
                        .or_bug("a bin outside of its histogram")? += count;
                }
                (self.exponent, self.first, self.counts) = (exponent, first, counts);
                return Ok(());
            }
            internal!(exponent < WIDEST, "a range of {bins:?} bins");
            exponent += 1;
        }
    }

    /// The edges of the bins, one more than there are bins, and their counts. Edges that float64 cannot represent are
    /// rounded; edges beyond its range become its smallest or largest finite number.
    pub(super) fn bins(&self) -> (Vec<f64>, Vec<u64>) {
        if self.counts.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let edges = (0..=length(&self.counts)).map(|bin| {
            let edge = real(self.first + bin);
            // In two steps, so that no factor is near the limits of float64.
            let half = self.exponent / 2;
            let edge = edge * 2_f64.powi(half) * 2_f64.powi(self.exponent - half);
            edge.clamp(f64::MIN, f64::MAX)
        });
        (edges.collect(), self.counts.clone())
    }
}

fn length(counts: &[u64]) -> i128 {
    i128::from(int::wide(counts.len()))
}

#[expect(clippy::cast_precision_loss, reason = "edges may be rounded")]
fn real(edge: i128) -> f64 {
    edge as f64
}

/// The number of bits of a shift, at most 127: a shift of an `i128` by 127 leaves only the sign, as any larger shift would.
fn int_shift(by: i32) -> u32 {
    u32::try_from(by).unwrap_or(0).min(127)
}

fn integer_bin(number: i128, exponent: i32) -> i128 {
    number >> int_shift(exponent)
}

/// The factor that converts numbers to bins.
fn scale(exponent: i32) -> f64 {
    2_f64.powi(-exponent)
}

#[expect(clippy::cast_possible_truncation, reason = "bins have at most 53 bits")]
fn float_bin(number: f64, scale: f64) -> i128 {
    let bin = number * scale;
    // A small negative number may underflow to zero, but belongs to the bin below it.
    match bin == 0.0 && number < 0.0 {
        true => -1,
        false => i128::from(bin.floor() as i64),
    }
}

/// The exponent of a finite number that is not negative.
fn exponent_of(number: f64) -> i32 {
    let bits = number.to_bits() >> 52 & 0x7FF;
    i32::try_from(bits).map_or(WIDEST, |bits| bits - 1023)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts all numbers again for the final edges.
    fn check(batches: &[&[f64]], most: usize) {
        let mut histogram = Histogram::new(most);
        for batch in batches {
            histogram.extend(Numbers::Floats(batch)).unwrap();
        }
        let (edges, counts) = histogram.bins();
        assert!(counts.len() <= most.max(4), "{}", counts.len());
        let all: Vec<f64> = batches.concat();
        assert!(edges.iter().all(|edge| edge.is_finite()), "{edges:?}");
        for (edge, count) in edges.windows(2).zip(&counts) {
            let largest = |one: f64| one == f64::MAX && edge[1] == f64::MAX;
            let inside = all
                .iter()
                .filter(|one| (edge[0]..edge[1]).contains(*one) || largest(**one))
                .count();
            assert_eq!(inside as u64, *count, "{edge:?} of {batches:?}");
        }
        assert_eq!(counts.iter().sum::<u64>(), all.len() as u64);
    }

    #[test]
    fn counts_are_exact_however_the_range_grows() {
        check(&[&[0.1, 0.2, 0.30001], &[-5.0, 3.5], &[1e6, -0.0]], 10);
        check(&[&[7.25], &[7.25, 7.25], &[7.250_000_000_000_001]], 4);
        check(&[&[0.0], &[0.0], &[1.0]], 16);
        check(&[&[-1e-320, 1e-320], &[1.0]], 8);
        check(&[&[1e300, -1e300], &[f64::MAX, -1e-300]], 4);
        check(&[&[1.0, 2.0, 3.0, 4.0, 5.0]], 5);
        check(&[], 5);
        let many: Vec<f64> = (0..1000_u32)
            .map(|n| f64::from(n * n % 997) / 8.0)
            .collect();
        let batches: Vec<&[f64]> = many.chunks(7).collect();
        check(&batches, 20);
    }

    #[test]
    fn integers_of_64_bits_are_exact() {
        let mut histogram = Histogram::new(8);
        let all = [i64::MIN.into(), 0, i128::from(u64::MAX)];
        histogram.extend(Numbers::Integers(&all)).unwrap();
        let (edges, counts) = histogram.bins();
        assert_eq!((counts.iter().sum::<u64>(), counts.len()), (3, 6));
        assert_eq!(edges[0], -(2_f64.powi(63)));
        let mut few = Histogram::new(8);
        few.extend(Numbers::Integers(&[3, 3, 5])).unwrap();
        assert_eq!(few.bins(), (vec![3.0, 4.0, 5.0, 6.0], vec![2, 0, 1]));
    }
}

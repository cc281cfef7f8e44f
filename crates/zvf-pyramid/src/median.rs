//! The median of any number of numbers, in bounded memory.

use std::path::Path;

use zvf_encode::WriteError;
use zvf_encode::error::{OrBug, to_index};
use zvf_encode::records::{Spool, typed};
use zvf_format::int::index;

/// Squares of distances: finite numbers above 0.
#[derive(Debug)]
pub(crate) struct Squares {
    /// Their bits, which have the same order as the numbers.
    bits: Spool,
    count: u64,
}

impl Squares {
    pub(crate) fn new(budget: usize, folder: &Path) -> Self {
        Self {
            bits: Spool::new(budget, folder),
            count: 0,
        }
    }

    pub(crate) fn push(&mut self, square: f64) -> Result<(), WriteError> {
        self.count += 1;
        self.bits.push_value(&square.to_bits())
    }

    /// The lower median; `None` without numbers.
    ///
    /// # Cost
    /// Four passes over the numbers: each determines 16 more bits by counting.
    pub(crate) fn median(&self) -> Result<Option<f64>, WriteError> {
        let Some(mut rank) = self.count.checked_sub(1).map(|last| last / 2) else {
            return Ok(None);
        };
        let mut found = 0_u64;
        for shift in [48_u32, 32, 16, 0] {
            let mut counts = vec![0_u64; 1 << 16];
            self.bits.each_piece(|piece| {
                for bits in typed::<u64>(piece)? {
                    let bits = bits? >> shift;
                    if bits >> 16 == found {
                        let count = counts.get_mut(to_index("a digit", bits & 0xffff)?);
                        *count.or_bug("no count of a digit")? += 1;
                    }
                }
                Ok(())
            })?;
            let mut digit = 0_u32;
            while let Some(&count) = counts.get(index(digit)).filter(|count| **count <= rank) {
                rank -= count;
                digit += 1;
            }
            found = (found << 16) | u64::from(digit);
        }
        Ok(Some(f64::from_bits(found)))
    }
}

#[cfg(test)]
mod tests {
    use super::Squares;

    #[test]
    fn medians_are_the_lower_ones() {
        for count in [0, 1, 2, 3, 100, 20_001] {
            let mut squares = Squares::new(0, &std::env::temp_dir());
            let number = |n: u64| {
                ((n * 7919 % 9973) as f64 / 97.0 + 1e-9) * 1e3_f64.powi((n % 7) as i32 - 3)
            };
            let mut all: Vec<f64> = (0..count).map(number).collect();
            all.iter().for_each(|&one| squares.push(one).unwrap());
            all.sort_by(f64::total_cmp);
            let wanted = all.len().checked_sub(1).map(|last| all[last / 2]);
            assert_eq!(squares.median().unwrap(), wanted);
        }
        let mut same = Squares::new(0, &std::env::temp_dir());
        (0..9).for_each(|_| same.push(2.5).unwrap());
        assert_eq!(same.median().unwrap(), Some(2.5));
    }
}

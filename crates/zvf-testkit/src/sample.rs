//! Selects the cases of a long list that a test run tries.
//!
//! A test that tries thousands of cases takes a share of them, chosen by the seed `ZVF_TEST_SEED`. `cargo xtask test` sets it to the
//! number of the day and prints it, so that each day tries other cases and a failure can be repeated. With `ZVF_TESTS=whole` every case is tried.
//! Tests of the bytes on disk are never sampled.
//!
//! ```
//! use zvf_testkit::sample::Sample;
//!
//! let sample = Sample::of("doc", 7, false);
//! // One of each four neighbours.
//! let taken: Vec<usize> = (0..12).filter(|&case| sample.takes(case, 4)).collect();
//! assert_eq!(taken.len(), 3);
//! assert!((0..12).all(|case| Sample::of("doc", 7, true).takes(case, 4)));
//! ```

/// The variable with the seed, a whole number; 0 if it is not set.
pub const SEED: &str = "ZVF_TEST_SEED";

/// The variable that requests every case, with the value `whole`.
pub const TESTS: &str = "ZVF_TESTS";

/// The selected cases of one test.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    seed: u64,
    whole: bool,
}

impl Sample {
    /// The cases that the environment variables select. `name` distinguishes lists, so that not all lists select the same positions.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let seed = std::env::var(SEED).ok();
        let seed = seed.and_then(|text| text.parse().ok()).unwrap_or(0);
        Self::of(name, seed, is_whole())
    }

    /// The cases that a seed selects, or every case.
    #[must_use]
    pub fn of(name: &str, seed: u64, whole: bool) -> Self {
        Self {
            seed: mixed(name.as_bytes(), seed),
            whole,
        }
    }

    /// Whether case `at` is tried: one of every `share` neighbours is, and all of them in a whole run.
    #[must_use]
    pub fn takes(&self, at: usize, share: usize) -> bool {
        let share = share.max(1);
        let block = (at / share) as u64;
        self.whole || mixed(&block.to_le_bytes(), self.seed) % share as u64 == (at % share) as u64
    }

    /// The cases of a list that are tried: one of every `share` neighbours, or all of them.
    pub fn some<T>(
        self,
        list: impl IntoIterator<Item = T>,
        share: usize,
    ) -> impl Iterator<Item = T> {
        let cases = list.into_iter().enumerate();
        cases.filter_map(move |(at, case)| self.takes(at, share).then_some(case))
    }

    /// A seed for a generator of random cases, derived from the seed and the name of the list.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether every case is tried.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }
}

/// Whether every case is requested.
#[must_use]
pub fn is_whole() -> bool {
    std::env::var(TESTS).is_ok_and(|value| value == "whole")
}

/// How many random cases a property tries: `whole` in a whole run, else `sampled`.
#[must_use]
pub fn cases(whole: u32, sampled: u32) -> u32 {
    if is_whole() { whole } else { sampled }
}

/// FNV-1a over a seed and bytes, with the mixer of SplitMix64: the same on every machine and with every compiler.
fn mixed(bytes: &[u8], seed: u64) -> u64 {
    let all = seed.to_le_bytes().into_iter().chain(bytes.iter().copied());
    let mut z = all.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_tried_on_some_day() {
        let mut tried = [false; 40];
        for day in 0..60 {
            let sample = Sample::of("days", day, false);
            let taken: Vec<usize> = (0..40).filter(|&at| sample.takes(at, 5)).collect();
            assert_eq!(taken.len(), 8, "{taken:?}");
            taken.iter().for_each(|&at| tried[at] = true);
        }
        assert_eq!(tried, [true; 40]);
    }

    #[test]
    fn lists_select_different_positions() {
        let of = |name: &str| {
            let sample = Sample::of(name, 20_261_125, false);
            (0..400)
                .filter(|&at| sample.takes(at, 8))
                .collect::<Vec<usize>>()
        };
        assert_eq!(of("one"), of("one"));
        assert_ne!(of("one"), of("two"));
    }
}

//! The objects that a sparse level keeps: the same random numbers as in the released package.
//!
//! The package draws with NumPy's `default_rng(seed).choice(n, keep, replace=False)`: a PCG64 generator whose state comes
//! from the seed by its own hash (`SeedSequence`), bounded numbers by Lemire's method, and one of two ways to draw
//! without replacement, chosen by the share of the objects that is drawn (0.9 §17.3).

use std::collections::HashSet;

use zvf_encode::WriteError;
use zvf_encode::error::{narrow, to_index};
use zvf_format::int::{halves, halves128, index, wide};

/// The multiplier of a step of PCG64.
const STEP: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

/// NumPy's PCG64.
#[derive(Debug)]
struct Pcg64 {
    state: u128,
    increment: u128,
    /// The upper half of a number whose lower half was returned.
    half: Option<u32>,
}

impl Pcg64 {
    fn new(seed: u64) -> Self {
        let [a, b, c, d] = seed_words(seed);
        let pair = |high: u64, low: u64| (u128::from(high) << 64) | u128::from(low);
        let mut one = Self {
            state: 0,
            increment: (pair(c, d) << 1) | 1,
            half: None,
        };
        one.step();
        one.state = one.state.wrapping_add(pair(a, b));
        one.step();
        one
    }

    fn step(&mut self) {
        self.state = self.state.wrapping_mul(STEP).wrapping_add(self.increment);
    }

    /// The halves of the state, combined by xor, rotated by the highest six bits.
    fn next(&mut self) -> u64 {
        self.step();
        let [high, low] = halves128(self.state);
        let [_, turn] = halves(high >> 58);
        (high ^ low).rotate_right(turn)
    }

    fn next_half(&mut self) -> u32 {
        if let Some(half) = self.half.take() {
            return half;
        }
        let [high, low] = halves(self.next());
        self.half = Some(high);
        low
    }

    /// A number from 0 to `most`, inclusive.
    fn bounded(&mut self, most: u32) -> u32 {
        let Some(count) = most.checked_add(1) else {
            return self.next_half();
        };
        if most == 0 {
            return 0;
        }
        let reject = (u32::MAX - most) % count;
        loop {
            let [number, rest] = halves(u64::from(self.next_half()) * u64::from(count));
            if rest >= reject {
                return number;
            }
        }
    }
}

/// NumPy's `SeedSequence(seed).generate_state(4, uint64)`.
fn seed_words(seed: u64) -> [u64; 4] {
    let [high, low] = halves(seed);
    let mut factor = 0x43b0_d7e5_u32;
    let mut hash = |value: u32| {
        let value = value ^ factor;
        factor = factor.wrapping_mul(0x931e_8875);
        let value = value.wrapping_mul(factor);
        value ^ (value >> 16)
    };
    // A seed of one word is padded like one of two words whose upper word is zero.
    let mut pool = [low, high, 0, 0].map(&mut hash);
    for from in 0..pool.len() {
        for to in 0..pool.len() {
            if from != to
                && let (Some(&source), Some(slot)) = (pool.clone().get(from), pool.get_mut(to))
            {
                let mixed = 0xca01_f9dd_u32
                    .wrapping_mul(*slot)
                    .wrapping_sub(0x4973_f715_u32.wrapping_mul(hash(source)));
                *slot = mixed ^ (mixed >> 16);
            }
        }
    }
    let mut factor = 0x8b51_f9dd_u32;
    let mut words = pool.iter().chain(&pool).map(|&value| {
        let value = value ^ factor;
        factor = factor.wrapping_mul(0x58f3_8ded);
        let value = value.wrapping_mul(factor);
        value ^ (value >> 16)
    });
    // Eight words make four numbers.
    let mut next = || words.next().map_or(0, u64::from);
    std::array::from_fn(|_| next() | (next() << 32))
}

/// How many of `count` objects a level with this share keeps.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count of 2^32 at most, rounded"
)]
pub(crate) fn kept_count(count: usize, share: f64) -> usize {
    let kept = (wide(count) as f64 * share).round_ties_even();
    (kept as usize).clamp(1, count.max(1))
}

/// `keep` of the numbers below `count`, ascending: the numbers that the package draws with the same seed.
///
/// # Errors
/// More objects than the format can count.
pub(crate) fn draw(count: usize, keep: usize, seed: u64) -> Result<Vec<usize>, WriteError> {
    let total = narrow("objects", count)?;
    let keep = narrow("objects", keep.min(count))?;
    let mut random = Pcg64::new(seed);
    let first = total - keep;
    let mut chosen: Vec<u32> = if total > 10_000 && keep > total / 50 {
        let mut all: Vec<u32> = (0..total).collect();
        for at in (first.max(1)..total).rev() {
            let other = random.bounded(at);
            all.swap(index(at), index(other));
        }
        all.split_off(index(first))
    } else {
        let mut set = HashSet::new();
        for last in first..total {
            let number = random.bounded(last);
            if !set.insert(number) {
                set.insert(last);
            }
        }
        set.into_iter().collect()
    };
    chosen.sort_unstable();
    chosen
        .into_iter()
        .map(|number| to_index("objects", u64::from(number)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Pcg64, draw, kept_count};

    /// `numpy.random.default_rng(seed).bit_generator.random_raw(3)`, NumPy 2.
    const RAW: [(u64, [u64; 3]); 4] = [
        (
            0,
            [
                11749869230777074271,
                4976686463289251617,
                755828109848996024,
            ],
        ),
        (
            1,
            [
                9441442522235856127,
                17532960557476522086,
                2659275481604167885,
            ],
        ),
        (
            42,
            [
                14276969152011380360,
                8095878257575067585,
                15838336090824644132,
            ],
        ),
        (
            9223372036854788153,
            [
                9116129000838757916,
                10625643075464141531,
                787597703341980114,
            ],
        ),
    ];

    type Choice = (u64, usize, usize, u64, u64, &'static [usize]);

    /// Seed, n, keep; sum, sum of squares modulo 2^32 and first five of `sorted(numpy.random.default_rng(seed).choice(n, keep, replace=False))`.
    const CHOICES: [Choice; 8] = [
        (0, 10, 5, 21, 103, &[2, 3, 4, 5, 7]),
        (7, 100, 33, 1563, 93835, &[0, 4, 10, 11, 16]),
        (3, 10000, 9000, 44902467, 2629167459, &[0, 1, 3, 4, 5]),
        (3, 10001, 200, 998347, 2327779933, &[14, 46, 273, 299, 320]),
        (3, 10001, 201, 1010554, 2418459126, &[14, 46, 269, 301, 326]),
        (12, 50000, 25000, 625745391, 84451803, &[0, 1, 2, 3, 4]),
        (
            1099511627781,
            20000,
            300,
            2857511,
            3118847157,
            &[93, 95, 194, 241, 278],
        ),
        (9, 1000, 1, 421, 177241, &[421]),
    ];

    #[test]
    fn raw_numbers_are_those_of_numpy() {
        for (seed, wanted) in RAW {
            let mut random = Pcg64::new(seed);
            assert_eq!([(); 3].map(|()| random.next()), wanted, "seed {seed}");
        }
    }

    #[test]
    fn draws_are_those_of_numpy() {
        for (seed, count, keep, sum, squares, first) in CHOICES {
            let found = draw(count, keep, seed).unwrap();
            assert_eq!(found.len(), keep);
            assert!(found.is_sorted_by(|a, b| a < b));
            assert_eq!(found.get(..first.len()), Some(first), "seed {seed}");
            let add = |sum: u64, &n: &usize| sum + n as u64;
            assert_eq!(found.iter().fold(0, add), sum);
            let square = |sum: u64, &n: &usize| (sum + (n * n) as u64) % (1 << 32);
            assert_eq!(found.iter().fold(0, square), squares);
        }
    }

    #[test]
    fn shares_round_to_even_and_keep_one() {
        // The results of Python's `round` for the same products.
        let cases = [
            (10, 2.0, 5),
            (5, 2.0, 2),
            (7, 2.0, 4),
            (3, 100.0, 1),
            (1, 2.0, 1),
        ];
        for (count, sparsity, wanted) in cases {
            assert_eq!(kept_count(count, 1.0 / sparsity), wanted);
        }
    }
}

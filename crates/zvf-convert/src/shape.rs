//! The size of a chunk, chosen from where the vertices lie.

use rustc_hash::FxHashSet;

/// Vertices that a chunk shall hold on average: small enough to read one for a small box, large enough that a store has few files.
const WANTED: f64 = 10_000.0;
/// Points of a bin.
const WANTED_IN_BIN: f64 = 500.0;
/// Positions that are remembered.
const SAMPLE: usize = 1 << 16;
/// Below so many remembered positions a chunk their number says nothing about occupied chunks.
const TRUSTED: f64 = 8.0;
/// Ten steps from 1 to 10, each about a quarter more than the one before.
const STEPS: [&str; 10] = ["1", "1.25", "1.6", "2", "2.5", "3.2", "4", "5", "6.4", "8"];

/// Where the vertices of the input lie: corners, and an even sample.
#[derive(Debug, Clone)]
pub(crate) struct Extent {
    dims: usize,
    low: Vec<f64>,
    high: Vec<f64>,
    count: u64,
    sample: Vec<f64>,
    every: u64,
    /// The number of the vertex that the sample takes next.
    next: u64,
}

/// A chunk size, and why.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chosen {
    pub(crate) chunk: Vec<f64>,
    pub(crate) bin: Option<Vec<f64>>,
    pub(crate) reason: String,
}

impl Extent {
    pub(crate) fn new(dims: usize) -> Self {
        Self {
            dims,
            low: vec![f64::INFINITY; dims],
            high: vec![f64::NEG_INFINITY; dims],
            count: 0,
            sample: Vec::new(),
            every: 1,
            next: 0,
        }
    }

    /// Takes a position. The sample is every n-th vertex; when it is full, every other one of it is dropped.
    pub(crate) fn add(&mut self, position: &[f64]) {
        for ((low, high), &value) in self.low.iter_mut().zip(&mut self.high).zip(position) {
            *low = low.min(value);
            *high = high.max(value);
        }
        if self.count == self.next {
            if self.sample.len() >= SAMPLE * self.dims {
                let kept = self.sample.chunks(self.dims).step_by(2).flatten().copied();
                self.sample = kept.collect();
                self.every *= 2;
            }
            if self.count.is_multiple_of(self.every) {
                self.sample.extend_from_slice(position);
            }
            self.next = (self.count + 1).next_multiple_of(self.every);
        }
        self.count += 1;
    }

    pub(crate) fn dims(&self) -> usize {
        self.dims
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Lowest and highest corner; `None` without vertices.
    pub(crate) fn corners(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        (self.count > 0).then(|| (self.low.clone(), self.high.clone()))
    }

    /// A cube, by its side: of all steps the one whose occupied chunks hold nearest to [`WANTED`] vertices each.
    pub(crate) fn choose(&self, bins: bool) -> Chosen {
        let spans = self
            .low
            .iter()
            .zip(&self.high)
            .map(|(low, high)| high - low);
        let span = spans.fold(0.0_f64, f64::max);
        let (side, mean) = if span > 0.0 && span.is_finite() {
            self.side(span)
        } else {
            (1.0, float(self.count))
        };
        let mut reason = format!(
            "{} vertices over {} along the longest axis: about {} in each chunk that holds any",
            self.count,
            brief(span),
            mean.round()
        );
        let parts = power_of_two((mean / WANTED_IN_BIN).powf(1.0 / float(self.dims as u64)));
        let bin = (bins && parts > 1.0).then(|| side / parts);
        if bin.is_some() {
            let count = parts.powf(float(self.dims as u64));
            reason.push_str(&format!(
                ", about {} in each of its {count} bins",
                (mean / count).round()
            ));
        }
        Chosen {
            chunk: vec![side; self.dims],
            bin: bin.map(|side| vec![side; self.dims]),
            reason,
        }
    }

    /// The side, and the vertices of an occupied chunk.
    fn side(&self, span: f64) -> (f64, f64) {
        let mut best: Option<(f64, f64)> = None;
        let mut before: Option<f64> = None;
        let mut shrinks = 2.0;
        for side in descending(span * 8.0) {
            let seen = float(self.sample.len() as u64) / float(self.dims as u64);
            let occupied = self.occupied(side);
            let mean = match before {
                Some(before) if self.every > 1 && seen / occupied < TRUSTED => before / shrinks,
                _ => float(self.count) / occupied,
            };
            if let Some(before) = before {
                // No geometry fills space faster than all of it, none slower than a line does.
                shrinks = (before / mean).clamp(1.2, 20.0);
            }
            before = Some(mean);
            let away = |mean: f64| (mean / WANTED).ln().abs();
            // Of two that are as good the smaller one: a single chunk need not be larger than what lies in it.
            if best.is_none_or(|(_, found)| away(mean) <= away(found)) {
                best = Some((side, mean));
            }
            if mean < WANTED.min(float(self.count)) / 8.0 {
                break;
            }
        }
        best.unwrap_or((span, float(self.count)))
    }

    /// How many chunks of this side hold a vertex of the sample.
    fn occupied(&self, side: f64) -> f64 {
        let chunk = |position: &[f64]| {
            let mut chunk = [0_i64; 4];
            for (slot, value) in chunk.iter_mut().zip(position) {
                *slot = floor(value / side);
            }
            chunk
        };
        let positions = self.sample.chunks(self.dims).map(chunk);
        let (low, high) = (chunk(&self.low), chunk(&self.high));
        let found = match marks(low, high) {
            // A mark for each chunk of the box: much cheaper than a set, and this is done for a dozen sides.
            Some((sizes, mut marks)) => {
                for chunk in positions {
                    let axes = chunk.iter().zip(low).zip(sizes);
                    // What is no number may lie beyond the box.
                    let number = axes.fold(0_usize, |number, ((at, low), size)| {
                        let along = at.abs_diff(low) as usize;
                        number.wrapping_mul(size).wrapping_add(along)
                    });
                    if let Some(mark) = marks.get_mut(number) {
                        *mark = true;
                    }
                }
                marks.iter().filter(|mark| **mark).count()
            }
            None => positions.collect::<FxHashSet<[i64; 4]>>().len(),
        };
        float(found.max(1) as u64)
    }
}

/// Chunks along each axis of a box, and a mark for each of its chunks; `None`: there are too many of them.
fn marks(low: [i64; 4], high: [i64; 4]) -> Option<([usize; 4], Vec<bool>)> {
    const MOST: usize = 1 << 22;
    let mut sizes = [1_usize; 4];
    let mut volume = 1_usize;
    for (size, (low, high)) in sizes.iter_mut().zip(low.into_iter().zip(high)) {
        *size = usize::try_from(high.abs_diff(low)).ok()?.checked_add(1)?;
        volume = volume.checked_mul(*size).filter(|volume| *volume <= MOST)?;
    }
    Some((sizes, vec![false; volume]))
}

/// At most so many sides are tried: a ratio of about a million.
const TRIED: usize = 64;

/// Sides from the one just above `largest` downwards. Their decimal texts are short.
fn descending(largest: f64) -> impl Iterator<Item = f64> {
    let exponent = exponent(largest);
    let below = (-8..=0).flat_map(move |less: i32| {
        let less = less.saturating_add(8);
        let power = exponent.saturating_add(1).saturating_sub(less);
        STEPS
            .iter()
            .rev()
            .filter_map(move |step| format!("{step}e{power}").parse::<f64>().ok())
    });
    below
        .filter(move |side| *side <= largest * 1.26 && *side > 0.0 && side.is_finite())
        .take(TRIED)
}

/// A length for people: four digits say enough.
fn brief(value: f64) -> String {
    let text = format!("{value:.3e}").parse::<f64>().unwrap_or(value);
    if text == 0.0 || (1e-4..1e9).contains(&text) {
        text.to_string()
    } else {
        format!("{text:e}")
    }
}

fn power_of_two(value: f64) -> f64 {
    if value > 1.0 && value.is_finite() {
        2.0_f64.powf(value.log2().round()).min(64.0)
    } else {
        1.0
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "means need no more than 53 bits"
)]
fn float(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "saturates; a chunk number that large is one of a sample only"
)]
fn floor(value: f64) -> i64 {
    value.floor() as i64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the exponent of a float has three digits"
)]
fn exponent(value: f64) -> i32 {
    value.log10().floor() as i32
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Numbers that fill the unit cube evenly enough, without a generator: multiples of irrational steps.
    fn spread(at: u32) -> [f64; 3] {
        let at = f64::from(at);
        [
            (at * 0.754_877_666_2).fract(),
            (at * 0.569_840_290_998).fract(),
            (at * 0.430_159_709).fract(),
        ]
    }

    fn mean_of_occupied(points: &[[f64; 3]], side: f64) -> f64 {
        let chunks: HashSet<[i64; 3]> = points
            .iter()
            .map(|p| p.map(|v| (v / side).floor() as i64))
            .collect();
        points.len() as f64 / chunks.len() as f64
    }

    #[test]
    fn chunks_of_evenly_spread_points_hold_five_to_twenty_thousand() {
        for (count, scale) in [(300_000_u32, 1.0), (300_000, 1e6), (1_200_000, 1e-3)] {
            let points: Vec<[f64; 3]> =
                (0..count).map(|at| spread(at).map(|v| v * scale)).collect();
            let mut extent = Extent::new(3);
            points.iter().for_each(|point| extent.add(point));
            let chosen = extent.choose(true);
            let mean = mean_of_occupied(&points, chosen.chunk[0]);
            assert!((5_000.0..=20_000.0).contains(&mean), "{mean} {chosen:?}");
            let bin = chosen.bin.unwrap();
            let parts = chosen.chunk[0] / bin[0];
            assert_eq!(parts, parts.round());
        }
    }

    #[test]
    fn a_line_of_points_counts_only_the_chunks_it_meets() {
        let points: Vec<[f64; 3]> = (0..400_000)
            .map(|at| [f64::from(at) * 0.01, 5.0, 5.0])
            .collect();
        let mut extent = Extent::new(3);
        points.iter().for_each(|point| extent.add(point));
        let mean = mean_of_occupied(&points, extent.choose(false).chunk[0]);
        assert!((5_000.0..=20_000.0).contains(&mean), "{mean}");
    }

    #[test]
    fn marks_count_as_a_set_does() {
        let mut extent = Extent::new(3);
        (0..20_000).for_each(|at| extent.add(&spread(at).map(|value| value * 90.0 - 30.0)));
        for side in [1000.0, 33.0, 7.5, 1.0] {
            let chunk = |position: &[f64]| -> Vec<i64> {
                position
                    .iter()
                    .map(|value| (value / side).floor() as i64)
                    .collect()
            };
            let wanted: HashSet<Vec<i64>> = extent.sample.chunks(3).map(chunk).collect();
            assert_eq!(extent.occupied(side), wanted.len() as f64, "{side}");
        }
        assert!(marks([0; 4], [1000, 1000, 1000, 0]).is_none());
        assert!(marks([i64::MIN; 4], [i64::MAX; 4]).is_none());
    }

    #[test]
    fn what_fits_one_chunk_gets_one() {
        let mut extent = Extent::new(2);
        for at in 0..380 {
            extent.add(&[600.0 + f64::from(at), 13_000.0 + f64::from(at % 19)]);
        }
        let chosen = extent.choose(false);
        let side = chosen.chunk[0];
        for (low, high) in [(600.0_f64, 979.0_f64), (13_000.0, 13_018.0)] {
            assert_eq!((low / side).floor(), (high / side).floor(), "{side}");
        }
        assert!(
            chosen.reason.starts_with("380 vertices over 379 along"),
            "{}",
            chosen.reason
        );
    }

    #[test]
    fn few_points_or_one_place_make_one_size_that_is_legal() {
        let mut extent = Extent::new(2);
        assert_eq!(extent.choose(true).chunk, [1.0, 1.0]);
        extent.add(&[7.0, -3.0]);
        assert_eq!(extent.choose(true).chunk, [1.0, 1.0]);
        assert_eq!(extent.choose(true).bin, None);
        let reason = extent.choose(true).reason;
        assert!(reason.starts_with("1 vertices over 0 along"), "{reason}");
        extent.add(&[7.0, -2.0]);
        let side = extent.choose(true).chunk[0];
        assert!((1.0..=8.1).contains(&side), "{side}");
        for (low, high) in [(-1e300, 1e300), (-f64::MAX, f64::MAX), (0.0, 5e-324)] {
            let mut extent = Extent::new(1);
            extent.add(&[low]);
            extent.add(&[high]);
            let side = extent.choose(true).chunk[0];
            assert!(side.is_finite() && side > 0.0, "{side}");
        }
    }
}

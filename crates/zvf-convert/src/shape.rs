//! Chooses the size of a chunk from the distribution of the vertices.

use std::borrow::Cow;

use rustc_hash::FxHashSet;
use zvf_write::Axis;

/// Target mean number of vertices in a chunk: few enough to read a chunk for a small box, many enough that a store has few files.
const WANTED: f64 = 10_000.0;
/// Above this number of chunks, their number grows with the square root of the vertices, because documents list the chunks of a level.
const MANY: f64 = 10_000.0;
/// Target mean number of points in a bin.
const WANTED_IN_BIN: f64 = 500.0;
/// Most positions of the sample.
const SAMPLE: usize = 1 << 16;
/// With fewer sampled positions in a chunk, the number of occupied chunks cannot be estimated from the sample.
const TRUSTED: f64 = 8.0;
/// Ten sizes for each power of ten, each about a quarter larger than the one before.
const STEPS: [&str; 10] = ["1", "1.25", "1.6", "2", "2.5", "3.2", "4", "5", "6.4", "8"];

/// The distribution of the input's vertices: corners, and an even sample.
#[derive(Debug, Clone)]
pub(crate) struct VertexExtent {
    dims: usize,
    low: Vec<f64>,
    high: Vec<f64>,
    count: u64,
    sample: Vec<f64>,
    every: u64,
    /// The number of the next vertex that the sample takes.
    next: u64,
}

/// A chunk size, and the reason for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChunkChoice {
    pub(crate) chunk: Vec<f64>,
    pub(crate) bin: Option<Vec<f64>>,
    pub(crate) reason: String,
}

/// An axis of time.
#[derive(Debug)]
struct Time {
    axis: usize,
    span: f64,
    /// The factor that scales its span to the longest span of space.
    factor: f64,
    /// Whether all times are whole numbers, such as numbers of frames.
    whole: bool,
}

impl Time {
    /// A rounded size of a chunk: a whole number, or one of few digits.
    fn size(&self, about: f64) -> f64 {
        if self.whole && about.is_finite() {
            return about.ceil().max(1.0);
        }
        let steps = descending(about * 1.26);
        let fitting = steps.take_while(|step| *step >= about * (1.0 - 1e-9));
        fitting.last().unwrap_or(about)
    }
}

impl VertexExtent {
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

    /// Adds positions.
    pub(crate) fn add_all<T: Copy + Into<f64>>(&mut self, positions: &[T]) {
        let mut rest = positions;
        loop {
            // Vertices that are not in the sample only widen the corners.
            let before =
                usize::try_from(self.next.saturating_sub(self.count)).unwrap_or(usize::MAX);
            let before = before.min(rest.len().checked_div(self.dims).unwrap_or(0));
            let (plain, more) = rest.split_at(before * self.dims);
            self.widen(plain);
            self.count += before as u64;
            let Some((position, more)) = more.split_at_checked(self.dims.max(1)) else {
                break;
            };
            self.add(position);
            rest = more;
        }
    }

    /// Moves the corners so that the positions are between them.
    fn widen<T: Copy + Into<f64>>(&mut self, positions: &[T]) {
        let corners = self.low.iter_mut().zip(&mut self.high);
        for (axis, (low, high)) in corners.enumerate() {
            let (mut least, mut most) = (*low, *high);
            for &value in positions.iter().skip(axis).step_by(self.dims) {
                let value: f64 = value.into();
                least = least.min(value);
                most = most.max(value);
            }
            (*low, *high) = (least, most);
        }
    }

    /// Adds a position. The sample is every n-th vertex; when it is full, every other position is dropped and n is doubled.
    pub(crate) fn add<T: Copy + Into<f64>>(&mut self, position: &[T]) {
        for ((low, high), &value) in self.low.iter_mut().zip(&mut self.high).zip(position) {
            *low = low.min(value.into());
            *high = high.max(value.into());
        }
        if self.count == self.next {
            if self.sample.len() >= SAMPLE * self.dims {
                let kept = self.sample.chunks(self.dims).step_by(2).flatten().copied();
                self.sample = kept.collect();
                self.every *= 2;
            }
            if self.count.is_multiple_of(self.every) {
                self.sample
                    .extend(position.iter().map(|&value| value.into()));
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

    /// Target mean number of vertices in a chunk: [`WANTED`] up to [`MANY`] chunks; above, four times as many vertices make twice as many chunks.
    fn wanted(&self) -> f64 {
        WANTED * (float(self.count) / WANTED / MANY).sqrt().max(1.0)
    }

    /// Chooses a cube in space: the size for which the mean of vertices in an occupied chunk is nearest to [`wanted`](Self::wanted). The size
    /// along an axis of time is chosen so that there are as many chunks along it as along the longest axis of space.
    pub(crate) fn choose(&self, bins: bool, axes: &[Axis]) -> ChunkChoice {
        let times = self.times(axes);
        let even = match times.is_empty() {
            true => Cow::Borrowed(self),
            false => Cow::Owned(self.stretched(&times)),
        };
        let spans = even
            .low
            .iter()
            .zip(&even.high)
            .map(|(low, high)| high - low);
        let span = spans.fold(0.0_f64, f64::max);
        let (side, mean) = if span > 0.0 && span.is_finite() {
            even.side(span)
        } else {
            (1.0, float(self.count))
        };
        let mut chunk = vec![side; self.dims];
        let mut longest = format!("{} along the longest axis", brief(span));
        for time in &times {
            if let Some(size) = chunk.get_mut(time.axis) {
                *size = time.size(side / time.factor);
            }
            let name = axes.get(time.axis).map_or("", |axis| axis.name.as_str());
            longest.push_str(&format!(" of space and {} along {name}", brief(time.span)));
        }
        let mut reason = format!(
            "{} vertices over {longest}: about {} in each chunk with vertices",
            self.count,
            mean.round()
        );
        let parts = self.parts(&chunk, mean / WANTED_IN_BIN, &times);
        let count: f64 = parts.iter().product();
        let bin = (bins && count > 1.0).then(|| {
            let sizes = chunk.iter().zip(&parts);
            sizes.map(|(size, parts)| size / parts).collect()
        });
        if bin.is_some() {
            reason.push_str(&format!(
                ", about {} in each of its {count} bins",
                (mean / count).round()
            ));
        }
        ChunkChoice { chunk, bin, reason }
    }

    /// The number of bins along each axis of a chunk, for `wanted` bins in all. An axis of whole-numbered times is divided first.
    fn parts(&self, chunk: &[f64], wanted: f64, times: &[Time]) -> Vec<f64> {
        let root = |value: f64, axes: usize| power_of_two(value.powf(1.0 / float(axes as u64)));
        let mut parts = vec![root(wanted, self.dims); chunk.len()];
        let mut rest = wanted;
        for time in times {
            let Some((part, size)) = parts.get_mut(time.axis).zip(chunk.get(time.axis)) else {
                continue;
            };
            if time.whole {
                // Bins of whole-numbered times have whole sizes.
                let most = size.min(wanted.max(1.0)).min(64.0);
                let mut divisors = (1..=64_u32).rev().map(f64::from);
                let largest = divisors.find(|one| *one <= most && (size / one).fract() == 0.0);
                *part = largest.unwrap_or(1.0);
            }
            rest /= *part;
        }
        let space = self.dims.saturating_sub(times.len());
        if !times.is_empty() && space > 0 {
            let own = root(rest, space);
            let of_time = |at: usize| times.iter().any(|time| time.axis == at);
            for (_, part) in parts.iter_mut().enumerate().filter(|(at, _)| !of_time(*at)) {
                *part = own;
            }
        }
        parts
    }

    /// The axes of time, if there are axes of space beside them.
    fn times(&self, axes: &[Axis]) -> Vec<Time> {
        let span = |at: usize| match (self.low.get(at), self.high.get(at)) {
            (Some(low), Some(high)) => high - low,
            _ => 0.0,
        };
        let space = axes.iter().enumerate().filter(|(_, axis)| axis.is_space());
        let longest = space.map(|(at, _)| span(at)).fold(0.0_f64, f64::max);
        if !axes.iter().any(Axis::is_space) || self.count == 0 {
            return Vec::new();
        }
        let times = axes.iter().enumerate();
        let times = times.filter(|(_, axis)| axis.kind() == "time");
        times
            .map(|(axis, _)| {
                let factor = longest / span(axis);
                let usable = factor > 0.0 && factor.is_finite();
                let values = self.sample.iter().skip(axis).step_by(self.dims.max(1));
                let ends = self.low.get(axis).into_iter().chain(self.high.get(axis));
                Time {
                    axis,
                    span: span(axis),
                    factor: if usable { factor } else { 1.0 },
                    whole: values.chain(ends).all(|value| value.fract() == 0.0),
                }
            })
            .collect()
    }

    /// The distribution with times scaled to the span of space.
    fn stretched(&self, times: &[Time]) -> Self {
        let mut even = self.clone();
        for time in times {
            let corners = [&mut even.low, &mut even.high];
            let corners = corners.into_iter().filter_map(|one| one.get_mut(time.axis));
            let sample = even
                .sample
                .iter_mut()
                .skip(time.axis)
                .step_by(self.dims.max(1));
            corners
                .chain(sample)
                .for_each(|value| *value *= time.factor);
        }
        even
    }

    /// The chosen side of a chunk, and the estimated mean number of vertices in an occupied chunk.
    fn side(&self, span: f64) -> (f64, f64) {
        let wanted = self.wanted();
        let mut best: Option<(f64, f64)> = None;
        let mut before: Option<f64> = None;
        let mut shrinks = 2.0;
        let corners = self.low.iter().chain(&self.high);
        let far = corners.fold(0.0_f64, |far, corner| far.max(corner.abs()));
        // With smaller sides, chunk numbers exceed the whole numbers that float64 represents.
        let exact = |side: &f64| far / side <= EXACT;
        for side in descending(span * 8.0).take_while(exact) {
            let seen = float(self.sample.len() as u64) / float(self.dims as u64);
            let occupied = self.occupied(side);
            let mean = match before {
                Some(before) if self.every > 1 && seen / occupied < TRUSTED => before / shrinks,
                _ => float(self.count) / occupied,
            };
            if let Some(before) = before {
                // Limited to values between a thin line and a filled volume.
                shrinks = (before / mean).clamp(1.2, 20.0);
            }
            before = Some(mean);
            let away = |mean: f64| (mean / wanted).ln().abs();
            // Of two equally good sizes, the smaller one is chosen.
            if best.is_none_or(|(_, found)| away(mean) <= away(found)) {
                best = Some((side, mean));
            }
            if mean < wanted.min(float(self.count)) / 8.0 {
                break;
            }
        }
        best.unwrap_or((span, float(self.count)))
    }

    /// The number of chunks of this side that contain a vertex of the sample.
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
            // A flag for each chunk of the box is much cheaper than a set, and this is repeated for a dozen sides.
            Some((sizes, mut marks)) => {
                for chunk in positions {
                    let axes = chunk.iter().zip(low).zip(sizes);
                    // A NaN coordinate may be outside the box.
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

/// The number of chunks along each axis of a box, and a mark for each of its chunks; `None` if there are too many.
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

/// Numbers of chunks up to this one are exact in float64.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Most sides that are tried; the largest is about a million times the smallest.
const TRIED: usize = 64;

/// Rounded sides in descending order, from at most 1.26 times `largest`. Their decimal texts are short.
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

/// A length for messages, with four digits at most.
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
    reason = "saturates; the chunk numbers only serve to count the chunks of the sample"
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
            let mut extent = VertexExtent::new(3);
            points.iter().for_each(|point| extent.add(point));
            let chosen = extent.choose(true, &[]);
            let mean = mean_of_occupied(&points, chosen.chunk[0]);
            assert!((5_000.0..=20_000.0).contains(&mean), "{mean} {chosen:?}");
            let bin = chosen.bin.unwrap();
            let parts = chosen.chunk[0] / bin[0];
            assert_eq!(parts, parts.round());
        }
    }

    #[test]
    fn chunks_grow_with_the_square_root_of_very_many_points() {
        // One sample for stores of any size: points of a lattice in the unit cube. Each point represents many vertices.
        let mut sampled = VertexExtent::new(3);
        for at in 0..40_u32.pow(3) {
            let place = [at % 40, at / 40 % 40, at / 1600];
            sampled.add(&place.map(|along| (f64::from(along) + 0.5) / 40.0));
        }
        let chunks = |count: u64| {
            let mut extent = sampled.clone();
            (extent.count, extent.every) = (count, count / 64_000);
            (1.0 / extent.choose(true, &[]).chunk[0]).powi(3)
        };
        let vertices = [7, 8, 9, 10, 11].map(|power| 10_u64.pow(power));
        let [small, many, ..] = vertices.map(chunks);
        assert!((500.0..2_000.0).contains(&small), "{small}");
        assert!((5_000.0..20_000.0).contains(&many), "{many}");
        for (count, exact) in [(9, 31_623.0), (10, 100_000.0), (11, 316_228.0)] {
            let found = chunks(10_u64.pow(count));
            // Sizes have steps of a quarter, so the numbers of chunks may differ by a factor of two.
            assert!(
                (exact / 2.0..exact * 2.0).contains(&found),
                "{count} {found}"
            );
        }
    }

    #[test]
    fn time_has_a_size_of_its_own() {
        // A hundred frames, 4000 points each, over 1000 in space.
        let axes = ["t", "x", "y", "z"].map(Axis::named);
        for (step, whole) in [(1.0, true), (0.04, false)] {
            let mut extent = VertexExtent::new(4);
            let mut points = Vec::new();
            for frame in 0..100_u32 {
                for at in 0..4000 {
                    let [x, y, z] = spread(frame * 4000 + at).map(|value| value * 1000.0);
                    points.push([f64::from(frame) * step, x, y, z]);
                }
            }
            points.iter().for_each(|point| extent.add(point));
            let chosen = extent.choose(true, &axes);
            let [time, x, y, z] = chosen.chunk[..] else {
                panic!("{chosen:?}")
            };
            assert_eq!((x, y), (y, z));
            assert!(x >= 250.0 && time <= 50.0 * step, "{chosen:?}");
            let chunks: HashSet<[i64; 4]> = points
                .iter()
                .map(|p| [p[0] / time, p[1] / x, p[2] / x, p[3] / x].map(|v| v.floor() as i64))
                .collect();
            let mean = points.len() as f64 / chunks.len() as f64;
            assert!((4_000.0..=22_000.0).contains(&mean), "{mean} {chosen:?}");
            for (size, bin) in chosen.chunk.iter().zip(chosen.bin.clone().unwrap()) {
                assert!(
                    ((size / bin) - (size / bin).round()).abs() < 1e-9,
                    "{chosen:?}"
                );
            }
            if whole {
                assert_eq!(time.fract(), 0.0);
                assert_eq!(chosen.bin.unwrap()[0].fract(), 0.0);
            }
            assert!(chosen.reason.contains("of space and"), "{}", chosen.reason);
        }
    }

    #[test]
    fn times_alone_and_one_frame_make_legal_chunks() {
        let mut extent = VertexExtent::new(3);
        let axes = ["t", "x", "y"].map(Axis::named);
        extent.add(&[5.0, 1.0, 2.0]);
        assert_eq!(extent.choose(true, &axes).chunk, [1.0; 3]);
        extent.add(&[5.0, 4.0, 2.0]);
        let chunk = extent.choose(true, &axes).chunk;
        assert!(chunk.iter().all(|size| *size >= 1.0), "{chunk:?}");
        extent.add(&[1e9, 4.0, 2.0]);
        let chunk = extent.choose(true, &axes).chunk;
        assert!(chunk[0] > 1e8 && chunk[1] < 100.0, "{chunk:?}");
        let mut only = VertexExtent::new(1);
        (0..10).for_each(|at| only.add(&[f64::from(at)]));
        assert!(only.choose(true, &axes[..1]).chunk[0] >= 1.0);
    }

    #[test]
    fn a_line_of_points_counts_only_the_chunks_it_meets() {
        let points: Vec<[f64; 3]> = (0..400_000)
            .map(|at| [f64::from(at) * 0.01, 5.0, 5.0])
            .collect();
        let mut extent = VertexExtent::new(3);
        points.iter().for_each(|point| extent.add(point));
        let mean = mean_of_occupied(&points, extent.choose(false, &[]).chunk[0]);
        assert!((5_000.0..=20_000.0).contains(&mean), "{mean}");
    }

    #[test]
    fn marks_count_as_a_set_does() {
        let mut extent = VertexExtent::new(3);
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
        let mut extent = VertexExtent::new(2);
        for at in 0..380 {
            extent.add(&[600.0 + f64::from(at), 13_000.0 + f64::from(at % 19)]);
        }
        let chosen = extent.choose(false, &[]);
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
        let mut extent = VertexExtent::new(2);
        assert_eq!(extent.choose(true, &[]).chunk, [1.0, 1.0]);
        extent.add(&[7.0, -3.0]);
        assert_eq!(extent.choose(true, &[]).chunk, [1.0, 1.0]);
        assert_eq!(extent.choose(true, &[]).bin, None);
        let reason = extent.choose(true, &[]).reason;
        assert!(reason.starts_with("1 vertices over 0 along"), "{reason}");
        extent.add(&[7.0, -2.0]);
        let side = extent.choose(true, &[]).chunk[0];
        assert!((1.0..=8.1).contains(&side), "{side}");
        for (low, high) in [(-1e300, 1e300), (-f64::MAX, f64::MAX), (0.0, 5e-324)] {
            let mut extent = VertexExtent::new(1);
            extent.add(&[low]);
            extent.add(&[high]);
            let side = extent.choose(true, &[]).chunk[0];
            assert!(side.is_finite() && side > 0.0, "{side}");
        }
    }
}

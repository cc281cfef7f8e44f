//! Chooses levels from the data: how many vertices remain for each size of bins.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use zvf_meta::{JsonObject, Kind};

use super::builder::LevelBuilder;
use super::endpoints::{EndpointLookup, VertexBlock};
use super::paged::words;
use super::pieces::ChainRuns;
use super::points::PointVertex;
use super::simplify::tolerances;
use super::zorder::ZOrderFrame;
use crate::base::{beside_space, time_bin};
use crate::bin::{Bin, bin_of};
use crate::plan::{PlannedLevel, Sampling};
use zvf_encode::WriteError;
use zvf_encode::error::OrBug;
use zvf_format::int::wide;

/// The least and the largest factor by which a level should have fewer vertices than the finer one.
const FEWER: (f64, f64) = (4.0, 7.5);
/// Vertices of chains from which tolerances are measured.
const SAMPLE: u64 = 1 << 20;
/// Vertices from which the candidate sizes of bins are chosen.
const FIRST: u64 = 100_000;
/// The number of tested bin sizes; each is the previous one divided by the square root of two.
const SIZES: i32 = 48;

/// The number of remaining vertices by bin size, in chunks; sizes ascend.
#[derive(Debug, Default)]
struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// The number of vertices that remain in the largest bins.
    fn least(&self) -> f64 {
        // Without a measured size, all vertices are ends of chains, and stay with their objects.
        self.0.last().map_or(0.0, |(_, count)| *count)
    }

    /// The size at which `vertices` vertices remain.
    fn size(&self, vertices: f64) -> f64 {
        let at = self.0.partition_point(|(_, count)| *count > vertices);
        let above = at.checked_sub(1).and_then(|at| self.0.get(at));
        match (above, self.0.get(at)) {
            (Some((fine, more)), Some((coarse, fewer))) => {
                let all = (more / fewer).ln();
                let part = if all > 0.0 {
                    (more / vertices).ln() / all
                } else {
                    0.0
                };
                fine * (coarse / fine).powf(part)
            }
            (Some((size, _)), None) | (None, Some((size, _))) => *size,
            (None, None) => 1.0,
        }
    }
}

/// The factor by which each level shrinks, and the number of levels, from `vertices` vertices down to about `until`.
fn shrink(vertices: f64, until: f64) -> (f64, i32) {
    let (least, most) = FEWER;
    let ratio = (vertices / until.max(1.0)).max(1.0);
    let levels = (ratio.ln() / most.ln()).ceil().max(1.0);
    let factor = ratio.powf(1.0 / levels).clamp(least, most);
    #[expect(clippy::cast_possible_truncation, reason = "the logarithm of a count")]
    let levels = levels as i32;
    (factor, levels)
}

/// The least average number of vertices per object; below it, objects are left out instead.
const fn enough(kind: Kind) -> f64 {
    match kind {
        Kind::Graph | Kind::Skeleton => 32.0,
        Kind::Mesh => 64.0,
        _ => 8.0,
    }
}

impl LevelBuilder<'_> {
    /// Levels, each 4 to 8 times smaller than the one before, until about `until` vertices are left; none if there are no more than that.
    ///
    /// # Errors
    /// Misuse: bins of no size merge enough vertices. Malformed data: a position that is not finite, or beyond the range of bin numbers. I/O.
    pub(crate) fn levels(
        &self,
        until: u64,
        chunk_shape: &[f64],
    ) -> Result<Vec<PlannedLevel>, WriteError> {
        if self.vertices() <= until {
            return Ok(Vec::new());
        }
        let kind = self.metadata().spec.kind;
        let beside = beside_space(&self.metadata().spec.axes);
        let (all, frame) = (self.vertices() as f64, self.frame(&self.base)?);
        let (factor, levels) = shrink(all, until as f64);
        let planned = |size: f64, share: f64| PlannedLevel {
            bin_shape: divided(chunk_shape, size, &beside),
            chunk_shape: chunk_shape.to_vec(),
            share,
            sampling: Sampling::Curve,
            extra: JsonObject::new(),
        };
        let curve = match kind {
            Kind::PointCloud | Kind::Line => {
                return Ok((0..levels).map(|_| planned(1.0, 1.0 / factor)).collect());
            }
            Kind::Polyline | Kind::Streamline => self.tolerances(chunk_shape)?,
            _ => self.bins(&frame, chunk_shape)?,
        };
        let objects = frame.objects as f64;
        // Vertices that no bins merge can only be left out with their object.
        let least = curve.least();
        let enough = enough(kind).max(least / objects);
        let enough = enough.min(all / objects).max(1.0);
        let (mut kept, mut size) = (objects, 0.0_f64);
        let levels = (1..=levels).map_while(|level| {
            let wanted = all / factor.powi(level);
            let left = (wanted / enough).floor().clamp(1.0, kept);
            let share = left / kept;
            kept = left;
            size = size.max(curve.size(wanted * objects / left));
            (least * left / objects <= 2.0 * wanted).then(|| planned(size, share))
        });
        let levels: Vec<PlannedLevel> = levels.collect();
        if levels.is_empty() {
            return Err(WriteError::input(
                "coarse levels",
                format!(
                    "vertices that bins of no size merge: {least:.0} of {all} vertices would remain"
                ),
                "links inside one frame and one bin, or more objects, so that some can be left out",
            ));
        }
        Ok(levels)
    }

    /// The number of remaining vertices of chains, by the size of a bin that is twice the tolerance; measured for an even sample.
    fn tolerances(&self, chunk_shape: &[f64]) -> Result<Curve, WriteError> {
        let dims = self.finest.dims();
        let axes = &self.metadata().spec.axes;
        let metric = self.metric();
        let mut found: BTreeMap<i64, f64> = BTreeMap::new();
        let (mut seen, mut ends) = (0.0_f64, 0.0_f64);
        let every = (self.vertices() / SAMPLE).max(1);
        for (number, piece) in (0_u64..).zip(ChainRuns::new(&self.base.vertices, dims)) {
            let piece = piece?;
            if !number.is_multiple_of(every) {
                continue;
            }
            for (_, line) in piece.lines(dims) {
                seen += line.len() as f64;
                ends += line.len().min(2) as f64;
                tolerances(&line, metric, |square| {
                    // Vertices of straight parts are removed at the smallest tolerance.
                    #[expect(clippy::cast_possible_truncation, reason = "a thousand at most")]
                    let class = (square.max(f64::MIN_POSITIVE).log2() * 8.0).floor() as i64;
                    *found.entry(class).or_default() += 1.0;
                });
            }
        }
        let scale = self.vertices() as f64 / seen.max(1.0);
        let of_space = chunk_shape.iter().zip(beside_space(axes));
        let of_space = of_space.filter(|(_, time)| !time).map(|(size, _)| *size);
        let chunk = of_space.fold(f64::INFINITY, f64::min);
        let mut left = ends;
        let mut curve = Vec::new();
        for (class, count) in found.iter().rev() {
            let tolerance = ((*class as f64 + 1.0) / 16.0).exp2();
            curve.push((2.0 * tolerance / chunk, left * scale));
            left += count;
        }
        curve.reverse();
        Ok(Curve(curve))
    }

    /// The number of remaining vertices by bin size: one for each object and bin, and more in graphs, where not all vertices of a bin are connected inside it.
    fn bins(&self, frame: &ZOrderFrame, chunk_shape: &[f64]) -> Result<Curve, WriteError> {
        let beside = beside_space(&self.metadata().spec.axes);
        // In chunks. Vertices at one position have no extent, and smaller bins would have numbers beyond 64 bits.
        let largest = frame.extent.max(1e-6);
        let bins = |number: i32| {
            let size = largest / 2_f64.powf(f64::from(number) / 2.0);
            let axes = chunk_shape.iter().zip(&beside);
            let shape = axes.map(|(axis, time)| match time {
                true => time_bin(*axis),
                false => axis * size,
            });
            (size, shape.collect())
        };
        let bins: Vec<(f64, Vec<f64>)> = (0..SIZES).map(bins).collect();
        let apart = self.apart(&bins)?;
        let all = self.vertices();
        let every = (all / FIRST).max(1);
        let seen = (all / every).max(1) as f64;
        let mut counts = self.occupied(&bins, every)?;
        if every > 1 {
            // The sample finds nearly all bins if fewer than 1000 are occupied. Smaller bins are counted for all vertices: down to the size at which few
            // vertices of the sample share a bin, and for nine more sizes.
            let both = || counts.iter().zip(&apart);
            let coarse = both().take_while(|(count, _)| **count < 1000.0).count();
            let fine =
                both().take_while(|(count, apart)| (*count / seen).max(**apart / all as f64) < 0.9);
            counts.truncate(fine.count() + 9);
            let most = counts.len();
            let exact = bins
                .get(coarse.min(most)..most)
                .or_bug("more counts than sizes")?;
            counts.truncate(coarse);
            counts.extend(self.occupied(exact, 1)?);
        }
        let sizes = bins.iter().zip(&apart).zip(counts);
        let curve = sizes.map(|(((size, _), apart), count)| (*size, count.max(*apart)));
        Ok(Curve(curve.rev().collect()))
    }

    /// The number of bins with vertices, counted separately for each object, for each shape; of every n-th vertex.
    fn occupied(&self, bins: &[(f64, Vec<f64>)], every: u64) -> Result<Vec<f64>, WriteError> {
        let mut sketches: Vec<Sketch> = bins.iter().map(|_| Sketch::default()).collect();
        let dims = self.finest.dims();
        self.base.each_point(dims, |place, point| {
            if u64::from(place).is_multiple_of(every) {
                for ((_, bins), sketch) in bins.iter().zip(&mut sketches) {
                    sketch.add(point.object, &bin_of(point.axes(dims), bins)?);
                }
            }
            Ok(())
        })?;
        Ok(sketches.iter().map(Sketch::count).collect())
    }

    /// A lower bound on the vertices of a graph that remain, for each shape of descending size: a link merges its ends if they are in one bin. For trees
    /// it is exact, except for vertices without links. 0 for meshes, where merging does not depend on faces.
    fn apart(&self, bins: &[(f64, Vec<f64>)]) -> Result<Vec<f64>, WriteError> {
        if self.metadata().spec.kind == Kind::Mesh {
            return Ok(vec![0.0; bins.len()]);
        }
        let (context, dims) = (self.finest.context(), self.finest.dims());
        let size = PointVertex::size(dims);
        let every = (u64::from(self.base.links.len()) / SAMPLE).max(1);
        let mut inside = vec![0_u64; bins.len()];
        let (mut number, mut linked) = (0_u64, 0_u64);
        let (mut neighbours, mut joining) = (0_u64, 0_u64);
        let find = EndpointLookup {
            context: &context,
            size,
        };
        let ends = |block: &VertexBlock<'_>, values: &mut Vec<u8>| {
            values.extend_from_slice(block.vertices);
            let degrees = block.degrees(dims)?;
            linked += wide(degrees.iter().filter(|degree| **degree > 0).count());
            neighbours += degrees.iter().copied().map(u64::from).sum::<u64>();
            Ok(())
        };
        find.ends(&self.base, ends, |link, values| {
            number += 1;
            let mut ends = words(link).skip(1);
            let is_loop = ends.next() == ends.last();
            joining += u64::from(!is_loop);
            if is_loop || !number.is_multiple_of(every) {
                return Ok(());
            }
            let mut rest = values;
            let from = PointVertex::take(&mut rest, dims)?;
            let to = PointVertex::take(&mut rest, dims)?;
            if from.object != to.object {
                return Ok(());
            }
            let (from, to) = (from.axes(dims), to.axes(dims));
            for ((_, bins), inside) in bins.iter().zip(&mut inside) {
                let mut steps = from.iter().zip(to).zip(bins);
                if steps.any(|((from, to), bin)| (from - to).abs() > *bin) {
                    break;
                }
                *inside += u64::from(bin_of(from, bins)? == bin_of(to, bins)?);
            }
            Ok(())
        })?;
        // Graphs may have each edge in both directions: both links merge the same two vertices.
        let once = neighbours as f64 / (2 * joining).max(1) as f64;
        // In cycles, there are more links than vertices that they merge.
        let left = |inside: &u64| (linked as f64 - (inside * every) as f64 * once).max(0.0);
        Ok(inside.iter().map(left).collect())
    }
}

/// A chunk, divided or multiplied by a whole number, so that its size is about `size` chunks.
fn divided(chunk_shape: &[f64], size: f64, beside: &[bool]) -> Vec<f64> {
    let size = match size {
        size if size >= 1.0 => size.round(),
        size => 1.0 / (1.0 / size.max(1e-9)).round(),
    };
    let axes = chunk_shape.iter().zip(beside);
    axes.map(|(axis, time)| match time {
        true => time_bin(*axis),
        false => axis * size,
    })
    .collect()
}

/// The approximate number of different bins, counted for a sample that a hash selects.
#[derive(Debug, Default)]
struct Sketch {
    seen: FxHashSet<u64>,
    /// Only hashes that begin with this number of zero bits are selected.
    zeros: u32,
}

impl Sketch {
    const MOST: usize = 1 << 13;

    fn add(&mut self, object: u32, bin: &Bin) {
        let mut hash = u64::from(object);
        for axis in bin {
            hash = mixed(hash ^ axis.cast_unsigned());
        }
        if hash.leading_zeros() < self.zeros {
            return;
        }
        self.seen.insert(hash);
        if self.seen.len() > Self::MOST {
            self.zeros += 1;
            self.seen.retain(|hash| hash.leading_zeros() >= self.zeros);
        }
    }

    fn count(&self) -> f64 {
        wide(self.seen.len()) as f64 * f64::from(self.zeros).exp2()
    }
}

/// Every bit of the result depends on every bit of the number (SplitMix64).
const fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::{Curve, Sketch, divided, shrink};

    #[test]
    fn levels_shrink_four_to_eight_times() {
        for vertices in [
            10_001_u32,
            20_000,
            75_000,
            80_000,
            1_000_000,
            20_000_000,
            u32::MAX,
        ] {
            let (factor, levels) = shrink(f64::from(vertices), 10_000.0);
            assert!((4.0..=7.5).contains(&factor), "{vertices}: {factor}");
            let left = f64::from(vertices) / factor.powi(levels);
            assert!((2_400.0..10_001.0).contains(&left), "{vertices}: {left}");
            let before = left * factor;
            assert!(before > 10_000.0, "{vertices}: {before}");
        }
    }

    #[test]
    fn sizes_are_interpolated_between_measured_sizes() {
        let curve = Curve(vec![(1.0, 1000.0), (4.0, 10.0)]);
        assert!((curve.size(100.0) - 2.0).abs() < 1e-12);
        assert_eq!((curve.size(2000.0), curve.size(1.0)), (1.0, 4.0));
        assert_eq!(curve.size(1000.0), 1.0);
        assert_eq!(Curve::default().size(5.0), 1.0);
    }

    #[test]
    fn bins_divide_chunks_or_are_whole_ones() {
        assert_eq!(divided(&[12.0, 6.0], 0.26, &[false; 2]), [3.0, 1.5]);
        assert_eq!(divided(&[12.0, 6.0], 2.6, &[false; 2]), [36.0, 18.0]);
        assert_eq!(divided(&[12.0, 6.0], 0.9, &[false; 2]), [12.0, 6.0]);
    }

    #[test]
    fn bins_are_counted_within_a_few_percent() {
        for many in [10_i64, 8000, 100_000] {
            let mut sketch = Sketch::default();
            for n in 0..many * 2 {
                sketch.add(3, &[n % many, n % many / 7, 0, 0]);
            }
            let off = sketch.count() / many as f64;
            assert!((off - 1.0).abs() < 0.05, "{many}: {off}");
        }
    }
}

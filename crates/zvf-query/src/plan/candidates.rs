//! Determines the chunks that may have rows inside a box.
//!
//! Writers place a position by one of two rules (`zvf-0.9`, section 10.1): straight, `floor(p / chunk_shape)`, or by bins,
//! `fdiv(floor(p / bin_shape), bins_per_chunk)`. The rules agree in exact arithmetic, but not in floating point, or if bins do not divide chunks
//! (trap T13). So chunks are candidates by either rule, and cells are accepted by either rule.

use crate::BBox;

/// The nearest `i64` to a number that was already rounded; infinities saturate, NaN is zero.
fn saturate(number: f64) -> i64 {
    number as i64
}

/// An integer as the nearest `f64`.
fn float(number: i64) -> f64 {
    number as f64
}

/// The grid of chunks of one level.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    /// Edge lengths of a chunk in stored units, one for each axis.
    chunk: Vec<f64>,
    /// Edge lengths of a bin, and bins in a chunk, if positions may have been placed by bins.
    bins: Option<(Vec<f64>, Vec<i64>)>,
}

impl Grid {
    /// The grid of a level with this effective chunk shape and, at level 0 of a store that declares bins, bin shape.
    pub(crate) fn new(chunk: &[f64], bin: Option<&[f64]>) -> Self {
        let bins = bin
            .filter(|bin| bin.len() == chunk.len() && *bin != chunk)
            .map(|bin| {
                let each = chunk
                    .iter()
                    .zip(bin)
                    .map(|(chunk, bin)| saturate((chunk / bin).round_ties_even()).max(1));
                (bin.to_vec(), each.collect())
            });
        Self {
            chunk: chunk.to_vec(),
            bins,
        }
    }

    /// Number of axes.
    pub(crate) fn dims(&self) -> usize {
        self.chunk.len()
    }

    /// The chunk of a coordinate by the straight rule.
    pub(crate) fn straight(&self, axis: usize, p: f64) -> i64 {
        let edge = self.chunk.get(axis).copied().unwrap_or(1.0);
        saturate((p / edge).floor())
    }

    /// The chunk of a coordinate by the rule with bins.
    fn binned(&self, axis: usize, p: f64) -> Option<i64> {
        let (shape, each) = self.bins.as_ref()?;
        let (shape, each) = (shape.get(axis)?, each.get(axis)?);
        Some(saturate((p / shape).floor()).div_euclid(*each))
    }

    /// Whether rows from `min` to `max` are all in the chunk by one of the two rules. `chunk` is the key; a leading attribute component is
    /// skipped.
    pub(crate) fn in_place(&self, chunk: &[i64], min: &[f64], max: &[f64]) -> bool {
        let skip = chunk.len().saturating_sub(self.dims());
        let Some(chunk) = chunk.get(skip..) else {
            return false;
        };
        chunk
            .iter()
            .zip(min)
            .zip(max)
            .enumerate()
            .all(|(axis, ((&at, &min), &max))| {
                // If all coordinates are NaN, the range is empty and is accepted.
                min > max
                    || (self.straight(axis, min) == at && self.straight(axis, max) == at)
                    || (self.binned(axis, min) == Some(at) && self.binned(axis, max) == Some(at))
            })
    }

    /// Whether all rows from `min` to `max` are outside the chunk by both rules. Rounding cannot cause this. `chunk` is as in
    /// [`in_place`](Self::in_place).
    pub(crate) fn is_elsewhere(&self, chunk: &[i64], min: &[f64], max: &[f64]) -> bool {
        let skip = chunk.len().saturating_sub(self.dims());
        let axes = chunk.iter().skip(skip).zip(min).zip(max).enumerate();
        axes.filter(|(_, ((_, min), max))| min <= max)
            .any(|(axis, ((&at, &min), &max))| {
                let outside = |first: i64, last: i64| at < first || last < at;
                let binned = self.binned(axis, min).zip(self.binned(axis, max));
                outside(self.straight(axis, min), self.straight(axis, max))
                    && binned.is_none_or(|(first, last)| outside(first, last))
            })
    }

    /// The chunks that intersect a box.
    pub(crate) fn candidates(&self, bbox: &BBox, world: &World) -> Candidates {
        let (mut straight, mut binned) = (Vec::new(), Vec::new());
        for axis in 0..self.dims() {
            let (lo, hi) = world.stored_range(axis, bbox);
            straight.push((self.straight(axis, lo), self.straight(axis, hi)));
            if let (Some(lo), Some(hi)) = (self.binned(axis, lo), self.binned(axis, hi)) {
                binned.push((lo, hi));
            }
        }
        let binned = (binned.len() == self.dims() && binned != straight).then_some(binned);
        Candidates { straight, binned }
    }

    /// The range of world coordinates on one axis of all rows that one of the two rules places in a chunk, extended by a tolerance for rounding
    /// errors, also of float32.
    pub(crate) fn span(&self, axis: usize, at: i64, world: &World) -> (f64, f64) {
        const WIDER: f64 = 1e-6;
        // Chunks with such large keys are treated as unbounded.
        if at.unsigned_abs() >= 1 << 52 {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        let Some(&edge) = self.chunk.get(axis) else {
            return (f64::NEG_INFINITY, f64::INFINITY);
        };
        let (mut low, mut high) = (float(at) * edge, (float(at) + 1.0) * edge);
        if let Some((shape, each)) = &self.bins
            && let (Some(shape), Some(each)) = (shape.get(axis), each.get(axis))
        {
            let step = shape * float(*each);
            low = low.min(float(at) * step);
            high = high.max((float(at) + 1.0) * step);
        }
        let offset = world.offset.get(axis).copied().unwrap_or(0.0);
        let slack =
            |end: f64| (end.abs() + offset.abs() + edge) * (world.epsilon + WIDER) + world.step;
        (low + offset - slack(low), high + offset + slack(high))
    }

    /// The first and last chunk of the bounds of the store, by axis.
    pub(crate) fn extents(&self, lo: &[f64], hi: &[f64]) -> Vec<(i64, i64)> {
        lo.iter()
            .zip(hi)
            .enumerate()
            .map(|(axis, (lo, hi))| (self.straight(axis, *lo), self.straight(axis, *hi)))
            .collect()
    }
}

/// The conversion from stored to world coordinates.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct World {
    /// `coordinate_offset`: world = stored + offset. Empty when the store has none.
    pub(crate) offset: Vec<f64>,
    /// Largest relative error of one rounding in the stored number type.
    pub(crate) epsilon: f64,
    /// Largest absolute error: 1 for integers, 0 for floats.
    pub(crate) step: f64,
}

impl World {
    /// The range of stored coordinates on one axis whose world coordinates may be inside the box.
    fn stored_range(&self, axis: usize, bbox: &BBox) -> (f64, f64) {
        let lo = bbox.lo().get(axis).copied().unwrap_or(f64::NEG_INFINITY);
        let hi = bbox.hi().get(axis).copied().unwrap_or(f64::INFINITY);
        let Some(&offset) = self.offset.get(axis) else {
            return (lo, hi);
        };
        let slack = |corner: f64| (corner.abs() + offset.abs()) * self.epsilon + self.step;
        let widened = |corner: f64, sign: f64| {
            let stored = corner - offset;
            if stored.is_finite() {
                stored + sign * slack(corner)
            } else {
                stored
            }
        };
        (widened(lo, -1.0), widened(hi, 1.0))
    }
}

/// Chunks that may have rows of a box: a block of the grid, or two if the placement rules differ.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidates {
    straight: Vec<(i64, i64)>,
    binned: Option<Vec<(i64, i64)>>,
}

impl Candidates {
    /// The chunks of another grid that overlap these: chunks of `from` and of `to` both begin at the origin.
    pub(crate) fn overlapping(&self, from: &Grid, to: &Grid) -> Self {
        // Tolerance for rounding of edges.
        const SLACK: f64 = 1e-9;
        let edges = || from.chunk.iter().zip(&to.chunk);
        let onto = |block: &[(i64, i64)]| -> Vec<(i64, i64)> {
            block
                .iter()
                .zip(edges())
                .map(|(&(lo, hi), (from, to))| {
                    let first = saturate((float(lo) * from / to + SLACK).floor());
                    let end = (float(hi) + 1.0) * from / to - SLACK;
                    (first, saturate(end.ceil() - 1.0).max(first))
                })
                .collect()
        };
        Self {
            straight: onto(&self.straight),
            binned: self.binned.as_deref().map(onto),
        }
    }

    /// Corners of the block around all candidates, for keys of `rank` components. `None` if keys have fewer axes.
    pub(crate) fn hull(&self, rank: usize) -> Option<(Vec<i64>, Vec<i64>)> {
        let extra = rank.checked_sub(self.straight.len())?;
        let (mut lo, mut hi) = (vec![i64::MIN; extra], vec![i64::MAX; extra]);
        for (axis, &(first, last)) in self.straight.iter().enumerate() {
            let other = self
                .binned
                .as_ref()
                .and_then(|binned| binned.get(axis))
                .copied();
            let (first2, last2) = other.unwrap_or((first, last));
            lo.push(first.min(first2));
            hi.push(last.max(last2));
        }
        Some((lo, hi))
    }

    /// Whether a chunk key is among the candidates; a leading attribute component is skipped.
    pub(crate) fn contains(&self, chunk: &[i64]) -> bool {
        let inside = |block: &[(i64, i64)]| {
            let skip = chunk.len().saturating_sub(block.len());
            chunk
                .iter()
                .skip(skip)
                .zip(block)
                .all(|(at, (lo, hi))| lo <= at && at <= hi)
        };
        inside(&self.straight) || self.binned.as_deref().is_some_and(inside)
    }
}

/// The chunk farthest from the origin. If cells were placed with another chunk shape than the documents state (trap T12), its rows show it most
/// clearly.
pub(crate) fn farthest<'a>(
    chunks: impl Iterator<Item = &'a [i64]>,
    dims: usize,
) -> Option<&'a [i64]> {
    let distance = |chunk: &[i64]| {
        let skip = chunk.len().saturating_sub(dims);
        chunk
            .iter()
            .skip(skip)
            .map(|at| float(*at).abs())
            .fold(0.0, f64::max)
    };
    let mut best: Option<(&[i64], f64)> = None;
    for chunk in chunks {
        let far = distance(chunk);
        if best.is_none_or(|(_, most)| far > most) {
            best = Some((chunk, far));
        }
    }
    best.map(|(chunk, _)| chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(grid: &Grid, text: &str) -> Candidates {
        grid.candidates(&BBox::parse(text).unwrap(), &World::default())
    }

    #[test]
    fn a_corner_on_a_border_belongs_to_the_upper_chunk() {
        let grid = Grid::new(&[10.0, 10.0], None);
        let found = candidates(&grid, "0,-0.5:10,9.9");
        assert_eq!(found.hull(2), Some((vec![0, -1], vec![1, 0])));
        assert!(found.contains(&[1, 0]) && !found.contains(&[2, 0]));
        assert!(
            found.contains(&[7, 1, 0]),
            "an attribute component is no axis"
        );
    }

    #[test]
    fn both_placement_rules_count() {
        let grid = Grid::new(&[0.3], Some(&[0.1]));
        let found = candidates(&grid, "0.3:0.3");
        assert!(found.contains(&[0]) && found.contains(&[1]));
        assert!(grid.in_place(&[0], &[0.3], &[0.3]) && grid.in_place(&[1], &[0.3], &[0.3]));
        let drift = Grid::new(&[10.0], Some(&[3.0]));
        assert!(
            candidates(&drift, "91:92").contains(&[10])
                && candidates(&drift, "91:92").contains(&[9])
        );
    }

    #[test]
    fn rows_are_elsewhere_where_none_is_in_the_chunk() {
        let grid = Grid::new(&[10.0, 10.0], None);
        // Rounding can explain one row beyond the border.
        assert!(!grid.is_elsewhere(&[0, 1], &[5.0, 9.0], &[10.0, 19.0]));
        assert!(grid.is_elsewhere(&[0, 1], &[5.0, 1.0], &[9.0, 9.0]));
        assert!(grid.is_elsewhere(&[3, 0, 1], &[1e9, 11.0], &[2e9, 12.0]));
        let nothing = [f64::INFINITY; 2].map(|one| [one, -one]);
        let [min, max] = [0, 1].map(|end| nothing.map(|one| one[end]));
        assert!(!grid.is_elsewhere(&[4, 4], &min, &max));
        // With bins of 3, chunk 10 begins at 90.
        let drift = Grid::new(&[10.0], Some(&[3.0]));
        assert!(!drift.is_elsewhere(&[10], &[91.0], &[92.0]));
        assert!(drift.is_elsewhere(&[8], &[91.0], &[92.0]));
    }

    #[test]
    fn infinite_corners_reach_everything() {
        let found = candidates(&Grid::new(&[10.0], Some(&[2.5])), "-inf:inf");
        assert!(found.contains(&[i64::MIN / 8]) && found.contains(&[i64::MAX / 8]));
    }

    #[test]
    fn a_chunk_spans_what_leads_to_it() {
        let worlds = [
            World::default(),
            World {
                offset: vec![1e6],
                epsilon: 1e-7,
                step: 0.0,
            },
        ];
        let grids = [
            Grid::new(&[0.3], Some(&[0.1])),
            Grid::new(&[10.0], Some(&[3.0])),
            Grid::new(&[10.0], None),
        ];
        for (grid, world) in grids
            .iter()
            .flat_map(|grid| worlds.iter().map(move |world| (grid, world)))
        {
            let offset = world.offset.first().copied().unwrap_or(0.0);
            for step in -40..40_i32 {
                let p = f64::from(step) * 0.3;
                for at in [grid.straight(0, p)].into_iter().chain(grid.binned(0, p)) {
                    let (low, high) = grid.span(0, at, world);
                    assert!(
                        low < p + offset && p + offset < high,
                        "{p} in {at}: {low} to {high}"
                    );
                    assert!(high - low < 40.0, "{low} to {high}");
                }
            }
        }
        let (low, high) = grids[0].span(0, i64::MAX, &worlds[0]);
        assert!(low == f64::NEG_INFINITY && high == f64::INFINITY);
    }

    #[test]
    fn an_offset_moves_and_widens_the_box() {
        let world = World {
            offset: vec![100.0],
            epsilon: 1e-7,
            step: 0.0,
        };
        let bbox = BBox::parse("110:119.999999").unwrap();
        let found = Grid::new(&[10.0], None).candidates(&bbox, &world);
        assert_eq!(found.hull(1), Some((vec![0], vec![2])));
    }

    #[test]
    fn chunks_of_another_grid_overlap() {
        let (fine, coarse) = (Grid::new(&[16.0; 3], None), Grid::new(&[32.0; 3], None));
        let hull = |from: &Grid, to: &Grid, text: &str| {
            candidates(from, text)
                .overlapping(from, to)
                .hull(3)
                .unwrap()
        };
        assert_eq!(
            hull(&fine, &coarse, "0,0,0:31,1,1"),
            (vec![0; 3], vec![0; 3])
        );
        assert_eq!(
            hull(&fine, &coarse, "48,16,-1:49,16,0"),
            (vec![1, 0, -1], vec![1, 0, 0])
        );
        assert_eq!(
            hull(&coarse, &fine, "33,1,1:34,1,1"),
            (vec![2, 0, 0], vec![3, 1, 1])
        );
        let odd = Grid::new(&[0.3; 3], None);
        let third = Grid::new(&[0.1; 3], None);
        assert_eq!(
            hull(&odd, &third, "0.7,0.7,0.7:0.7,0.7,0.7"),
            (vec![6; 3], vec![8; 3])
        );
        assert_eq!(hull(&third, &odd, "0.7,0.7,0.7:0.7,0.7,0.7").0, vec![2; 3]);
    }

    #[test]
    fn a_cell_outside_its_chunk_is_noticed() {
        let grid = Grid::new(&[10.0, 10.0], None);
        assert!(grid.in_place(&[0, 1], &[0.0, 10.0], &[9.0, 19.0]));
        assert!(!grid.in_place(&[0, 1], &[0.0, 9.0], &[9.0, 19.0]));
        assert!(grid.in_place(&[4, 0, 1], &[0.0, 10.0], &[9.0, 19.0]));
        assert!(
            grid.in_place(&[0, 1], &[f64::INFINITY; 2], &[f64::NEG_INFINITY; 2]),
            "only NaN"
        );
    }

    #[test]
    fn the_farthest_chunk_is_found() {
        let chunks: [&[i64]; 3] = [&[9, 0, 1], &[0, -7, 0], &[0, 3, 3]];
        assert_eq!(farthest(chunks.into_iter(), 2), Some(&[0, -7, 0][..]));
    }
}

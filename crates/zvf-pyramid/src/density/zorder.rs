//! Keeps every n-th point or object along a space-filling curve (Morton 1966). Points that are near each other on the curve are near
//! in space, so that the same share of every region is kept.

use super::builder::LevelBuilder;
use super::level::LevelRecords;
use super::paged::{BitSet, Shuffle};
use super::points::PointVertex;
use super::representatives::{Representatives, push_pair};
use crate::base::beside_space;
use crate::bin::MOST_AXES;
use zvf_encode::WriteError;
use zvf_encode::error::{OrBug, narrow, to_index};
use zvf_encode::records::Sorter;
use zvf_format::int::index;
use zvf_meta::Metric;

/// The ranges of the axes of a level, by which positions are scaled to keys of the Z order.
#[derive(Debug)]
pub(super) struct ZOrderFrame {
    low: [f64; MOST_AXES],
    /// The unit of each axis: a chunk for axes of space, the extent of the axis for others.
    unit: [f64; MOST_AXES],
    /// The largest extent of an axis of space, in chunks.
    pub(super) extent: f64,
    /// Whether each axis is not an axis of space.
    beside: [bool; MOST_AXES],
    /// Objects with vertices.
    pub(super) objects: u64,
}

/// Bits of a key.
const BITS: usize = 60;

impl LevelBuilder<'_> {
    /// The frame of the vertices of a level.
    ///
    /// # Errors
    /// Malformed: positions that are not finite. I/O.
    pub(super) fn frame(&self, fine: &LevelRecords) -> Result<ZOrderFrame, WriteError> {
        let dims = self.finest.dims();
        let (mut low, mut high) = ([f64::INFINITY; MOST_AXES], [f64::NEG_INFINITY; MOST_AXES]);
        let (mut objects, mut last) = (0_u64, None);
        fine.each_point(dims, |_, point| {
            for ((low, high), axis) in low.iter_mut().zip(&mut high).zip(&point.position) {
                (*low, *high) = (low.min(*axis), high.max(*axis));
                if !axis.is_finite() {
                    let expected = "a finite number within the range of bin numbers";
                    return Err(WriteError::data("position", axis.to_string(), expected));
                }
            }
            objects += u64::from(last != Some(point.object));
            last = Some(point.object);
            Ok(())
        })?;
        let spec = &self.finest.metadata.spec;
        let (mut unit, mut beside) = ([1.0; MOST_AXES], [false; MOST_AXES]);
        let mut extent = 0.0_f64;
        let axes = low.iter().zip(&high).zip(unit.iter_mut().zip(&mut beside));
        let sizes = spec.chunk_shape.iter().zip(beside_space(&spec.axes));
        for (((low, high), (unit, time)), (chunk, beside_space)) in axes.zip(sizes) {
            *time = beside_space;
            *unit = match beside_space {
                true => (high - low).max(f64::MIN_POSITIVE),
                // Axes of space are compared by the size of a chunk of level 0.
                false => *chunk,
            };
            if !beside_space {
                extent = extent.max((high - low) / chunk);
            }
        }
        Ok(ZOrderFrame {
            low,
            unit,
            extent,
            beside,
            objects,
        })
    }

    /// Keeps every n-th point of a cloud.
    pub(super) fn sample_points(
        &self,
        fine: &LevelRecords,
        share: f64,
    ) -> Result<Representatives, WriteError> {
        let (context, dims) = (self.finest.context(), self.finest.dims());
        let frame = self.frame(fine)?;
        let mut sorter = Sorter::new(context.means.budget / 4, context.means.folder);
        fine.each_point(dims, |place, point| {
            let axes = frame.axes(&point.position);
            sorter.push([key(axes, dims), u64::from(place)])
        })?;
        let mut marks = BitSet::new(fine.vertices.len());
        let mut pairs = Shuffle::new(&context);
        let mut kept = 0;
        sampled(sorter, share, |place, first| {
            if first {
                marks.set(place)?;
                kept = place;
            }
            match self.finest.from.placed {
                true => push_pair(&mut pairs, [place, kept]),
                false => Ok(()),
            }
        })?;
        self.marked(fine, marks, pairs, None)
    }

    /// Whether each object is kept: every n-th along the curve, on which an object is placed by the mean of its vertices and its length.
    pub(super) fn sample_objects(
        &self,
        fine: &LevelRecords,
        share: f64,
    ) -> Result<Vec<bool>, WriteError> {
        let (context, dims) = (self.finest.context(), self.finest.dims());
        let frame = self.frame(fine)?;
        let mut sorter = Sorter::new(context.means.budget / 4, context.means.folder);
        let mut push = |object: &ObjectShape| {
            // Lines are only the objects with two vertices.
            let line = self.finest.metadata.spec.kind == zvf_meta::Kind::Line;
            if object.count == 0.0 || (line && object.count != 2.0) {
                return Ok(());
            }
            let middle = object.sum.map(|sum| sum / object.count);
            let axes = frame.axes(&middle);
            // Lengths from 2^-32 to 2^8 times the total extent, on a logarithmic scale.
            let length = ((object.length.log2() + 32.0) / 40.0).clamp(0.0, 1.0);
            let axes = axes.into_iter().take(dims).chain([length]);
            sorter.push([key(axes, dims + 1), u64::from(object.number)])
        };
        let mut object = ObjectShape::default();
        fine.each_point(dims, |_, point| {
            if object.count > 0.0 && object.number != point.object {
                push(&object)?;
                object = ObjectShape::default();
            }
            object.add(&point, frame.space(&point.position));
            Ok(())
        })?;
        push(&object)?;
        let mut kept = vec![false; self.finest.metadata.ids.len()];
        sampled(sorter, share, |number, first| {
            let kept = kept.get_mut(index(number));
            *kept.or_bug(format_args!("no object {number}"))? |= first;
            Ok(())
        })?;
        Ok(kept)
    }
}

/// The place and length of an object, from its consecutive vertices.
#[derive(Debug, Default)]
struct ObjectShape {
    number: u32,
    count: f64,
    sum: [f64; MOST_AXES],
    last: [f64; MOST_AXES],
    /// Length in space, in units of the total extent.
    length: f64,
}

impl ObjectShape {
    fn add(&mut self, point: &PointVertex, axes: [f64; MOST_AXES]) {
        self.number = point.object;
        if self.count > 0.0 {
            self.length += Metric::default().distance(&self.last, &axes);
        }
        self.last = axes;
        self.count += 1.0;
        let sums = self.sum.iter_mut().zip(&point.position);
        sums.for_each(|(sum, axis)| *sum += axis);
    }
}

impl ZOrderFrame {
    /// A position as numbers from 0 to 1. Axes of space are scaled by their largest extent, each of the others by its own.
    fn axes(&self, position: &[f64; MOST_AXES]) -> [f64; MOST_AXES] {
        let mut axes = [0.0; MOST_AXES];
        let parts = axes.iter_mut().zip(position).zip(&self.low);
        for (((to, from), low), (unit, time)) in parts.zip(self.unit.iter().zip(&self.beside)) {
            let extent = match time {
                true => 1.0,
                false => self.extent.max(f64::MIN_POSITIVE),
            };
            *to = (from - low) / unit / extent;
        }
        axes
    }

    /// The same, with 0 on axes that are not of space.
    fn space(&self, position: &[f64; MOST_AXES]) -> [f64; MOST_AXES] {
        let mut axes = self.axes(position);
        let beside = axes.iter_mut().zip(&self.beside);
        beside
            .filter(|(_, time)| **time)
            .for_each(|(axis, _)| *axis = 0.0);
        axes
    }
}

/// The place on the curve: the bits of all axes alternate, from the highest bit down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers from 0 to 1, times less than 2^60"
)]
fn key(axes: impl IntoIterator<Item = f64>, many: usize) -> u64 {
    let bits = BITS / many.max(1);
    let most = (1_u64 << bits) - 1;
    let mut whole = [0_u64; MOST_AXES + 1];
    for (slot, axis) in whole.iter_mut().zip(axes) {
        // With many bits, the float of the largest number is larger.
        *slot = ((axis.clamp(0.0, 1.0) * most as f64) as u64).min(most);
    }
    let mut key = 0;
    for bit in (0..bits).rev() {
        for axis in whole.iter().take(many) {
            key = key << 1 | (axis >> bit & 1);
        }
    }
    key
}

/// Calls `take` with each number, in the order of the curve, and with whether it is selected: a `share` of the numbers, spread evenly along the
/// curve, and at least one.
fn sampled(
    sorter: Sorter<[u64; 2]>,
    share: f64,
    mut take: impl FnMut(u32, bool) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let mut sorted = sorter.finish()?;
    let (mut rank, mut window) = (0.0_f64, -1.0);
    while let Some([_, number]) = sorted.pop()? {
        let here = (rank * share).floor();
        let number = narrow("vertices", to_index("vertices", number)?)?;
        take(number, here > window)?;
        (rank, window) = (rank + 1.0, here);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{key, sampled};
    use zvf_encode::records::Sorter;

    #[test]
    fn bits_of_axes_alternate() {
        assert_eq!(key([0.0, 0.0, 0.0], 3), 0);
        assert_eq!(key([1.0, 1.0, 1.0], 3), (1 << 60) - 1);
        // The first axis has the highest bit.
        assert_eq!(key([1.0, 0.0], 2) >> 58, 0b10);
        assert_eq!(key([0.0, 1.0], 2) >> 58, 0b01);
        assert!(key([0.51, 0.0], 2) > key([0.49, 1.0], 2));
        // Axes beyond the count are ignored.
        assert_eq!(key([0.3, 0.0, 1.0], 2), key([0.3, 0.0], 2));
    }

    #[test]
    fn every_region_keeps_its_share() {
        for (many, share, wanted) in [(1000, 0.25, 250), (7, 0.5, 4), (3, 0.001, 1), (10, 1.0, 10)]
        {
            let mut sorter = Sorter::new(1 << 20, &std::env::temp_dir());
            let number = |n: u32| n.wrapping_mul(7919) % many;
            let pair = |n: u32| [u64::from(number(n)); 2];
            (0..many).for_each(|n| sorter.push(pair(n)).unwrap());
            let mut kept = Vec::new();
            sampled(sorter, share, |number, first| {
                kept.extend(first.then_some(number));
                Ok(())
            })
            .unwrap();
            assert_eq!(kept.len(), wanted);
            let most = (1.0 / share).ceil() as u32;
            assert!(kept.windows(2).all(|pair| pair[1] - pair[0] <= most));
        }
    }
}

//! Points as records of temporary files, partitioned such that each bin is in one part.

use rustc_hash::FxHashMap;

use super::off_middle;
use crate::bin::{Bin, MOST_AXES, bin_of};
use crate::meter::Meter;
use zvf_encode::WriteError;
use zvf_encode::error::OrBug;
use zvf_encode::records::{Bucket, SpillFile, records, take_array};
use zvf_meta::Metric;

/// One point.
#[derive(Debug, Clone, Copy)]
pub(super) struct PointVertex {
    /// Its row in the result of the query of level 0.
    pub(super) place: u32,
    /// The number of its object.
    pub(super) object: u32,
    pub(super) position: [f64; MOST_AXES],
}

impl PointVertex {
    pub(super) fn size(dims: usize) -> usize {
        dims * 8 + 8
    }

    /// Its coordinates along the axes of the store.
    pub(super) fn axes(&self, dims: usize) -> &[f64] {
        &self.position[..dims.min(MOST_AXES)]
    }

    pub(super) fn write(&self, dims: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.place.to_le_bytes());
        out.extend_from_slice(&self.object.to_le_bytes());
        for axis in self.position.iter().take(dims) {
            out.extend_from_slice(&axis.to_le_bytes());
        }
    }

    /// Takes a point from the front of a record.
    ///
    /// # Errors
    /// Bug: the record is shorter.
    // Inlined: as a call, it and `bin_of` took a fifth of the time of coarse levels of points.
    #[inline(always)]
    pub(super) fn take(record: &mut &[u8], dims: usize) -> Result<Self, WriteError> {
        let place = u32::from_le_bytes(take_array(record)?);
        let object = u32::from_le_bytes(take_array(record)?);
        let mut position = [0.0; MOST_AXES];
        for axis in position.iter_mut().take(dims) {
            *axis = f64::from_le_bytes(take_array(record)?);
        }
        Ok(Self {
            place,
            object,
            position,
        })
    }

    /// Reads all points.
    ///
    /// # Errors
    /// Bug: bytes that are not a whole number of points.
    pub(super) fn read_all(
        bytes: &[u8],
        dims: usize,
    ) -> Result<impl Iterator<Item = Result<Self, WriteError>>, WriteError> {
        let records = records(bytes, Self::size(dims))?;
        Ok(records.map(move |mut record| Self::take(&mut record, dims)))
    }
}

/// The result of thinning one part.
#[derive(Debug, Default)]
pub(super) struct Thinned {
    pub(super) stays: Vec<PointVertex>,
    /// The square of the largest distance of a point from its representative.
    pub(super) moved: f64,
    /// Every point and its representative, if requested.
    pub(super) pairs: Vec<[u32; 2]>,
}

/// How a part is thinned.
#[derive(Debug)]
pub(super) struct Thinner<'t> {
    pub(super) dims: usize,
    pub(super) bins: &'t [f64],
    pub(super) metric: Metric,
    /// Whether the representative of each point is requested.
    pub(super) paired: bool,
    pub(super) file: &'t SpillFile,
    pub(super) meter: &'t Meter,
}

impl Thinner<'_> {
    fn bin(&self, point: &PointVertex) -> Result<Bin, WriteError> {
        bin_of(point.axes(self.dims), self.bins)
    }

    /// Keeps one point per bin: the nearest to the middle of the bin; of equally near points, the first.
    pub(super) fn thin(&self, bucket: &Bucket) -> Result<Thinned, WriteError> {
        let mut best: FxHashMap<Bin, (f64, PointVertex)> = FxHashMap::default();
        let mut held = 0;
        for piece in bucket.pieces(self.file) {
            let piece = piece?;
            for point in PointVertex::read_all(&piece, self.dims)? {
                let point = point?;
                let bin = self.bin(&point)?;
                let far = off_middle(self.metric, &point.position, &bin, self.bins);
                let slot = best.entry(bin).or_insert((far, point));
                if (far, point.place) < (slot.0, slot.1.place) {
                    *slot = (far, point);
                }
            }
            let bytes = best.capacity() * size_of::<(Bin, f64, PointVertex)>() + piece.len();
            self.meter.change(&mut held, bytes);
        }
        let mut found = Thinned::default();
        for piece in bucket.pieces(self.file) {
            for point in PointVertex::read_all(&piece?, self.dims)? {
                let point = point?;
                let (_, kept) = best
                    .get(&self.bin(&point)?)
                    .or_bug("a bin without a point")?;
                let far = self.metric.square(&point.position, &kept.position);
                found.moved = found.moved.max(far);
                if self.paired {
                    found.pairs.push([point.place, kept.place]);
                }
            }
        }
        found.stays = best.into_values().map(|(_, point)| point).collect();
        self.meter.change(&mut held, 0);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::PointVertex;
    use zvf_encode::WriteError;

    #[test]
    fn points_are_whole() {
        let point = PointVertex {
            place: 7,
            object: 8,
            position: [1.0, 2.0, 0.0, 0.0],
        };
        let mut bytes = Vec::new();
        point.write(2, &mut bytes);
        point.write(2, &mut bytes);
        for found in PointVertex::read_all(&bytes, 2).unwrap() {
            let found = found.unwrap();
            assert_eq!(
                (found.place, found.object, found.axes(2)),
                (7, 8, &[1.0, 2.0][..])
            );
        }
        let cut = PointVertex::read_all(&bytes[1..], 2).map(Iterator::count);
        assert!(matches!(cut, Err(WriteError::Bug { .. })));
        let cut = PointVertex::take(&mut &bytes[..23], 2);
        assert!(matches!(cut, Err(WriteError::Bug { .. })));
    }
}

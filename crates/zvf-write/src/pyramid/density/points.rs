//! Points that are not held together: as records of files, in parts of whole bins.

use rustc_hash::FxHashMap;

use super::square;
use super::thin::off_middle;
use crate::WriteError;
use crate::bucket::Bucket;
use crate::pyramid::bins::{Bin, MOST_AXES, bin_of};
use crate::pyramid::meter::Meter;
use crate::spill::SpillFile;

/// One point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    /// Its place in the answer about level 0.
    pub(super) place: u32,
    /// The number of its object.
    pub(super) object: u32,
    pub(super) position: [f64; MOST_AXES],
}

impl Point {
    pub(super) fn size(dims: usize) -> usize {
        dims.saturating_mul(8).saturating_add(8)
    }

    pub(super) fn write(&self, dims: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.place.to_le_bytes());
        out.extend_from_slice(&self.object.to_le_bytes());
        for axis in self.position.iter().take(dims) {
            out.extend_from_slice(&axis.to_le_bytes());
        }
    }

    pub(super) fn read_all(bytes: &[u8], dims: usize) -> impl Iterator<Item = Self> + '_ {
        bytes.chunks_exact(Self::size(dims)).map(|record| {
            let (words, _) = record.as_chunks::<4>();
            let word = |at: usize| words.get(at).map_or(0, |word| u32::from_le_bytes(*word));
            let mut position = [0.0; MOST_AXES];
            let axes = record.as_chunks::<8>().0.iter().skip(1);
            for (slot, axis) in position.iter_mut().zip(axes) {
                *slot = f64::from_le_bytes(*axis);
            }
            Self {
                place: word(0),
                object: word(1),
                position,
            }
        })
    }
}

/// What is left of one part.
#[derive(Debug, Default)]
pub(super) struct Thinned {
    pub(super) stays: Vec<Point>,
    /// The square of the largest distance of a point from the one that stands for it.
    pub(super) moved: f64,
    /// Every point, and the one that stands for it; if that is asked for.
    pub(super) pairs: Vec<[u32; 2]>,
}

/// How a part is thinned.
#[derive(Debug)]
pub(super) struct Thinner<'t> {
    pub(super) dims: usize,
    pub(super) bins: &'t [f64],
    /// Whether it is asked for what stands for each point.
    pub(super) paired: bool,
    pub(super) file: &'t SpillFile,
    pub(super) meter: &'t Meter,
}

impl Thinner<'_> {
    fn bin(&self, point: &Point) -> Result<Bin, WriteError> {
        bin_of(
            point.position.get(..self.dims).unwrap_or_default(),
            self.bins,
        )
    }

    /// One point a bin: the one nearest to the middle of the bin, of equal ones the first.
    pub(super) fn thin(&self, bucket: &Bucket) -> Result<Thinned, WriteError> {
        let mut best: FxHashMap<Bin, (f64, Point)> = FxHashMap::default();
        let mut held = 0;
        for piece in bucket.pieces(self.file) {
            let piece = piece?;
            for point in Point::read_all(&piece, self.dims) {
                let bin = self.bin(&point)?;
                let far = off_middle(&point.position, &bin, self.bins);
                let slot = best.entry(bin).or_insert((far, point));
                if (far, point.place) < (slot.0, slot.1.place) {
                    *slot = (far, point);
                }
            }
            let of_bins = best
                .capacity()
                .saturating_mul(size_of::<(Bin, f64, Point)>());
            let bytes = of_bins.saturating_add(piece.len());
            self.meter.change(&mut held, bytes);
        }
        let mut found = Thinned::default();
        for piece in bucket.pieces(self.file) {
            for point in Point::read_all(&piece?, self.dims) {
                if let Some((_, kept)) = best.get(&self.bin(&point)?) {
                    let far = square(&point.position, &kept.position);
                    found.moved = found.moved.max(far);
                    if self.paired {
                        found.pairs.push([point.place, kept.place]);
                    }
                }
            }
        }
        found.stays = best.into_values().map(|(_, point)| point).collect();
        self.meter.change(&mut held, 0);
        Ok(found)
    }
}

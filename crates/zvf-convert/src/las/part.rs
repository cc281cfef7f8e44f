//! The part of a file that is read.

use zvf_query::BBox;

use super::header::LasHeader;
use crate::ConvertError;
use crate::options::Options;

/// The part of a file that is read; by default all of it.
#[derive(Debug, Clone, Default)]
pub(super) struct FilePart {
    /// Box in coordinates of the file, of three axes, both ends included.
    bbox: Option<BBox>,
    /// Largest spacing of the last level that is read.
    pub(super) resolution: Option<f64>,
}

impl FilePart {
    /// # Errors
    ///
    /// Misuse: a box that does not have three axes; a resolution that is not a number above 0, or a resolution for a file without a COPC index.
    pub(super) fn of(options: &Options, header: &LasHeader) -> Result<Self, ConvertError> {
        let (bbox, resolution) = (options.bbox.clone(), options.resolution);
        if let Some(bbox) = bbox.as_ref().filter(|bbox| bbox.dims() != 3) {
            let found = format!("{} axes", bbox.dims());
            return Err(ConvertError::usage("bbox", found, "three: x, y and z"));
        }
        if let Some(resolution) = resolution {
            if header.copc.is_none() {
                let found = format!("{}, which has none", header.path.display());
                let expected = "files with an index of COPC, whose levels have spacings";
                return Err(ConvertError::usage("resolution", found, expected));
            }
            if resolution.is_nan() || resolution <= 0.0 {
                let found = resolution.to_string();
                return Err(ConvertError::usage("resolution", found, "a number above 0"));
            }
        }
        Ok(Self { bbox, resolution })
    }

    /// Whether it is all of the file.
    pub(super) fn is_whole(&self) -> bool {
        self.bbox.is_none() && self.resolution.is_none()
    }

    /// Whether a box with these lower and upper ends on each axis may have points of the part.
    pub(super) fn meets(&self, ends: impl Iterator<Item = (f64, f64)>) -> bool {
        let Some(bbox) = &self.bbox else {
            return true;
        };
        let mut axes = bbox.lo().iter().zip(bbox.hi()).zip(ends);
        axes.all(|((lo, hi), (low, high))| *lo <= high && low <= *hi)
    }

    /// The points inside the box; `points` has complete records.
    pub(super) fn keep<'p>(
        &self,
        points: &'p [u8],
        header: &LasHeader,
    ) -> std::borrow::Cow<'p, [u8]> {
        let Some(bbox) = &self.bbox else {
            return points.into();
        };
        let mut kept = Vec::with_capacity(points.len());
        for point in points.chunks_exact(header.length) {
            let (numbers, _) = point.as_chunks::<4>();
            let maps = header.scale.iter().zip(&header.offset);
            let axes = bbox
                .lo()
                .iter()
                .zip(bbox.hi())
                .zip(numbers.iter().zip(maps));
            let is_inside = axes
                .into_iter()
                .all(|((lo, hi), (number, (scale, offset)))| {
                    let at = f64::from(i32::from_le_bytes(*number)) * scale + offset;
                    *lo <= at && at <= *hi
                });
            if is_inside {
                kept.extend_from_slice(point);
            }
        }
        kept.into()
    }
}

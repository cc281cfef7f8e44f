//! Samples a volume at given positions, called places.

use futures::future::BoxFuture;
use zvf_format::dtype::{ByteOrder, DType, DTypeKind};
use zvf_grid::{Axis, MAX_RANK, Selection};
use zvf_meta::{VOXEL_SLACK, element_at};

use crate::element::number;
use crate::{Affine, Counts, Volume, VolumeError};

/// How a value is computed at a place between elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpolation {
    /// The value of the voxel that contains the place: index `floor(v + 0.5)`. The result has the type of the volume. Suitable for labels.
    Nearest,
    /// Linear interpolation along every axis between the centres of neighbouring elements. The results are floats.
    Linear,
}

impl Interpolation {
    /// The default order for a type: linear for floats, nearest for all others, which may be labels.
    #[must_use]
    pub const fn usual(element: DType) -> Self {
        match element.is_float() {
            true => Self::Linear,
            false => Self::Nearest,
        }
    }
}

/// How an axis of the volume is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisUse {
    /// An axis of space. These axes have the order of the axes of the [`Affine`].
    Space,
    /// One index for all places: a channel, a time.
    Index(u64),
}

/// Samples a volume at places, in batches.
///
/// # Inside
///
/// `v` is the place in elements. A place is inside if `0 <= v <= n - 1` on every axis with [`Interpolation::Linear`], or `-0.5 <= v < n - 0.5` with
/// [`Interpolation::Nearest`]. Where `<=` is stated, a millionth of an element more is accepted, because affine maps round. All other places, including
/// places with NaN, get the value of [`outside`](Self::with_outside).
#[derive(Debug, Clone)]
pub struct Sampler {
    volume: Volume,
    axes: Vec<AxisUse>,
    /// Maps world coordinates to elements.
    to_voxel: Affine,
    order: Interpolation,
    /// The bytes of a value outside the volume.
    outside: Vec<u8>,
    result: DType,
    /// Maximum number of bytes of the box of one read.
    most: u64,
}

/// The values of one batch.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Sampled {
    /// Little-endian values of [`Sampler::dtype`], one for each place.
    pub bytes: Vec<u8>,
    /// The number of places outside the volume.
    pub outside: u64,
    /// The cost of the reads.
    pub counts: Counts,
}

impl Sampler {
    /// The default limit on the box of one read, in bytes. A batch with a larger bounding box is divided.
    pub const BOX: u64 = 256 << 20;

    /// Creates a sampler of a volume of numbers. `to_world` maps the index of an element to its position, axes of space in order.
    ///
    /// # Errors
    /// Misuse: elements that are not numbers; uses that do not match the axes; an index outside its axis; a map without an inverse.
    pub fn new(
        volume: Volume,
        axes: Vec<AxisUse>,
        to_world: &Affine,
        order: Interpolation,
    ) -> Result<Self, VolumeError> {
        let info = volume.info();
        let Some(dtype) = info.element.number else {
            let text = &info.element.text;
            return Err(VolumeError::misuse(format!(
                "elements {text}: only numbers can be sampled"
            )));
        };
        let space = axes.iter().filter(|one| **one == AxisUse::Space).count();
        if axes.len() != info.shape.len() || space != to_world.rank() {
            return Err(VolumeError::misuse(format!(
                "a volume of {} axes, {space} of them in space, and a map of {} axes do not fit",
                info.shape.len(),
                to_world.rank()
            )));
        }
        for (axis, (one, extent)) in axes.iter().zip(info.shape.iter()).enumerate() {
            if let AxisUse::Index(index) = one
                && index >= extent
            {
                return Err(VolumeError::misuse(format!(
                    "axis {axis}: index {index} found, the axis has {extent}"
                )));
            }
        }
        let result = match order {
            Interpolation::Nearest => DType::little(dtype.kind),
            Interpolation::Linear => DType::little(match dtype.kind {
                DTypeKind::F64
                | DTypeKind::I32
                | DTypeKind::I64
                | DTypeKind::U32
                | DTypeKind::U64 => DTypeKind::F64,
                _ => DTypeKind::F32,
            }),
        };
        Ok(Self {
            to_voxel: to_world.inverse()?,
            volume,
            axes,
            order,
            outside: match result.is_float() {
                true => {
                    real(result, f64::NAN).ok_or_else(|| VolumeError::bug("floats without NaN"))?
                }
                false => vec![0; result.size()],
            },
            result,
            most: Self::BOX,
        })
    }

    /// Sets the value of places outside the volume. Default NaN, or 0 for integers.
    ///
    /// # Errors
    /// Misuse: a value that the type of the result cannot represent. Integer types also refuse all floats beyond 2^53, which may already have been
    /// rounded; [`Self::with_outside_whole`] accepts such numbers.
    pub fn with_outside(mut self, value: f64) -> Result<Self, VolumeError> {
        self.outside = real(self.result, value).ok_or_else(|| self.not_held(value))?;
        Ok(self)
    }

    /// Sets the value of places outside the volume to a whole number. Integer types store it exactly, float types round it.
    ///
    /// # Errors
    /// Misuse: a value that the type of the result cannot represent.
    pub fn with_outside_whole(mut self, value: i128) -> Result<Self, VolumeError> {
        self.outside = whole(self.result, value).ok_or_else(|| self.not_held(value))?;
        Ok(self)
    }

    fn not_held(&self, value: impl std::fmt::Display) -> VolumeError {
        let expected = match self.result.is_float() {
            true => "a number that it holds, nan, inf or -inf",
            false => "a whole number that it holds, with all digits (no exponent beyond 2^53)",
        };
        VolumeError::misuse(format!(
            "{value} for places outside: {} does not hold it, expected {expected}",
            self.result
        ))
    }

    /// Sets the limit on the box of one read, in bytes. A group of places that cannot be divided may exceed it.
    #[must_use]
    pub fn with_box(mut self, bytes: u64) -> Self {
        self.most = bytes.max(1);
        self
    }

    /// The type of the values, little-endian: the type of the volume for [`Interpolation::Nearest`]; otherwise `float32`, or `float64` for volumes of
    /// `float64` and of integers that `float32` cannot represent.
    #[must_use]
    pub const fn dtype(&self) -> DType {
        self.result
    }

    /// Returns the values at `places`: for each place, one coordinate for each axis of space.
    ///
    /// # Cost
    /// The bounding box of the places inside the volume is read once, so every tile, chunk or block is read once. If the box exceeds the limit, the
    /// places are cut into two groups along its longest axis, repeatedly; only blocks at such a cut are read twice.
    ///
    /// # Errors
    /// As [`Volume::read`].
    pub fn sample<'a>(&'a self, places: &'a [f64]) -> BoxFuture<'a, Result<Sampled, VolumeError>> {
        Box::pin(async move {
            let rank = self.to_voxel.rank();
            let count = places.len().checked_div(rank).unwrap_or(0);
            let mut voxels = vec![0.0; count.saturating_mul(rank)];
            for (to, from) in voxels
                .chunks_exact_mut(rank.max(1))
                .zip(places.chunks_exact(rank.max(1)))
            {
                self.to_voxel.apply(from, to);
            }
            let extents = self.extents();
            let inside: Vec<usize> = voxels
                .chunks_exact(rank.max(1))
                .enumerate()
                .filter(|(_, voxel)| self.is_inside(voxel, &extents))
                .map(|(at, _)| at)
                .collect();
            let size = self.result.size();
            let mut bytes = Vec::with_capacity(count.saturating_mul(size));
            (0..count).for_each(|_| bytes.extend_from_slice(&self.outside));
            let mut sampled = Sampled {
                outside: u64::try_from(count.saturating_sub(inside.len())).unwrap_or(u64::MAX),
                bytes,
                counts: Counts::default(),
            };
            let mut groups = vec![inside];
            while let Some(group) = groups.pop() {
                let Some(region) = self.around(&voxels, &group, &extents) else {
                    continue;
                };
                if let Some((one, other)) = self.cut(&voxels, &group, &region) {
                    groups.push(other);
                    groups.push(one);
                    continue;
                }
                self.read(&voxels, &group, &region, &mut sampled).await?;
            }
            Ok(sampled)
        })
    }

    /// Extents of the axes of space.
    fn extents(&self) -> Vec<u64> {
        let shape = self.volume.info().shape;
        let axes = self.axes.iter().zip(shape.iter());
        axes.filter(|(one, _)| **one == AxisUse::Space)
            .map(|(_, extent)| *extent)
            .collect()
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "extents of volumes are far below 2^53"
    )]
    fn is_inside(&self, voxel: &[f64], extents: &[u64]) -> bool {
        voxel
            .iter()
            .zip(extents)
            .all(|(&v, &extent)| match self.order {
                Interpolation::Nearest => element_at(v, extent).is_some(),
                Interpolation::Linear => {
                    v >= -VOXEL_SLACK && v <= extent as f64 - 1.0 + VOXEL_SLACK
                }
            })
    }

    /// The first element on an axis that the value at a place depends on, and the weight of the next element.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "places inside are not negative and below the extent"
    )]
    fn first(&self, v: f64, extent: u64) -> (u64, f64) {
        let last = extent.saturating_sub(1);
        let v = v.max(0.0);
        match self.order {
            // Every place inside has a nearest element.
            Interpolation::Nearest => (element_at(v, extent).unwrap_or(last), 0.0),
            Interpolation::Linear => match (v.floor() as u64).min(last) {
                first if first == last => (first, 0.0),
                first => (first, v - v.floor()),
            },
        }
    }

    /// The bounding box of the elements that a group of places depends on: first element and end on each axis of space.
    fn around(&self, voxels: &[f64], group: &[usize], extents: &[u64]) -> Option<Vec<(u64, u64)>> {
        let rank = extents.len();
        let mut region = vec![(u64::MAX, 0); rank];
        for at in group {
            let voxel = voxels.get(at * rank..(at + 1) * rank)?;
            for ((low, high), (&v, &extent)) in region.iter_mut().zip(voxel.iter().zip(extents)) {
                let (first, share) = self.first(v, extent);
                *low = (*low).min(first);
                *high = (*high).max(first.saturating_add(1 + u64::from(share > 0.0)).min(extent));
            }
        }
        (!group.is_empty()).then_some(region)
    }

    /// If the box of a group is too large, divides the group in two along the longest axis of the box, at a block border.
    fn cut(
        &self,
        voxels: &[f64],
        group: &[usize],
        region: &[(u64, u64)],
    ) -> Option<(Vec<usize>, Vec<usize>)> {
        let size = u64::try_from(self.volume.info().element.size).unwrap_or(u64::MAX);
        let bytes = region.iter().fold(size, |all, (low, high)| {
            all.saturating_mul(high.saturating_sub(*low))
        });
        if bytes <= self.most || group.len() < 2 {
            return None;
        }
        let info = self.volume.info();
        let block = info.block.unwrap_or(info.chunk);
        let blocks: Vec<u64> = self
            .axes
            .iter()
            .zip(block.iter())
            .filter(|(one, _)| **one == AxisUse::Space)
            .map(|(_, extent)| (*extent).max(1))
            .collect();
        let rank = region.len();
        let extents = self.extents();
        // The longest axis first. An axis on which all places have the same first element cannot be divided.
        let mut order: Vec<usize> = (0..rank).collect();
        let length = |axis: &usize| region.get(*axis).map_or(0, |(low, high)| high - low);
        order.sort_by_key(|axis| std::cmp::Reverse(length(axis)));
        for axis in order {
            let (low, high) = *region.get(axis)?;
            let half = low + (high - low) / 2;
            let aligned = half - half % blocks.get(axis)?;
            let border = if aligned > low { aligned } else { half };
            let extent = *extents.get(axis)?;
            let (one, other): (Vec<usize>, Vec<usize>) = group.iter().partition(|at| {
                let v = voxels.get(**at * rank + axis).copied().unwrap_or(0.0);
                self.first(v, extent).0 < border
            });
            if !one.is_empty() && !other.is_empty() {
                return Some((one, other));
            }
        }
        None
    }

    /// Reads the box of a group and fills in its values.
    async fn read(
        &self,
        voxels: &[f64],
        group: &[usize],
        region: &[(u64, u64)],
        sampled: &mut Sampled,
    ) -> Result<(), VolumeError> {
        let mut space = region.iter();
        let axes: Vec<Axis> = self
            .axes
            .iter()
            .map(|one| match one {
                AxisUse::Index(index) => Axis::at(*index),
                AxisUse::Space => space
                    .next()
                    .map_or(Axis::at(0), |(low, high)| Axis::new(*low, *high, 1)),
            })
            .collect();
        let selection = Selection::new(&axes, &self.volume.info().shape)?;
        let (elements, counts) = self.volume.read(&selection).await?;
        sampled.counts.add(counts);
        let dtype = self.volume.info().element.number.unwrap_or(self.result);
        // Axes with one index have extent 1, so the box is an array over the axes of space.
        let rank = region.len();
        let mut strides = [0_usize; MAX_RANK];
        let mut stride = dtype.size();
        for (slot, (low, high)) in strides.iter_mut().take(rank).zip(region).rev() {
            *slot = stride;
            stride = stride.saturating_mul(usize::try_from(high - low).unwrap_or(usize::MAX));
        }
        let extents = self.extents();
        let size = self.result.size();
        let mut value = Vec::with_capacity(size);
        for &at in group {
            let Some(voxel) = voxels.get(at * rank..(at + 1) * rank) else {
                continue;
            };
            let (mut base, mut shares, mut shared) = (0_usize, [(0.0, 0_usize); MAX_RANK], 0);
            let parts = voxel.iter().zip(&extents).zip(region.iter().zip(&strides));
            for ((&v, &extent), ((low, _), &stride)) in parts {
                let (first, share) = self.first(v, extent);
                base += usize::try_from(first - low)
                    .unwrap_or(usize::MAX)
                    .saturating_mul(stride);
                if share > 0.0
                    && let Some(slot) = shares.get_mut(shared)
                {
                    *slot = (share, stride);
                    shared += 1;
                }
            }
            value.clear();
            let element = |at: usize| {
                elements
                    .get(at..at.saturating_add(dtype.size()))
                    .unwrap_or_default()
            };
            match self.order {
                Interpolation::Nearest => {
                    value.extend_from_slice(element(base));
                    if dtype.order == ByteOrder::Big {
                        value.reverse();
                    }
                }
                Interpolation::Linear => {
                    let shares = shares.get(..shared).unwrap_or_default();
                    let mut sum = 0.0;
                    for corner in 0..1_usize << shared {
                        let (mut weight, mut place) = (1.0, base);
                        for (bit, (share, stride)) in shares.iter().enumerate() {
                            if corner >> bit & 1 == 1 {
                                weight *= share;
                                place = place.saturating_add(*stride);
                            } else {
                                weight *= 1.0 - share;
                            }
                        }
                        sum += weight * number(dtype, element(place));
                    }
                    put(self.result, sum, &mut value);
                }
            }
            if let Some(slot) = sampled.bytes.get_mut(at * size..(at + 1) * size)
                && slot.len() == value.len()
            {
                slot.copy_from_slice(&value);
            }
        }
        Ok(())
    }
}

/// The little-endian bytes of a float in a type; `None` if the type cannot represent it. Float types round, but refuse finite values that would become
/// infinite.
fn real(dtype: DType, value: f64) -> Option<Vec<u8>> {
    /// Up to here, float64 represents every whole number, so the value cannot have been rounded.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !dtype.is_float() {
        let is_whole = value.fract() == 0.0 && value.abs() <= EXACT;
        #[expect(clippy::cast_possible_truncation, reason = "at most 2^53")]
        return is_whole.then(|| whole(dtype, value as i128)).flatten();
    }
    let mut bytes = Vec::new();
    put(dtype, value, &mut bytes);
    let holds = number(dtype, &bytes).is_infinite() == value.is_infinite();
    holds.then_some(bytes)
}

/// The little-endian bytes of a whole number in a type; `None` if the type cannot represent it. Float types round.
fn whole(dtype: DType, value: i128) -> Option<Vec<u8>> {
    macro_rules! stored {
        ($type:ty) => {
            <$type>::try_from(value).ok()?.to_le_bytes().to_vec()
        };
    }
    Some(match dtype.kind {
        #[expect(
            clippy::cast_precision_loss,
            reason = "float types round to the nearest"
        )]
        _ if dtype.is_float() => return real(dtype, value as f64),
        DTypeKind::Bool => vec![u8::try_from(value).ok().filter(|one| *one < 2)?],
        DTypeKind::I8 => stored!(i8),
        DTypeKind::I16 => stored!(i16),
        DTypeKind::I32 => stored!(i32),
        DTypeKind::I64 => stored!(i64),
        DTypeKind::U8 => stored!(u8),
        DTypeKind::U16 => stored!(u16),
        DTypeKind::U32 => stored!(u32),
        DTypeKind::U64 => stored!(u64),
        _ => return None,
    })
}

/// Appends a float in a type of floats, little-endian; rounds to the nearest.
#[expect(
    clippy::cast_possible_truncation,
    reason = "floats round to the nearest"
)]
fn put(dtype: DType, value: f64, bytes: &mut Vec<u8>) {
    match dtype.kind {
        DTypeKind::F16 => bytes.extend_from_slice(&zvf_store::nearest_f16(value).to_le_bytes()),
        DTypeKind::F32 => bytes.extend_from_slice(&(value as f32).to_le_bytes()),
        _ => bytes.extend_from_slice(&value.to_le_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::{DType, DTypeKind, real, whole};
    use crate::element::number;

    const INTEGERS: [(DTypeKind, i128, i128); 9] = [
        (DTypeKind::Bool, 0, 1),
        (DTypeKind::I8, i8::MIN as i128, i8::MAX as i128),
        (DTypeKind::I16, i16::MIN as i128, i16::MAX as i128),
        (DTypeKind::I32, i32::MIN as i128, i32::MAX as i128),
        (DTypeKind::I64, i64::MIN as i128, i64::MAX as i128),
        (DTypeKind::U8, 0, u8::MAX as i128),
        (DTypeKind::U16, 0, u16::MAX as i128),
        (DTypeKind::U32, 0, u32::MAX as i128),
        (DTypeKind::U64, 0, u64::MAX as i128),
    ];

    #[test]
    fn whole_numbers_are_stored_exactly_or_not_at_all() {
        for (kind, low, high) in INTEGERS {
            let dtype = DType::little(kind);
            for value in [low, high, low + 1, high - 1, 0, 1] {
                let mut bytes = whole(dtype, value).unwrap();
                assert_eq!(bytes.len(), dtype.size());
                let sign = if value < 0 { 0xff } else { 0 };
                bytes.resize(16, sign);
                assert_eq!(i128::from_le_bytes(bytes.try_into().unwrap()), value);
            }
            for value in [low - 1, high + 1, i128::MIN, i128::MAX] {
                assert_eq!(whole(dtype, value), None, "{dtype} {value}");
            }
        }
        let double = DType::little(DTypeKind::F64);
        assert_eq!(whole(double, -3), real(double, -3.0));
    }

    #[test]
    fn floats_become_the_number_that_was_written_or_are_refused() {
        for (kind, low, high) in INTEGERS {
            let dtype = DType::little(kind);
            for value in [-129.0_f64, -1.0, -0.0, 1.0, 2.0, 255.0, 65_536.0] {
                let wanted = (low..=high).contains(&(value as i128));
                let stored = real(dtype, value);
                assert_eq!(stored.is_some(), wanted, "{dtype} {value}");
                if let Some(bytes) = stored {
                    assert_eq!(number(dtype, &bytes), value);
                }
            }
            // Beyond 2^53 the number that was written may have been another one.
            for value in [0.5, f64::NAN, f64::INFINITY, 2.0_f64.powi(60)] {
                assert_eq!(real(dtype, value), None, "{dtype} {value}");
            }
        }
        for (kind, value, holds) in [
            (DTypeKind::F16, 65_504.0, true),
            (DTypeKind::F16, 70_000.0, false),
            (DTypeKind::F16, f64::NEG_INFINITY, true),
            (DTypeKind::F32, 1e300, false),
            (DTypeKind::F32, 0.1, true),
            (DTypeKind::F32, f64::NAN, true),
            (DTypeKind::F64, 1e300, true),
        ] {
            assert_eq!(real(DType::little(kind), value).is_some(), holds, "{value}");
        }
        assert_eq!(whole(DType::little(DTypeKind::F16), 70_000), None);
    }
}

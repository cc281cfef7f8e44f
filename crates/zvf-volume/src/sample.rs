//! Samples a volume at given places.

use futures::future::BoxFuture;
use zvf_format::dtype::{ByteOrder, DType, DTypeKind};
use zvf_grid::{Axis, MAX_RANK, Selection};
use zvf_meta::{VOXEL_SLACK, element_at};

use crate::element::number;
use crate::{Affine, Counts, Volume, VolumeError};

/// How a value is computed at a place between elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpolation {
    /// The value of the element whose voxel contains the place: index `floor(v + 0.5)`. The result has the type of the volume; for labels.
    Nearest,
    /// Linear interpolation along every axis between the centres of neighbouring elements. The result is floats.
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

/// One axis of the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisUse {
    /// The next axis of space, in the order of the [`Affine`].
    Space,
    /// One index for all places: a channel, a time.
    Index(u64),
}

/// Samples a volume at places, in batches.
///
/// # Inside
///
/// `v` is the place in elements. A place is inside if `0 <= v <= n - 1` on every axis with [`Interpolation::Linear`], or `-0.5 <= v < n - 0.5` with
/// [`Interpolation::Nearest`]. At closed ends a millionth of an element more is accepted, because maps round. All other places, including coordinates
/// that are NaN, get the value of [`outside`](Self::with_outside).
#[derive(Debug, Clone)]
pub struct Sampler {
    volume: Volume,
    axes: Vec<AxisUse>,
    /// From the world to elements.
    to_voxel: Affine,
    order: Interpolation,
    outside: f64,
    result: DType,
    /// Most bytes of a box in one read.
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
    /// The default limit on a box in one read, in bytes; a batch with a larger bounding box is cut.
    pub const BOX: u64 = 256 << 20;

    /// Creates a sampler of a volume of numbers. `to_world` maps the index of an element to its position, axes of space in order.
    ///
    /// # Errors
    /// Misuse: elements that are not numbers; uses that do not fit the axes; a map without an inverse.
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
            outside: if result.is_float() { f64::NAN } else { 0.0 },
            result,
            most: Self::BOX,
        })
    }

    /// Sets the value of places outside the volume. Default NaN, or 0 for integers.
    ///
    /// # Errors
    /// Misuse: a value that the type of the result cannot store.
    pub fn with_outside(mut self, value: f64) -> Result<Self, VolumeError> {
        if !holds(self.result, value) {
            return Err(VolumeError::misuse(format!(
                "{value} for places outside: {} does not hold it",
                self.result
            )));
        }
        self.outside = value;
        Ok(self)
    }

    /// Sets the largest number of bytes of elements that one read takes.
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

    /// The values at `places`, which has one number for each axis of space of each place.
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
            let mut none = Vec::with_capacity(size);
            put(self.result, self.outside, &mut none);
            (0..count).for_each(|_| bytes.extend_from_slice(&none));
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

    /// The first element that a place needs on an axis, and the weight of the next one.
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

    /// The elements that a group of places needs: first and end on each axis of space.
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

    /// Cuts a group whose box is too large in two, along the longest axis of the box, at a block border.
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
        // The longest axis first; an axis on which all places share an element cannot be cut.
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

/// Whether a type can represent a value; floats round.
fn holds(dtype: DType, value: f64) -> bool {
    let (low, end) = match dtype.kind {
        _ if dtype.is_float() => return true,
        DTypeKind::Bool => (0.0, 2.0),
        // The bounds are powers of two, which float64 represents exactly; it cannot represent the largest 64-bit integers.
        DTypeKind::I8 => (-128.0, 128.0),
        DTypeKind::I16 => (-32_768.0, 32_768.0),
        DTypeKind::I32 => (-2.0_f64.powi(31), 2.0_f64.powi(31)),
        DTypeKind::I64 => (-2.0_f64.powi(63), 2.0_f64.powi(63)),
        DTypeKind::U8 => (0.0, 256.0),
        DTypeKind::U16 => (0.0, 65_536.0),
        DTypeKind::U32 => (0.0, 2.0_f64.powi(32)),
        DTypeKind::U64 => (0.0, 2.0_f64.powi(64)),
        _ => return false,
    };
    value >= low && value < end && value.fract() == 0.0
}

/// Appends a number, little-endian; integers saturate.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "floats round to the nearest, integers take only what `with_outside` has tried"
)]
fn put(dtype: DType, value: f64, bytes: &mut Vec<u8>) {
    match dtype.kind {
        DTypeKind::F16 => bytes.extend_from_slice(&half::f16::from_f64(value).to_le_bytes()),
        DTypeKind::F32 => bytes.extend_from_slice(&(value as f32).to_le_bytes()),
        DTypeKind::F64 => bytes.extend_from_slice(&value.to_le_bytes()),
        DTypeKind::I8 => bytes.extend_from_slice(&(value as i8).to_le_bytes()),
        DTypeKind::I16 => bytes.extend_from_slice(&(value as i16).to_le_bytes()),
        DTypeKind::I32 => bytes.extend_from_slice(&(value as i32).to_le_bytes()),
        DTypeKind::I64 => bytes.extend_from_slice(&(value as i64).to_le_bytes()),
        DTypeKind::U16 => bytes.extend_from_slice(&(value as u16).to_le_bytes()),
        DTypeKind::U32 => bytes.extend_from_slice(&(value as u32).to_le_bytes()),
        DTypeKind::U64 => bytes.extend_from_slice(&(value as u64).to_le_bytes()),
        DTypeKind::Bool | DTypeKind::U8 => bytes.push(value as u8),
        _ => bytes.resize(bytes.len().saturating_add(dtype.size()), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::{DType, DTypeKind, holds, put};
    use crate::element::number;

    #[test]
    fn what_a_type_holds_comes_back() {
        let edges = [
            -2.0_f64.powi(63),
            2.0_f64.powi(63),
            2.0_f64.powi(64),
            -129.0,
            -128.0,
            -1.0,
            -0.5,
            0.0,
            1.0,
            2.0,
            127.0,
            128.0,
            255.0,
            256.0,
            65_535.0,
            65_536.0,
            f64::NAN,
            f64::INFINITY,
        ];
        for kind in [
            DTypeKind::Bool,
            DTypeKind::I8,
            DTypeKind::I16,
            DTypeKind::I32,
            DTypeKind::I64,
            DTypeKind::U8,
            DTypeKind::U16,
            DTypeKind::U32,
            DTypeKind::U64,
        ] {
            let dtype = DType::little(kind);
            let bits = 8 * dtype.size() as u32;
            let signed = matches!(
                kind,
                DTypeKind::I8 | DTypeKind::I16 | DTypeKind::I32 | DTypeKind::I64
            );
            let (low, most) = match (kind, signed) {
                (DTypeKind::Bool, _) => (0, 1),
                (_, true) => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
                (_, false) => (0, (1_i128 << bits) - 1),
            };
            for value in edges {
                let exact = value as i128;
                let wanted = exact as f64 == value && (low..=most).contains(&exact);
                assert_eq!(holds(dtype, value), wanted, "{dtype} {value}");
                if wanted {
                    let mut bytes = Vec::new();
                    put(dtype, value, &mut bytes);
                    assert_eq!(number(dtype, &bytes), value, "{dtype} {value}");
                }
            }
        }
    }
}

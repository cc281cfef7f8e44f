//! Converts positions from stored bytes to world coordinates, and selects the rows in a box.

use std::borrow::Cow;

use half::f16;
use zvf_store::format::dtype::{DType, DTypeKind};

use super::gather::Kept;
use super::scalar::narrow;
use crate::error::OrBug;
use crate::plan::candidates::World;
use crate::{BBox, QueryError};
use zvf_store::format::int;
use zvf_store::nearest_f16;

/// The layout of positions in a `vertices` cell.
#[derive(Debug, Clone)]
pub(crate) struct PositionSpec {
    /// Stored number type.
    pub(crate) dtype: DType,
    /// Columns.
    pub(crate) dims: usize,
    /// The conversion from stored to world coordinates.
    pub(crate) world: World,
}

/// Smallest and largest coordinate by axis, and whether one is not a number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Extent {
    pub(crate) min: Vec<f64>,
    pub(crate) max: Vec<f64>,
    pub(crate) nan: bool,
}

/// A number type of positions.
trait Number: Copy + PartialOrd {
    fn double(self) -> f64;
    fn nearest(number: f64) -> Self;
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Number for $type {
            #[expect(clippy::allow_attributes, reason = "only some of the types lose anything")]
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, clippy::unnecessary_cast, reason = "boxes are tested in f64")]
            fn double(self) -> f64 {
                self as f64
            }

            #[expect(clippy::allow_attributes, reason = "only some of the types lose anything")]
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounds and saturates")]
            fn nearest(number: f64) -> Self {
                number.round_ties_even() as Self
            }
        }
    )*};
}

number!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Number for f16 {
    fn double(self) -> f64 {
        self.to_f64()
    }

    fn nearest(number: f64) -> Self {
        Self::from_f64(number)
    }
}

impl Number for f32 {
    fn double(self) -> f64 {
        f64::from(self)
    }

    fn nearest(number: f64) -> Self {
        narrow(number)
    }
}

impl Number for f64 {
    fn double(self) -> f64 {
        self
    }

    fn nearest(number: f64) -> Self {
        number
    }
}

/// Runs `$body` with `$T` as the number type of a dtype; `$else` for types that cannot be coordinates.
macro_rules! with_type {
    ($dtype:expr, $T:ident => $body:expr, $else:expr) => {
        match $dtype.kind {
            DTypeKind::I8 => {
                type $T = i8;
                $body
            }
            DTypeKind::I16 => {
                type $T = i16;
                $body
            }
            DTypeKind::I32 => {
                type $T = i32;
                $body
            }
            DTypeKind::I64 => {
                type $T = i64;
                $body
            }
            DTypeKind::U8 => {
                type $T = u8;
                $body
            }
            DTypeKind::U16 => {
                type $T = u16;
                $body
            }
            DTypeKind::U32 => {
                type $T = u32;
                $body
            }
            DTypeKind::U64 => {
                type $T = u64;
                $body
            }
            DTypeKind::F16 => {
                type $T = f16;
                $body
            }
            DTypeKind::F32 => {
                type $T = f32;
                $body
            }
            DTypeKind::F64 => {
                type $T = f64;
                $body
            }
            _ => $else,
        }
    };
}

impl PositionSpec {
    /// Positions of a dtype; `None` for dtypes that are not numbers.
    pub(crate) fn new(dtype: DType, dims: usize, offset: &[f64]) -> Option<Self> {
        let moved = offset.iter().any(|part| *part != 0.0);
        let (epsilon, step) = match dtype.kind {
            DTypeKind::F16 => (2.0_f64.powi(-10), 0.0),
            DTypeKind::F32 => (f64::from(f32::EPSILON), 0.0),
            DTypeKind::F64 => (f64::EPSILON, 0.0),
            _ => (f64::EPSILON, 1.0),
        };
        let world = World {
            offset: if moved { offset.to_vec() } else { Vec::new() },
            epsilon,
            step,
        };
        with_type!(dtype, T => Some(Self { dtype, dims, world: { let _: T = T::nearest(0.0); world } }), None)
    }

    /// Rounds a number to the floating-point type of positions, as conditions do; returns it unchanged for integer types.
    pub(crate) fn rounded(&self, number: f64) -> f64 {
        match self.dtype.kind {
            DTypeKind::F16 => nearest_f16(number).to_f64(),
            DTypeKind::F32 => f64::from(narrow(number)),
            _ => number,
        }
    }

    /// Bytes of one row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.dims.saturating_mul(self.dtype.size())
    }

    /// The dtype of positions after decoding, and of [`Self::to_world`].
    pub(crate) fn little_dtype(&self) -> DType {
        DType::little(self.dtype.kind)
    }

    /// Stored little-endian numbers as world coordinates, in the stored type.
    pub(crate) fn to_world<'a>(&self, cell: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
        if self.world.offset.is_empty() || self.dims == 0 {
            return cell;
        }
        let mut copy = cell.into_owned();
        with_type!(self.dtype, T => {
            let (items, _) = copy.as_chunks_mut::<{ size_of::<T>() }>();
            for row in items.chunks_exact_mut(self.dims) {
                let axes = row.iter_mut().zip(&self.world.offset);
                // Numbers of an axis without an offset may be beyond the precision of float64.
                for (item, offset) in axes.filter(|(_, offset)| **offset != 0.0) {
                    *item = T::nearest(T::from_le_bytes(*item).double() + offset).to_le_bytes();
                }
            }
        }, ());
        Cow::Owned(copy)
    }

    /// Extent of little-endian rows, in one pass.
    pub(crate) fn extent(&self, rows: &[u8]) -> Extent {
        let mut extent = Extent {
            min: vec![f64::INFINITY; self.dims],
            max: vec![f64::NEG_INFINITY; self.dims],
            nan: false,
        };
        with_type!(self.dtype, T => {
            let (items, _) = rows.as_chunks::<{ size_of::<T>() }>();
            let read = |item: &[u8; size_of::<T>()]| T::from_le_bytes(*item);
            match self.dims {
                1 => extent_of::<1, _, _>(items, read, &mut extent),
                2 => extent_of::<2, _, _>(items, read, &mut extent),
                3 => extent_of::<3, _, _>(items, read, &mut extent),
                4 => extent_of::<4, _, _>(items, read, &mut extent),
                dims => {
                    for row in items.chunks_exact(dims.max(1)) {
                        for ((item, min), max) in row.iter().zip(&mut extent.min).zip(&mut extent.max) {
                            let value = read(item).double();
                            *min = min.min(value);
                            *max = max.max(value);
                            extent.nan |= value.is_nan();
                        }
                    }
                }
            }
        }, ());
        extent
    }

    /// The rows of little-endian world positions inside a box; `extent` is the extent of all rows, if known.
    pub(crate) fn inside(&self, rows: &[u8], bbox: &BBox, extent: Option<&Extent>) -> Kept {
        let count = rows.len().checked_div(self.row_bytes()).unwrap_or(0);
        let all = Kept::All(u32::try_from(count).unwrap_or(u32::MAX));
        let extent = extent.map_or_else(|| Cow::Owned(self.extent(rows)), Cow::Borrowed);
        let (lo, hi) = (bbox.lo(), bbox.hi());
        let within = |axis: usize, lo: &f64, hi: &f64| {
            let (min, max) = (extent.min.get(axis), extent.max.get(axis));
            (
                min.is_some_and(|min| lo <= min) && max.is_some_and(|max| max <= hi),
                min.is_none_or(|min| min > hi) || max.is_none_or(|max| max < lo),
            )
        };
        let axes: Vec<(bool, bool)> = lo
            .iter()
            .zip(hi)
            .enumerate()
            .map(|(axis, (lo, hi))| within(axis, lo, hi))
            .collect();
        if !extent.nan && axes.iter().all(|(inside, _)| *inside) {
            return all;
        }
        if count == 0 || axes.iter().any(|(_, outside)| *outside) {
            return Kept::Rows(Vec::new());
        }
        let mut kept = Vec::new();
        with_type!(self.dtype, T => {
            let (items, _) = rows.as_chunks::<{ size_of::<T>() }>();
            let read = |item: &[u8; size_of::<T>()]| T::from_le_bytes(*item).double();
            match self.dims {
                2 => rows_inside::<2, _>(items, read, lo, hi, &mut kept),
                3 => rows_inside::<3, _>(items, read, lo, hi, &mut kept),
                4 => rows_inside::<4, _>(items, read, lo, hi, &mut kept),
                dims => {
                    for (row, items) in (0_u32..).zip(items.chunks_exact(dims.max(1))) {
                        if items.iter().map(read).zip(lo).zip(hi).all(|((value, lo), hi)| *lo <= value && value <= *hi) {
                            kept.push(row);
                        }
                    }
                }
            }
        }, ());
        if kept.len() == count {
            all
        } else {
            Kept::Rows(kept)
        }
    }
}

impl PositionSpec {
    /// Reads the coordinates of one little-endian row.
    pub(crate) fn read(&self, row: &[u8], into: &mut [f64]) {
        with_type!(self.dtype, T => {
            let (items, _) = row.as_chunks::<{ size_of::<T>() }>();
            for (into, item) in into.iter_mut().zip(items) {
                *into = T::from_le_bytes(*item).double();
            }
        }, ());
    }

    /// The given rows of little-endian world positions that pass a test.
    ///
    /// # Errors
    ///
    /// Bug: a row without a position.
    pub(crate) fn retained(
        &self,
        rows: &[u8],
        kept: &Kept,
        test: impl Fn(&[f64]) -> bool,
    ) -> Result<Kept, QueryError> {
        let mut position = vec![0.0; self.dims];
        let mut passing = Vec::new();
        with_type!(self.dtype, T => {
            let (items, _) = rows.as_chunks::<{ size_of::<T>() }>();
            for row in kept.iter() {
                let start = int::index(row).saturating_mul(self.dims);
                let items = items.get(start..start.saturating_add(self.dims));
                let items = items.or_bug("a kept row without a position")?;
                for (into, item) in position.iter_mut().zip(items) {
                    *into = T::from_le_bytes(*item).double();
                }
                if test(&position) {
                    passing.push(row);
                }
            }
        }, None::<()>.or_bug("positions of no number type")?);
        Ok(match kept {
            Kept::All(all) if passing.len() == kept.len() => Kept::All(*all),
            _ => Kept::Rows(passing),
        })
    }
}

/// Appends the rows inside a box, without branches, because results are unpredictable.
fn rows_inside<const D: usize, I>(
    items: &[I],
    read: impl Fn(&I) -> f64,
    lo: &[f64],
    hi: &[f64],
    kept: &mut Vec<u32>,
) {
    let (Some(lo), Some(hi)) = (lo.first_chunk::<D>(), hi.first_chunk::<D>()) else {
        return;
    };
    let (rows, _) = items.as_chunks::<D>();
    kept.resize(rows.len(), 0);
    let mut found = 0;
    for (row, items) in (0_u32..).zip(rows) {
        let mut inside = true;
        for ((item, lo), hi) in items.iter().zip(lo).zip(hi) {
            let value = read(item);
            inside &= (*lo <= value) & (value <= *hi);
        }
        if let Some(place) = kept.get_mut(found) {
            *place = row;
        }
        found += usize::from(inside);
    }
    kept.truncate(found);
}

fn extent_of<const D: usize, I, T: Number>(
    items: &[I],
    read: impl Fn(&I) -> T,
    extent: &mut Extent,
) {
    let (rows, _) = items.as_chunks::<D>();
    let Some(first) = rows.first() else { return };
    let mut min = first.each_ref().map(&read);
    let mut max = min;
    // Whether no coordinate is NaN so far.
    let mut number = true;
    for row in rows {
        for ((item, min), max) in row.iter().zip(&mut min).zip(&mut max) {
            let value = read(item);
            number &= value.partial_cmp(&value).is_some();
            if value < *min {
                *min = value;
            }
            if value > *max {
                *max = value;
            }
        }
    }
    if number {
        extent.min = min.iter().map(|value| value.double()).collect();
        extent.max = max.iter().map(|value| value.double()).collect();
        return;
    }
    extent.nan = true;
    for row in rows {
        for ((item, min), max) in row.iter().zip(&mut extent.min).zip(&mut extent.max) {
            // `f64::min` and `f64::max` ignore NaN.
            *min = min.min(read(item).double());
            *max = max.max(read(item).double());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, dims: usize, offset: &[f64]) -> PositionSpec {
        PositionSpec::new(DType::parse(name).unwrap(), dims, offset).unwrap()
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    }

    #[test]
    fn a_row_of_nan_is_in_no_box() {
        let spec = spec("float32", 2, &[]);
        let rows = floats(&[0.0, 0.0, f32::NAN, 0.0, 1.0, 1.0]);
        let all = BBox::parse("-inf,-inf:inf,inf").unwrap();
        assert_eq!(spec.inside(&rows, &all, None), Kept::Rows(vec![0, 2]));
        let extent = spec.extent(&rows);
        assert!(extent.nan);
        assert_eq!((extent.min, extent.max), (vec![0.0, 0.0], vec![1.0, 1.0]));
    }

    #[test]
    fn both_faces_of_a_box_are_inside() {
        for dims in 1..=6 {
            let spec = spec("int16", dims, &[]);
            let rows: Vec<u8> = (0..5_i16)
                .flat_map(|value| std::iter::repeat_n(value, dims))
                .flat_map(i16::to_le_bytes)
                .collect();
            let bbox = BBox::new(vec![1.0; dims], vec![3.0; dims]).unwrap();
            assert_eq!(spec.inside(&rows, &bbox, None), Kept::Rows(vec![1, 2, 3]));
            let bbox = BBox::new(vec![0.0; dims], vec![4.0; dims]).unwrap();
            assert_eq!(spec.inside(&rows, &bbox, None), Kept::All(5));
            let bbox = BBox::new(vec![4.5; dims], vec![9.0; dims]).unwrap();
            assert_eq!(spec.inside(&rows, &bbox, None), Kept::Rows(vec![]));
        }
    }

    #[test]
    fn an_offset_is_added_in_the_stored_type() {
        let spec = spec("float32", 2, &[100.0, 0.5]);
        let rows = floats(&[1.0, 2.0]);
        assert_eq!(
            spec.to_world(Cow::Borrowed(&rows)).as_ref(),
            floats(&[101.0, 2.5])
        );
    }

    #[test]
    fn texts_are_no_positions() {
        assert!(PositionSpec::new(DType::parse("<U3").unwrap(), 3, &[]).is_none());
    }
}

//! Converts decoded positions (little-endian, of any number type) to `f64`.

use half::f16;
use serde::{Deserialize, Serialize};
use zvf_format::dtype::{DType, DTypeKind};

/// The smallest and largest coordinate along each axis, and whether all coordinates are finite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CoordinateExtent {
    #[serde(with = "bits")]
    pub(crate) low: Vec<f64>,
    #[serde(with = "bits")]
    pub(crate) high: Vec<f64>,
    pub(crate) finite: bool,
}

impl CoordinateExtent {
    pub(crate) fn empty(dims: usize) -> Self {
        Self {
            low: vec![f64::INFINITY; dims],
            high: vec![f64::NEG_INFINITY; dims],
            finite: true,
        }
    }

    /// Extends this by another extent.
    pub(crate) fn join(&mut self, other: &Self) {
        for (mine, one) in self.low.iter_mut().zip(&other.low) {
            *mine = mine.min(*one);
        }
        for (mine, one) in self.high.iter_mut().zip(&other.high) {
            *mine = mine.max(*one);
        }
        self.finite &= other.finite;
    }
}

/// Numbers in a journal, stored as their bits, because JSON has no infinity.
mod bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
        let bits: Vec<u64> = values.iter().map(|one| one.to_bits()).collect();
        bits.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let bits = Vec::<u64>::deserialize(from)?;
        Ok(bits.into_iter().map(f64::from_bits).collect())
    }
}

/// Calls `each` with every coordinate in order. Returns `false` for types that are not real numbers.
fn each(dtype: DType, bytes: &[u8], mut each: impl FnMut(f64)) -> bool {
    macro_rules! all {
        ($type:ty, $to:expr) => {{
            let (elements, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
            elements
                .iter()
                .for_each(|one| each($to(<$type>::from_le_bytes(*one))));
            true
        }};
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "the nearest number is compared with a tolerance"
    )]
    match dtype.kind {
        DTypeKind::F16 => all!(f16, f16::to_f64),
        DTypeKind::F32 => all!(f32, f64::from),
        DTypeKind::F64 => all!(f64, |one: f64| one),
        DTypeKind::I8 => all!(i8, f64::from),
        DTypeKind::I16 => all!(i16, f64::from),
        DTypeKind::I32 => all!(i32, f64::from),
        DTypeKind::U8 => all!(u8, f64::from),
        DTypeKind::U16 => all!(u16, f64::from),
        DTypeKind::U32 => all!(u32, f64::from),
        DTypeKind::I64 => all!(i64, |one: i64| one as f64),
        DTypeKind::U64 => all!(u64, |one: u64| one as f64),
        _ => false,
    }
}

/// Whether positions can have this type.
pub(crate) fn is_number(dtype: DType) -> bool {
    each(dtype, &[], |_| {})
}

/// The extent of whole rows.
pub(crate) fn extent(dtype: DType, bytes: &[u8], dims: usize) -> CoordinateExtent {
    let mut extent = CoordinateExtent::empty(dims);
    let mut axis = 0;
    // x * 0 is 0 for every finite number and NaN for all others, so the sum is NaN if one number is not finite.
    let mut bad = 0.0;
    each(dtype, bytes, |value| {
        if let Some((low, high)) = extent.low.get_mut(axis).zip(extent.high.get_mut(axis)) {
            *low = low.min(value);
            *high = high.max(value);
        }
        bad += value * 0.0;
        axis += 1;
        if axis == dims {
            axis = 0;
        }
    });
    extent.finite = bad == 0.0;
    extent
}

/// All coordinates as numbers, for the few cells that need a detailed check.
pub(crate) fn rows(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    let mut all = Vec::new();
    each(dtype, bytes, |value| all.push(value));
    all
}

/// The rounding step of the type near a number (for integers that of `f64`): rounding may have moved a value by this much.
pub(crate) fn step(dtype: DType, near: f64) -> f64 {
    let epsilon = match dtype.kind {
        DTypeKind::F16 => 2_f64.powi(-10),
        DTypeKind::F32 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    };
    near.abs() * epsilon
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_of_each_axis() {
        let numbers = [1.5_f32, -2.0, 0.25, 7.0];
        let bytes: Vec<u8> = numbers.iter().flat_map(|one| one.to_le_bytes()).collect();
        let wanted = CoordinateExtent {
            low: vec![0.25, -2.0],
            high: vec![1.5, 7.0],
            finite: true,
        };
        assert_eq!(extent(DType::little(DTypeKind::F32), &bytes, 2), wanted);
    }

    #[test]
    fn one_bad_number_is_seen() {
        let of = DType::little(DTypeKind::F64);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let bytes: Vec<u8> = [1.0, bad, 2.0]
                .iter()
                .flat_map(|one| one.to_le_bytes())
                .collect();
            assert!(!extent(of, &bytes, 1).finite);
        }
    }
}

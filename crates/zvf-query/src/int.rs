//! Changes of integer width, in one place and by name.

/// A count in memory as `u64`.
pub(crate) fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// A count from a file as an index; `None` where pointers are too small for it.
pub(crate) fn index(count: u64) -> Option<usize> {
    usize::try_from(count).ok()
}

/// A row number inside one cell. Cells are shorter than 4 GiB, so that 32 bits hold every row.
pub(crate) fn row32(row: usize) -> Option<u32> {
    u32::try_from(row).ok()
}

/// A row number as an index. Lossless: targets with 16-bit pointers are refused by `zvf-format`.
pub(crate) fn at(row: u32) -> usize {
    usize::try_from(row).unwrap_or(usize::MAX)
}

/// A signed row of a file as an index; `None` when it is negative.
pub(crate) fn signed(row: i64) -> Option<usize> {
    usize::try_from(row).ok()
}

/// The nearest `i64` to a number that was already rounded; infinities saturate, NaN is zero.
#[expect(
    clippy::cast_possible_truncation,
    reason = "saturation is what is wanted"
)]
pub(crate) fn saturate(number: f64) -> i64 {
    number as i64
}

/// An integer as the nearest `f64`.
#[expect(
    clippy::cast_precision_loss,
    reason = "rounding to nearest is what is wanted"
)]
pub(crate) fn float(number: i64) -> f64 {
    number as f64
}

/// A byte count held to what one allocation can have.
pub(crate) fn bytes(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinities_saturate() {
        assert_eq!(saturate(f64::INFINITY), i64::MAX);
        assert_eq!(saturate(f64::NEG_INFINITY), i64::MIN);
        assert_eq!(saturate(-3.0), -3);
    }
}

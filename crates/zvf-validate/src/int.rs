//! Changes of integer width, by name.

/// A count in memory as 64 bits.
pub(crate) fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// A number of 32 bits as an index.
pub(crate) fn index(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// An integer as the nearest `f64`.
#[expect(
    clippy::cast_precision_loss,
    reason = "rounding to nearest is what is wanted"
)]
pub(crate) fn float(number: i64) -> f64 {
    number as f64
}

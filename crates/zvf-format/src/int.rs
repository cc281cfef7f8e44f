//! Lossless conversions between integer widths, as named functions: the crates that depend on this one use [`wide`] and
//! [`index`] instead of `as` between integer types.
//!
//! This crate refuses targets with 16-bit pointers, so a `u32` always fits a `usize`. Use `try_from` for conversions that may
//! fail.

#[cfg(target_pointer_width = "16")]
compile_error!("zvf-format needs pointers of at least 32 bits");

/// A 32-bit count or offset as an index. Lossless: pointers have at least 32 bits.
#[inline]
#[must_use]
pub const fn index(value: u32) -> usize {
    value as usize
}

/// A length in memory as a 64-bit number. Lossless: pointers have at most 64 bits.
#[inline]
#[must_use]
pub const fn wide(value: usize) -> u64 {
    value as u64
}

/// A length in memory as a signed number; lengths never exceed `isize::MAX`.
#[inline]
#[must_use]
pub const fn signed(value: usize) -> i64 {
    value as i64
}

/// Upper and lower half of a number.
#[must_use]
pub const fn halves(value: u64) -> [u32; 2] {
    [(value >> 32) as u32, value as u32]
}

/// Upper and lower half of a 128-bit number.
#[must_use]
pub const fn halves128(value: u128) -> [u64; 2] {
    [(value >> 64) as u64, value as u64]
}

/// The low 32 bits; callers check the bound of the value before.
#[inline]
pub(crate) const fn low32(value: usize) -> u32 {
    value as u32
}

/// An unsigned value as the signed value with the same bits; large values become negative.
#[inline]
pub(crate) const fn same_bits(value: u64) -> i64 {
    value as i64
}

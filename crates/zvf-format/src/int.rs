//! Integer width changes, named, in one place.
//!
//! Nothing else in the crate uses `as` between integer types. The crate refuses targets with
//! 16-bit pointers, so a `u32` always fits a `usize`.

#[cfg(target_pointer_width = "16")]
compile_error!("zvf-format needs pointers of at least 32 bits");

/// A 32-bit count or offset as an index. Lossless: pointers have at least 32 bits.
#[inline]
pub(crate) const fn index(value: u32) -> usize {
    value as usize
}

/// A length in memory as a number for messages. Lossless: pointers have at most 64 bits.
#[inline]
pub(crate) const fn wide(value: usize) -> u64 {
    value as u64
}

/// A length in memory as a signed number for messages; lengths never exceed `isize::MAX`.
#[inline]
pub(crate) const fn signed(value: usize) -> i64 {
    value as i64
}

/// The low 32 bits; callers have bounded the value before.
#[inline]
pub(crate) const fn low32(value: usize) -> u32 {
    value as u32
}

/// An unsigned value as the signed one with the same bits; large ones come out negative.
#[inline]
pub(crate) const fn same_bits(value: u64) -> i64 {
    value as i64
}

/// A non-negative value as an index, if the target can address it.
#[inline]
pub(crate) fn to_index(value: i64) -> Option<usize> {
    usize::try_from(value).ok()
}

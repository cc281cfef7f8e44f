//! Lossless conversions between integer widths, for the crates that read containers or move bytes. Use
//! `try_from` for conversions that may fail.

#[cfg(target_pointer_width = "16")]
compile_error!("zvf-grid needs pointers of at least 32 bits");

/// A length in memory as a 64-bit number. Lossless: pointers have at most 64 bits.
#[inline]
#[must_use]
pub const fn wide(value: usize) -> u64 {
    value as u64
}

/// A 32-bit number as an index. Lossless: pointers have at least 32 bits.
#[inline]
#[must_use]
pub const fn index(value: u32) -> usize {
    value as usize
}

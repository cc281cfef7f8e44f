//! Lossless changes of integer width, for the crates of containers. For changes that may fail use `try_from`.

#[cfg(target_pointer_width = "16")]
compile_error!("zvf-grid needs pointers of at least 32 bits");

/// A length in memory as a number of 64 bits. Lossless: pointers have at most 64 bits.
#[inline]
#[must_use]
pub const fn wide(value: usize) -> u64 {
    value as u64
}

/// A number of 32 bits as an index. Lossless: pointers have at least 32 bits.
#[inline]
#[must_use]
pub const fn index(value: u32) -> usize {
    value as usize
}

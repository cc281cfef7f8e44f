//! Changes of integer width, by name.

#[cfg(target_pointer_width = "16")]
compile_error!("zvf-tet needs pointers of at least 32 bits");

/// A length or position in memory as a number of the file. Never changes the value.
pub(crate) const fn wide(value: usize) -> u64 {
    value as u64
}

/// A number of the file as a length in memory, where it fits.
pub(crate) fn small(value: u64) -> Option<usize> {
    usize::try_from(value).ok()
}

/// The smallest multiple of 8 that is at least `value`.
pub(crate) fn align8(value: u64) -> Option<u64> {
    value.checked_next_multiple_of(8)
}

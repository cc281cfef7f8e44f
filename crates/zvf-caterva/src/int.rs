//! Changes of integer width, by name.

#[cfg(target_pointer_width = "16")]
compile_error!("frames do not fit a 16-bit address space");

/// A length as the 64 bits of messages and positions.
pub(crate) const fn wide(n: usize) -> u64 {
    n as u64
}

/// A position as a number of messages.
pub(crate) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A 32-bit size as a length; pointers have 32 bits or more.
pub(crate) const fn size(n: u32) -> usize {
    n as usize
}

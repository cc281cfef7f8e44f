//! Changes of integer width, by name.

#[cfg(target_pointer_width = "16")]
compile_error!("chunks do not fit a 16-bit address space");

/// A length as the 64 bits of messages and positions.
pub(crate) const fn wide(n: usize) -> u64 {
    n as u64
}

/// A 32-bit size of a chunk as a length; pointers have 32 bits or more.
pub(crate) const fn size(n: u32) -> usize {
    n as usize
}

/// A length as a number of messages.
pub(crate) fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The little-endian `u32` at `at`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*field))
}

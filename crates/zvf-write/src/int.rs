//! The only changes of number types: named, and checked where something can be lost.

use crate::WriteError;

const _: () = assert!(
    size_of::<usize>() >= size_of::<u32>() && size_of::<usize>() <= size_of::<u64>(),
    "pointers of 32 to 64 bits"
);

/// A length as a number of 64 bits.
pub const fn wide(value: usize) -> u64 {
    value as u64
}

/// A number of 32 bits as an index.
pub const fn index(value: u32) -> usize {
    value as usize
}

/// A number of 64 bits as an index.
pub fn to_index(what: &'static str, value: u64) -> Result<usize, WriteError> {
    usize::try_from(value).map_err(|_| WriteError::limit(what, value, wide(usize::MAX)))
}

/// A length as a number of 32 bits.
pub fn narrow(what: &'static str, value: usize) -> Result<u32, WriteError> {
    u32::try_from(value).map_err(|_| WriteError::limit(what, wide(value), u64::from(u32::MAX)))
}

/// A length as a signed number; lengths of memory never pass 2^63.
pub const fn signed(value: usize) -> i64 {
    value as i64
}

/// A count as a coordinate or stored number.
pub fn signed64(what: &'static str, value: u64) -> Result<i64, WriteError> {
    i64::try_from(value).map_err(|_| WriteError::limit(what, value, i64::MAX.unsigned_abs()))
}

/// Upper and lower half of a number.
pub const fn halves(value: u64) -> [u32; 2] {
    [(value >> 32) as u32, value as u32]
}

/// Upper and lower half of a number of 128 bits.
pub const fn halves128(value: u128) -> [u64; 2] {
    [(value >> 64) as u64, value as u64]
}

//! A cursor whose reads name the field, so every error states field and position.

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::error::DecodeError;
use crate::int::wide;

/// A position in a blob.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlobCursor<'a> {
    rest: &'a [u8],
    at: u64,
}

impl<'a> BlobCursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, at: 0 }
    }

    /// Continues at byte `at` of a blob; `rest` holds the bytes from there on.
    pub(crate) fn resume(rest: &'a [u8], at: u64) -> Self {
        Self { rest, at }
    }

    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Takes one value, or fails with the field that was cut short and its position.
    #[inline]
    pub(crate) fn take<T>(&mut self, what: &'static str) -> Result<&'a T, DecodeError>
    where
        T: FromBytes + KnownLayout + Immutable + Unaligned,
    {
        match T::ref_from_prefix(self.rest) {
            Ok((value, rest)) => {
                self.at += wide(size_of::<T>());
                self.rest = rest;
                Ok(value)
            }
            Err(_) => Err(DecodeError::truncated(
                what,
                self.at,
                wide(self.rest.len()),
                wide(size_of::<T>()),
            )),
        }
    }

    /// Takes `count` values, or fails with the field that was cut short and its position.
    #[inline]
    pub(crate) fn take_slice<T>(
        &mut self,
        count: usize,
        what: &'static str,
    ) -> Result<&'a [T], DecodeError>
    where
        T: FromBytes + KnownLayout + Immutable + Unaligned,
    {
        let need = wide(count).saturating_mul(wide(size_of::<T>()));
        if need > wide(self.rest.len()) {
            return Err(DecodeError::truncated(
                what,
                self.at,
                wide(self.rest.len()),
                need,
            ));
        }
        match <[T]>::ref_from_prefix_with_elems(self.rest, count) {
            Ok((values, rest)) => {
                self.at += need;
                self.rest = rest;
                Ok(values)
            }
            Err(_) => Err(DecodeError::truncated(
                what,
                self.at,
                wide(self.rest.len()),
                need,
            )),
        }
    }
}

//! Marked big-endian fields: the few MessagePack types that a frame uses, each at a fixed position and with a fixed width.
//!
//! No general MessagePack reader is used: the 16-dimensional metalayer is not valid MessagePack, and a shorter form of
//! the same number would be misread by the reference library (`spec/caterva-b2nd.md` 2).
#![allow(clippy::big_endian_bytes, reason = "the frame's fields are big-endian")]

use zvf_blosc::{DecodeError, Expected};

use zvf_grid::int::wide;

/// Fields of `bytes`, which begin `base` bytes into the frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MarkedFields<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) base: u64,
}

impl<'a> MarkedFields<'a> {
    pub(crate) const fn new(bytes: &'a [u8], base: u64) -> Self {
        Self { bytes, base }
    }

    pub(crate) fn position(&self, at: usize) -> u64 {
        self.base.saturating_add(wide(at))
    }

    /// `n` bytes at `at`.
    pub(crate) fn slice(
        &self,
        what: &'static str,
        at: usize,
        n: usize,
    ) -> Result<&'a [u8], DecodeError> {
        self.bytes
            .get(at..)
            .and_then(|rest| rest.get(..n))
            .ok_or_else(|| {
                let have = self.bytes.len().saturating_sub(at);
                DecodeError::truncated(what, self.position(at), wide(have), wide(n))
            })
    }

    /// A structure at the start.
    pub(crate) fn head<T: zvf_format::layout::Wire>(
        &self,
        what: &'static str,
    ) -> Result<&'a T, DecodeError> {
        let head = T::ref_from_prefix(self.bytes).map(|(head, _)| head);
        head.map_err(|_| {
            let (have, need) = (wide(self.bytes.len()), wide(size_of::<T>()));
            DecodeError::truncated(what, self.base, have, need)
        })
    }

    fn array<const N: usize>(&self, what: &'static str, at: usize) -> Result<[u8; N], DecodeError> {
        let mut field = [0; N];
        field.copy_from_slice(self.slice(what, at, N)?);
        Ok(field)
    }

    /// One byte.
    pub(crate) fn byte(&self, what: &'static str, at: usize) -> Result<u8, DecodeError> {
        Ok(u8::from_be_bytes(self.array(what, at)?))
    }

    /// Checks that the byte at `at` is `wanted`.
    pub(crate) fn marker(
        &self,
        what: &'static str,
        at: usize,
        wanted: u8,
    ) -> Result<(), DecodeError> {
        let found = self.byte(what, at)?;
        if found == wanted {
            return Ok(());
        }
        let expected = Expected::Exactly(i64::from(wanted));
        Err(DecodeError::malformed(
            what,
            self.position(at),
            i64::from(found),
            expected,
        ))
    }

    pub(crate) fn u16(
        &self,
        what: &'static str,
        at: usize,
        marker: u8,
    ) -> Result<u16, DecodeError> {
        self.marker(what, at, marker)?;
        Ok(u16::from_be_bytes(self.array(what, at + 1)?))
    }

    pub(crate) fn u32(
        &self,
        what: &'static str,
        at: usize,
        marker: u8,
    ) -> Result<u32, DecodeError> {
        self.marker(what, at, marker)?;
        Ok(u32::from_be_bytes(self.array(what, at + 1)?))
    }

    /// A 64-bit number that is not negative, after a marker for a signed or an unsigned number.
    pub(crate) fn u64(
        &self,
        what: &'static str,
        at: usize,
        marker: u8,
    ) -> Result<u64, DecodeError> {
        self.marker(what, at, marker)?;
        let found = i64::from_be_bytes(self.array(what, at + 1)?);
        u64::try_from(found).map_err(|_| {
            DecodeError::malformed(what, self.position(at + 1), found, Expected::AtLeast(0))
        })
    }

    /// A signed 32-bit number of at least `least`, after its marker.
    pub(crate) fn i32(
        &self,
        what: &'static str,
        at: usize,
        least: i32,
    ) -> Result<u32, DecodeError> {
        self.marker(what, at, 0xd2)?;
        let found = i32::from_be_bytes(self.array(what, at + 1)?);
        u32::try_from(found)
            .ok()
            .filter(|_| found >= least)
            .ok_or_else(|| {
                let expected = Expected::AtLeast(i64::from(least));
                DecodeError::malformed(what, self.position(at + 1), i64::from(found), expected)
            })
    }
}

/// Appends marked fields; the writer's side of [`MarkedFields`].
#[cfg(feature = "std")]
#[derive(Debug, Default)]
pub(crate) struct Marks(pub(crate) Vec<u8>);

#[cfg(feature = "std")]
impl Marks {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }

    pub(crate) fn u16(&mut self, marker: u8, value: u16) -> &mut Self {
        self.0.push(marker);
        self.bytes(&value.to_be_bytes())
    }

    pub(crate) fn u32(&mut self, marker: u8, value: u32) -> &mut Self {
        self.0.push(marker);
        self.bytes(&value.to_be_bytes())
    }

    pub(crate) fn u64(&mut self, marker: u8, value: u64) -> &mut Self {
        self.0.push(marker);
        self.bytes(&value.to_be_bytes())
    }
}

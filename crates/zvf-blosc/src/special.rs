//! Special chunks: all items are equal.

use crate::{DecodeError, Expected, SpecialKind};

/// The value of every item of a special chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special<'a> {
    /// Zero bytes; also for chunks that were never written.
    Zeros,
    /// These bytes, repeated.
    Value(&'a [u8]),
}

/// The quiet NaN in special chunks of 4-byte items, little-endian.
const NAN4: [u8; 4] = [0, 0, 0xc0, 0x7f];
/// The quiet NaN of 8-byte items.
const NAN8: [u8; 8] = [0, 0, 0, 0, 0, 0, 0xf8, 0x7f];

impl Special<'static> {
    /// The items of a special chunk without stored bytes (index entries, `spec/caterva-b2nd.md` 3.4).
    ///
    /// # Errors
    ///
    /// Malformed: NaN for items that are not of 4 or 8 bytes, or a kind that needs a stored value.
    pub const fn of(kind: SpecialKind, typesize: usize) -> Result<Self, DecodeError> {
        match (kind, typesize) {
            (SpecialKind::Zeros | SpecialKind::Uninit, _) => Ok(Self::Zeros),
            (SpecialKind::Nan, 4) => Ok(Self::Value(&NAN4)),
            (SpecialKind::Nan, 8) => Ok(Self::Value(&NAN8)),
            (SpecialKind::Nan, _) => {
                let expected = Expected::Text("4 or 8 in a chunk of NaN");
                let found = typesize as i64;
                Err(DecodeError::malformed("typesize", 0, found, expected))
            }
            (SpecialKind::Value, _) => {
                let expected = Expected::Text("a code without a stored value");
                Err(DecodeError::malformed("special chunk", 0, 3, expected))
            }
        }
    }
}

impl Special<'_> {
    /// Fills `out`, which begins `at` bytes into the chunk.
    pub fn fill(&self, at: usize, out: &mut [u8]) {
        match *self {
            Self::Zeros | Self::Value([]) => out.fill(0),
            Self::Value(value) => {
                let shift = at % value.len();
                for (place, byte) in out.iter_mut().zip(value.iter().cycle().skip(shift)) {
                    *place = *byte;
                }
            }
        }
    }
}

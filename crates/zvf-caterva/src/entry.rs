//! Entries of the chunk index (`spec/caterva-b2nd.md` 3.4).

use zvf_blosc::{DecodeError, Expected, SpecialKind};

/// One entry of the index: the position of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Entry {
    /// Contiguous: bytes from the **end** of the header. Sparse: number of the chunk's file.
    At(u64),
    /// No stored bytes; all items are equal.
    Special(SpecialKind),
}

impl Entry {
    /// Parses one number of the decoded index.
    ///
    /// # Errors
    ///
    /// Unsupported: a negative number that does not encode a known special chunk. The error's position is 0, because the
    /// position of the entry is not known here.
    pub fn parse(raw: i64) -> Result<Self, DecodeError> {
        if let Ok(at) = u64::try_from(raw) {
            return Ok(Self::At(at));
        }
        let [rest @ .., top] = raw.to_le_bytes();
        let kind = SpecialKind::from_code(top & 0x7f).filter(|kind| *kind != SpecialKind::Value);
        match kind {
            Some(kind) if rest == [0; 7] => Ok(Self::Special(kind)),
            _ => {
                let expected = Expected::Text("a position, or special code 1, 2 or 4");
                Err(DecodeError::unsupported("index entry", 0, raw, expected))
            }
        }
    }

    /// The number that the index holds for this entry.
    #[must_use]
    pub fn raw(self) -> i64 {
        match self {
            Self::At(at) => i64::try_from(at).unwrap_or(i64::MAX),
            Self::Special(kind) => i64::from_le_bytes([0, 0, 0, 0, 0, 0, 0, 0x80 | kind.code()]),
        }
    }
}

//! The filter pipeline of a chunk, reversed block by block.
//!
//! Slots 0 to 5 are applied in that order when a chunk is written, and reversed from 5 to 0 here. A pipeline is resolved
//! once for each chunk; reversing needs two buffers of one block, the output and a scratch buffer.

mod bitshuffle;
mod delta;
mod shuffle;
mod sums;

use crate::{DecodeError, Expected};
#[cfg(feature = "alloc")]
pub(crate) use bitshuffle::bitshuffle;
pub(crate) use bitshuffle::unbitshuffle;
#[cfg(feature = "alloc")]
pub(crate) use delta::word as delta_word;
#[cfg(feature = "alloc")]
pub(crate) use delta::{encode_first as delta_first, encode_other as delta_other};
#[cfg(feature = "alloc")]
pub(crate) use shuffle::shuffle;
pub use shuffle::{unshuffle, unshuffle_some};

/// Filter ids (`spec/caterva-b2nd.md` 7.5).
pub mod id {
    /// No filter in this slot.
    pub const NONE: u8 = 0;
    /// Byte shuffle.
    pub const SHUFFLE: u8 = 1;
    /// Bit shuffle.
    pub const BITSHUFFLE: u8 = 2;
    /// XOR with block 0, or with the previous word.
    pub const DELTA: u8 = 3;
    /// Truncated mantissas; nothing to reverse.
    pub const TRUNC_PREC: u8 = 4;
    /// Byte delta, a registered plugin.
    pub const BYTEDELTA: u8 = 35;
    /// Truncated integers, a registered plugin; nothing to reverse.
    pub const INT_TRUNC: u8 = 36;
}

/// One filter with its parameters resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResolvedFilter {
    Nothing,
    Shuffle(usize),
    /// Item width; whether blocks were copied if their number of items is no multiple of 8 (chunk version 2).
    BitShuffle(usize, bool),
    Delta(usize),
    ByteDelta(usize),
}

impl ResolvedFilter {
    /// Whether the filter cannot be reversed in place.
    const fn moves(self) -> bool {
        matches!(self, Self::Shuffle(_) | Self::BitShuffle(..))
    }
}

/// The resolved filters of one chunk, to be reversed.
///
/// # Examples
///
/// ```
/// use zvf_blosc::Pipeline;
///
/// let slots = [(0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (1, 0)]; // shuffle in the last slot
/// let pipeline = Pipeline::new(&slots, 4, 4)?;
/// let mut scratch = [0, 1, 10, 11, 20, 21, 30, 31]; // two items of four bytes, byte by byte
/// let mut out = [0; 8];
/// pipeline.undo(&mut out, &mut scratch, None)?;
/// assert_eq!(out, [0, 10, 20, 30, 1, 11, 21, 31]);
/// # Ok::<(), zvf_blosc::DecodeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pipeline {
    /// In the order of reversal.
    ops: [ResolvedFilter; 6],
}

impl Pipeline {
    /// Creates the pipeline from six slots, each a filter id and its meta byte. `typesize` is from the chunk header,
    /// `frame_typesize` from the frame header.
    ///
    /// # Errors
    ///
    /// Unsupported: an unknown filter, with its id and the byte in the header.
    pub fn new(
        slots: &[(u8, u8); 6],
        typesize: usize,
        frame_typesize: usize,
    ) -> Result<Self, DecodeError> {
        let mut ops = [ResolvedFilter::Nothing; 6];
        for ((op, (id, meta)), slot) in ops.iter_mut().rev().zip(slots).zip(0u64..) {
            let width = |default| {
                if *meta == 0 {
                    default
                } else {
                    usize::from(*meta)
                }
            };
            *op = match *id {
                id::NONE | id::TRUNC_PREC | id::INT_TRUNC => ResolvedFilter::Nothing,
                id::SHUFFLE if width(typesize) == 1 => ResolvedFilter::Nothing,
                id::SHUFFLE => ResolvedFilter::Shuffle(width(typesize)),
                id::BITSHUFFLE => ResolvedFilter::BitShuffle(typesize, false),
                id::DELTA => ResolvedFilter::Delta(delta::word(typesize)),
                id::BYTEDELTA => ResolvedFilter::ByteDelta(width(frame_typesize).max(1)),
                other => {
                    let expected = Expected::Text("filter 0 to 4, 35 or 36");
                    let found = i64::from(other);
                    return Err(DecodeError::unsupported(
                        "filter",
                        16 + slot,
                        found,
                        expected,
                    ));
                }
            };
        }
        Ok(Self { ops })
    }

    /// The pipeline that the flags of a 16-byte header encode.
    pub(crate) const fn from_flags(flags: u8, typesize: usize, version: u8) -> Self {
        let mut ops = [ResolvedFilter::Nothing; 6];
        if flags & 1 != 0 && typesize > 1 {
            ops[0] = ResolvedFilter::Shuffle(typesize);
        } else if flags & 4 != 0 {
            ops[0] = ResolvedFilter::BitShuffle(typesize, version == 2);
        }
        if flags & 8 != 0 {
            ops[1] = ResolvedFilter::Delta(delta::word(typesize));
        }
        Self { ops }
    }

    /// Whether blocks other than 0 need the decoded block 0 of their chunk.
    #[must_use]
    pub fn has_delta(&self) -> bool {
        self.ops
            .iter()
            .any(|op| matches!(op, ResolvedFilter::Delta(_)))
    }

    /// Whether streams must be decoded into the scratch buffer, not into the output, before [`Self::undo`].
    #[must_use]
    pub fn starts_in_scratch(&self) -> bool {
        self.ops.iter().filter(|op| op.moves()).count() % 2 == 1
    }

    /// The item width if a byte shuffle is the only filter.
    #[must_use]
    pub fn only_shuffle(&self) -> Option<usize> {
        let mut found = None;
        for op in self.ops {
            match op {
                ResolvedFilter::Nothing => {}
                ResolvedFilter::Shuffle(width) if found.is_none() => found = Some(width),
                _ => return None,
            }
        }
        found
    }

    /// Whether there is no filter to reverse.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops
            .iter()
            .all(|op| matches!(op, ResolvedFilter::Nothing))
    }

    /// Reverses the filters of one block; the result is in `out`.
    ///
    /// The joined streams are in `scratch` or `out`, see [`Self::starts_in_scratch`]; `out` is as long as the block,
    /// and so is `scratch` if there is a shuffle. `reference` is only used by delta: the decoded block 0 of the chunk,
    /// or `None` in block 0 itself.
    ///
    /// # Errors
    ///
    /// Limit: `scratch` or `reference` is needed and shorter than `out`.
    pub fn undo(
        &self,
        out: &mut [u8],
        scratch: &mut [u8],
        reference: Option<&[u8]>,
    ) -> Result<(), DecodeError> {
        let n = out.len();
        let short = |what, have: usize| {
            let (have, need) = (have as u64, n as u64);
            DecodeError::limit(what, 0, need, have)
        };
        let moving = self.ops.iter().any(|op| op.moves());
        let have = scratch.len();
        let scratch = match scratch.get_mut(..if moving { n } else { 0 }) {
            Some(scratch) => scratch,
            None => return Err(short("bytes of a scratch buffer", have)),
        };
        let reference = match reference {
            Some(bytes) if self.has_delta() => match bytes.get(..n) {
                Some(bytes) => Some(bytes),
                None => return Err(short("bytes of block 0", bytes.len())),
            },
            other => other,
        };
        let mut in_scratch = self.starts_in_scratch();
        for op in self.ops {
            let (data, other): (&mut [u8], &mut [u8]) = if in_scratch {
                (&mut *scratch, &mut *out)
            } else {
                (&mut *out, &mut *scratch)
            };
            match op {
                ResolvedFilter::Nothing => {}
                ResolvedFilter::Shuffle(width) => unshuffle(data, width, other),
                ResolvedFilter::BitShuffle(width, whole) => unbitshuffle(data, width, whole, other),
                ResolvedFilter::Delta(word) => match reference {
                    None => delta::decode_first(data, word),
                    Some(block) => delta::decode_other(data, block, word),
                },
                ResolvedFilter::ByteDelta(width) => sums::undo(data, width),
            }
            in_scratch ^= op.moves();
        }
        Ok(())
    }
}

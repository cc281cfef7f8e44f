//! Decodes ranges of one chunk without decoding the rest of it.
//!
//! The blocks of a Blosc frame can be decoded separately: [`RangeDecoder`] decodes only the blocks of a range, and reads only these blocks from a
//! [`StoredBytes::Source`]. Chunks without codecs need no decoding. All other chunks are decoded whole.
//!
//! # Checks
//! A checksum after the codec covers all stored bytes, so a chunk with a checksum is read as a whole and checked before a range is decoded. Without a
//! checksum, the frame itself is checked: the limits in its header; all block starts differ; the streams of a block end where the next block begins;
//! and a block decodes to exactly its length. A damaged block start violates at least one of these rules, so the wrong block is never returned.

use std::ops::Range;

use bytes::Bytes;

#[cfg(feature = "blosc-frames")]
use crate::blosc::BloscBlocks;
use crate::chain::Chain;
use crate::data::Data;
use crate::error::{CodecError, check};
use crate::stored::{StoredBytes, wide};

/// The decoded bytes of one chunk, range by range.
#[derive(Debug)]
pub struct RangeDecoder {
    stored: StoredBytes,
    /// The blocks of the stored bytes; `None` if the stored bytes are the decoded bytes.
    #[cfg(feature = "blosc-frames")]
    blocks: Option<BloscBlocks>,
    limit: u64,
}

impl Chain {
    /// Whether ranges of a chunk can be decoded without the rest: there is no codec, or Blosc is the first of them.
    #[must_use]
    pub fn decodes_ranges(&self) -> bool {
        self.is_plain() || self.split_blocks().is_some()
    }

    /// Whether ranges of a chunk can be read without the rest of its stored bytes: there is no codec, or Blosc alone.
    #[must_use]
    pub fn reads_ranges(&self) -> bool {
        self.is_plain() || self.split_blocks().is_some_and(|before| before.is_plain())
    }

    /// Creates a decoder of ranges of one chunk.
    ///
    /// # Cost
    /// Reads the header and the block table of a Blosc frame. Other chunks are decoded as a whole, except for chunks without codecs.
    ///
    /// # Errors
    /// As [`decode`](Self::decode), for the bytes decoded so far; a frame that states more decoded bytes than `limit`.
    pub fn ranges(&self, stored: StoredBytes, limit: u64) -> Result<RangeDecoder, CodecError> {
        #[cfg(feature = "blosc-frames")]
        if let Some(before) = self.split_blocks() {
            let stored = match before.is_plain() {
                true => stored,
                false => StoredBytes::Memory(
                    before
                        .decode(Data::Shared(stored.all()?), limit)?
                        .into_bytes(),
                ),
            };
            let blocks = Some(BloscBlocks::open(&stored, limit)?);
            return Ok(RangeDecoder {
                stored,
                blocks,
                limit,
            });
        }
        let stored = match self.is_plain() {
            true => stored,
            false => StoredBytes::Memory(
                self.decode(Data::Shared(stored.all()?), limit)?
                    .into_bytes(),
            ),
        };
        check(stored.len(), limit)?;
        Ok(RangeDecoder {
            stored,
            #[cfg(feature = "blosc-frames")]
            blocks: None,
            limit,
        })
    }
}

impl RangeDecoder {
    /// Number of decoded bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        #[cfg(feature = "blosc-frames")]
        if let Some(blocks) = &self.blocks {
            return wide(blocks.decoded());
        }
        self.stored.len()
    }

    /// Whether there are no decoded bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether ascending ranges cover so much of the chunk that it should be decoded as a whole.
    #[must_use]
    pub fn is_mostly(&self, ranges: impl Iterator<Item = Range<usize>>) -> bool {
        #[cfg(feature = "blosc-frames")]
        if let Some(blocks) = &self.blocks {
            return blocks.is_most(ranges);
        }
        // Bytes in memory are shared, not copied. From a source, one read of all bytes is better than many reads if half of the bytes are needed.
        match &self.stored {
            StoredBytes::Memory(_) => true,
            StoredBytes::Source(length, _) => {
                let wanted = ranges.map(|range| wide(range.len())).sum::<u64>();
                wanted >= *length / 2
            }
        }
    }

    /// Appends the decoded bytes of a range to `out`. The most recently decoded block is kept for the next range.
    ///
    /// # Errors
    /// Malformed: a range that is reversed or ends beyond the decoded bytes, a damaged frame. I/O.
    pub fn read(&mut self, range: Range<usize>, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let length = self.len();
        if range.start > range.end || wide(range.end) > length {
            let what = format!("{length} bytes found, expected at least {}", range.end);
            return Err(CodecError::malformed(what));
        }
        #[cfg(feature = "blosc-frames")]
        if let Some(blocks) = &mut self.blocks {
            return blocks.read(&self.stored, range, out);
        }
        let expected = range.len();
        let found = self.stored.get(range)?;
        if found.len() != expected {
            let what = format!("{} bytes found, expected {expected}", found.len());
            return Err(CodecError::malformed(what));
        }
        out.extend_from_slice(&found);
        Ok(())
    }

    /// All decoded bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn whole(&self) -> Result<Bytes, CodecError> {
        let stored = self.stored.all()?;
        #[cfg(feature = "blosc-frames")]
        if self.blocks.is_some() {
            return Ok(crate::blosc::decode(&stored, self.limit)?.into());
        }
        check(wide(stored.len()), self.limit)?;
        Ok(stored)
    }
}

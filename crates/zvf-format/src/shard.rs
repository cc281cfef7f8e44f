//! The index of a shard: consecutive inner chunks, then the position of each.
//!
//! `spec/zvf-0.9.md` section 4.4, the codec `sharding_indexed` of Zarr v3 with its index at the end and a checksum:
//!
//! ```text
//! ┌──────────────┬───────────────────────────────────┬────────────┐
//! │ inner chunks │ n x (u64 offset, u64 nbytes)      │ u32 crc32c │
//! └──────────────┴───────────────────────────────────┴────────────┘
//!                  C order of the inner chunks         of the index
//! ```
//!
//! The caller compares the checksum, because this crate has no CRC.

use zerocopy::FromBytes;
use zerocopy::byteorder::little_endian::{U32, U64};

use crate::error::{DecodeError, Expected};
use crate::int::{same_bits, wide};

crate::layout! {
    /// One inner chunk in the index; both numbers are 2^64 - 1 if it is absent.
    pub struct ShardEntry: 16 {
        /// first byte of the inner chunk in the shard
        pub offset: U64,
        /// bytes of the inner chunk
        pub nbytes: U64,
    }

    /// End of the index.
    pub struct ShardTail: 4 {
        /// Castagnoli checksum of the index
        pub checksum as "crc32c": U32,
    }
}

impl ShardEntry {
    /// The entry of an absent inner chunk.
    pub const ABSENT: Self = Self {
        offset: U64::MAX_VALUE,
        nbytes: U64::MAX_VALUE,
    };

    /// The entry of `nbytes` bytes from `offset` on.
    #[must_use]
    pub fn new(offset: u64, nbytes: u64) -> Self {
        Self {
            offset: U64::new(offset),
            nbytes: U64::new(nbytes),
        }
    }

    /// Views an index, without the checksum after it, as entries. `None` if its length is not a
    /// multiple of 16.
    #[must_use]
    pub fn all(index: &[u8]) -> Option<&[Self]> {
        <[Self]>::ref_from_bytes(index).ok()
    }

    /// Whether the inner chunk is absent.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        *self == Self::ABSENT
    }
}

/// The index at the end of a shard, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct ShardIndex<'a> {
    data: &'a [u8],
    entries: &'a [ShardEntry],
    /// Entries and checksum as stored.
    bytes: &'a [u8],
}

impl<'a> ShardIndex<'a> {
    /// Finds the index of a shard of `count` inner chunks. [`check`](Self::check) checks the entries.
    ///
    /// # Cost
    /// O(1).
    ///
    /// # Errors
    /// Truncated if the shard is shorter than its index.
    ///
    /// # Panics
    /// Never.
    pub fn parse(shard: &'a [u8], count: u64) -> Result<Self, DecodeError> {
        let table = count.saturating_mul(wide(size_of::<ShardEntry>()));
        let need = table.saturating_add(wide(size_of::<ShardTail>()));
        let start = wide(shard.len()).checked_sub(need);
        let parts = start
            .and_then(|start| shard.split_at_checked(usize::try_from(start).ok()?))
            .and_then(|(data, bytes)| {
                let count = usize::try_from(count).ok()?;
                let (entries, _) = <[ShardEntry]>::ref_from_prefix_with_elems(bytes, count).ok()?;
                Some(Self {
                    data,
                    entries,
                    bytes,
                })
            });
        parts.ok_or_else(|| DecodeError::truncated("shard index", 0, wide(shard.len()), need))
    }

    /// The inner chunks, in any order and possibly with unused bytes.
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The entries, in C order of the inner chunks.
    #[must_use]
    pub fn entries(&self) -> &'a [ShardEntry] {
        self.entries
    }

    /// The entries and the checksum after them, in the form in which Zarr's codec `crc32c` stores bytes.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes of inner chunk `i`; `None` if it is absent or its entry points outside the data.
    #[must_use]
    pub fn get(&self, i: usize) -> Option<&'a [u8]> {
        let entry = self.entries.get(i)?;
        let end = entry.offset.get().checked_add(entry.nbytes.get())?;
        let start = usize::try_from(entry.offset.get()).ok()?;
        self.data.get(start..usize::try_from(end).ok()?)
    }

    /// Checks that every present inner chunk is before the index.
    ///
    /// # Cost
    /// O(entries).
    ///
    /// # Errors
    /// Malformed, with the byte of the wrong entry.
    ///
    /// # Panics
    /// Never.
    pub fn check(&self) -> Result<(), DecodeError> {
        for (i, entry) in self.entries.iter().enumerate() {
            if !entry.is_absent() && self.get(i).is_none() {
                let at = wide(self.data.len()) + wide(i) * wide(size_of::<ShardEntry>());
                let end = entry.offset.get().saturating_add(entry.nbytes.get());
                let expected = Expected::AtMost(same_bits(wide(self.data.len())));
                let found = i64::try_from(end).unwrap_or(i64::MAX);
                let what = "end of an inner chunk";
                return Err(DecodeError::malformed(what, at, found, expected));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::ShardIndex;

    /// 8 bytes of data, a present and an absent entry, and an invalid checksum.
    fn shard(offset: u8, nbytes: u8) -> [u8; 44] {
        let mut shard = [0xff; 44];
        shard[8..24].fill(0);
        (shard[8], shard[16]) = (offset, nbytes);
        shard
    }

    #[test]
    fn entries_stay_before_the_index() {
        for (offset, nbytes, fits) in [(0, 8, true), (3, 0, true), (8, 0, true), (1, 8, false)] {
            let bytes = shard(offset, nbytes);
            let index = ShardIndex::parse(&bytes, 2).unwrap();
            assert_eq!(index.check().is_ok(), fits, "{offset} {nbytes}");
            assert_eq!(
                index.get(0).map(<[u8]>::len),
                fits.then_some(usize::from(nbytes))
            );
            assert!(index.entries()[1].is_absent() && index.get(1).is_none());
        }
        let error = ShardIndex::parse(&shard(1, 8), 2)
            .unwrap()
            .check()
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "end of an inner chunk at byte 8: found 9, expected at most 8"
        );
        for count in [3, u64::MAX] {
            assert!(
                ShardIndex::parse(&shard(0, 8), count)
                    .unwrap_err()
                    .is_truncated()
            );
        }
    }
}

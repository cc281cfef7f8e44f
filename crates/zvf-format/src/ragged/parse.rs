//! The borrowed view: [`RaggedBlob`].

use core::iter::FusedIterator;

use zerocopy::byteorder::little_endian::I64;

use crate::cursor::BlobCursor;
use crate::error::{DecodeError, Expected};
use crate::int::{signed, wide};

crate::layout! {
    /// Head of a ragged blob.
    pub struct RaggedHead: 8 {
        /// groups; always a 64-bit number, whatever the rows are
        pub groups as "Gn": I64,
    }
}

/// Groups of bytes after a table of offsets, borrowed and fully validated.
#[derive(Debug, Clone, Copy)]
pub struct RaggedBlob<'a> {
    groups: GroupSlices<'a>,
    data_at: u64,
}

impl<'a> RaggedBlob<'a> {
    /// Reads the table and checks every offset.
    ///
    /// A blob of fewer than 8 bytes has no groups (13.4).
    ///
    /// # Cost
    /// O(G), no allocation.
    ///
    /// # Errors
    /// Truncated if the table extends past the end; malformed for a negative count, for offsets
    /// that do not begin at 0, that decrease or exceed the end, and for data outside all groups.
    ///
    /// # Panics
    /// Never.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        if bytes.len() < size_of::<RaggedHead>() {
            return Ok(Self {
                groups: GroupSlices {
                    offsets: &[],
                    data: &[],
                },
                data_at: wide(bytes.len()),
            });
        }
        let mut cursor = BlobCursor::new(bytes);
        let head = cursor.take::<RaggedHead>("ragged group count")?;
        let count = head.groups.get();
        if count < 0 {
            return Err(DecodeError::malformed(
                "ragged group count",
                0,
                count,
                Expected::AtLeast(0),
            ));
        }
        let Ok(count) = usize::try_from(count) else {
            let need = count.unsigned_abs().saturating_mul(8);
            return Err(DecodeError::truncated(
                "ragged offsets",
                8,
                wide(cursor.rest().len()),
                need,
            ));
        };
        let offsets = cursor.take_slice::<I64>(count, "ragged offsets")?;
        let groups = GroupSlices {
            offsets,
            data: cursor.rest(),
        };
        groups.check(8, cursor.at())?;
        Ok(Self {
            groups,
            data_at: cursor.at(),
        })
    }

    /// G, the number of groups.
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.offsets.len()
    }

    /// Whether there are no groups.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.offsets.is_empty()
    }

    /// The bytes of group `g`; `None` past the last one.
    #[must_use]
    pub fn get(&self, g: usize) -> Option<&'a [u8]> {
        self.groups.get(g)
    }

    /// The groups, in order.
    #[must_use]
    pub fn iter(&self) -> GroupIter<'a> {
        GroupIter {
            groups: self.groups,
            next: 0,
        }
    }

    /// The bytes of all groups, back to back.
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        self.groups.data
    }

    /// Start of each group inside [`data`](Self::data), in bytes.
    #[must_use]
    pub fn offsets(&self) -> &'a [I64] {
        self.groups.offsets
    }

    /// Byte offset of the data, from the start of the blob.
    #[must_use]
    pub fn data_at(&self) -> u64 {
        self.data_at
    }
}

/// Group g is `data[offsets[g] .. offsets[g + 1]]`; the last group extends to the end.
#[derive(Debug, Clone, Copy)]
struct GroupSlices<'a> {
    offsets: &'a [I64],
    data: &'a [u8],
}

impl<'a> GroupSlices<'a> {
    fn check(&self, table_at: u64, data_at: u64) -> Result<(), DecodeError> {
        let end = signed(self.data.len());
        let mut before = 0_i64;
        for (g, offset) in self.offsets.iter().enumerate() {
            let offset = offset.get();
            let expected = if g == 0 && offset != 0 {
                Expected::Exactly(0)
            } else if offset < before {
                Expected::AtLeast(before)
            } else if offset > end {
                Expected::AtMost(end)
            } else {
                before = offset;
                continue;
            };
            return Err(DecodeError::malformed(
                "ragged offset",
                table_at + wide(g) * 8,
                offset,
                expected,
            ));
        }
        if self.offsets.is_empty() && end > 0 {
            let expected = Expected::Exactly(0);
            return Err(DecodeError::malformed(
                "ragged data without a group",
                data_at,
                end,
                expected,
            ));
        }
        Ok(())
    }

    #[inline]
    fn get(&self, g: usize) -> Option<&'a [u8]> {
        let from = usize::try_from(self.offsets.get(g)?.get()).ok()?;
        match self.offsets.get(g + 1) {
            Some(to) => self.data.get(from..usize::try_from(to.get()).ok()?),
            None => self.data.get(from..),
        }
    }
}

/// The groups of one blob: what [`RaggedBlob::iter`] returns.
#[derive(Debug, Clone)]
pub struct GroupIter<'a> {
    groups: GroupSlices<'a>,
    next: usize,
}

impl<'a> Iterator for GroupIter<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let group = self.groups.get(self.next)?;
        self.next += 1;
        Some(group)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.groups.offsets.len().saturating_sub(self.next);
        (left, Some(left))
    }
}

impl ExactSizeIterator for GroupIter<'_> {}
impl FusedIterator for GroupIter<'_> {}

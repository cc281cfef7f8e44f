//! The borrowed view: [`FragmentIndex`] and its items.

use zerocopy::byteorder::little_endian::{I64, U32, U64};

use super::layout::{FragmentHead, MAGIC, RangeEntry, VERSION};
use crate::cursor::BlobCursor;
use crate::error::{DecodeError, Expected};
use crate::int::index;

/// One fragment index, borrowed from the bytes of its cell.
///
/// # Shape
/// F fragments; each is a range of rows or a list of rows of the chunk's row buffer.
///
/// # Units
/// Rows count from 0 inside the chunk. Offsets in errors are bytes from the start of the blob.
///
/// # Cost
/// Five slices, `Copy`; never allocates.
#[derive(Debug, Clone, Copy)]
pub struct FragmentIndex<'a> {
    pub(super) fragments: u32,
    /// The bitmap with its padding: bit f of the bytes is bit f % 64 of word f / 64.
    pub(super) words: &'a [U64],
    pub(super) table: &'a [RangeEntry],
    /// E + 1 running offsets; empty if there are no fragments.
    pub(super) offsets: &'a [U32],
    pub(super) rows: &'a [I64],
    pub(super) trailing: &'a [u8],
}

/// One fragment: its rows of the chunk, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fragment<'a> {
    /// Rows `start .. start + count`.
    Range {
        /// First row.
        start: i64,
        /// Number of rows.
        count: i64,
    },
    /// The rows of this list, in this order, repeats included.
    List(&'a [I64]),
}

impl<'a> FragmentIndex<'a> {
    /// Reads the head and bounds every table; [`verify`](Self::verify) checks the contents of the
    /// tables.
    ///
    /// Bytes after the last table are ignored, as the specification requires (9.3); see
    /// [`trailing`](Self::trailing).
    ///
    /// # Cost
    /// O(1), regardless of the number of fragments.
    ///
    /// # Errors
    /// Truncated if any table runs past the end, malformed for a wrong magic or R > F,
    /// unsupported for another version or any flag.
    ///
    /// # Panics
    /// Never.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut cursor = BlobCursor::new(bytes);
        let head = cursor.take::<FragmentHead>("fragment index head")?;
        let (fragments, ranges) = (head.fragments.get(), head.ranges.get());
        if head.magic.get() != MAGIC
            || head.version.get() != VERSION
            || head.flags.get() != 0
            || ranges > fragments
        {
            return Err(refuse_head(head));
        }
        if fragments == 0 {
            return Ok(Self {
                fragments,
                words: &[],
                table: &[],
                offsets: &[],
                rows: &[],
                trailing: cursor.rest(),
            });
        }
        let words = cursor.take_slice::<U64>(index(fragments).div_ceil(64), "range bitmap")?;
        let table = cursor.take_slice::<RangeEntry>(index(ranges), "range table")?;
        // E + 1: the subtraction was checked above. E = 2^32 - 1 does not fit in 32-bit memory, but
        // then the bitmap did not fit either.
        let lists = index(fragments - ranges);
        let offsets = cursor.take_slice::<U32>(lists.saturating_add(1), "explicit offsets")?;
        let total = offsets.last().map_or(0, |last| last.get());
        let rows = cursor.take_slice::<I64>(index(total), "explicit rows")?;
        Ok(Self {
            fragments,
            words,
            table,
            offsets,
            rows,
            trailing: cursor.rest(),
        })
    }

    /// F, the number of fragments.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u32 {
        self.fragments
    }

    /// Whether the chunk has no fragments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fragments == 0
    }

    /// R, the number of range fragments that the head claims.
    #[must_use]
    pub fn range_count(&self) -> u32 {
        crate::int::low32(self.table.len())
    }

    /// E = F - R, the number of list fragments.
    #[must_use]
    pub fn list_count(&self) -> u32 {
        self.fragments - self.range_count()
    }

    /// Bytes after the last table. Readers ignore them; writers must not leave any.
    #[must_use]
    pub fn trailing(&self) -> &'a [u8] {
        self.trailing
    }

    /// Positions of the tables: byte offsets of bitmap, range table, list offsets, list rows and the
    /// end. For annotated dumps.
    #[must_use]
    pub fn table_offsets(&self) -> TableOffsets {
        use crate::int::wide;
        let bitmap = wide(size_of::<FragmentHead>());
        let ranges = bitmap + wide(size_of_val(self.words));
        let offsets = ranges + wide(size_of_val(self.table));
        let rows = offsets + wide(size_of_val(self.offsets));
        TableOffsets {
            bitmap,
            ranges,
            offsets,
            rows,
            end: rows + wide(size_of_val(self.rows)),
        }
    }

    /// Whether fragment `f` is a range: one bit test. `None` past the last fragment.
    #[must_use]
    #[inline]
    pub fn is_range(&self, f: u32) -> Option<bool> {
        if f >= self.fragments {
            return None;
        }
        let word = self.words.get(index(f >> 6))?.get();
        Some((word >> (f & 63)) & 1 == 1)
    }

    /// Fragment `f`, found by counting the bits before it.
    ///
    /// # Cost
    /// O(F / 64) word counts. To visit all fragments use [`iter`](Self::iter); for random
    /// access to large indexes see [`RankDirectory`](super::RankDirectory).
    ///
    /// `None` past the last fragment; on an index that was not verified, also if the tables do not
    /// contain the fragment.
    #[must_use]
    pub fn get(&self, f: u32) -> Option<Fragment<'a>> {
        let is_range = self.is_range(f)?;
        let before = self.words.get(..index(f >> 6))?;
        let before = before
            .iter()
            .map(|word| word.get().count_ones())
            .sum::<u32>();
        self.resolve(f, is_range, before)
    }

    /// Fragment `f`, given the number of ranges in the bitmap words before the word of `f`.
    #[inline]
    pub(super) fn resolve(&self, f: u32, is_range: bool, before: u32) -> Option<Fragment<'a>> {
        let word = self.words.get(index(f >> 6))?.get();
        let below = (1_u64 << (f & 63)) - 1;
        let rank = before.checked_add((word & below).count_ones())?;
        if is_range {
            let entry = self.table.get(index(rank))?;
            return Some(Fragment::Range {
                start: entry.start.get(),
                count: entry.count.get(),
            });
        }
        let e = index(f.checked_sub(rank)?);
        let from = index(self.offsets.get(e)?.get());
        let to = index(self.offsets.get(e + 1)?.get());
        Some(Fragment::List(self.rows.get(from..to)?))
    }

    /// Start and count of fragment `f`, if it is a range. Same cost as [`get`](Self::get).
    #[must_use]
    pub fn range(&self, f: u32) -> Option<(i64, i64)> {
        match self.get(f)? {
            Fragment::Range { start, count } => Some((start, count)),
            Fragment::List(_) => None,
        }
    }
}

/// Byte offsets of the tables of one fragment index, from the start of the blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableOffsets {
    /// The bitmap; always 16.
    pub bitmap: u64,
    /// The range table.
    pub ranges: u64,
    /// The offsets of the explicit lists.
    pub offsets: u64,
    /// The rows of the explicit lists.
    pub rows: u64,
    /// The first byte after the last table.
    pub end: u64,
}

impl Fragment<'_> {
    /// Number of rows of the fragment. A negative count, which a verified index never has, counts as
    /// 0 rows.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u64 {
        match *self {
            Fragment::Range { count, .. } => u64::try_from(count).unwrap_or(0),
            Fragment::List(rows) => crate::int::wide(rows.len()),
        }
    }

    /// Whether the fragment has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The error for an invalid field of the head. Not inlined, because parse is on the hot path.
#[cold]
fn refuse_head(head: &FragmentHead) -> DecodeError {
    if head.magic.get() != MAGIC {
        let found = i64::from(head.magic.get());
        return DecodeError::malformed(
            "fragment index magic",
            0,
            found,
            Expected::Exactly(i64::from(MAGIC)),
        );
    }
    if head.version.get() != VERSION {
        let found = i64::from(head.version.get());
        let expected = Expected::Exactly(i64::from(VERSION));
        return DecodeError::unsupported("fragment index version", 4, found, expected);
    }
    if head.flags.get() != 0 {
        let found = i64::from(head.flags.get());
        return DecodeError::unsupported("fragment index flags", 6, found, Expected::Exactly(0));
    }
    let found = i64::from(head.ranges.get());
    let expected = Expected::AtMost(i64::from(head.fragments.get()));
    DecodeError::malformed("range fragment count", 12, found, expected)
}

//! The encoder: [`FragmentIndexBuilder`], by the writer rules of `spec/zvf-0.9.md` 9.2.

use alloc::vec::Vec;

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{I64, U16, U32, U64};

use super::layout::{FragmentHead, MAGIC, RangeEntry, VERSION};
use super::parse::Fragment;
use crate::error::{EncodeError, Expected};
use crate::int::{index, signed};

/// Collects fragments in order and writes one fragment index.
///
/// The index passes [`check`](super::FragmentIndex::check) against any row buffer that is
/// long enough.
///
/// # Examples
///
/// ```
/// use zvf_format::fragments::{Fragment, FragmentIndex, FragmentIndexBuilder};
///
/// let mut builder = FragmentIndexBuilder::new();
/// builder.push_range(0, 4)?;
/// builder.push_rows(&[12, 7, 19])?;
/// builder.push_rows(&[20, 21, 22])?; // a run: stored as a range
/// let blob = builder.finish();
///
/// let index = FragmentIndex::parse(&blob)?;
/// index.check(23)?;
/// assert_eq!(index.get(2), Some(Fragment::Range { start: 20, count: 3 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FragmentIndexBuilder {
    fragments: u32,
    words: Vec<U64>,
    table: Vec<RangeEntry>,
    /// E + 1 offsets; the leading zero is always present.
    offsets: Vec<U32>,
    rows: Vec<I64>,
}

impl Default for FragmentIndexBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl FragmentIndexBuilder {
    /// Starts an index without fragments.
    #[must_use]
    pub fn new() -> Self {
        Self {
            fragments: 0,
            words: Vec::new(),
            table: Vec::new(),
            offsets: alloc::vec![U32::ZERO],
            rows: Vec::new(),
        }
    }

    /// Number of pushed fragments; also the number of the next one.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.fragments
    }

    /// Whether no fragment was pushed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fragments == 0
    }

    /// Appends the rows `start .. start + count`; `count` may be 0.
    ///
    /// # Errors
    /// If `start` or `count` is negative, their sum exceeds 2^63 - 1, or there are 2^32 - 1
    /// fragments already. The builder is then unchanged.
    pub fn push_range(&mut self, start: i64, count: i64) -> Result<(), EncodeError> {
        let item = index(self.fragments);
        if start < 0 {
            return Err(EncodeError::new(
                "range start",
                item,
                start,
                Expected::AtLeast(0),
            ));
        }
        if count < 0 {
            return Err(EncodeError::new(
                "range count",
                item,
                count,
                Expected::AtLeast(0),
            ));
        }
        if start.checked_add(count).is_none() {
            let expected = Expected::AtMost(i64::MAX - start);
            return Err(EncodeError::new("range count", item, count, expected));
        }
        self.push_bit(true)?;
        self.table.push(RangeEntry {
            start: I64::new(start),
            count: I64::new(count),
        });
        Ok(())
    }

    /// Appends the rows of a list, in its order. A non-empty list in which each row is one more
    /// than the previous one is stored as a range; an empty list stays a list.
    ///
    /// # Errors
    /// If a row is negative, or the index is full: 2^32 - 1 fragments or listed rows. The
    /// builder is then unchanged.
    pub fn push_rows(&mut self, rows: &[i64]) -> Result<(), EncodeError> {
        match as_run(rows) {
            Some((start, count)) if start >= 0 => self.push_range(start, count),
            _ => self.push_list(rows.iter().copied()),
        }
    }

    /// Appends a fragment unchanged: a list stays a list even if it is a run. For rewriting an
    /// index byte for byte.
    ///
    /// # Errors
    /// As [`push_range`](Self::push_range) and [`push_rows`](Self::push_rows).
    pub fn push_verbatim(&mut self, fragment: Fragment<'_>) -> Result<(), EncodeError> {
        match fragment {
            Fragment::Range { start, count } => self.push_range(start, count),
            Fragment::List(rows) => self.push_list(rows.iter().map(|row| row.get())),
        }
    }

    fn push_list(
        &mut self,
        rows: impl ExactSizeIterator<Item = i64> + Clone,
    ) -> Result<(), EncodeError> {
        if let Some((item, row)) = rows.clone().enumerate().find(|(_, row)| *row < 0) {
            let expected = Expected::AtLeast(0);
            return Err(EncodeError::new("fragment row", item, row, expected));
        }
        let total = self.rows.len() + rows.len();
        let Ok(end) = u32::try_from(total) else {
            let expected = Expected::AtMost(i64::from(u32::MAX));
            return Err(EncodeError::new(
                "explicit row count",
                index(self.fragments),
                signed(total),
                expected,
            ));
        };
        self.push_bit(false)?;
        self.rows.extend(rows.map(I64::new));
        self.offsets.push(U32::new(end));
        Ok(())
    }

    /// Writes the blob: 16 bytes if there are no fragments, padding bits all zero.
    ///
    /// # Cost
    /// One allocation of exactly the size of the blob.
    #[must_use]
    pub fn finish(&self) -> Vec<u8> {
        let head = FragmentHead {
            magic: U32::new(MAGIC),
            version: U16::new(VERSION),
            flags: U16::ZERO,
            fragments: U32::new(self.fragments),
            ranges: U32::new(crate::int::low32(self.table.len())),
        };
        let offsets: &[U32] = if self.fragments == 0 {
            &[]
        } else {
            &self.offsets
        };
        let parts: [&[u8]; 5] = [
            head.as_bytes(),
            self.words.as_bytes(),
            self.table.as_bytes(),
            offsets.as_bytes(),
            self.rows.as_bytes(),
        ];
        parts.concat()
    }

    /// Appends one bit to the bitmap.
    fn push_bit(&mut self, range: bool) -> Result<(), EncodeError> {
        let f = self.fragments;
        let Some(next) = f.checked_add(1) else {
            let expected = Expected::AtMost(i64::from(u32::MAX));
            return Err(EncodeError::new(
                "fragment count",
                index(f),
                1 << 32,
                expected,
            ));
        };
        if f.is_multiple_of(64) {
            self.words.push(U64::ZERO);
        }
        if let Some(word) = self.words.last_mut() {
            *word = U64::new(word.get() | u64::from(range) << (f % 64));
        }
        self.fragments = next;
        Ok(())
    }
}

/// Start and count of a non-empty list in which each row is one more than the previous one.
fn as_run(rows: &[i64]) -> Option<(i64, i64)> {
    let &start = rows.first()?;
    let rises = rows.windows(2).all(|pair| match pair {
        [a, b] => a.checked_add(1) == Some(*b),
        _ => false,
    });
    // A run that includes the largest number has an end that cannot be represented.
    start.checked_add(signed(rows.len()))?;
    rises.then_some((start, signed(rows.len())))
}

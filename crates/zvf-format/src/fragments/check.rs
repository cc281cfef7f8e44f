//! Linear checks: the rules for readers, the rules for writers, extent and tiling.
//!
//! `spec/zvf-0.9.md` sections 9.2 to 9.4, and the write-time invariants of the fragment-index page.

use super::layout::FragmentHead;
use super::parse::{Fragment, FragmentIndex};
use crate::error::{DecodeError, Expected};
use crate::int::{index, same_bits, wide};

impl FragmentIndex<'_> {
    /// Checks that the tables agree with each other: the bitmap has R set bits among its first F,
    /// and the list offsets begin at 0 and never decrease.
    ///
    /// If it succeeds, [`iter`](Self::iter) yields exactly F fragments, and [`get`](Self::get) is
    /// `Some` for every one of them.
    ///
    /// # Cost
    /// O(F / 64 + E).
    ///
    /// # Errors
    /// Malformed, with the byte offset of the wrong count or offset.
    ///
    /// # Panics
    /// Never.
    pub fn verify(&self) -> Result<(), DecodeError> {
        let set = self.set_bits();
        let claimed = i64::from(self.range_count());
        if set != claimed {
            return Err(DecodeError::malformed(
                "range fragment count",
                12,
                claimed,
                Expected::Exactly(set),
            ));
        }
        let base = self.table_offsets().offsets;
        let mut before = 0_u32;
        for (at, offset) in self.offsets.iter().enumerate() {
            let offset = offset.get();
            if at == 0 && offset != 0 {
                return Err(DecodeError::malformed(
                    "first explicit offset",
                    base,
                    i64::from(offset),
                    Expected::Exactly(0),
                ));
            }
            if offset < before {
                let expected = Expected::AtLeast(i64::from(before));
                return Err(DecodeError::malformed(
                    "explicit offset",
                    base + wide(at) * 4,
                    i64::from(offset),
                    expected,
                ));
            }
            before = offset;
        }
        Ok(())
    }

    /// Checks everything that a reader of a row buffer of `rows` rows relies on:
    /// [`verify`](Self::verify), and every row of every fragment is in `0..rows`. Padding is
    /// ignored.
    ///
    /// If it succeeds, `start..start + count` and every list entry can be used as indices.
    ///
    /// # Cost
    /// O(F / 64 + E + R + T).
    ///
    /// # Errors
    /// Malformed, with the byte offset of the wrong offset, start, count or row.
    ///
    /// # Panics
    /// Never.
    pub fn check_rows(&self, rows: u64) -> Result<(), DecodeError> {
        self.verify()?;
        self.extent_within(i64::try_from(rows).unwrap_or(i64::MAX))?;
        Ok(())
    }

    /// Computes the vertex extent, and checks that it is at most `limit`.
    fn extent_within(&self, limit: i64) -> Result<u64, DecodeError> {
        let offsets = self.table_offsets();
        let within = |what: &'static str, at: u64, found: i64, most: i64| {
            let expected = match found {
                ..0 => Expected::AtLeast(0),
                _ if found > most => Expected::AtMost(most),
                _ => return Ok(()),
            };
            Err(DecodeError::malformed(what, at, found, expected))
        };
        let mut extent = 0_i64;
        for (at, entry) in self.table.iter().enumerate() {
            let base = offsets.ranges + wide(at) * 16;
            let (start, count) = (entry.start.get(), entry.count.get());
            within("range start", base, start, limit)?;
            within("range count", base + 8, count, limit - start)?;
            extent = extent.max(start + count);
        }
        for (at, row) in self.rows.iter().enumerate() {
            let at = offsets.rows + wide(at) * 8;
            within("explicit row", at, row.get(), limit - 1)?;
            extent = extent.max(row.get() + 1);
        }
        Ok(extent.unsigned_abs())
    }

    /// Checks every write-time invariant against a row buffer of `rows` rows:
    /// [`check_rows`](Self::check_rows); padding bits and bytes are zero; nothing follows the last
    /// table.
    ///
    /// # Cost
    /// As [`check_rows`](Self::check_rows).
    ///
    /// # Errors
    /// Malformed, with the offset of the wrong byte.
    ///
    /// # Panics
    /// Never.
    pub fn check(&self, rows: u64) -> Result<(), DecodeError> {
        self.check_rows(rows)?;
        if let Some(last) = self.words.last() {
            let padding = last.get() & !self.last_mask();
            if padding != 0 {
                let bit = index(self.fragments / 64 * 64) + index(padding.trailing_zeros());
                let byte = wide(size_of::<FragmentHead>()) + wide(bit / 8);
                let found = i64::from(
                    last.get()
                        .to_le_bytes()
                        .get(bit / 8 % 8)
                        .copied()
                        .unwrap_or(0),
                );
                let expected = Expected::Text("padding bits of zero");
                return Err(DecodeError::malformed(
                    "bitmap padding",
                    byte,
                    found,
                    expected,
                ));
            }
        }
        if !self.trailing.is_empty() {
            let end = self.table_offsets().end;
            let found = same_bits(end + wide(self.trailing.len()));
            let expected = Expected::Exactly(same_bits(end));
            return Err(DecodeError::malformed(
                "fragment index length",
                end,
                found,
                expected,
            ));
        }
        Ok(())
    }

    /// The vertex extent (9.3): the largest `start + count` of a range and `row + 1` of a list;
    /// 0 without fragments. A vertex attribute cell has this many rows.
    ///
    /// # Cost
    /// O(R + T).
    ///
    /// # Errors
    /// Malformed for a negative start, count or row, and for an extent above 2^63 - 1.
    ///
    /// # Panics
    /// Never.
    pub fn extent(&self) -> Result<u64, DecodeError> {
        self.extent_within(i64::MAX)
    }

    /// Whether the fragments tile a buffer of `rows` rows (9.4): all are ranges, the first starts
    /// at 0, each of the others starts where the previous one ended, and the last ends at `rows`.
    /// An index without fragments tiles 0 rows.
    ///
    /// # Cost
    /// O(F); stops at the first fragment that violates this.
    #[must_use]
    pub fn tiles(&self, rows: u64) -> bool {
        if self.list_count() != 0 || self.set_bits() != i64::from(self.fragments) {
            return false;
        }
        let mut next = 0_i64;
        for fragment in self.iter() {
            let Fragment::Range { start, count } = fragment else {
                return false;
            };
            if start != next || count < 0 {
                return false;
            }
            let Some(end) = start.checked_add(count) else {
                return false;
            };
            next = end;
        }
        next.unsigned_abs() == rows
    }

    /// Set bits among the first F of the bitmap.
    fn set_bits(&self) -> i64 {
        let Some((last, full)) = self.words.split_last() else {
            return 0;
        };
        let full: i64 = full
            .iter()
            .map(|word| i64::from(word.get().count_ones()))
            .sum();
        full + i64::from((last.get() & self.last_mask()).count_ones())
    }

    /// The bits of the last bitmap word that belong to a fragment.
    fn last_mask(&self) -> u64 {
        match self.fragments % 64 {
            0 => u64::MAX,
            used => (1 << used) - 1,
        }
    }
}

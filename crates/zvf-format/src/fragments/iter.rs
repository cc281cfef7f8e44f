//! Iterators over fragments and rows, with constant cost per step.

use core::iter::FusedIterator;

use zerocopy::byteorder::little_endian::{I64, U32, U64};

use super::layout::RangeEntry;
use super::parse::{Fragment, FragmentIndex};
use crate::int::index;
use crate::number_iter::NumberIter;

impl<'a> FragmentIndex<'a> {
    /// The rows of fragment `f`, range or list. Same cost as [`get`](Self::get).
    #[must_use]
    pub fn indices(&self, f: u32) -> Option<RowIter<'a>> {
        Some(self.get(f)?.rows())
    }

    /// All fragments in order.
    ///
    /// # Cost
    /// O(1) for each step, no allocation.
    #[must_use]
    #[inline]
    pub fn iter(&self) -> FragmentIter<'a> {
        FragmentIter::new(self)
    }
}

impl<'a> IntoIterator for FragmentIndex<'a> {
    type Item = Fragment<'a>;
    type IntoIter = FragmentIter<'a>;

    fn into_iter(self) -> FragmentIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &FragmentIndex<'a> {
    type Item = Fragment<'a>;
    type IntoIter = FragmentIter<'a>;

    fn into_iter(self) -> FragmentIter<'a> {
        self.iter()
    }
}

impl<'a> Fragment<'a> {
    /// The rows, in order.
    ///
    /// # Cost
    /// O(1) for each step. A range that was not checked against the row buffer may be 2^63 rows long:
    /// call [`check_rows`](FragmentIndex::check_rows) first.
    #[must_use]
    #[inline]
    pub fn rows(&self) -> RowIter<'a> {
        match *self {
            Fragment::Range { start, count } => RowIter(NumberIter::range(start, count)),
            Fragment::List(rows) => RowIter(NumberIter::list(rows)),
        }
    }
}

/// The fragments of one index in order: what [`FragmentIndex::iter`] returns.
///
/// For an index that passes [`verify`](FragmentIndex::verify), it yields exactly F fragments.
/// Otherwise it ends at the first fragment that the tables do not contain.
#[derive(Debug, Clone)]
pub struct FragmentIter<'a> {
    left: u32,
    /// The current bitmap word, shifted so that the next fragment is bit 0.
    word: u64,
    bits: u32,
    words: core::slice::Iter<'a, U64>,
    table: core::slice::Iter<'a, RangeEntry>,
    ends: core::slice::Iter<'a, U32>,
    from: usize,
    rows: &'a [I64],
}

impl<'a> FragmentIter<'a> {
    #[inline]
    fn new(index_: &FragmentIndex<'a>) -> Self {
        let mut ends = index_.offsets.iter();
        let from = ends.next().map_or(0, |first| index(first.get()));
        Self {
            left: index_.fragments,
            word: 0,
            bits: 0,
            words: index_.words.iter(),
            table: index_.table.iter(),
            ends,
            from,
            rows: index_.rows,
        }
    }

    /// Takes the next fragment from its table.
    #[inline]
    fn step(&mut self) -> Option<Fragment<'a>> {
        if self.bits == 0 {
            self.word = self.words.next()?.get();
            self.bits = 64;
        }
        let is_range = self.word & 1 == 1;
        self.word >>= 1;
        self.bits -= 1;
        if is_range {
            let entry = self.table.next()?;
            return Some(Fragment::Range {
                start: entry.start.get(),
                count: entry.count.get(),
            });
        }
        let to = index(self.ends.next()?.get());
        let rows = self.rows.get(self.from..to)?;
        self.from = to;
        Some(Fragment::List(rows))
    }
}

impl<'a> Iterator for FragmentIter<'a> {
    type Item = Fragment<'a>;

    #[inline]
    fn next(&mut self) -> Option<Fragment<'a>> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let fragment = self.step();
        if fragment.is_none() {
            self.left = 0;
        }
        fragment
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(index(self.left)))
    }
}

impl FusedIterator for FragmentIter<'_> {}

/// The rows of one fragment, in order: what [`Fragment::rows`] returns.
#[derive(Debug, Clone)]
pub struct RowIter<'a>(NumberIter<'a>);

impl Iterator for RowIter<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for RowIter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<i64> {
        self.0.next_back()
    }
}

impl FusedIterator for RowIter<'_> {}

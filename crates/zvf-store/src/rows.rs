//! Sets of rows of one chunk.

use std::ops::Range;

use zvf_format::int::index;

/// Some rows of a chunk, as ascending runs of consecutive rows.
///
/// ```
/// use zvf_store::RowSet;
///
/// let rows = RowSet::new([7..9, 2..4, 3..5]);
/// assert_eq!(rows.ranges().collect::<Vec<_>>(), [2..5, 7..9]);
/// assert_eq!((rows.len(), rows.rank(8), rows.rank(5)), (5, Some(4), None));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowSet {
    /// For each run its first row, the row after its last one, and the number of rows in earlier runs.
    runs: Vec<(u32, u32, u32)>,
}

impl RowSet {
    /// The rows of any ranges, in any order.
    ///
    /// # Cost
    /// Sorts the ranges.
    pub fn new(ranges: impl IntoIterator<Item = Range<u32>>) -> Self {
        let ranges = ranges.into_iter().filter(|range| range.start < range.end);
        let mut all: Vec<(u32, u32)> = ranges.map(|range| (range.start, range.end)).collect();
        if !all.is_sorted() {
            all.sort_unstable();
        }
        let mut runs: Vec<(u32, u32, u32)> = Vec::new();
        for (start, end) in all {
            match runs.last_mut() {
                Some((_, last, _)) if start <= *last => *last = end.max(*last),
                _ => runs.push((start, end, 0)),
            }
        }
        let mut before = 0_u32;
        for (start, end, rows) in &mut runs {
            *rows = before;
            // The runs are disjoint ranges of numbers of 32 bits.
            before = before.saturating_add(end.saturating_sub(*start));
        }
        Self { runs }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> u32 {
        let last = self.runs.last();
        last.map_or(0, |(start, end, before)| {
            before.saturating_add(end.saturating_sub(*start))
        })
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The runs, ascending and not adjacent.
    pub fn ranges(
        &self,
    ) -> impl DoubleEndedIterator<Item = Range<u32>> + ExactSizeIterator + Clone {
        self.runs.iter().map(|(start, end, _)| *start..*end)
    }

    /// Number of rows of the set before `row`; `None` if the set does not have it.
    ///
    /// # Cost
    /// Logarithmic in the number of runs.
    #[must_use]
    pub fn rank(&self, row: u32) -> Option<u32> {
        let after = self.runs.partition_point(|(start, _, _)| *start <= row);
        let (start, end, before) = self.runs.get(after.checked_sub(1)?)?;
        (row < *end).then(|| before.saturating_add(row.saturating_sub(*start)))
    }

    /// The bytes of consecutive rows among the bytes of the set, `row_bytes` each; `None` unless all of them are in the set.
    pub(crate) fn bytes_of(&self, rows: Range<u32>, row_bytes: usize) -> Option<Range<usize>> {
        let last = rows.end.checked_sub(1)?;
        let (first, last) = (self.rank(rows.start)?, self.rank(last)?);
        // If the ranks differ by as much as the rows, all rows between them are in the set.
        if last.checked_sub(first)? != rows.end.checked_sub(rows.start)?.checked_sub(1)? {
            return None;
        }
        let start = index(first).checked_mul(row_bytes)?;
        Some(start..index(last).checked_add(1)?.checked_mul(row_bytes)?)
    }
}

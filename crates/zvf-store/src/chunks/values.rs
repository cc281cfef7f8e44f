//! Rows of values in little-endian byte order.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use zvf_format::int::index;

use crate::codec::little_endian;
use crate::{GridArray, RowSet};

/// The values of rows of one chunk: of consecutive rows from row 0 on, or of the requested rows.
///
/// # Shape
/// Whole rows of the same width, little-endian, row by row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowValues {
    /// Bytes of a row; 0 if there are no rows.
    row_bytes: usize,
    bytes: Bytes,
    /// The rows with values, if they are not the first ones.
    picked: Option<Arc<RowSet>>,
}

impl RowValues {
    /// Consecutive rows from row 0 on. [`rows`](Self::rows) does not count a trailing incomplete row.
    #[must_use]
    pub fn new(row_bytes: usize, bytes: Bytes) -> Self {
        Self {
            row_bytes,
            bytes,
            picked: None,
        }
    }

    /// The values of some rows, in order.
    pub(super) fn of_rows(row_bytes: usize, bytes: Bytes, rows: &Arc<RowSet>) -> Self {
        Self {
            row_bytes,
            bytes,
            picked: Some(Arc::clone(rows)),
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.bytes.len().checked_div(self.row_bytes).unwrap_or(0)
    }

    /// Whether these are the values of requested rows, instead of consecutive rows from row 0 on.
    #[must_use]
    pub fn is_picked(&self) -> bool {
        self.picked.is_some()
    }

    /// Bytes of a row.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// The values of a row; `None` if it has none.
    #[must_use]
    #[inline]
    pub fn row(&self, row: u32) -> Option<&[u8]> {
        let row = match &self.picked {
            None => row,
            Some(rows) => rows.rank(row)?,
        };
        let start = index(row).checked_mul(self.row_bytes)?;
        self.bytes.get(start..)?.get(..self.row_bytes)
    }

    /// The values of consecutive rows; `None` if one of them has none.
    #[must_use]
    pub fn range(&self, rows: Range<u32>) -> Option<&[u8]> {
        if rows.is_empty() {
            return Some(&[]);
        }
        let range = match &self.picked {
            None => {
                let start = index(rows.start).checked_mul(self.row_bytes)?;
                start..index(rows.end).checked_mul(self.row_bytes)?
            }
            Some(picked) => picked.bytes_of(rows, self.row_bytes)?,
        };
        self.bytes.get(range)
    }

    /// All values, in the order of the rows.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// All values, in the order of the rows, in blocks.
    pub fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(self.bytes.as_ref()).filter(|block| !block.is_empty())
    }

    /// All values as one buffer.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// The same rows with other values of the same width.
    #[must_use]
    pub fn map_bytes(self, map: impl FnOnce(Bytes) -> Bytes) -> Self {
        Self {
            bytes: map(self.bytes),
            ..self
        }
    }
}

impl GridArray {
    /// The values of a cell in little-endian byte order.
    ///
    /// # Cost
    /// A copy if they are stored big-endian.
    #[must_use]
    pub fn little_endian(&self, cell: Bytes) -> Bytes {
        little_endian(self.dtype(), cell)
    }
}

#[cfg(test)]
mod tests {
    use zvf_format::dtype::DType;

    use super::*;

    #[test]
    fn each_number_of_a_value_is_reversed() {
        let stored = |text: &str| DType::parse(text).unwrap();
        let bytes = Bytes::from_static(&[1, 2, 3, 4, 5, 6, 7, 8]);
        let read = |text: &str| little_endian(stored(text), bytes.clone()).to_vec();
        assert_eq!(read(">u2"), [2, 1, 4, 3, 6, 5, 8, 7]);
        assert_eq!(read(">f8"), [8, 7, 6, 5, 4, 3, 2, 1]);
        // Two floats of 4 bytes, and a text of two characters.
        assert_eq!(read(">c8"), [4, 3, 2, 1, 8, 7, 6, 5]);
        assert_eq!(read(">U2"), [4, 3, 2, 1, 8, 7, 6, 5]);
        for text in ["<u2", "|S8", "|u1"] {
            assert_eq!(read(text), *bytes, "{text}");
        }
    }

    #[test]
    fn rows_end_with_the_last_whole_one() {
        let values = RowValues::new(2, Bytes::from_static(&[1, 2, 3, 4]));
        assert_eq!((values.rows(), values.row(1)), (2, Some(&[3, 4][..])));
        assert_eq!(values.row(2), None);
        assert_eq!(RowValues::default().rows(), 0);
    }

    #[test]
    fn picked_rows_are_found_by_their_numbers() {
        let rows = Arc::new(RowSet::new([2..4, 7..8]));
        let bytes = Bytes::from_static(&[20, 21, 30, 31, 70, 71]);
        let values = RowValues::of_rows(2, bytes, &rows);
        assert_eq!(values.row(3), Some(&[30, 31][..]));
        assert_eq!(values.row(7), Some(&[70, 71][..]));
        assert_eq!(
            (values.row(0), values.row(4), values.row(8)),
            (None, None, None)
        );
        assert_eq!(values.range(2..4), Some(&[20, 21, 30, 31][..]));
        assert_eq!((values.range(3..5), values.range(3..8)), (None, None));
        assert_eq!(values.range(9..9), Some(&[][..]));
        let whole = RowValues::new(2, Bytes::from_static(&[1, 2, 3, 4]));
        assert_eq!(
            (whole.range(1..2), whole.range(1..3)),
            (Some(&[3, 4][..]), None)
        );
    }
}

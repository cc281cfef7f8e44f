//! Rows of values, and their byte order.

use bytes::Bytes;
use zvf_format::dtype::{ByteOrder, DType, DTypeKind};
use zvf_format::int::index;

use crate::GridArray;

/// The values of consecutive rows of one chunk, from row 0 on.
///
/// # Shape
/// Whole rows of the same width, little-endian, row by row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowValues {
    /// 0 where there are no rows.
    row_bytes: usize,
    bytes: Bytes,
}

impl RowValues {
    /// `bytes` is a multiple of `row_bytes`, see [`is_whole`](Self::is_whole).
    pub(crate) fn new(row_bytes: usize, bytes: Bytes) -> Self {
        Self { row_bytes, bytes }
    }

    /// Whether no row is cut short.
    pub(crate) fn is_whole(&self) -> bool {
        self.rows().checked_mul(self.row_bytes) == Some(self.bytes.len())
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.bytes.len().checked_div(self.row_bytes).unwrap_or(0)
    }

    /// Bytes of a row.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// The values of a row; `None` past the last one.
    #[must_use]
    #[inline]
    pub fn row(&self, row: u32) -> Option<&[u8]> {
        let start = index(row).checked_mul(self.row_bytes)?;
        self.bytes.get(start..)?.get(..self.row_bytes)
    }

    /// All rows in order, in blocks of consecutive ones.
    pub fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(self.bytes.as_ref()).filter(|block| !block.is_empty())
    }

    /// All rows in one piece.
    ///
    /// # Cost
    /// A copy if the rows are in several blocks.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

impl GridArray {
    /// The values of a cell with the least significant byte first.
    ///
    /// # Cost
    /// A copy if they are stored otherwise.
    #[must_use]
    pub fn little_endian(&self, cell: Bytes) -> Bytes {
        little_endian(self.dtype(), cell)
    }
}

/// Values of type `dtype` with the least significant byte first.
pub(super) fn little_endian(dtype: DType, values: Bytes) -> Bytes {
    let number = match dtype.kind {
        DTypeKind::Bytes { .. } => 1,
        DTypeKind::Utf32 { .. } => 4,
        DTypeKind::C64 | DTypeKind::C128 => dtype.size() / 2,
        _ => dtype.size(),
    };
    if dtype.order == ByteOrder::Little || number < 2 {
        return values;
    }
    let mut values = Vec::from(values);
    values.chunks_exact_mut(number).for_each(<[u8]>::reverse);
    values.into()
}

#[cfg(test)]
mod tests {
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
}

//! Matrices of link rows: [`LinkRows`], flat or inside a ragged blob.

use core::iter::FusedIterator;
use core::ops::Range;

use zerocopy::FromBytes;
use zerocopy::byteorder::little_endian::I64;

use crate::dtype::DType;
use crate::error::{DecodeError, Expected};
use crate::int::{signed, wide};
use crate::ragged::RaggedBlob;

/// The rows of one link cell, borrowed.
///
/// # Shape
/// M rows of W columns; W includes the permutation column, if there is one.
///
/// # Units
/// Buffer rows of the endpoint chunks, counting from 0.
#[derive(Debug, Clone, Copy)]
pub struct LinkRows<'a> {
    data: &'a [u8],
    width: usize,
    dtype: DType,
    groups: Option<RaggedBlob<'a>>,
}

impl<'a> LinkRows<'a> {
    /// Parses a flat matrix of `width` columns: an intra-chunk cell.
    ///
    /// # Cost
    /// O(1).
    ///
    /// # Errors
    /// Malformed for a width of 0, or if the bytes are not a whole number of rows; limit for a row
    /// of more than 1 GiB; unsupported for a type that is not an integer.
    ///
    /// # Panics
    /// Never.
    pub fn flat(bytes: &'a [u8], width: usize, dtype: DType) -> Result<Self, DecodeError> {
        let row = row_bytes(width, dtype)?;
        whole_rows("link cell length", 0, bytes.len(), row)?;
        Ok(Self {
            data: bytes,
            width,
            dtype,
            groups: None,
        })
    }

    /// Parses a ragged blob of matrices of `width` columns: a cell that is not intra-chunk. The groups are
    /// consecutive, and their rows are numbered consecutively.
    ///
    /// # Cost
    /// O(groups), no allocation.
    ///
    /// # Errors
    /// As [`RaggedBlob::parse`]; as [`flat`](Self::flat), for every group.
    ///
    /// # Panics
    /// Never.
    pub fn ragged(bytes: &'a [u8], width: usize, dtype: DType) -> Result<Self, DecodeError> {
        let row = row_bytes(width, dtype)?;
        let groups = RaggedBlob::parse(bytes)?;
        for (g, group) in groups.iter().enumerate() {
            let at = groups
                .offsets()
                .get(g)
                .map_or(0, |offset| offset.get().unsigned_abs());
            whole_rows(
                "link group length",
                groups.data_at().saturating_add(at),
                group.len(),
                row,
            )?;
        }
        Ok(Self {
            data: groups.data(),
            width,
            dtype,
            groups: Some(groups),
        })
    }

    /// M, the number of rows in all groups.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.data.len() / self.row_bytes()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// W, the number of columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The type of the columns.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Row `i`; `None` past the last one.
    #[must_use]
    #[inline]
    pub fn row(&self, i: usize) -> Option<RowView<'a>> {
        let size = self.row_bytes();
        let from = i.checked_mul(size)?;
        let bytes = self.data.get(from..from.checked_add(size)?)?;
        Some(RowView {
            bytes,
            dtype: self.dtype,
        })
    }

    /// The rows, in stored order, group after group.
    ///
    /// # Cost
    /// O(1) for each step, no allocation.
    #[must_use]
    pub fn iter(&self) -> LinkRowIter<'a> {
        LinkRowIter {
            chunks: self.data.chunks_exact(self.row_bytes()),
            dtype: self.dtype,
        }
    }

    /// All columns of all rows as one slice, if the cell is stored as little-endian i64; `None`
    /// for other types. The fastest access to a large cell.
    #[must_use]
    pub fn as_i64s(&self) -> Option<&'a [I64]> {
        match self.dtype {
            DType::I64 => <[I64]>::ref_from_bytes(self.data).ok(),
            _ => None,
        }
    }

    /// Copies all columns of all rows into the front of `out`, row by row; returns the
    /// number of values.
    ///
    /// # Cost
    /// O(M W).
    ///
    /// # Errors
    /// Limit if `out` is too short; nothing is written then.
    pub fn copy_to(&self, out: &mut [i64]) -> Result<usize, DecodeError> {
        let size = self.dtype.size();
        let count = self.data.len() / size;
        let room = out.len();
        let Some(out) = out.get_mut(..count) else {
            return Err(DecodeError::limit("link rows", 0, wide(count), wide(room)));
        };
        if let Some(values) = self.as_i64s() {
            for (slot, value) in out.iter_mut().zip(values) {
                *slot = value.get();
            }
            return Ok(count);
        }
        for (i, slot) in out.iter_mut().enumerate() {
            *slot = self.dtype.integer_at(self.data, i).unwrap_or(-1);
        }
        Ok(count)
    }

    /// G, the number of groups: 1 for a flat matrix, whose groups are in `link_fragments`.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.groups.map_or(1, |groups| groups.len())
    }

    /// The rows of group `g`; `None` past the last group.
    #[must_use]
    pub fn group(&self, g: usize) -> Option<Range<usize>> {
        let Some(groups) = self.groups else {
            return (g == 0).then(|| 0..self.len());
        };
        let row = self.row_bytes();
        let from = usize::try_from(groups.offsets().get(g)?.get()).ok()?;
        let rows = groups.get(g)?.len() / row;
        Some(from / row..from / row + rows)
    }

    /// Byte offset of row `i`, from the start of the cell.
    #[must_use]
    pub fn byte_of(&self, i: usize) -> u64 {
        let data_at = self.groups.map_or(0, |groups| groups.data_at());
        wide(i)
            .saturating_mul(wide(self.row_bytes()))
            .saturating_add(data_at)
    }

    /// Bytes of a row; never 0, since the width is not 0.
    #[inline]
    fn row_bytes(&self) -> usize {
        (self.width * self.dtype.size()).max(1)
    }
}

impl<'a> IntoIterator for &LinkRows<'a> {
    type Item = RowView<'a>;
    type IntoIter = LinkRowIter<'a>;

    fn into_iter(self) -> LinkRowIter<'a> {
        self.iter()
    }
}

/// A row that fits in memory on any machine.
const MOST_ROW_BYTES: usize = 1 << 30;

/// Bytes of one row of integers.
fn row_bytes(width: usize, dtype: DType) -> Result<usize, DecodeError> {
    if !dtype.is_integer() {
        let expected = Expected::Text("an integer type");
        let size = signed(dtype.size());
        let what = "bytes of the link dtype";
        return Err(DecodeError::unsupported(what, 0, size, expected));
    }
    if width == 0 {
        let expected = Expected::AtLeast(1);
        return Err(DecodeError::malformed("link row width", 0, 0, expected));
    }
    match width.checked_mul(dtype.size()) {
        Some(bytes) if bytes <= MOST_ROW_BYTES => Ok(bytes),
        _ => {
            let most = wide(MOST_ROW_BYTES / dtype.size());
            Err(DecodeError::limit("link row width", 0, wide(width), most))
        }
    }
}

/// Checks that a length is a whole number of rows.
fn whole_rows(what: &'static str, at: u64, length: usize, row: usize) -> Result<(), DecodeError> {
    if length.is_multiple_of(row) {
        return Ok(());
    }
    // The largest valid length below it, so that the message can be acted on.
    let expected = Expected::Exactly(signed(length / row * row));
    Err(DecodeError::malformed(what, at, signed(length), expected))
}

/// One link row, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct RowView<'a> {
    bytes: &'a [u8],
    dtype: DType,
}

impl<'a> RowView<'a> {
    /// The value in column `column`; `None` past the last one.
    ///
    /// An unsigned value above 2^63 - 1 is returned as a negative number, which is not a valid row
    /// number.
    #[must_use]
    #[inline]
    pub fn get(&self, column: usize) -> Option<i64> {
        // Nearly every cell has this type, so it is tested before the table of types.
        if self.dtype == DType::I64 {
            return Some(i64::from_le_bytes(*self.bytes.as_chunks().0.get(column)?));
        }
        self.dtype.integer_at(self.bytes, column)
    }

    /// W, the number of columns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    /// Whether the row has no columns. Decoded rows have at least one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The columns, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = i64> + use<'a> {
        let row = *self;
        // Every column has a value, so the default is never used.
        (0..self.len()).map(move |column| row.get(column).unwrap_or(-1))
    }
}

/// The rows of one cell: what [`LinkRows::iter`] returns.
#[derive(Debug, Clone)]
pub struct LinkRowIter<'a> {
    chunks: core::slice::ChunksExact<'a, u8>,
    dtype: DType,
}

impl<'a> Iterator for LinkRowIter<'a> {
    type Item = RowView<'a>;

    #[inline]
    fn next(&mut self) -> Option<RowView<'a>> {
        self.chunks.next().map(|bytes| RowView {
            bytes,
            dtype: self.dtype,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.chunks.size_hint()
    }
}

impl ExactSizeIterator for LinkRowIter<'_> {}
impl FusedIterator for LinkRowIter<'_> {}

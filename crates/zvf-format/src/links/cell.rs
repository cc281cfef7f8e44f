//! A link cell and its layout: flat or ragged, with or without a permutation column.

use super::lehmer::{self, MAX_WIDTH};
use super::rows::{LinkRows, RowView};
use crate::dtype::DType;
use crate::error::{DecodeError, Expected};
use crate::int::wide;

/// Layout of the cells of one link array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CellForm {
    /// L, endpoints of one record.
    pub link_width: usize,
    /// Whether each row begins with a permutation code.
    pub has_perm: bool,
    /// Whether the cell is a ragged blob and not a flat matrix.
    pub ragged: bool,
    /// The type of every column.
    pub dtype: DType,
}

impl CellForm {
    /// The layout that follows from a family's policy and an array's offsets (13.3, 13.4).
    ///
    /// Only arrays inside one chunk and one level are flat. A permutation is stored if a writer may
    /// have reordered endpoints: across chunks of one level, unless the family is directed and
    /// canonical.
    #[must_use]
    pub fn derive(
        link_width: usize,
        delta: i32,
        offsets: &[i64],
        directed: bool,
        duplicate: bool,
        dtype: DType,
    ) -> Self {
        let crosses = offsets.iter().any(|&component| component != 0);
        let has_perm = crosses && delta == 0 && (duplicate || !directed);
        Self {
            link_width,
            has_perm,
            ragged: crosses || delta != 0,
            dtype,
        }
    }

    /// W, the columns of one row: L, plus one with a permutation.
    #[must_use]
    pub fn row_width(&self) -> usize {
        self.link_width.saturating_add(usize::from(self.has_perm))
    }
}

/// The records of one link cell, borrowed.
///
/// # Examples
///
/// ```
/// use zvf_format::dtype::DType;
/// use zvf_format::links::{CellForm, LinkCell};
///
/// // One edge across two chunks: permutation 1, so the stored endpoints are swapped.
/// let mut bytes = [0_u8; 40];
/// bytes[0] = 1; // one group, at byte 0
/// (bytes[16], bytes[24], bytes[32]) = (1, 7, 3);
///
/// let form = CellForm::derive(2, 0, &[1, 0, 0], false, false, DType::I64);
/// let cell = LinkCell::parse(&bytes, form)?;
/// let mut rows = [0; 2];
/// cell.record(0).ok_or("one record")?.restore(&mut rows)?;
/// assert_eq!(rows, [3, 7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct LinkCell<'a> {
    rows: LinkRows<'a>,
    form: CellForm,
}

impl<'a> LinkCell<'a> {
    /// Parses a cell of the given layout.
    ///
    /// # Cost
    /// O(1) for a flat cell, O(groups) for a ragged one; no allocation. Rows are not read: see
    /// [`check`](Self::check).
    ///
    /// # Errors
    /// As [`LinkRows::flat`] and [`LinkRows::ragged`]; limit for a permutation of more than
    /// [`MAX_WIDTH`] endpoints.
    ///
    /// # Panics
    /// Never.
    pub fn parse(bytes: &'a [u8], form: CellForm) -> Result<Self, DecodeError> {
        if form.has_perm && form.link_width > MAX_WIDTH {
            return Err(DecodeError::limit(
                "link width",
                0,
                wide(form.link_width),
                wide(MAX_WIDTH),
            ));
        }
        let rows = if form.ragged {
            LinkRows::ragged(bytes, form.row_width(), form.dtype)?
        } else {
            LinkRows::flat(bytes, form.row_width(), form.dtype)?
        };
        Ok(Self { rows, form })
    }

    /// Checks that every permutation code is in range and no row number is negative.
    ///
    /// # Cost
    /// O(rows).
    ///
    /// # Errors
    /// Malformed, with the byte of the wrong code or row.
    ///
    /// # Panics
    /// Never.
    pub fn check(&self) -> Result<(), DecodeError> {
        for (at, record) in self.iter().enumerate() {
            record
                .check()
                .map_err(|error| error.shifted(self.rows.byte_of(at)))?;
        }
        Ok(())
    }

    /// Number of records in the cell.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether the cell holds no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows of the records, permutation column included.
    #[must_use]
    pub fn rows(&self) -> LinkRows<'a> {
        self.rows
    }

    /// The layout of the cell.
    #[must_use]
    pub fn form(&self) -> CellForm {
        self.form
    }

    /// Record `i`, in stored order; `None` past the last one.
    #[must_use]
    #[inline]
    pub fn record(&self, i: usize) -> Option<LinkRecord<'a>> {
        Some(LinkRecord {
            row: self.rows.row(i)?,
            form: self.form,
        })
    }

    /// The records, in stored order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = LinkRecord<'a>> + use<'a> {
        let form = self.form;
        self.rows.iter().map(move |row| LinkRecord { row, form })
    }
}

/// One record of a link cell, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct LinkRecord<'a> {
    row: RowView<'a>,
    form: CellForm,
}

impl LinkRecord<'_> {
    /// The permutation code; 0, the identity, if the cell stores no codes.
    #[must_use]
    #[inline]
    pub fn perm(&self) -> i64 {
        if self.form.has_perm {
            self.row.get(0).unwrap_or(0)
        } else {
            0
        }
    }

    /// The row of stored endpoint `i`; `None` past the last one.
    #[must_use]
    #[inline]
    pub fn placed(&self, i: usize) -> Option<i64> {
        if i >= self.form.link_width {
            return None;
        }
        self.row.get(i + usize::from(self.form.has_perm))
    }

    /// Fills `out`, of length L, with the number of each stored endpoint in the application's order.
    ///
    /// # Errors
    /// Malformed for a code out of range and an `out` of another length.
    ///
    /// # Panics
    /// Never.
    #[inline]
    pub fn placement(&self, out: &mut [u8]) -> Result<(), DecodeError> {
        if out.len() != self.form.link_width {
            return Err(width_error(out.len(), self.form.link_width));
        }
        if self.form.has_perm {
            return lehmer::decode(self.perm(), out);
        }
        for (i, slot) in out.iter_mut().enumerate() {
            *slot = crate::int::low32(i).to_le_bytes()[0];
        }
        Ok(())
    }

    /// Fills `out`, of length L, with the rows of all endpoints in the application's order.
    ///
    /// # Errors
    /// Malformed for a code out of range, a negative row, and an `out` of another length. The
    /// position counts from the first byte of the record.
    ///
    /// # Panics
    /// Never.
    #[inline]
    pub fn restore(&self, out: &mut [i64]) -> Result<(), DecodeError> {
        let width = self.form.link_width;
        if out.len() != width {
            return Err(width_error(out.len(), width));
        }
        let mut places = [0_u8; MAX_WIDTH];
        let places = match places.get_mut(..width) {
            Some(places) if self.form.has_perm => {
                lehmer::decode(self.perm(), places)?;
                Some(&*places)
            }
            _ => None,
        };
        for i in 0..width {
            let row = self.placed(i).unwrap_or(-1);
            if row < 0 {
                return Err(self.negative(i + usize::from(self.form.has_perm), row));
            }
            let place = places
                .and_then(|places| places.get(i))
                .map_or(i, |&place| usize::from(place));
            if let Some(slot) = out.get_mut(place) {
                *slot = row;
            }
        }
        Ok(())
    }

    /// Checks that the permutation code is in range and no row is negative. The position in the error
    /// counts from the first byte of the record.
    fn check(&self) -> Result<(), DecodeError> {
        let perm = usize::from(self.form.has_perm);
        if self.form.has_perm && lehmer::code_index(self.perm(), self.form.link_width).is_none() {
            let count = lehmer::code_count(self.form.link_width).unwrap_or(1);
            let expected = Expected::AtMost(i64::from(count) - 1);
            return Err(DecodeError::malformed(
                "link permutation code",
                0,
                self.perm(),
                expected,
            ));
        }
        for (column, row) in self.row.iter().enumerate().skip(perm) {
            if row < 0 {
                return Err(self.negative(column, row));
            }
        }
        Ok(())
    }

    #[cold]
    fn negative(&self, column: usize, row: i64) -> DecodeError {
        let at = wide(column).saturating_mul(wide(self.form.dtype.size()));
        DecodeError::malformed("link row", at, row, Expected::AtLeast(0))
    }
}

#[cold]
fn width_error(found: usize, expected: usize) -> DecodeError {
    use crate::int::signed;
    DecodeError::malformed(
        "link width",
        0,
        signed(found),
        Expected::Exactly(signed(expected)),
    )
}

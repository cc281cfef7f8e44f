//! Writes gathered columns to a temporary file, and reads them.

use std::ops::Range;

use super::attribute::Column;
use crate::QueryError;
use crate::error::OrBug;
use crate::spool::{put, put_bytes, take, take_bytes};
use zvf_store::format::int;

/// Marks an unknown width of a row.
const UNKNOWN: u64 = u64::MAX;

/// Writes a column: number of rows, width, a byte for each row that states whether it has a value (omitted if all have), and the values.
pub(crate) fn write(column: &Column, out: &mut Vec<u8>) {
    put(int::wide(column.rows), out);
    put(column.width.map_or(UNKNOWN, int::wide), out);
    let mut valued = Vec::new();
    for (start, count) in &column.missing {
        valued.resize(column.rows, VALUED);
        if let Some(gap) = valued.get_mut(*start..start.saturating_add(*count)) {
            gap.fill(MISSING);
        }
    }
    put_bytes(&valued, out);
    put_bytes(column.bytes.as_slice(), out);
}

const MISSING: u8 = 0;
const VALUED: u8 = 1;

/// A column that [`write`] wrote.
#[derive(Debug)]
pub(crate) struct StoredColumn<'a> {
    /// Zero if the table does not have the column.
    rows: usize,
    width: Option<usize>,
    /// A byte for each row that states whether it has a value; empty if all have.
    valued: &'a [u8],
    /// The values of the rows that have one.
    bytes: &'a [u8],
    row_bytes: usize,
}

/// Rows that have a value.
fn count(valued: &[u8]) -> usize {
    valued.iter().filter(|flag| **flag == VALUED).count()
}

impl<'a> StoredColumn<'a> {
    /// Reads a column from the front of `rest`.
    ///
    /// # Errors
    ///
    /// Bug: bytes that [`write`] did not write.
    pub(crate) fn read(rest: &mut &'a [u8]) -> Result<Self, QueryError> {
        let rows = usize::try_from(take(rest)?);
        let rows = rows.ok().or_bug("a count exceeds memory")?;
        let width = match take(rest)? {
            UNKNOWN => None,
            width => Some(
                usize::try_from(width)
                    .ok()
                    .or_bug("a width exceeds memory")?,
            ),
        };
        let (valued, bytes) = (take_bytes(rest)?, take_bytes(rest)?);
        let with_value = if valued.is_empty() {
            rows
        } else {
            count(valued)
        };
        Ok(Self {
            rows,
            width,
            valued,
            bytes,
            row_bytes: bytes.len().checked_div(with_value).unwrap_or(0),
        })
    }

    /// Appends some of the rows to a column. The inner error: previous rows have another width; the caller adds the place.
    ///
    /// # Errors
    ///
    /// Bug: rows beyond the end.
    pub(crate) fn push_to(
        &self,
        range: Range<usize>,
        into: &mut Column,
    ) -> Result<Result<(), String>, QueryError> {
        if self.rows == 0 {
            return Ok(Ok(()));
        }
        if self.valued.is_empty() {
            return self.push_valued(range, into);
        }
        let rows = || format!("rows {range:?} of {}", self.rows);
        let before = self.valued.get(..range.start).or_bug(rows())?;
        let flags = self.valued.get(range.clone()).or_bug(rows())?;
        let mut next = count(before);
        for run in flags.chunk_by(|a, b| a == b) {
            if run.first() == Some(&MISSING) {
                into.push_missing(run.len());
                continue;
            }
            let end = next.saturating_add(run.len());
            if let Err(what) = self.push_valued(next..end, into)? {
                return Ok(Err(what));
            }
            next = end;
        }
        Ok(Ok(()))
    }

    /// Appends some of the rows that have a value.
    fn push_valued(
        &self,
        rows: Range<usize>,
        into: &mut Column,
    ) -> Result<Result<(), String>, QueryError> {
        if rows.is_empty() {
            return Ok(Ok(()));
        }
        let place = |row: usize| row.saturating_mul(self.row_bytes);
        let bytes = self.bytes.get(place(rows.start)..place(rows.end));
        let bytes = bytes.or_bug(format_args!("rows {rows:?} of {}", self.rows))?;
        let width = self.width.or_bug("values without a width")?;
        Ok(into.push_values(bytes, width, rows.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::attribute::Cell;
    use crate::columns::gather::Rows;
    use bytes::Bytes;
    use zvf_store::RowValues;

    /// Reading any range of a stored column returns the values that were written.
    #[test]
    fn any_range_comes_back() {
        let cell = Cell::Rows {
            values: RowValues::new(2, Bytes::from_static(&[10, 11, 20, 21, 30, 31, 40, 41])),
            width: 2,
        };
        let wanted: [Option<u8>; 9] = [
            None,
            None,
            Some(10),
            Some(20),
            None,
            Some(40),
            None,
            None,
            Some(30),
        ];
        let mut column = Column::default();
        for value in wanted {
            let (cell, row) = match value {
                Some(value) => (&cell, u32::from(value / 10 - 1)),
                None => (&Cell::Missing, 0),
            };
            column.push(cell, Rows::List(&[row])).unwrap().unwrap();
        }
        let mut bytes = Vec::new();
        write(&column, &mut bytes);
        let mut rest = bytes.as_slice();
        let stored = StoredColumn::read(&mut rest).unwrap();
        assert!(rest.is_empty());
        for start in 0..=9 {
            for end in start..=9 {
                let (mut found, mut expected) = (Column::default(), Column::default());
                stored.push_to(start..end, &mut found).unwrap().unwrap();
                for value in &wanted[start..end] {
                    match value {
                        Some(value) => expected.push_values(&[*value, value + 1], 2, 1).unwrap(),
                        None => expected.push_missing(1),
                    }
                }
                assert_eq!(found.rows, expected.rows);
                assert_eq!(found.missing, expected.missing);
                assert_eq!(found.bytes.as_slice(), expected.bytes.as_slice());
            }
        }
        assert!(stored.push_to(8..10, &mut Column::default()).is_err());
        assert!(StoredColumn::read(&mut &bytes[..bytes.len() - 1]).is_err());
    }
}

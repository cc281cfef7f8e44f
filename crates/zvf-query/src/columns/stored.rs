//! A gathered column as bytes of a temporary file, and back.

use std::ops::Range;

use super::attribute::Column;
use crate::error::OrBug;
use crate::spool::{put, put_bytes, take, take_bytes};
use crate::{QueryError, int};

/// What stands for a width that no cell told.
const UNKNOWN: u64 = u64::MAX;

/// Writes a column.
pub(crate) fn write(column: &Column, out: &mut Vec<u8>) {
    put(int::wide(column.rows), out);
    put(column.width.map_or(UNKNOWN, int::wide), out);
    put(int::wide(column.missing.len()), out);
    for (start, count) in &column.missing {
        put(int::wide(*start), out);
        put(int::wide(*count), out);
    }
    put_bytes(column.bytes.as_slice(), out);
}

/// A column that [`write`] wrote.
#[derive(Debug)]
pub(crate) struct StoredColumn<'a> {
    rows: usize,
    width: Option<usize>,
    missing: Vec<Missing>,
    /// The values of the rows that have one.
    bytes: &'a [u8],
    row_bytes: usize,
}

/// Consecutive rows without a value.
#[derive(Debug)]
struct Missing {
    rows: Range<usize>,
    /// Rows without a value before these.
    before: usize,
}

impl<'a> StoredColumn<'a> {
    /// Reads a column from the front of `rest`.
    ///
    /// # Errors
    ///
    /// Bug: bytes that [`write`] did not write.
    pub(crate) fn read(rest: &mut &'a [u8]) -> Result<Self, QueryError> {
        let number = |rest: &mut &'a [u8]| {
            usize::try_from(take(rest)?)
                .ok()
                .or_bug("a count exceeds memory")
        };
        let rows = number(rest)?;
        let width = match take(rest)? {
            UNKNOWN => None,
            width => Some(
                usize::try_from(width)
                    .ok()
                    .or_bug("a width exceeds memory")?,
            ),
        };
        let mut missing: Vec<Missing> = Vec::new();
        let mut before = 0_usize;
        for _ in 0..number(rest)? {
            let (start, count) = (number(rest)?, number(rest)?);
            let end = start.saturating_add(count);
            missing.push(Missing {
                rows: start..end,
                before,
            });
            before = before.saturating_add(count);
        }
        let bytes = take_bytes(rest)?;
        let valued = rows
            .checked_sub(before)
            .or_bug("missing rows exceed rows")?;
        Ok(Self {
            rows,
            width,
            missing,
            bytes,
            row_bytes: bytes.len().checked_div(valued).unwrap_or(0),
        })
    }

    /// Appends some of the rows to a column. The inner error: another width than rows before, for the caller to place.
    ///
    /// # Errors
    ///
    /// Bug: rows that are not there.
    pub(crate) fn push_to(
        &self,
        range: Range<usize>,
        into: &mut Column,
    ) -> Result<Result<(), String>, QueryError> {
        // The table does not have the column.
        if self.rows == 0 {
            return Ok(Ok(()));
        }
        let mut at = range.start;
        let first = self
            .missing
            .partition_point(|missing| missing.rows.end <= range.start);
        let mut before = match self.missing.get(first) {
            Some(missing) => missing.before,
            None => self
                .missing
                .last()
                .map_or(0, |last| last.before.saturating_add(last.rows.len())),
        };
        for missing in self.missing.get(first..).unwrap_or(&[]) {
            if missing.rows.start >= range.end {
                break;
            }
            let start = missing.rows.start.max(range.start);
            if let Err(what) = self.push_valued(at..start, before, into)? {
                return Ok(Err(what));
            }
            let end = missing.rows.end.min(range.end);
            into.push_missing(end.saturating_sub(start));
            before = missing.before.saturating_add(missing.rows.len());
            at = end;
        }
        self.push_valued(at..range.end, before, into)
    }

    /// Appends rows that all have values; `before`: rows without value before them.
    fn push_valued(
        &self,
        range: Range<usize>,
        before: usize,
        into: &mut Column,
    ) -> Result<Result<(), String>, QueryError> {
        if range.is_empty() {
            return Ok(Ok(()));
        }
        let place = |row: usize| Some(row.checked_sub(before)?.saturating_mul(self.row_bytes));
        let bytes = place(range.start)
            .zip(place(range.end))
            .and_then(|(start, end)| self.bytes.get(start..end))
            .or_bug(format_args!("rows {range:?} of {}", self.rows))?;
        let width = self.width.or_bug("values without a width")?;
        Ok(into.push_values(bytes, width, range.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::attribute::{Cell, ColumnSpec};
    use crate::columns::gather::Pick;
    use bytes::Bytes;
    use zvf_store::format::dtype::DType;

    /// Every range of a column with values and gaps is the same range of the values that went in.
    #[test]
    fn any_range_comes_back() {
        let spec = ColumnSpec {
            dtype: DType::parse("uint8").unwrap(),
            declared: None,
            categories: None,
            dictionary: None,
            ..ColumnSpec::of_key("a", &[])
        };
        let cell = Cell::Rows {
            bytes: Bytes::from_static(&[10, 11, 20, 21, 30, 31, 40, 41]),
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
            column.push(&spec, cell, Pick::Rows(&[row])).unwrap();
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

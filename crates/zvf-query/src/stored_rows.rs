//! Writes gathered rows to a temporary file, and reads them.

use std::ops::Range;

use crate::QueryError;
use crate::columns::stored::{self, StoredColumn};
use crate::error::OrBug;
use crate::spool::{put, put_bytes, take, take_bytes};
use crate::vertex_table::Gathered;
use zvf_store::format::int;

/// Rows that [`write`] wrote.
#[derive(Debug)]
pub(crate) struct StoredRows<'a> {
    rows: usize,
    position: &'a [u8],
    columns: Vec<StoredColumn<'a>>,
    chunk: &'a [u8],
    row: &'a [u8],
    fragment: &'a [u8],
}

/// Writes gathered rows.
pub(crate) fn write(rows: &Gathered, out: &mut Vec<u8>) {
    put(int::wide(rows.rows), out);
    put_bytes(rows.position.as_slice(), out);
    put(int::wide(rows.columns.len()), out);
    for column in &rows.columns {
        stored::write(column, out);
    }
    let numbers = |count: usize, out: &mut Vec<u8>| put(int::wide(count.saturating_mul(8)), out);
    numbers(rows.chunk.len(), out);
    out.extend(rows.chunk.iter().flat_map(|part| part.to_le_bytes()));
    numbers(rows.row.len(), out);
    out.extend(rows.row.iter().flat_map(|row| row.to_le_bytes()));
    numbers(rows.fragment.len(), out);
    out.extend(rows.fragment.iter().flat_map(|one| one.to_le_bytes()));
}

impl<'a> StoredRows<'a> {
    /// Reads rows from the front of `rest`.
    ///
    /// # Errors
    ///
    /// Bug: bytes that [`write`] did not write.
    pub(crate) fn read(rest: &mut &'a [u8]) -> Result<Self, QueryError> {
        let rows = usize::try_from(take(rest)?)
            .ok()
            .or_bug("more rows than memory")?;
        let position = take_bytes(rest)?;
        let columns = (0..take(rest)?)
            .map(|_| StoredColumn::read(rest))
            .collect::<Result<_, QueryError>>()?;
        Ok(Self {
            rows,
            position,
            columns,
            chunk: take_bytes(rest)?,
            row: take_bytes(rest)?,
            fragment: take_bytes(rest)?,
        })
    }

    /// Appends some of the rows to gathered ones of the same table.
    ///
    /// # Errors
    ///
    /// The error of `wrong`: a column of another width than in previous rows. Bug: rows that do not exist.
    pub(crate) fn push_to(
        &self,
        range: Range<usize>,
        out: &mut Gathered,
        wrong: impl Fn(usize, String) -> QueryError,
    ) -> Result<(), QueryError> {
        let count = range.len();
        let part = |bytes: &'a [u8]| -> Result<&'a [u8], QueryError> {
            if bytes.is_empty() {
                return Ok(bytes);
            }
            let row = bytes.len().checked_div(self.rows).unwrap_or(0);
            bytes
                .get(range.start.saturating_mul(row)..range.end.saturating_mul(row))
                .or_bug(format_args!("rows {range:?} of {}", self.rows))
        };
        let numbers = |bytes: &'a [u8]| {
            let (numbers, _) = bytes.as_chunks::<8>();
            numbers.iter()
        };
        out.position.extend_from_slice(part(self.position)?);
        for (at, (stored, into)) in self.columns.iter().zip(&mut out.columns).enumerate() {
            stored
                .push_to(range.clone(), into)?
                .map_err(|what| wrong(at, what))?;
        }
        let chunk = numbers(part(self.chunk)?).map(|part| i64::from_le_bytes(*part));
        out.chunk.extend(chunk);
        let row = numbers(part(self.row)?).map(|row| u64::from_le_bytes(*row));
        out.row.extend(row);
        let fragment = numbers(part(self.fragment)?).map(|one| u64::from_le_bytes(*one));
        out.fragment.extend(fragment);
        out.rows = out.rows.saturating_add(count);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::attribute::Column;
    use crate::vertex_table::NO_FRAGMENT;

    fn rows() -> Gathered {
        let mut found = Gathered {
            rows: 4,
            columns: vec![Column::default()],
            chunk: vec![-1, 0, 1, 2],
            row: vec![9, 8, 7, 6],
            fragment: vec![3, NO_FRAGMENT, 0, 1],
            ..Gathered::default()
        };
        found
            .position
            .extend_from_slice(&[1_u8, 1, 2, 2, 3, 3, 4, 4]);
        found
    }

    #[test]
    fn any_range_comes_back() {
        let mut bytes = Vec::new();
        write(&rows(), &mut bytes);
        let mut rest = bytes.as_slice();
        let stored = StoredRows::read(&mut rest).unwrap();
        assert!(rest.is_empty());
        let mut out = Gathered {
            columns: vec![Column::default()],
            ..Gathered::default()
        };
        let wrong = |_, what| QueryError::misuse(what);
        stored.push_to(2..4, &mut out, wrong).unwrap();
        stored.push_to(0..2, &mut out, wrong).unwrap();
        stored.push_to(1..1, &mut out, wrong).unwrap();
        assert_eq!(out.rows, 4);
        assert_eq!(out.position.as_slice(), [3, 3, 4, 4, 1, 1, 2, 2]);
        assert_eq!(out.chunk, [1, 2, -1, 0]);
        assert_eq!(out.row, [7, 6, 9, 8]);
        assert_eq!(out.fragment, [0, 1, 3, NO_FRAGMENT]);
        assert!(stored.push_to(3..5, &mut out, wrong).is_err());
    }
}

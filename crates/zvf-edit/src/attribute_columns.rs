//! Columns of attributes in chunks whose rows are not in memory: an edit that sets an attribute reads and writes the cells of this attribute only.

use std::collections::BTreeSet;

use super::ops::Spot;
use super::state::{BATCH, EditState, EditedChunk, values_of_every_row};
use zvf_encode::WriteError;
use zvf_encode::error::OrBug;
use zvf_format::int::{index, wide};

impl EditState {
    /// Loads the column of an attribute in chunks whose rows were [measured](Self::measure), so that values can be [set](Self::set_values). Reads its
    /// cells where rows are not in memory.
    ///
    /// # Errors
    /// I/O; chunks without a value for every row; a column that needs more than the memory budget.
    pub(crate) async fn load_column(
        &mut self,
        slots: BTreeSet<u32>,
        column: usize,
    ) -> Result<(), WriteError> {
        let width = self.width(column)?;
        let unread = slots.into_iter();
        let unread = unread.filter(|&slot| {
            self.chunk(slot).is_none() && self.attribute_columns.get(slot, column).is_none()
        });
        let unread: Vec<u32> = unread.collect();
        if unread.is_empty() {
            return Ok(());
        }
        let rows = unread.iter().map(|&slot| wide(self.rows(slot)));
        let rows: u128 = rows.map(u128::from).sum();
        // A place of 16 bytes is held for each row that is set; bytes of columns count twice.
        self.check_columns(unread.len(), rows * u128::from(wide(width + 8)))?;
        let level = self.level.clone();
        let attribute = column.checked_sub(1);
        let attribute = attribute.and_then(|at| level.vertex_attributes().get(at));
        let array = &attribute.or_bug("a new attribute without values")?.array;
        for some in unread.chunks(BATCH) {
            let chunks = some.iter().map(|&slot| self.coord(slot));
            let chunks = chunks.collect::<Result<Vec<_>, _>>()?;
            let cells = level.cells(&[array], &chunks, |array, chunk| array.in_grid(chunk));
            let cells = cells.await?;
            for (&slot, cell) in some.iter().zip(cells.into_iter().flatten()) {
                let bytes = cell.unwrap_or_default();
                let place = (array.path(), self.coord(slot)?);
                values_of_every_row(place, bytes.len(), self.rows(slot), width)?;
                self.attribute_columns.insert(slot, column, bytes.to_vec());
            }
        }
        Ok(())
    }

    /// Adds a column with these values, `rows` of each chunk in turn.
    ///
    /// # Errors
    /// Bug: fewer values than rows, or another attribute was added and has no values. Misuse: the column needs more than the memory budget.
    pub(crate) fn add_column(
        &mut self,
        slots: &[u32],
        bytes: &[u8],
        width: usize,
    ) -> Result<(), WriteError> {
        let start = self.columns.last().or_bug("rows without a position")?.end;
        let column = self.columns.len();
        self.columns.push(start..start + width);
        self.check_columns(slots.len(), u128::from(wide(bytes.len())))?;
        let mut rest = bytes;
        for &slot in slots {
            let values = rest.split_at_checked(self.rows(slot) * width);
            let (values, after) = values.or_bug("fewer values than rows")?;
            rest = after;
            if self.chunk(slot).is_some() {
                self.chunk_mut(slot)?.widen(column, values, width)?;
            } else if !values.is_empty() {
                let values = values.to_vec();
                self.attribute_columns.insert(slot, column, values);
            }
        }
        Ok(())
    }

    /// Replaces values of a column. Each chunk is in memory, or its column was [loaded](Self::load_column).
    ///
    /// # Errors
    /// Bug: a chunk is not in memory and its column was not loaded, or it has no such row.
    pub(crate) fn set_values(
        &mut self,
        column: usize,
        spots: &[Spot],
        bytes: &[u8],
    ) -> Result<(), WriteError> {
        let range = self.columns.get(column).cloned();
        let range = range.or_bug(format_args!("no column {column}"))?;
        let width = range.len();
        let values = bytes.chunks_exact(width.max(1));
        let mut firsts: (Option<u32>, Vec<usize>) = (None, Vec::new());
        for (&(slot, fragment, at), value) in spots.iter().zip(values) {
            let missing = || WriteError::bug(format!("fragment {fragment} is gone"));
            if self.chunk(slot).is_some() {
                let chunk = self.chunk_mut(slot)?;
                chunk.changed.insert(column);
                let rows = chunk.fragments.get_mut(index(fragment));
                rows.ok_or_else(missing)?.set(at, &range, value)?;
                continue;
            }
            if firsts.0 != Some(slot) {
                firsts = (Some(slot), self.first_rows_of(slot));
            }
            let first = firsts.1.get(index(fragment)).ok_or_else(missing)?;
            let values = self.attribute_columns.get_mut(slot, column);
            let place = values.and_then(|values| {
                let start = first.checked_add(at)?.checked_mul(width)?;
                let end = start.checked_add(width)?;
                values.get_mut(start..end)
            });
            let place = place.or_bug("a value of a column that was not read")?;
            place.copy_from_slice(value);
        }
        Ok(())
    }

    /// Moves the changed columns of a chunk into its rows, which were just read.
    pub(crate) fn join_columns(
        &mut self,
        slot: u32,
        chunk: &mut EditedChunk,
    ) -> Result<(), WriteError> {
        let stored = self.level.vertex_attributes().len();
        for (column, bytes) in self.attribute_columns.take(slot) {
            let range = self.columns.get(column).cloned();
            let range = range.or_bug(format_args!("no column {column}"))?;
            if column > stored {
                chunk.widen(column, &bytes, range.len())?;
            } else {
                chunk.replace(column, &bytes, &range)?;
            }
        }
        Ok(())
    }

    /// Bytes of a value of a column.
    fn width(&self, column: usize) -> Result<usize, WriteError> {
        let range = self.columns.get(column);
        Ok(range.or_bug(format_args!("no column {column}"))?.len())
    }

    /// Rows of a chunk that was measured.
    pub(crate) fn rows(&self, slot: u32) -> usize {
        self.sizes(slot).iter().sum()
    }

    /// The first row of each fragment of a chunk that was measured.
    fn first_rows_of(&self, slot: u32) -> Vec<usize> {
        let mut next = 0;
        let sizes = self.sizes(slot).into_iter();
        let first = |size| {
            let first = next;
            next += size;
            first
        };
        sizes.map(first).collect()
    }
}

impl EditedChunk {
    /// Appends a column to the rows.
    fn widen(&mut self, column: usize, bytes: &[u8], width: usize) -> Result<(), WriteError> {
        self.changed.insert(column);
        let mut values = bytes.chunks_exact(width.max(1));
        for rows in &mut self.fragments {
            rows.widen(&mut values, width)?;
        }
        Ok(())
    }

    /// Replaces a column of the rows.
    fn replace(
        &mut self,
        column: usize,
        bytes: &[u8],
        range: &std::ops::Range<usize>,
    ) -> Result<(), WriteError> {
        self.changed.insert(column);
        let mut values = bytes.chunks_exact(range.len().max(1));
        for rows in &mut self.fragments {
            for at in 0..rows.len() {
                let value = values.next().or_bug("fewer values than rows")?;
                rows.set(at, range, value)?;
            }
        }
        Ok(())
    }
}

//! The parts of a chunk that an edit holds in memory: the rows of a fragment, in two buffers, or single columns.

use super::vertex::Vertex;
use std::collections::BTreeMap;
use std::ops::Range;

use zvf_encode::WriteError;
use zvf_encode::error::OrBug;
use zvf_format::int::wide;

/// Vertices with their bytes: the position of each, then every attribute. All rows have the same length.
#[derive(Debug, Clone, Default)]
pub(crate) struct VertexRows {
    names: Vec<Vertex>,
    bytes: Vec<u8>,
    /// Bytes of one row; 0 if there are no rows yet.
    width: usize,
}

impl VertexRows {
    /// An empty list with room for `rows` rows of this width.
    pub(crate) fn with_capacity(rows: usize, width: usize) -> Self {
        Self {
            names: Vec::with_capacity(rows),
            bytes: Vec::with_capacity(rows * width),
            width,
        }
    }

    /// One row.
    pub(crate) fn of(name: Vertex, bytes: &[u8]) -> Self {
        Self {
            names: vec![name],
            bytes: bytes.to_vec(),
            width: bytes.len(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Bytes of one row.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn names(&self) -> &[Vertex] {
        &self.names
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Vertex, &[u8])> {
        let rows = self.bytes.chunks_exact(self.width.max(1));
        self.names.iter().copied().zip(rows)
    }

    /// Appends a row whose bytes are given in pieces.
    ///
    /// # Errors
    /// Bug: the row is empty, or has another length than the others.
    pub(crate) fn push<'p>(
        &mut self,
        name: Vertex,
        pieces: impl IntoIterator<Item = &'p [u8]>,
    ) -> Result<(), WriteError> {
        let start = self.bytes.len();
        for piece in pieces {
            self.bytes.extend_from_slice(piece);
        }
        self.check(self.bytes.len() - start)?;
        self.names.push(name);
        Ok(())
    }

    /// # Errors
    /// Bug: rows of another length.
    pub(crate) fn append(&mut self, mut other: Self) -> Result<(), WriteError> {
        if !other.is_empty() {
            self.check(other.width)?;
        }
        self.names.append(&mut other.names);
        self.bytes.append(&mut other.bytes);
        Ok(())
    }

    /// Checks that a row has the length of the others; the first row determines it.
    fn check(&mut self, width: usize) -> Result<(), WriteError> {
        if self.width == 0 {
            self.width = width;
        }
        if width == 0 || self.width != width {
            let what = format!("a row of {width} bytes beside rows of {}", self.width);
            return Err(WriteError::bug(what));
        }
        Ok(())
    }

    /// Removes and returns the rows for which `stay` is false.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub(crate) fn take_out(
        &mut self,
        mut stay: impl FnMut(Vertex) -> bool,
    ) -> Result<Self, WriteError> {
        let (mut kept, mut out) = (Self::default(), Self::default());
        for (name, bytes) in self.iter() {
            let to = if stay(name) { &mut kept } else { &mut out };
            to.push(name, [bytes])?;
        }
        *self = kept;
        Ok(out)
    }

    /// Replaces a part of a row.
    ///
    /// # Errors
    /// Bug: there is no such row, or the value has another length.
    pub(crate) fn set(
        &mut self,
        at: usize,
        part: &Range<usize>,
        value: &[u8],
    ) -> Result<(), WriteError> {
        let row = at.checked_mul(self.width).and_then(|start| {
            let end = start.checked_add(self.width)?;
            self.bytes.get_mut(start..end)
        });
        match row.and_then(|row| row.get_mut(part.clone())) {
            Some(place) if place.len() == value.len() => {
                place.copy_from_slice(value);
                Ok(())
            }
            _ => {
                let (bytes, rows) = (value.len(), self.len());
                let what = format!("{bytes} bytes for {part:?} of row {at} of {rows}");
                Err(WriteError::bug(what))
            }
        }
    }

    /// Appends a value of `width` bytes to each row.
    ///
    /// # Errors
    /// Bug: there are fewer values than rows, or the values have different lengths.
    pub(crate) fn widen<'v>(
        &mut self,
        values: &mut impl Iterator<Item = &'v [u8]>,
        width: usize,
    ) -> Result<(), WriteError> {
        if self.is_empty() {
            self.width = 0;
            return Ok(());
        }
        let mut wider = Self::with_capacity(self.len(), self.width + width);
        for (name, row) in self.iter() {
            let value = values.next();
            let value = value.or_bug("fewer values than rows")?;
            wider.push(name, [row, value])?;
        }
        *self = wider;
        Ok(())
    }
}

/// Changed columns, in the order of rows, by slot and number of the column (1 is the first attribute). A chunk whose rows are in memory has none here.
#[derive(Debug, Default)]
pub(crate) struct AttributeColumns {
    by_slot: BTreeMap<u32, BTreeMap<usize, Vec<u8>>>,
    bytes: u128,
}

impl AttributeColumns {
    /// A column of a chunk.
    pub(crate) fn get(&self, slot: u32, column: usize) -> Option<&[u8]> {
        self.by_slot.get(&slot)?.get(&column).map(Vec::as_slice)
    }

    /// A column of a chunk, to be changed.
    pub(crate) fn get_mut(&mut self, slot: u32, column: usize) -> Option<&mut [u8]> {
        let columns = self.by_slot.get_mut(&slot)?;
        columns.get_mut(&column).map(Vec::as_mut_slice)
    }

    /// Removes the columns of a chunk.
    pub(crate) fn take(&mut self, slot: u32) -> BTreeMap<usize, Vec<u8>> {
        let columns = self.by_slot.remove(&slot).unwrap_or_default();
        let bytes = columns.values().map(|bytes| u128::from(wide(bytes.len())));
        self.bytes -= bytes.sum::<u128>();
        columns
    }

    /// The chunks with changed columns.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> {
        self.by_slot.keys().copied()
    }

    /// All columns.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, usize, &[u8])> {
        let by_slot = self.by_slot.iter();
        by_slot.flat_map(|(slot, columns)| {
            let columns = columns.iter();
            columns.map(|(column, bytes)| (*slot, *column, bytes.as_slice()))
        })
    }

    /// Bytes of all columns.
    pub(crate) fn bytes(&self) -> u128 {
        self.bytes
    }

    /// Adds a column of a chunk that has no changed column of this number.
    pub(crate) fn insert(&mut self, slot: u32, column: usize, bytes: Vec<u8>) {
        self.bytes += u128::from(wide(bytes.len()));
        self.by_slot.entry(slot).or_default().insert(column, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::VertexRows;
    use zvf_encode::WriteError;

    fn rows() -> Result<VertexRows, WriteError> {
        let mut rows = VertexRows::with_capacity(2, 3);
        rows.push(7, [&b"ab"[..], b"c"])?;
        rows.push(9, [&b"def"[..]])?;
        Ok(rows)
    }

    #[test]
    fn rows_are_kept_taken_out_set_and_widened() -> Result<(), WriteError> {
        let mut all = rows()?;
        all.set(1, &(1..3), b"XY")?;
        all.widen(&mut [&b"1"[..], b"2"].into_iter(), 1)?;
        let mut out = all.take_out(|name| name == 9)?;
        assert_eq!(all.iter().collect::<Vec<_>>(), [(9, &b"dXY2"[..])]);
        assert_eq!(out.iter().collect::<Vec<_>>(), [(7, &b"abc1"[..])]);
        out.append(all)?;
        assert_eq!(out.names(), [7, 9]);
        Ok(())
    }

    #[test]
    fn rows_that_do_not_fit_are_bugs() -> Result<(), WriteError> {
        let fails = |done: Result<(), WriteError>| {
            assert!(matches!(done, Err(WriteError::Bug { .. })), "{done:?}");
        };
        fails(rows()?.push(1, [&b"ab"[..]]));
        fails(rows()?.append(VertexRows::of(1, b"ab")));
        fails(rows()?.set(2, &(0..1), b"x"));
        fails(rows()?.set(0, &(2..4), b"xy"));
        fails(rows()?.set(0, &(0..2), b"x"));
        fails(rows()?.widen(&mut [&b"1"[..]].into_iter(), 1));
        fails(rows()?.widen(&mut [&b"1"[..], b"22"].into_iter(), 1));
        Ok(())
    }
}

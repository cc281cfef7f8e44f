//! Rows of one fragment, side by side in two buffers.

use std::ops::Range;

/// A vertex: chunk and row where it is stored, or [`FRESH`](super::state::FRESH) and a number.
pub(crate) type Vertex = u64;

/// Vertices with their bytes: of each the position, then every attribute. All rows are equally long.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    names: Vec<Vertex>,
    bytes: Vec<u8>,
}

impl Rows {
    /// Room for rows that are known to come.
    pub(crate) fn with_capacity(rows: usize, width: usize) -> Self {
        Self {
            names: Vec::with_capacity(rows),
            bytes: Vec::with_capacity(rows.saturating_mul(width)),
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
        self.bytes.len().checked_div(self.names.len()).unwrap_or(0)
    }

    pub(crate) fn names(&self) -> &[Vertex] {
        &self.names
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Vertex, &[u8])> {
        let rows = self.bytes.chunks_exact(self.width().max(1));
        self.names.iter().copied().zip(rows)
    }

    /// Appends a row whose bytes come in pieces.
    pub(crate) fn push<'p>(&mut self, name: Vertex, pieces: impl IntoIterator<Item = &'p [u8]>) {
        self.names.push(name);
        for piece in pieces {
            self.bytes.extend_from_slice(piece);
        }
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.names.append(&mut other.names);
        self.bytes.append(&mut other.bytes);
    }

    /// Takes out the rows that are not to `stay`.
    pub(crate) fn take_out(&mut self, mut stay: impl FnMut(Vertex) -> bool) -> Self {
        let (mut kept, mut out) = (Self::default(), Self::default());
        for (name, bytes) in self.iter() {
            let to = if stay(name) { &mut kept } else { &mut out };
            to.push(name, [bytes]);
        }
        *self = kept;
        out
    }

    /// Replaces the part of a row, if it is as long.
    pub(crate) fn set(&mut self, at: usize, part: &Range<usize>, value: &[u8]) {
        let start = at.saturating_mul(self.width());
        let part = start.saturating_add(part.start)..start.saturating_add(part.end);
        let place = self.bytes.get_mut(part);
        if let Some(place) = place.filter(|place| place.len() == value.len()) {
            place.copy_from_slice(value);
        }
    }

    /// Puts `width` more bytes behind each row.
    pub(crate) fn widen<'v>(&mut self, mut values: impl Iterator<Item = &'v [u8]>, width: usize) {
        let old = self.width();
        let mut bytes = Vec::with_capacity(self.len().saturating_mul(old.saturating_add(width)));
        for row in self.bytes.chunks_exact(old.max(1)) {
            bytes.extend_from_slice(row);
            bytes.extend_from_slice(values.next().unwrap_or_default());
        }
        self.bytes = bytes;
    }
}

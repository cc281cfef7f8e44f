//! The destinations of rows and fragments if chunks change.

use zvf_encode::WriteError;
use zvf_encode::error::{OrBug, internal};
use zvf_encode::records::VertexPlaces;
use zvf_format::int::index;

/// A part of an old fragment: consecutive rows that moved to one new fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MovedRows {
    /// Number of the old fragment among all.
    pub(crate) fragment: u64,
    /// Position of the first row in it.
    pub(crate) position: u32,
    /// Number of the new chunk.
    pub(crate) chunk: u32,
    /// Number of the new fragment in it.
    pub(crate) into: u32,
    /// Whether the new fragment begins with another part. Then the manifest names the fragment for that part, not for this one.
    pub(crate) goes_on: bool,
}

/// The destinations of rows and fragments.
#[derive(Debug)]
pub(crate) struct Destinations {
    /// Number of the first vertex of each old chunk, and the end.
    pub(crate) vertices: Vec<u64>,
    /// Number of the first fragment of each old chunk, and the end.
    pub(crate) fragments: Vec<u64>,
    pub(crate) places: VertexPlaces,
    /// Sorted.
    pub(crate) parts: Vec<MovedRows>,
}

/// The start and end of the entries of a chunk.
pub(crate) fn span(starts: &[u64], slot: u32) -> Result<(u64, u64), WriteError> {
    let span = starts.get(index(slot)..).and_then(<[u64]>::first_chunk);
    let &[start, end] = span.or_bug(format_args!("no chunk {slot}"))?;
    internal!(start <= end, "chunk {slot} ends before it starts");
    Ok((start, end))
}

impl Destinations {
    /// Fragments of an old chunk.
    pub(crate) fn fragments(&self, slot: u32) -> Result<u64, WriteError> {
        let (start, end) = span(&self.fragments, slot)?;
        Ok(end - start)
    }

    /// Rows of an old chunk.
    pub(crate) fn rows(&self, slot: u32) -> Result<u64, WriteError> {
        let (start, end) = span(&self.vertices, slot)?;
        Ok(end - start)
    }

    /// The number of an old vertex.
    pub(crate) fn vertex(&self, slot: u32, row: u32) -> Result<u64, WriteError> {
        let (start, _) = span(&self.vertices, slot)?;
        Ok(start + u64::from(row))
    }

    /// The new chunk and row of an old row.
    pub(crate) fn place(&mut self, slot: u32, row: u32) -> Result<(u32, u32), WriteError> {
        let vertex = self.vertex(slot, row)?;
        let lost = || WriteError::input("link", format!("row {row}"), "a row of its chunk");
        self.places.get(vertex)?.ok_or_else(lost)
    }

    /// The new fragments of an old one, in order.
    pub(crate) fn parts(
        &self,
        slot: u32,
        fragment: u32,
        out: &mut Vec<(u32, u32)>,
    ) -> Result<(), WriteError> {
        let (start, _) = span(&self.fragments, slot)?;
        let number = start + u64::from(fragment);
        let from = self.parts.partition_point(|part| part.fragment < number);
        let own = self.parts.iter().skip(from);
        let own = own
            .take_while(|part| part.fragment == number)
            .filter(|part| !part.goes_on);
        out.extend(own.map(|part| (part.chunk, part.into)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::span;
    use zvf_encode::WriteError;

    #[test]
    fn chunks_begin_where_others_end() {
        assert_eq!(span(&[0, 2, 2, 5], 2).unwrap(), (2, 5));
        for (starts, slot) in [(&[0, 2][..], 1), (&[], 0), (&[3, 2], 0)] {
            assert!(matches!(span(starts, slot), Err(WriteError::Bug { .. })));
        }
    }
}

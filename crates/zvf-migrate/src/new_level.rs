//! The vertices of a new level: chunks, fragments, and the destinations of all rows.

use serde::{Deserialize, Serialize};
use zvf_meta::space::Grid;
use zvf_store::ChunkCoord;

use super::destinations::{Destinations, span};
use zvf_encode::WriteError;
use zvf_encode::batches::{Corners, include};
use zvf_encode::documents::Nodes;
use zvf_encode::error::{OrBug, internal, narrow, to_index};
use zvf_format::int::{index, wide};

/// The ends of a fragment without rows.
pub(crate) const NO_ROWS: (u32, u32) = (u32::MAX, u32::MAX);

/// The summary of a written chunk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CopiedChunk {
    pub(super) slot: u32,
    pub(super) rows: u32,
    pub(super) fragments: usize,
    pub(super) ends: Vec<(u32, u32)>,
    pub(super) tiles: bool,
    pub(super) extent: Option<Corners>,
    pub(super) misplaced: u64,
    /// For each column, whether it has a cell in this chunk; columns of fragments are last.
    pub(super) present: Vec<bool>,
}

/// The vertices of a new level.
#[derive(Debug, Default)]
pub(crate) struct NewLevel {
    /// Chunks in lex order.
    pub(crate) chunks: Vec<ChunkCoord>,
    /// Number of the first fragment of each chunk among all fragments, and the end.
    pub(crate) starts: Vec<u64>,
    /// First and last row of every fragment, if links are made from them.
    pub(crate) ends: Vec<(u32, u32)>,
    pub(crate) rows: u64,
    /// Rows of the object index, if the old index has no row for some of them.
    pub(crate) more_objects: Option<u64>,
    /// Rows of each chunk.
    pub(crate) chunk_rows: Vec<u32>,
    /// Whether the fragments of every chunk tile its rows.
    pub(crate) tiles: bool,
    /// Corners of all finite positions.
    pub(crate) extent: Option<Corners>,
    pub(crate) nodes: Nodes,
    /// The destinations of rows and fragments; `None` if none moved.
    pub(crate) moved: Option<Destinations>,
}

impl NewLevel {
    /// Collects the summaries of all chunks; sorts `done` by chunk.
    pub(super) fn of(chunks: &[ChunkCoord], done: &mut [CopiedChunk]) -> Self {
        done.sort_unstable_by_key(|done| done.slot);
        let mut new_level = Self {
            chunks: chunks.to_vec(),
            tiles: true,
            ..Self::default()
        };
        for done in done {
            new_level.push_chunk(done.rows, &done.ends, done.fragments);
            new_level.tiles &= done.tiles;
            new_level.widen(done.extent.as_ref());
        }
        new_level
    }

    /// Fragments of a chunk.
    pub(crate) fn fragments(&self, slot: u32) -> Result<u64, WriteError> {
        let (start, end) = span(&self.starts, slot)?;
        Ok(end - start)
    }

    /// Fragments of all chunks.
    pub(crate) fn all_fragments(&self) -> u64 {
        // The list is empty for a level without chunks.
        self.starts.last().copied().unwrap_or(0)
    }

    /// First and last row of a fragment; `None` if it has no rows.
    pub(crate) fn ends_of(&self, slot: u32, fragment: u32) -> Option<(u32, u32)> {
        let start = self.starts.get(index(slot)).copied()?;
        let at = usize::try_from(start.checked_add(u64::from(fragment))?).ok()?;
        self.ends.get(at).copied().filter(|ends| *ends != NO_ROWS)
    }

    /// The number of rows of each fragment of a chunk, if fragments tile it.
    pub(crate) fn fragment_rows(&self, slot: u32) -> Result<Vec<u32>, WriteError> {
        let count = narrow(
            "fragments of one chunk",
            to_index("fragments", self.fragments(slot)?)?,
        )?;
        let rows = |fragment| match self.ends_of(slot, fragment) {
            Some((first, last)) => last - first + 1,
            None => 0,
        };
        let all: Vec<u32> = (0..count).map(rows).collect();
        let sum: u64 = all.iter().copied().map(u64::from).sum();
        let chunk = self.chunk_rows.get(index(slot)).copied().map(u64::from);
        internal!(
            chunk == Some(sum),
            "fragments of {sum} rows in chunk {slot}"
        );
        Ok(all)
    }

    pub(crate) fn chunk(&self, slot: u32) -> Result<&[i64], WriteError> {
        let chunk = self.chunks.get(index(slot)).map(ChunkCoord::as_slice);
        chunk.or_bug(format_args!("no chunk {slot}"))
    }

    /// The new chunk and row of an old row.
    pub(crate) fn place(&mut self, slot: u32, row: u32) -> Result<(u32, u32), WriteError> {
        match &mut self.moved {
            None => Ok((slot, row)),
            Some(moved) => moved.place(slot, row),
        }
    }

    /// The new place of an old vertex, if rows moved.
    pub(crate) fn vertex(&mut self, vertex: u64) -> Result<Option<(u32, u32)>, WriteError> {
        match &mut self.moved {
            Some(moved) => moved.places.get(vertex),
            None => Ok(None),
        }
    }

    /// The new fragments with the rows of an old one, in order.
    pub(crate) fn parts(
        &self,
        slot: u32,
        fragment: u32,
        out: &mut Vec<(u32, u32)>,
    ) -> Result<(), WriteError> {
        match &self.moved {
            None => {
                out.push((slot, fragment));
                Ok(())
            }
            Some(moved) => moved.parts(slot, fragment, out),
        }
    }

    /// Adds the summary of the next chunk, in order.
    pub(crate) fn push_chunk(&mut self, rows: u32, ends: &[(u32, u32)], fragments: usize) {
        let before = self.all_fragments();
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.starts.push(before + wide(fragments));
        self.ends.extend_from_slice(ends);
        self.chunk_rows.push(rows);
        self.rows += u64::from(rows);
    }

    /// Widens the corners.
    pub(crate) fn widen(&mut self, extent: Option<&Corners>) {
        if let Some((low, high)) = extent {
            include(&mut self.extent, (low, high));
        }
    }
}

/// Extends a grid to contain all chunks; the bounds of the old store may be too small for them.
pub(crate) fn with_room<'c>(
    mut grid: Grid,
    chunks: impl Iterator<Item = &'c [i64]>,
) -> Result<Grid, WriteError> {
    for chunk in chunks {
        for ((origin, shape), &at) in grid.origin.iter_mut().zip(&mut grid.shape).zip(chunk) {
            let end = i128::from(*origin) + i128::from(*shape);
            let (low, high) = (at.min(*origin), end.max(i128::from(at) + 1));
            *origin = low;
            let most = i64::MAX.unsigned_abs();
            *shape = u64::try_from(high - i128::from(low))
                .map_err(|_| WriteError::limit("cells along an axis", u64::MAX, most))?;
        }
    }
    Ok(grid)
}

#[cfg(test)]
mod tests {
    use zvf_store::ChunkCoord;

    use super::NewLevel;
    use zvf_encode::WriteError;

    #[test]
    fn a_chunk_that_there_is_not_has_no_fragments() {
        let mut new_level = NewLevel {
            chunks: vec![ChunkCoord::new(&[1, 2])],
            ..NewLevel::default()
        };
        new_level.push_chunk(5, &[(0, 1), (2, 4)], 2);
        assert_eq!(new_level.fragments(0).unwrap(), 2);
        assert_eq!(new_level.chunk(0).unwrap(), [1, 2]);
        assert!(matches!(
            new_level.fragments(1),
            Err(WriteError::Bug { .. })
        ));
        assert!(matches!(new_level.chunk(1), Err(WriteError::Bug { .. })));
    }
}

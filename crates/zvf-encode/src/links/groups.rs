//! Groups of links inside chunks: one for each fragment of the chunk's vertices, in that order (0.9, appendix E).
//!
//! A chunk has such groups if none of its links joins two fragments; else all its links are one group. The level claims them (`fragment_link_groups`)
//! if every chunk has them. Rows of links stay in their order: a group is a range if its rows are consecutive, else a list.

use std::collections::BTreeMap;
use std::path::Path;

use zvf_format::fragments::FragmentIndexBuilder;
use zvf_store::ChunkCoord;

use crate::WriteError;
use crate::error::{OrBug, internal, narrow};
use crate::records::bucket::{Bucket, Buckets};
use crate::records::record::typed;
use crate::records::spill::SpillFile;
use zvf_format::int::{signed, wide};

/// Collects the number of rows of each fragment of each chunk, for fragments that tile the rows of their chunk.
#[derive(Debug)]
pub struct FragmentRows {
    buckets: Buckets<ChunkCoord>,
}

impl FragmentRows {
    /// An empty collector. About `budget` bytes are held in memory, more goes to a temporary file in `folder`.
    pub fn new(budget: usize, folder: &Path) -> Self {
        Self {
            buckets: Buckets::new(budget, folder),
        }
    }

    /// Records the rows of each fragment of a chunk, in the order of the fragments.
    pub fn note(
        &mut self,
        chunk: &[i64],
        rows: impl IntoIterator<Item = u32>,
    ) -> Result<(), WriteError> {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let number = self.buckets.number(chunk, ChunkCoord::new);
        self.buckets.push(number, |out| {
            rows.for_each(|rows| out.extend_from_slice(&rows.to_le_bytes()));
        })?;
        self.buckets.relieve()
    }

    /// Returns the recorded fragments for lookup by chunk.
    pub fn seal(self) -> ChunkFragments {
        let (chunks, file) = self.buckets.finish();
        ChunkFragments {
            chunks: chunks.into_iter().collect(),
            file,
        }
    }
}

/// The fragments of every chunk of a level.
#[derive(Debug)]
pub struct ChunkFragments {
    chunks: BTreeMap<ChunkCoord, Bucket>,
    file: SpillFile,
}

impl ChunkFragments {
    /// Chunks with fragments, in lexicographic order.
    pub(super) fn chunks(&self) -> impl Iterator<Item = &ChunkCoord> {
        self.chunks.keys()
    }

    /// The end of the rows of each fragment of a chunk.
    pub(super) fn ends(&self, chunk: &[i64]) -> Result<FragmentEnds, WriteError> {
        let bucket = self.chunks.get(chunk);
        let bucket = bucket.or_bug(format_args!("links of chunk {chunk:?} without fragments"))?;
        let (mut ends, mut end) = (Vec::new(), 0_u32);
        for piece in bucket.pieces(&self.file) {
            for rows in typed::<[u8; 4]>(&piece?)? {
                end = end
                    .checked_add(u32::from_le_bytes(rows?))
                    .or_bug("more than 2^32 rows")?;
                ends.push(end);
            }
        }
        Ok(FragmentEnds { ends, last: 0 })
    }
}

/// The end of the rows of each fragment of one chunk.
#[derive(Debug)]
pub(super) struct FragmentEnds {
    ends: Vec<u32>,
    /// The fragment of the last lookup: most links are in the same fragment as the link before.
    last: usize,
}

impl FragmentEnds {
    fn has(&self, fragment: usize, row: i64) -> bool {
        let end = |at: usize| self.ends.get(at).copied().map(i64::from);
        let start = match fragment.checked_sub(1) {
            Some(before) => end(before),
            None => Some(0),
        };
        start.is_some_and(|start| start <= row) && end(fragment).is_some_and(|end| row < end)
    }

    /// The fragment that has all rows of a link; `None` if the rows are in several fragments.
    ///
    /// # Errors
    /// Bug: a row that no fragment has.
    pub(super) fn of(&mut self, rows: &[i64]) -> Result<Option<u32>, WriteError> {
        let first = *rows.first().or_bug("a link without ends")?;
        if !self.has(self.last, first) {
            self.last = self.ends.partition_point(|&end| i64::from(end) <= first);
        }
        internal!(
            self.has(self.last, first),
            "a link to row {first} of a chunk with {} rows",
            self.ends.last().copied().unwrap_or(0)
        );
        let one = rows.iter().all(|&row| self.has(self.last, row));
        Ok(if one {
            Some(narrow("fragments of one chunk", self.last)?)
        } else {
            None
        })
    }

    /// The encoded groups of links, given the fragment of each link.
    pub(super) fn groups(&self, fragments: &[u32]) -> Result<Vec<u8>, WriteError> {
        let failed = |source| WriteError::encode("link_fragments", source);
        let mut lists: Vec<(u32, i64)> = fragments.iter().copied().zip(0_i64..).collect();
        // A stable sort: the links of a group keep their order.
        lists.sort_by_key(|(fragment, _)| *fragment);
        let mut runs = lists.chunk_by(|(a, _), (b, _)| a == b).peekable();
        let mut index = FragmentIndexBuilder::new();
        let (mut before, mut written, mut rows) = (0_usize, 0_usize, Vec::new());
        for number in 0..narrow("fragments of one chunk", self.ends.len())? {
            let own = |run: &&[(u32, i64)]| run.first().is_some_and(|(one, _)| *one == number);
            match runs.next_if(own) {
                Some(run) => {
                    rows.clear();
                    rows.extend(run.iter().map(|(_, row)| row));
                    index.push_rows(&rows).map_err(failed)?;
                    before += run.len();
                    written += run.len();
                }
                None => index.push_range(signed(before), 0).map_err(failed)?,
            }
        }
        internal!(
            written == fragments.len(),
            "groups of {written} links of {}",
            wide(fragments.len())
        );
        Ok(index.finish())
    }
}

/// The chunks with written groups of links.
#[derive(Debug, Clone)]
pub struct Grouped {
    /// Chunks with a cell of groups: all chunks with fragments, even without links.
    pub chunks: Vec<ChunkCoord>,
    /// Whether the groups follow the fragments in each of them.
    pub everywhere: bool,
}

#[cfg(test)]
mod tests {
    use zvf_format::fragments::FragmentIndex;

    use super::FragmentRows;
    use crate::WriteError;

    #[test]
    fn groups_are_ranges_or_lists_and_one_for_each_fragment() -> Result<(), WriteError> {
        let mut rows = FragmentRows::new(1 << 10, &std::env::temp_dir());
        rows.note(&[0], [2, 0, 3])?;
        rows.note(&[1], [])?;
        let fragments = rows.seal();
        assert_eq!(fragments.chunks().count(), 1);
        assert!(matches!(fragments.ends(&[1]), Err(WriteError::Bug { .. })));
        let mut ends = fragments.ends(&[0])?;
        let found = [[0, 1], [2, 4], [1, 1], [4, 1]].map(|rows| ends.of(&rows).unwrap());
        assert_eq!(found, [Some(0), Some(2), Some(0), None]);
        assert!(matches!(ends.of(&[5, 1]), Err(WriteError::Bug { .. })));
        let groups = |of: &[u32]| {
            let bytes = ends.groups(of).unwrap();
            let index = FragmentIndex::parse(&bytes).unwrap();
            let rows = |group| index.indices(group).unwrap().collect::<Vec<i64>>();
            let rows: Vec<Vec<i64>> = (0..index.len()).map(rows).collect();
            (index.range_count(), rows)
        };
        assert_eq!(groups(&[0, 0, 2]), (3, vec![vec![0, 1], vec![], vec![2]]));
        assert_eq!(groups(&[2, 0, 2]), (2, vec![vec![1], vec![], vec![0, 2]]));
        assert_eq!(groups(&[]), (3, vec![vec![]; 3]));
        assert!(matches!(ends.groups(&[3]), Err(WriteError::Bug { .. })));
        Ok(())
    }
}

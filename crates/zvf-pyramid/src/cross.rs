//! Links between levels (0.9 §13.6 and §17, steps 13 and 14).
//!
//! All links from the rows of one chunk to the rows of one coarser chunk are the rows of one cell, in both directions. So rows are first grouped by
//! pairs of chunks, and then every pair is written separately.

use std::ops::Range;
use std::sync::Arc;

use zvf_format::links::LinkCellBuilder;
use zvf_store::ChunkCoord;

use super::bin::Means;
use super::bins::NONE;
use super::fine::rows_of;
use super::sink::StoreSink;
use zvf_encode::error::{OrBug, narrow};
use zvf_encode::level::LevelCells;
use zvf_encode::links::{EncodedLinkCell, FamilySpec, Policy, WrittenFamily};
use zvf_encode::spec::LinksBy;
use zvf_encode::target::node;
use zvf_encode::{WriteError, documents, links, parallel};
use zvf_format::int::{halves, index, signed, wide};

/// The data of one level that links need.
#[derive(Debug)]
pub(crate) struct CrossLevelSide {
    pub(crate) level: u32,
    pub(crate) chunks: Arc<Vec<ChunkCoord>>,
    /// The first vertex of each chunk, and the number of all vertices.
    pub(crate) starts: Vec<u32>,
    /// The size of a chunk on each axis, in chunks of the root.
    pub(crate) ratio: Vec<i64>,
    pub(crate) cells: LevelCells,
}

impl CrossLevelSide {
    fn chunk(&self, slot: u32) -> Result<&[i64], WriteError> {
        let chunk = self.chunks.get(index(slot)).map(ChunkCoord::as_slice);
        chunk.or_bug(format_args!("no chunk {slot}"))
    }

    fn rows(&self, slot: u32) -> Result<Range<usize>, WriteError> {
        rows_of(&self.starts, index(slot))
    }

    /// The number of chunks.
    fn chunk_count(&self) -> Result<u32, WriteError> {
        narrow("chunks", self.chunks.len())
    }
}

/// Writes links from every vertex to its representative in a coarser level, and back if `both`; returns the
/// number of links in one direction.
///
/// The rows of every cell are in the order of the finer level, in both families.
///
/// # Cost
/// Memory: four bytes per vertex of both levels.
pub(crate) fn write(
    fine: &CrossLevelSide,
    coarse: &CrossLevelSide,
    parents: &[u32],
    both: bool,
    sink: StoreSink<'_>,
    means: Means<'_>,
) -> Result<u64, WriteError> {
    let pairs = CrossLevelPairs::new(fine, coarse, parents, means.threads)?;
    pairs.write(false, sink, means)?;
    if both {
        pairs.write(true, sink, means)?;
    }
    Ok(wide(pairs.rows.len()))
}

/// The rows of one chunk with representatives in one coarser chunk.
#[derive(Debug, Clone, Copy)]
struct ChunkPair {
    fine: u32,
    coarse: u32,
    /// The index of its first row in `rows`, and the number of its rows.
    start: usize,
    count: usize,
}

/// All links between two levels, by pairs of chunks.
#[derive(Debug)]
struct CrossLevelPairs<'s> {
    fine: &'s CrossLevelSide,
    coarse: &'s CrossLevelSide,
    parents: &'s [u32],
    pairs: Vec<ChunkPair>,
    /// Row numbers in the chunk of the finer level, one pair after another, ascending in each.
    rows: Vec<u32>,
}

impl<'s> CrossLevelPairs<'s> {
    fn new(
        fine: &'s CrossLevelSide,
        coarse: &'s CrossLevelSide,
        parents: &'s [u32],
        threads: usize,
    ) -> Result<Self, WriteError> {
        /// Chunks that are processed together.
        const BATCH: usize = 64;
        let count = *coarse.starts.last().or_bug("no count of the vertices")?;
        let mut slot_of: Vec<u32> = Vec::with_capacity(index(count));
        for slot in 0..coarse.chunk_count()? {
            slot_of.extend(coarse.rows(slot)?.map(|_| slot));
        }
        let slots: Vec<u32> = (0..fine.chunk_count()?).collect();
        // The starts of these pairs count from the first row of their own batch.
        let work = |slots: &[u32]| {
            let (mut pairs, mut rows, mut keys) = (Vec::new(), Vec::new(), Vec::new());
            for &slot in slots {
                let of = parents
                    .get(fine.rows(slot)?)
                    .or_bug("a chunk without parents")?;
                keys.clear();
                for (row, &parent) in (0_u64..).zip(of) {
                    if parent != NONE {
                        let coarse = slot_of.get(index(parent));
                        let coarse = *coarse.or_bug(format_args!("no vertex {parent}"))?;
                        keys.push((u64::from(coarse) << 32) | row);
                    }
                }
                keys.sort_unstable();
                for run in keys.chunk_by(|a, b| a >> 32 == b >> 32) {
                    let [coarse, _] = halves(*run.first().or_bug("an empty run")?);
                    pairs.push(ChunkPair {
                        fine: slot,
                        coarse,
                        start: rows.len(),
                        count: run.len(),
                    });
                    rows.extend(run.iter().map(|&key| halves(key)[1]));
                }
            }
            Ok((pairs, rows))
        };
        let mut all = Self {
            fine,
            coarse,
            parents,
            pairs: Vec::new(),
            rows: Vec::with_capacity(parents.len()),
        };
        parallel::ordered(threads, slots.chunks(BATCH), work, |(pairs, rows)| {
            let before = all.rows.len();
            let moved = |pair: ChunkPair| ChunkPair {
                start: pair.start + before,
                ..pair
            };
            all.pairs.extend(pairs.into_iter().map(moved));
            all.rows.extend(rows);
            Ok(())
        })?;
        Ok(all)
    }

    /// The cell of a pair: the links themselves, or the links back.
    fn cell(
        &self,
        family: &FamilySpec,
        key: ChunkCoord,
        pair: ChunkPair,
        back: bool,
    ) -> Result<EncodedLinkCell, WriteError> {
        let (fine, coarse) = (self.fine.rows(pair.fine)?, self.coarse.rows(pair.coarse)?);
        let parents = self.parents.get(fine).or_bug("a chunk without parents")?;
        let mut builder = LinkCellBuilder::new(family.form(family.array(&key)?.0));
        let rows = self.rows.get(pair.start..pair.start + pair.count);
        for &row in rows.or_bug("a pair of chunks without rows")? {
            let parent = *parents.get(index(row)).or_bug("a row without a parent")?;
            let place = index(parent).checked_sub(coarse.start);
            let place = place.or_bug("a parent in another chunk")?;
            let (row, parent) = (i64::from(row), signed(place));
            let ends = if back { [parent, row] } else { [row, parent] };
            builder
                .push(&[0, 1], &ends)
                .map_err(|source| WriteError::encode("links between levels", source))?;
        }
        Ok(EncodedLinkCell {
            key,
            records: wide(pair.count),
            rows: builder.finish(),
            groups: None,
            values: Vec::new(),
        })
    }

    /// Writes cells and documents of one direction.
    fn write(&self, back: bool, sink: StoreSink<'_>, means: Means<'_>) -> Result<(), WriteError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let (from, to) = if back {
            (self.coarse, self.fine)
        } else {
            (self.fine, self.coarse)
        };
        let delta = i64::from(to.level) - i64::from(from.level);
        let policy = Policy {
            delta: i32::try_from(delta).or_bug(format_args!("levels {delta} apart"))?,
            factors: Some((from.ratio.clone(), to.ratio.clone())),
            ..Policy::pairs(from.ratio.len(), false, LinksBy::Offsets)
        };
        let family = FamilySpec::new(policy, Vec::new());
        let mut items = Vec::new();
        let mut key = Vec::new();
        for &pair in &self.pairs {
            let (slot, goal) = if back {
                (pair.coarse, pair.fine)
            } else {
                (pair.fine, pair.coarse)
            };
            let ends = [from.chunk(slot)?, to.chunk(goal)?];
            family.key(ends.into_iter(), false, &mut key)?;
            items.push((ChunkCoord::new(&key), wide(pair.count) * 16, pair));
        }
        let below = sink.below(from.level);
        let into = links::LinkCellSink {
            cells: &from.cells,
            target: &below,
            threads: means.threads,
        };
        let encode = |key, pair| self.cell(&family, key, pair, back);
        let cells = family.write(items.into_iter(), encode, into, |_| {})?;
        let count = wide(self.rows.len());
        let stored = WrittenFamily {
            family,
            cells,
            links: count,
            records: count,
            groups: None,
        };
        let nodes = stored.nodes(&from.cells)?;
        let arrays = nodes.arrays.into_iter();
        let arrays = arrays.map(|(path, doc)| (path, doc.to_json()));
        let mut documents: Vec<(String, String)> = arrays.chain(nodes.groups).collect();
        // A level that already had links keeps the document of the group, since readers may have cached it.
        if !sink.has(from.level, "links/zarr.json")? {
            documents.push(("links".to_owned(), documents::plain_group()));
        }
        let objects = documents.into_iter().map(|(path, doc)| node(path, doc));
        below.put(objects.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zvf_meta::space::Grid;
    use zvf_store::ChunkCoord;

    use super::{CrossLevelPairs, CrossLevelSide};
    use crate::bins::NONE;
    use zvf_codec::Compression;
    use zvf_encode::WriteError;
    use zvf_encode::level::{CellContainer, LevelCells};

    #[test]
    fn no_link_between_levels_is_left_out() {
        let grid = Grid {
            origin: vec![0],
            shape: vec![2],
        };
        let cells = LevelCells::new(grid, None, Compression::None, CellContainer::Grid);
        let chunks = Arc::new(vec![ChunkCoord::new(&[0]), ChunkCoord::new(&[1])]);
        let side = |level: u32, starts: &[u32]| CrossLevelSide {
            level,
            chunks: Arc::clone(&chunks),
            starts: starts.to_vec(),
            ratio: vec![1],
            cells: cells.clone(),
        };
        let (fine, coarse) = (side(0, &[0, 2, 3]), side(1, &[0, 1, 2]));
        let pairs = |parents: &[u32]| {
            let all = CrossLevelPairs::new(&fine, &coarse, parents, 1)?;
            Ok::<_, WriteError>((all.pairs.len(), all.rows.clone()))
        };
        assert_eq!(pairs(&[1, 0, 1]).unwrap(), (3, vec![1, 0, 0]));
        assert_eq!(pairs(&[NONE, 0, 1]).unwrap(), (2, vec![1, 0]));
        // Fewer parents than vertices, and a parent that the coarser level does not have.
        for wrong in [&[1, 0][..], &[1, 0, 2]] {
            assert!(
                matches!(pairs(wrong), Err(WriteError::Bug { .. })),
                "{wrong:?}"
            );
        }
    }
}

//! Sums over the rows of one level, and the identification of vertices and fragments.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use tokio::runtime::Handle;
use zvf_encode::NumberType;
use zvf_encode::WriteError;
use zvf_encode::error::{OrBug, narrow};
use zvf_format::int::index;
use zvf_store::owners::is_owner_column;
use zvf_store::{
    CheckedFragments, ChunkColumn, ChunkCoord, ChunkParts, ChunkReader, DecodedChunk, Level,
    RowValues, VertexAttribute,
};

use super::super::reading::{each_link, each_manifest};
use super::HashSums;

/// Approximate bytes of chunks that are read together.
const TOGETHER: u64 = 4 << 20;

/// The hash of a value.
pub(super) fn hash(part: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    hasher.finish()
}

/// The hash of two hashes in this order: the first one rotated and multiplied, then both mixed by the finalizer of MurmurHash3.
pub(super) fn join(a: u64, b: u64) -> u64 {
    let mut one = a.rotate_left(23).wrapping_mul(BASE) ^ b;
    one = (one ^ (one >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    one = (one ^ (one >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    one ^ (one >> 33)
}

/// A multiset, by the number of its elements and the sum of their hashes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct HashSum {
    pub(super) count: u64,
    pub(super) hashes: u64,
}

impl HashSum {
    pub(super) fn add(&mut self, count: u32, hash: u64) {
        self.count += u64::from(count);
        self.hashes = self.hashes.wrapping_add(hash);
    }
}

/// The base of a [`HashSequence`]; odd, so that multiplication by its powers is reversible.
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;

/// A sequence of hashes as one number, with the hashes as digits. The numbers of two parts can be joined to the number of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HashSequence {
    hash: u64,
    /// The base to the power of the length.
    power: u64,
}

impl HashSequence {
    const EMPTY: Self = Self { hash: 0, power: 1 };

    fn of(element: u64) -> Self {
        Self {
            hash: element,
            power: BASE,
        }
    }

    fn append(&mut self, other: Self) {
        self.hash = self.hash.wrapping_mul(other.power).wrapping_add(other.hash);
        self.power = self.power.wrapping_mul(other.power);
    }
}

/// One level of a store.
#[derive(Debug)]
pub(super) struct ComparedLevel {
    pub(super) level: Level,
    pub(super) handle: Handle,
    reader: ChunkReader,
    /// The chunks that presence lists or manifests name, in lex order.
    chunks: Vec<ChunkCoord>,
    /// The number of rows and fragments of each chunk.
    counts: Vec<(u32, u32)>,
    /// The vertices of the fragments of each chunk; empty if fragments are identified by their places.
    sequences: Vec<Vec<HashSequence>>,
    /// First and last row of fragments, by chunk and fragment, if links follow from them.
    ends: HashMap<(u32, u32), (u32, u32)>,
    /// The edges of trees that the order of rows implies, by the hashes of their nodes.
    pub(super) edges: HashSum,
}

impl ComparedLevel {
    pub(super) fn new(level: Level, handle: &Handle) -> Result<Self, WriteError> {
        let vertices = level.vertices();
        vertices.check_presence()?;
        let mut chunks: Vec<_> = vertices.presence().iter().map(ChunkCoord::new).collect();
        chunks.sort_unstable();
        let mut unlisted = BTreeSet::new();
        if let Some(objects) = level.object_index() {
            each_manifest(objects, handle, |_, entries| {
                let named = entries.map(|(chunk, _)| chunk);
                let new = |chunk: &ChunkCoord| chunks.binary_search(chunk).is_err();
                unlisted.extend(named.filter(|chunk| new(chunk) && vertices.in_grid(chunk)));
                Ok(())
            })?;
        }
        chunks.extend(unlisted);
        chunks.sort_unstable();
        narrow("chunks", chunks.len())?;
        // The owner column is compared with the manifests of the copy (`owners.rs`).
        let columns = level.fragment_attributes().iter();
        let columns = columns.filter(|one| !is_owner_column(one));
        let columns: Vec<VertexAttribute> = columns.cloned().collect();
        let parts = ChunkParts {
            fragment_attributes: &columns,
            ..ChunkParts::all_of(&level)
        };
        Ok(Self {
            reader: level.chunks(parts)?,
            chunks,
            handle: handle.clone(),
            counts: Vec::new(),
            sequences: Vec::new(),
            ends: HashMap::new(),
            edges: HashSum::default(),
            level,
        })
    }

    /// The number of a chunk.
    pub(super) fn slot(&self, chunk: &[i64]) -> Option<u32> {
        let order = |one: &ChunkCoord| one.as_slice().cmp(chunk);
        u32::try_from(self.chunks.binary_search_by(order).ok()?).ok()
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.counts.iter().map(|(rows, _)| u64::from(*rows)).sum()
    }

    /// Whether a vertex exists.
    pub(super) fn has(&self, chunk: &[i64], row: u32) -> bool {
        let slot = self.slot(chunk);
        let counts = slot.and_then(|slot| self.counts.get(index(slot)));
        counts.is_some_and(|(rows, _)| row < *rows)
    }

    /// The hashes of all rows of a chunk.
    pub(super) fn hashes(&self, slot: u32) -> Result<Vec<u64>, WriteError> {
        let chunk = self.chunks.get(index(slot)).or_bug("no such chunk")?;
        let read = self.handle.block_on(self.reader.read(&[chunk]))?;
        let chunk = read.first().or_bug("a chunk that was not read")?;
        let mut sums = vec![HashSum::default(); chunk.columns.len() + 1];
        self.hash_rows(chunk, &mut sums)
    }

    /// Reads the level and returns its sums of hashes. With `by_place`, whole columns and fragments are hashed, each with its chunk; otherwise rows are
    /// hashed by their values, and with `placed`, each row must be in the chunk of its position. With `ends`, the ends of fragments are recorded.
    pub(super) fn scan(
        &mut self,
        by_place: bool,
        placed: bool,
        ends: bool,
    ) -> Result<HashSums, WriteError> {
        let trees = !by_place && self.level.store().implies_edges();
        let children = if trees {
            self.children()?
        } else {
            HashSet::new()
        };
        let (reader, chunks) = (self.reader.clone(), std::mem::take(&mut self.chunks));
        let columns = reader.columns().len() + reader.fragment_columns().len();
        let mut sums = vec![HashSum::default(); columns + 2];
        for batch in reader.batches(&chunks, TOGETHER) {
            let batch: Vec<&[i64]> = batch.iter().map(ChunkCoord::as_slice).collect();
            for mut chunk in self.handle.block_on(reader.read(&batch))? {
                if chunk.rows == 0 {
                    // A chunk without rows may have fragments, which refer to rows that do not exist.
                    chunk.fragments = CheckedFragments::default();
                }
                let slot = narrow("chunks", self.counts.len())?;
                self.counts.push((chunk.rows, chunk.fragments.len()));
                if ends {
                    let fragments = (0..).zip(chunk.fragments.iter());
                    let ends = fragments.filter_map(|(at, one)| Some(((slot, at), one.ends()?)));
                    self.ends.extend(ends);
                }
                if by_place {
                    self.add_chunk(&chunk, &mut sums);
                    continue;
                }
                if placed && self.is_displaced(&chunk)? {
                    let place = format!("level {}, chunk {}", self.level.number(), chunk.coord);
                    let what = "it contains vertices whose positions are in other chunks";
                    return Err(WriteError::differs(place, what));
                }
                let hashes = self.hash_rows(&chunk, &mut sums)?;
                let rows = sums.get_mut(reader.columns().len() + 1);
                let rows = rows.or_bug("no sum of rows")?;
                hashes.iter().for_each(|hash| rows.add(1, *hash));
                let stored = trees.then_some(|row| children.contains(&(slot, row)));
                let sequences = self.sequences_of(&hashes, &chunk.fragments, stored)?;
                self.sequences.push(sequences);
            }
        }
        self.chunks = chunks;
        let name = |column: &ChunkColumn| {
            let (name, width, dtype) = (column.name(), column.width(), column.dtype());
            format!("attribute {name:?} of {width} {dtype}")
        };
        let mut names = vec![format!(
            "positions of {:?}",
            self.level.vertices().dtype().kind
        )];
        names.extend(reader.columns().iter().map(name));
        if by_place {
            let columns = reader.fragment_columns().iter();
            names.extend(columns.map(|column| format!("fragment {}", name(column))));
            names.push("fragments".to_owned());
        } else {
            names.push("rows".to_owned());
        }
        Ok(names.into_iter().zip(sums).collect())
    }

    /// Adds the positions, columns, fragments and columns of fragments of a chunk to their sums.
    fn add_chunk(&self, chunk: &DecodedChunk, sums: &mut [HashSum]) {
        let coord = chunk.coord.as_slice();
        let vertices = self.reader.columns().iter().zip(&chunk.columns);
        let vertices = vertices.map(|(column, values)| (Some(column), values.as_ref(), chunk.rows));
        let count = chunk.fragments.len();
        let fragments = self.reader.fragment_columns().iter();
        let fragments = fragments.zip(&chunk.fragment_columns);
        let fragments = fragments.map(|(column, values)| (Some(column), values.as_ref(), count));
        let positions = [(None, Some(&chunk.positions), chunk.rows)].into_iter();
        let all = positions.chain(vertices).chain(fragments);
        for ((column, values, rows), sum) in all.zip(sums.iter_mut()).filter(|_| chunk.rows > 0) {
            let mut hasher = DefaultHasher::new();
            coord.hash(&mut hasher);
            let blocks = values.into_iter().flat_map(RowValues::blocks);
            blocks.for_each(|block| hasher.write(block));
            // In the copy, rows without a value may have the value that means absence.
            let missing = values.map_or(0, RowValues::rows)..index(rows);
            if let Some(absent) = column.and_then(ChunkColumn::absent_row) {
                missing.for_each(|_| hasher.write(&absent));
            }
            sum.add(rows, hasher.finish());
        }
        if let Some(sum) = sums.last_mut() {
            let fragments = (0_u32..).zip(chunk.fragments.iter());
            fragments.for_each(|(number, one)| sum.add(1, hash(&(coord, number, one))));
        }
    }

    /// The hash of each row of a chunk: of its position and all values. Also adds to the sums for positions, and for positions with each
    /// attribute.
    fn hash_rows(
        &self,
        chunk: &DecodedChunk,
        sums: &mut [HashSum],
    ) -> Result<Vec<u64>, WriteError> {
        let (of_positions, of_values) = sums.split_first_mut().or_bug("no sum of positions")?;
        let position = |row| hash(&chunk.positions.row(row));
        let positions: Vec<u64> = (0..chunk.rows).map(position).collect();
        positions.iter().for_each(|one| of_positions.add(1, *one));
        let mut hashes = vec![0_u64; positions.len()];
        let columns = self.reader.columns().iter().zip(&chunk.columns);
        for ((column, values), sum) in columns.zip(of_values) {
            let absent = column.absent_row();
            // With the name in the hash, the order of the columns does not matter: it is that of a listing or of the documents.
            let name = hash(&column.name());
            for ((row, position), all) in (0_u32..).zip(&positions).zip(&mut hashes) {
                let value = values.as_ref().and_then(|values| values.row(row));
                let value = hash(&value.filter(|value| absent.as_deref() != Some(value)));
                sum.add(1, join(*position, value));
                *all = all.wrapping_add(join(name, value));
            }
        }
        for (position, all) in positions.iter().zip(&mut hashes) {
            *all = join(*position, *all);
        }
        Ok(hashes)
    }

    /// The sequences of vertices of the fragments of a chunk, from the hashes of its rows. For trees, `stored` are the rows with a stored
    /// parent; the parent of other rows is the previous row of their lowest fragment, and the edge to it is added to `edges`.
    fn sequences_of(
        &mut self,
        hashes: &[u64],
        fragments: &CheckedFragments,
        stored: Option<impl Fn(u32) -> bool>,
    ) -> Result<Vec<HashSequence>, WriteError> {
        let mut seen = vec![false; stored.as_ref().map_or(0, |_| hashes.len())];
        let mut found = Vec::with_capacity(index(fragments.len()));
        for fragment in fragments.iter() {
            let (mut sequence, mut before) = (HashSequence::EMPTY, None);
            for row in fragment.rows() {
                let vertex = *hashes.get(index(row)).or_bug("a fragment of no row")?;
                sequence.append(HashSequence::of(vertex));
                let Some((stored, seen)) = stored.as_ref().zip(seen.get_mut(index(row))) else {
                    continue;
                };
                let is_first = !std::mem::replace(seen, true);
                let parent = before.replace(vertex).filter(|_| is_first && !stored(row));
                if let Some(parent) = parent {
                    self.edges.add(1, join(vertex, parent));
                }
            }
            found.push(sequence);
        }
        Ok(found)
    }

    /// The children of stored edges of trees, by chunk and row.
    fn children(&self) -> Result<HashSet<(u32, u32)>, WriteError> {
        let (mut found, rank) = (HashSet::new(), self.level.key_rank().max(1));
        if let Some(links) = self.level.links(0) {
            each_link(&self.level.link_reader(links), &self.handle, |_, link| {
                let chunk = link.chunks.get(..rank).or_bug("a link without ends")?;
                found.extend(self.slot(chunk).zip(link.rows.first().copied()));
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// Whether a row has a position outside of its chunk, by more than a rounding error (trap T13).
    fn is_displaced(&self, chunk: &DecodedChunk) -> Result<bool, WriteError> {
        /// Rows with positions that are converted together.
        const ROWS: usize = 4096;
        let dtype = self.level.vertices().dtype();
        let number = NumberType::from_kind(dtype.kind).ok_or_else(|| {
            let what = format!("positions are {dtype}, expected numbers");
            WriteError::source(self.level.vertices().path(), what)
        })?;
        let epsilon = if number == NumberType::F16 {
            2e-3
        } else {
            1e-6
        };
        // Paired from the last axis on: if an attribute splits chunks, a key begins with a component that is not an axis.
        let shape = self.level.chunk_shape().iter().rev();
        let bounds = chunk.coord.iter().rev().zip(shape).rev().map(|(at, size)| {
            #[expect(clippy::cast_precision_loss, reason = "the bounds are widened")]
            let (low, high) = (*at as f64 * size, (*at as f64 + 1.0) * size);
            let slack = epsilon * low.abs().max(high.abs());
            low - slack..=high + slack
        });
        let bounds: Vec<_> = bounds.collect();
        let bytes = chunk.positions.row_bytes().max(1) * ROWS;
        let mut blocks = chunk
            .positions
            .blocks()
            .flat_map(|block| block.chunks(bytes));
        Ok(blocks.any(|rows| {
            let values = number.to_f64(rows);
            let mut axes = values.iter().zip(bounds.iter().cycle());
            axes.any(|(value, bounds)| value.is_finite() && !bounds.contains(value))
        }))
    }

    /// The sequence of the vertices of an object, and the number of entries of its manifest that name a missing fragment. Adds the links between
    /// fragments in different chunks to `chains`.
    pub(super) fn object(
        &self,
        entries: &mut dyn Iterator<Item = (ChunkCoord, i64)>,
        chains: &mut HashSum,
    ) -> (HashSequence, u64) {
        let (mut sequence, mut missing) = (HashSequence::EMPTY, 0);
        let mut before: Option<(ChunkCoord, u32)> = None;
        for (chunk, fragment) in entries {
            let Some((key, one)) = self.fragment(&chunk, fragment) else {
                missing += 1;
                continue;
            };
            sequence.append(one);
            if let Some(&(first, last)) = self.ends.get(&key) {
                if let Some((from, row)) = before.take().filter(|(from, _)| *from != chunk) {
                    chains.add(1, join(place(&from, row), place(&chunk, first)));
                }
                before = Some((chunk, last));
            }
        }
        (sequence, missing)
    }

    /// The chunk and number of a fragment, and the sequence of its vertices or of its place.
    fn fragment(&self, chunk: &[i64], number: i64) -> Option<((u32, u32), HashSequence)> {
        let number = u32::try_from(number).ok()?;
        let slot = self.slot(chunk)?;
        let sequence = match self.sequences.get(index(slot)) {
            Some(all) => *all.get(index(number))?,
            None => HashSequence::of(place(chunk, number)),
        };
        let (_, count) = *self.counts.get(index(slot))?;
        (number < count).then_some(((slot, number), sequence))
    }
}

/// The hash of the place of a row or fragment: its chunk and number.
pub(super) fn place(chunk: &[i64], number: u32) -> u64 {
    hash(&(chunk, number))
}

#[cfg(test)]
mod tests {
    use super::{HashSequence, hash};

    #[test]
    fn hashes_of_parts_join() {
        let whole = |parts: &[&[u64]]| {
            let mut all = HashSequence::EMPTY;
            for part in parts {
                let mut one = HashSequence::EMPTY;
                part.iter()
                    .for_each(|vertex| one.append(HashSequence::of(hash(vertex))));
                all.append(one);
            }
            all
        };
        let wanted = whole(&[&[5, 9, u64::MAX, 7]]);
        assert_eq!(whole(&[&[5], &[], &[9, u64::MAX], &[7]]), wanted);
        assert_ne!(whole(&[&[9, 5], &[u64::MAX, 7]]), wanted);
        assert_ne!(whole(&[&[5, 9, u64::MAX, 7, 0]]), wanted);
    }
}

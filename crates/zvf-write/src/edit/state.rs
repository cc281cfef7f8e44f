//! The part of a store that an edit has read, in memory and free to change.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use zvf_format::fragments::{Fragment, FragmentIndex, FragmentIndexBuilder};
use zvf_store::{CellWant, ChunkCoord, Level, StoreError};

use super::link_values::LinkValues;
use crate::WriteError;
use crate::chunk_by::Keys;
use crate::int::{narrow, wide};
use crate::layout::Layout;
use crate::prepare::Corners;
use crate::spec::StoreSpec;

/// A vertex: chunk and row where it is stored, or [`FRESH`] and a number.
pub(crate) type Vertex = u64;

/// The chunk of vertices that are stored nowhere yet.
pub(crate) const FRESH: u32 = u32::MAX;

/// The name of a stored vertex.
pub(crate) fn stored(slot: u32, row: u32) -> Vertex {
    (u64::from(slot) << 32) | u64::from(row)
}

/// Chunk and row of a name.
pub(crate) fn parts(vertex: Vertex) -> (u32, u32) {
    let low = |value: u64| u32::try_from(value & u64::from(u32::MAX)).unwrap_or(FRESH);
    (low(vertex >> 32), low(vertex))
}

/// One vertex with its bytes: the position, then every attribute.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) vertex: Vertex,
    pub(crate) bytes: Vec<u8>,
}

/// One chunk: fragments of rows. Their numbers never change, so that manifests stay right: a fragment that loses its
/// rows stays as an empty one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chunk {
    pub(crate) fragments: Vec<Vec<Row>>,
    /// Rows that are stored.
    pub(crate) before: usize,
    /// Whether rows came, went or changed places.
    pub(crate) moved: bool,
    /// Columns whose values changed: 0 is the position, attributes follow.
    pub(crate) changed: BTreeSet<usize>,
}

impl Chunk {
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.fragments.iter().flatten()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fragments.iter().all(Vec::is_empty)
    }
}

/// A place among fragments: chunk and fragment.
pub(crate) type Block = (u32, u32);

/// A link that is added: its ends in the order of the application, and its attributes.
#[derive(Debug, Clone)]
pub(crate) struct NewLink {
    pub(crate) ends: Vec<Vertex>,
    pub(crate) attributes: Vec<u8>,
}

/// What an edit knows and changes.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) level: Level,
    pub(crate) spec: StoreSpec,
    /// The values that chunks are cut by, where they are, and those that this edit brings.
    pub(crate) keys: Option<Keys>,
    /// Where the parts of a row lie: the position, then every attribute.
    pub(crate) columns: Vec<std::ops::Range<usize>>,
    /// By slot. `None`: not read.
    pub(crate) chunks: Vec<(ChunkCoord, Option<Chunk>)>,
    slots: HashMap<ChunkCoord, u32>,
    fresh: u64,
    pub(crate) links: Vec<NewLink>,
    /// All attributes of links that are stored, where some were set.
    pub(crate) link_values: LinkValues,
    /// Chunks of the first ends of these links.
    pub(crate) relinked: BTreeSet<u32>,
    pub(crate) extent: Option<Corners>,
}

impl State {
    pub(crate) fn new(level: Level, spec: StoreSpec, keys: Option<Keys>) -> Self {
        let layout = Layout::new(&spec);
        let start = layout.position.start;
        let shift = |range: &std::ops::Range<usize>| {
            range.start.saturating_sub(start)..range.end.saturating_sub(start)
        };
        let columns = std::iter::once(&layout.position)
            .chain(&layout.attributes)
            .map(shift)
            .collect();
        Self {
            level,
            spec,
            keys,
            columns,
            chunks: Vec::new(),
            slots: HashMap::new(),
            fresh: 0,
            links: Vec::new(),
            link_values: LinkValues::new(),
            relinked: BTreeSet::new(),
            extent: None,
        }
    }

    /// The slot of a chunk, new or not.
    pub(crate) fn slot(&mut self, chunk: &[i64]) -> Result<u32, WriteError> {
        if let Some(slot) = self.slots.get(chunk) {
            return Ok(*slot);
        }
        let slot = narrow("chunks of an edit", self.chunks.len())?;
        if slot == FRESH {
            return Err(WriteError::limit(
                "chunks of an edit",
                u64::from(slot),
                u64::from(slot),
            ));
        }
        self.slots.insert(ChunkCoord::new(chunk), slot);
        self.chunks.push((ChunkCoord::new(chunk), None));
        Ok(slot)
    }

    /// A name for a vertex that is new.
    pub(crate) fn fresh(&mut self) -> Result<Vertex, WriteError> {
        let number = self.fresh;
        if number >= u64::from(u32::MAX) {
            return Err(WriteError::limit(
                "new vertices of an edit",
                number,
                u64::from(u32::MAX),
            ));
        }
        self.fresh = number.saturating_add(1);
        Ok((u64::from(FRESH) << 32) | number)
    }

    pub(crate) fn coord(&self, slot: u32) -> &[i64] {
        let at = crate::int::index(slot);
        self.chunks
            .get(at)
            .map_or(&[], |(coord, _)| coord.as_slice())
    }

    /// A chunk that was read.
    pub(crate) fn chunk(&self, slot: u32) -> Option<&Chunk> {
        self.chunks.get(crate::int::index(slot))?.1.as_ref()
    }

    /// A chunk that was read, to be changed.
    pub(crate) fn chunk_mut(&mut self, slot: u32) -> Result<&mut Chunk, WriteError> {
        let chunk = self
            .chunks
            .get_mut(crate::int::index(slot))
            .and_then(|(_, chunk)| chunk.as_mut());
        chunk.ok_or_else(|| WriteError::input("chunk", "one that was not read", "one that was"))
    }

    /// The rows of a fragment.
    pub(crate) fn fragment(&self, block: Block) -> Result<&[Row], WriteError> {
        let found = self
            .chunk(block.0)
            .and_then(|chunk| chunk.fragments.get(crate::int::index(block.1)));
        found.map(Vec::as_slice).ok_or_else(|| {
            let path = self
                .level
                .vertex_fragments()
                .map_or("", |array| array.path());
            let found = format!(
                "a manifest that names fragment {} of chunk {:?}",
                block.1,
                self.coord(block.0)
            );
            WriteError::unsupported(path, found, "manifests of fragments that are there")
        })
    }

    /// Takes all rows out of a fragment; it stays, empty.
    pub(crate) fn empty_fragment(&mut self, block: Block) -> Result<(), WriteError> {
        self.fragment(block)?;
        let chunk = self.chunk_mut(block.0)?;
        if let Some(fragment) = chunk.fragments.get_mut(crate::int::index(block.1)) {
            fragment.clear();
            chunk.moved = true;
        }
        Ok(())
    }

    /// Notes where a new or moved vertex is.
    pub(crate) fn reach(&mut self, extent: &Corners) {
        let (low, high) = self.extent.get_or_insert_with(|| extent.clone());
        low.iter_mut()
            .zip(&extent.0)
            .for_each(|(all, one)| *all = all.min(*one));
        high.iter_mut()
            .zip(&extent.1)
            .for_each(|(all, one)| *all = all.max(*one));
    }

    /// Reads chunks that were not read yet.
    ///
    /// # Errors
    /// I/O; chunks that an edit could not keep as they are: fragments that do not tile their rows, attributes without a
    /// value for each row.
    pub(crate) async fn load(
        &mut self,
        slots: impl IntoIterator<Item = u32>,
    ) -> Result<(), WriteError> {
        let slots: BTreeSet<u32> = slots
            .into_iter()
            .filter(|&slot| self.chunk(slot).is_none())
            .collect();
        let (Some(fragments), false) = (self.level.vertex_fragments().cloned(), slots.is_empty())
        else {
            return Ok(());
        };
        let mut arrays = vec![self.level.vertices().clone(), fragments];
        arrays.extend(
            self.level
                .vertex_attributes()
                .iter()
                .map(|one| one.array.clone()),
        );
        let there: Vec<u32> = slots
            .iter()
            .copied()
            .filter(|&slot| {
                arrays
                    .iter()
                    .any(|array| array.presence().contains(self.coord(slot)))
            })
            .collect();
        let mut wants = Vec::new();
        for &slot in &there {
            let chunk = self.coord(slot);
            // An array may be smaller than another one; what lies outside of it is not there.
            wants.extend(
                arrays
                    .iter()
                    .map(|array| array.in_grid(chunk).then(|| CellWant::new(array, chunk))),
            );
        }
        let asked: Vec<bool> = wants.iter().map(Option::is_some).collect();
        let mut found = self
            .level
            .store()
            .fetch(
                self.level.next_round(),
                wants.into_iter().flatten().collect(),
            )
            .await?
            .into_iter();
        let mut cells = asked
            .into_iter()
            .map(|asked| if asked { found.next().flatten() } else { None });
        let mut loaded = BTreeMap::new();
        for &slot in &there {
            let mut of_chunk: Vec<Vec<u8>> = Vec::new();
            for _ in &arrays {
                of_chunk.push(
                    cells
                        .next()
                        .flatten()
                        .map(|cell| cell.to_vec())
                        .unwrap_or_default(),
                );
            }
            loaded.insert(slot, self.parse(slot, &of_chunk)?);
        }
        for slot in slots {
            let chunk = loaded.remove(&slot).unwrap_or_default();
            if let Some((_, place)) = self.chunks.get_mut(crate::int::index(slot)) {
                *place = Some(chunk);
            }
        }
        Ok(())
    }

    fn parse(&self, slot: u32, cells: &[Vec<u8>]) -> Result<Chunk, WriteError> {
        let coord = self.coord(slot);
        let refused = |path: &str, found: String, expected: &str| {
            WriteError::unsupported(path, format!("{found} at chunk {coord:?}"), expected)
        };
        let (Some((positions, rest)), vertices) =
            (cells.split_first(), self.level.vertices().path())
        else {
            return Ok(Chunk::default());
        };
        let (index, attributes) = rest
            .split_first()
            .map_or((&[][..], &[][..]), |(a, b)| (a.as_slice(), b));
        let size = self.columns.first().map_or(1, |column| column.len().max(1));
        let count = positions.len() / size;
        if count.saturating_mul(size) != positions.len() {
            return Err(refused(
                vertices,
                format!("{} bytes", positions.len()),
                "whole rows",
            ));
        }
        let path = self
            .level
            .vertex_fragments()
            .map_or("", |array| array.path());
        if index.is_empty() && count == 0 {
            return Ok(Chunk::default());
        }
        let decode = |source| StoreError::Decode {
            key: format!("{path} at {coord:?}"),
            source,
        };
        let index = FragmentIndex::parse(index).map_err(decode)?;
        index.verify().map_err(decode)?;
        if !index.tiles(wide(count)) {
            let expected = "fragments that follow each other and hold every row once";
            return Err(refused(path, "other fragments".to_owned(), expected));
        }
        for ((column, cell), one) in self
            .columns
            .iter()
            .skip(1)
            .zip(attributes)
            .zip(self.level.vertex_attributes())
        {
            if cell.len() != count.saturating_mul(column.len()) {
                let found = format!("{} bytes for {count} rows", cell.len());
                return Err(refused(one.array.path(), found, "a value for every row"));
            }
        }
        let mut row = 0_usize;
        let mut fragments = Vec::new();
        for fragment in index.iter() {
            let Fragment::Range { count, .. } = fragment else {
                continue;
            };
            let mut rows = Vec::new();
            for _ in 0..count {
                let number = narrow("rows of one chunk", row)?;
                let mut bytes = Vec::new();
                for (column, cell) in self
                    .columns
                    .iter()
                    .zip(std::iter::once(positions).chain(attributes))
                {
                    let start = row.saturating_mul(column.len());
                    bytes.extend_from_slice(
                        cell.get(start..start.saturating_add(column.len()))
                            .unwrap_or_default(),
                    );
                }
                rows.push(Row {
                    vertex: stored(slot, number),
                    bytes,
                });
                row = row.saturating_add(1);
            }
            fragments.push(rows);
        }
        Ok(Chunk {
            fragments,
            before: count,
            ..Chunk::default()
        })
    }

    /// Reads every chunk of the level; returns their slots in the order of answers: by coordinate.
    pub(crate) async fn load_all(&mut self) -> Result<Vec<u32>, WriteError> {
        let mut all: BTreeSet<ChunkCoord> = self
            .level
            .vertices()
            .presence()
            .iter()
            .map(ChunkCoord::new)
            .collect();
        all.extend(self.chunks.iter().map(|(coord, _)| coord.clone()));
        let mut slots = Vec::new();
        for chunk in all {
            slots.push(self.slot(&chunk)?);
        }
        self.load(slots.iter().copied()).await?;
        Ok(slots)
    }

    /// Where the vertices of all chunks whose rows moved are now.
    pub(crate) fn places(&self) -> Result<HashMap<Vertex, (u32, u32)>, WriteError> {
        let mut places = HashMap::new();
        for (slot, (_, chunk)) in self.chunks.iter().enumerate() {
            let slot = narrow("chunks of an edit", slot)?;
            let Some(chunk) = chunk.as_ref().filter(|chunk| chunk.moved) else {
                continue;
            };
            for (at, row) in chunk.rows().enumerate() {
                places.insert(row.vertex, (slot, narrow("rows of one chunk", at)?));
            }
        }
        Ok(places)
    }

    /// Where a vertex is now; `None`: it is gone.
    pub(crate) fn place(
        &self,
        places: &HashMap<Vertex, (u32, u32)>,
        vertex: Vertex,
    ) -> Option<(u32, u32)> {
        if let Some(place) = places.get(&vertex) {
            return Some(*place);
        }
        let (slot, row) = parts(vertex);
        let untouched = slot != FRESH && !self.chunk(slot).is_some_and(|chunk| chunk.moved);
        untouched.then_some((slot, row))
    }

    /// The payload of a column of a chunk.
    pub(crate) fn column(&self, chunk: &Chunk, at: usize) -> Vec<u8> {
        let range = self.columns.get(at).cloned().unwrap_or_default();
        let cells = chunk.rows().filter_map(|row| row.bytes.get(range.clone()));
        cells.flatten().copied().collect()
    }
}

/// The fragment index of a chunk.
pub(crate) fn index_cell(chunk: &Chunk) -> Result<Vec<u8>, WriteError> {
    let mut index = FragmentIndexBuilder::new();
    let mut start = 0_usize;
    for fragment in &chunk.fragments {
        let (from, count) = (
            crate::int::signed(start),
            crate::int::signed(fragment.len()),
        );
        index
            .push_range(from, count)
            .map_err(|source| WriteError::encode("vertex_fragments", source))?;
        start = start.saturating_add(fragment.len());
    }
    narrow("rows of one chunk", start)?;
    Ok(index.finish())
}

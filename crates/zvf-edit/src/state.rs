//! The part of a store that an edit has read, in memory and free to change.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use zvf_format::fragments::{Fragment, FragmentIndex};
use zvf_store::{CellWant, ChunkCoord, GridArray, Level, StoreError};

use super::rows::Rows;
use super::vertex::{FRESH, LinkValues, NewLink, Vertex, parts, stored};
use zvf_format::int::{index, wide};
use zvf_write::WriteError;
use zvf_write::cell::fragment_index;
use zvf_write::chunk_by::Keys;
use zvf_write::error::{OrBug, narrow, to_index};
use zvf_write::layout::Layout;
use zvf_write::prepare::Corners;
use zvf_write::record::row_of;
use zvf_write::spec::StoreSpec;

/// Chunks whose cells are asked for together.
const BATCH: usize = 32;

/// Bytes that an edit may take beside twice its budget: the program itself takes the rest of 64 MB.
const SPARE: u128 = 16 << 20;

/// One chunk: fragments of rows. Their numbers never change, so that manifests stay right: a fragment that loses its
/// rows stays as an empty one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chunk {
    pub(crate) fragments: Vec<Rows>,
    /// Rows that are stored.
    pub(crate) before: usize,
    /// Whether rows came, went or changed places.
    pub(crate) moved: bool,
    /// Columns whose values changed: 0 is the position, attributes follow.
    pub(crate) changed: BTreeSet<usize>,
}

impl Chunk {
    /// The vertices, row for row.
    pub(crate) fn names(&self) -> impl Iterator<Item = Vertex> {
        self.fragments.iter().flat_map(Rows::names).copied()
    }

    /// How many rows there are.
    pub(crate) fn count(&self) -> usize {
        self.fragments.iter().map(Rows::len).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fragments.iter().all(Rows::is_empty)
    }
}

/// Where the vertices are whose chunks have other rows than before: 8 bytes a row.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// By chunk: the places of the rows that are stored there.
    stored: HashMap<u32, Vec<u64>>,
    /// By number.
    fresh: Vec<u64>,
}

impl Places {
    /// No place: the vertex is gone.
    const GONE: u64 = u64::MAX;

    fn note(&mut self, vertex: Vertex, place: (u32, u32)) -> Result<(), WriteError> {
        let (slot, row) = parts(vertex);
        let list = match slot {
            FRESH => Some(&mut self.fresh),
            slot => self.stored.get_mut(&slot),
        };
        let one = list.and_then(|list| list.get_mut(zvf_format::int::index(row)));
        let one = one.ok_or_else(|| {
            WriteError::bug(format!(
                "row {row} of chunk {slot} was in no chunk that changed"
            ))
        })?;
        *one = stored(place.0, place.1);
        Ok(())
    }

    fn get(&self, vertex: Vertex) -> Option<(u32, u32)> {
        let (slot, row) = parts(vertex);
        let list = match slot {
            FRESH => Some(&self.fresh),
            slot => self.stored.get(&slot),
        };
        let place = list?.get(zvf_format::int::index(row)).copied();
        place.filter(|place| *place != Self::GONE).map(parts)
    }
}

/// A place among fragments: chunk and fragment.
pub(crate) type Block = (u32, u32);

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
    /// Rows of the fragments of chunks of which nothing more was read.
    sizes: HashMap<u32, Vec<u32>>,
    slots: HashMap<ChunkCoord, u32>,
    fresh: u64,
    pub(crate) links: Vec<NewLink>,
    /// All attributes of links that are stored, where some were set.
    pub(crate) link_values: LinkValues,
    /// Chunks of the first ends of these links.
    pub(crate) relinked: BTreeSet<u32>,
    pub(crate) extent: Option<Corners>,
    /// Bytes that what is read should not exceed.
    budget: usize,
}

impl State {
    pub(crate) fn new(level: Level, spec: StoreSpec, keys: Option<Keys>, budget: usize) -> Self {
        let layout = Layout::new(&spec);
        let start = layout.position.start;
        // The position is the first of the columns in a record.
        let shift = |range: &std::ops::Range<usize>| range.start - start..range.end - start;
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
            sizes: HashMap::new(),
            slots: HashMap::new(),
            fresh: 0,
            links: Vec::new(),
            link_values: LinkValues::new(),
            relinked: BTreeSet::new(),
            extent: None,
            budget,
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

    /// The number of a vertex attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<usize> {
        let mut attributes = self.spec.vertex_attributes.iter();
        attributes.position(|one| one.name == name)
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
        self.fresh = number + 1;
        Ok((u64::from(FRESH) << 32) | number)
    }

    pub(crate) fn coord(&self, slot: u32) -> Result<&[i64], WriteError> {
        let (coord, _) = self
            .chunks
            .get(index(slot))
            .or_bug(format_args!("no chunk {slot}"))?;
        Ok(coord.as_slice())
    }

    /// A chunk that was read.
    pub(crate) fn chunk(&self, slot: u32) -> Option<&Chunk> {
        self.chunks.get(zvf_format::int::index(slot))?.1.as_ref()
    }

    /// A chunk that was read, to be changed.
    pub(crate) fn chunk_mut(&mut self, slot: u32) -> Result<&mut Chunk, WriteError> {
        let chunk = self
            .chunks
            .get_mut(zvf_format::int::index(slot))
            .and_then(|(_, chunk)| chunk.as_mut());
        chunk.ok_or_else(|| WriteError::input("chunk", "one that was not read", "one that was"))
    }

    /// The rows of a fragment of a chunk that was read.
    pub(crate) fn fragment(&self, block: Block) -> Result<&Rows, WriteError> {
        let found = self
            .chunk(block.0)
            .and_then(|chunk| chunk.fragments.get(zvf_format::int::index(block.1)));
        found.ok_or_else(|| self.no_fragment(block))
    }

    /// How many rows a fragment has whose chunk was [measured](Self::measure).
    pub(crate) fn fragment_len(&self, block: Block) -> Result<usize, WriteError> {
        if self.chunk(block.0).is_some() {
            return Ok(self.fragment(block)?.len());
        }
        let sizes = self.sizes.get(&block.0);
        let size = sizes.and_then(|sizes| sizes.get(zvf_format::int::index(block.1)));
        size.map(|size| zvf_format::int::index(*size))
            .ok_or_else(|| self.no_fragment(block))
    }

    /// Rows of each fragment of a chunk that was measured.
    pub(crate) fn sizes(&self, slot: u32) -> Vec<usize> {
        match self.chunk(slot) {
            Some(chunk) => chunk.fragments.iter().map(Rows::len).collect(),
            None => {
                let sizes = self.sizes.get(&slot).into_iter().flatten();
                sizes.map(|size| zvf_format::int::index(*size)).collect()
            }
        }
    }

    #[cold]
    fn no_fragment(&self, block: Block) -> WriteError {
        let path = self
            .level
            .vertex_fragments()
            .map_or("", |array| array.path());
        let coord = match self.coord(block.0) {
            Ok(coord) => coord,
            Err(bug) => return bug,
        };
        let found = format!(
            "a manifest that names fragment {} of chunk {coord:?}",
            block.1
        );
        WriteError::unsupported(path, found, "manifests of fragments that are there")
    }

    /// Takes all rows out of a fragment; it stays, empty.
    pub(crate) fn take_fragment(&mut self, block: Block) -> Result<Rows, WriteError> {
        Ok(std::mem::take(self.fragment_mut(block)?))
    }

    /// A fragment of a chunk that was read, to change its rows.
    pub(crate) fn fragment_mut(&mut self, block: Block) -> Result<&mut Rows, WriteError> {
        self.fragment(block)?;
        let chunk = self.chunk_mut(block.0)?;
        chunk.moved = true;
        let fragment = chunk.fragments.get_mut(zvf_format::int::index(block.1));
        fragment.or_bug(format_args!("fragment {} is gone", block.1))
    }

    /// Puts rows behind those of a fragment.
    pub(crate) fn extend_fragment(&mut self, block: Block, rows: Rows) -> Result<(), WriteError> {
        self.fragment_mut(block)?.append(rows)
    }

    /// Reads how many rows the fragments of chunks have, of those that were not read.
    ///
    /// # Errors
    /// I/O; malformed fragment indexes.
    pub(crate) async fn measure(
        &mut self,
        slots: impl IntoIterator<Item = u32>,
    ) -> Result<(), WriteError> {
        let slots: BTreeSet<u32> = slots
            .into_iter()
            .filter(|slot| self.chunk(*slot).is_none() && !self.sizes.contains_key(slot))
            .collect();
        let Some(array) = self.level.vertex_fragments().cloned() else {
            return Ok(());
        };
        let mut there = Vec::new();
        for &slot in &slots {
            let chunk = self.coord(slot)?;
            if array.in_grid(chunk) && array.presence().contains(chunk) {
                there.push((slot, CellWant::new(&array, chunk)));
            }
        }
        for some in there.chunks(BATCH) {
            let wants = some.iter().map(|(_, want)| want.clone()).collect();
            let cells = self.level.store().fetch(self.level.next_round(), wants);
            for ((slot, _), cell) in some.iter().zip(cells.await?) {
                if let Some(cell) = cell {
                    let sizes = self.parse_index(*slot, &cell)?;
                    self.sizes.insert(*slot, sizes);
                }
            }
        }
        for slot in slots {
            self.sizes.entry(slot).or_default();
        }
        Ok(())
    }

    /// The rows of each fragment.
    fn parse_index(&self, slot: u32, cell: &[u8]) -> Result<Vec<u32>, WriteError> {
        let coord = self.coord(slot)?;
        let path = self
            .level
            .vertex_fragments()
            .map_or("", |array| array.path());
        let decode = |source| StoreError::Decode {
            key: format!("{path} at {coord:?}"),
            source,
        };
        let index = FragmentIndex::parse(cell).map_err(decode)?;
        index.verify().map_err(decode)?;
        let mut sizes = Vec::new();
        let mut rows = 0_u64;
        for fragment in index.iter() {
            if let Fragment::Range { count, .. } = fragment {
                sizes.push(narrow(
                    "rows of one chunk",
                    to_index("rows", count.unsigned_abs())?,
                )?);
                rows += count.unsigned_abs();
            }
        }
        if !index.tiles(rows) {
            let found = format!("other fragments at chunk {coord:?}");
            let expected = "fragments that follow each other and hold every row once";
            return Err(WriteError::unsupported(path, found, expected));
        }
        Ok(sizes)
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
        let level = self.level.clone();
        let attributes = level.vertex_attributes().iter().map(|one| &one.array);
        let arrays = [level.vertices(), &fragments].into_iter();
        let arrays: Vec<&Arc<GridArray>> = arrays.chain(attributes).collect();
        let mut there: Vec<u32> = Vec::new();
        for &slot in &slots {
            let chunk = self.coord(slot)?;
            let has = |array: &&Arc<GridArray>| array.presence().contains(chunk);
            there.extend(arrays.iter().any(has).then_some(slot));
        }
        self.check_budget(there.len())?;
        for some in there.chunks(BATCH) {
            let chunks = some.iter().map(|&slot| self.coord(slot));
            let chunks = chunks.collect::<Result<Vec<_>, _>>()?;
            // An array may be smaller than another one; what lies outside of it is not there.
            let cells = level.cells(&arrays, &chunks, |array, chunk| array.in_grid(chunk));
            for (&slot, cells) in some.iter().zip(cells.await?) {
                // A cell that is not stored is an empty one.
                let cells: Vec<Bytes> = cells.into_iter().map(Option::unwrap_or_default).collect();
                let chunk = self.parse(slot, &cells)?;
                self.keep(slot, chunk)?;
            }
        }
        for slot in slots {
            if self.chunk(slot).is_none() {
                self.keep(slot, Chunk::default())?;
            }
        }
        Ok(())
    }

    /// Refuses to read `more` chunks, where all that are held would take more than twice the memory budget and a little.
    fn check_budget(&self, more: usize) -> Result<(), WriteError> {
        let held = self.chunks.iter().filter(|(_, chunk)| chunk.is_some());
        let held = held.count() + more;
        let listed = self.level.vertices().presence().len().max(1);
        let share = u128::from(wide(held.min(listed)));
        // Below 2^64: it is a share of what the document says.
        let rows = u128::from(self.level.doc().vertex_count) * share / u128::from(wide(listed));
        // Of each row its bytes, its name, its new place, and its cells as they are written.
        let width: usize = self.columns.iter().map(ExactSizeIterator::len).sum();
        let row = u128::from(wide(width) * 2 + 16);
        let needed = (rows * row).saturating_sub(SPARE) / 2;
        if needed <= u128::from(wide(self.budget)) {
            return Ok(());
        }
        let expected = format!(
            "at least {needed} bytes: this edit holds {held} of {listed} chunks with about {rows} vertices in memory"
        );
        let found = format!("{} bytes", self.budget);
        Err(WriteError::input("memory budget", found, expected))
    }

    fn keep(&mut self, slot: u32, chunk: Chunk) -> Result<(), WriteError> {
        self.sizes.remove(&slot);
        let place = self.chunks.get_mut(index(slot));
        place.or_bug(format_args!("no chunk {slot}"))?.1 = Some(chunk);
        Ok(())
    }

    fn parse(&self, slot: u32, cells: &[Bytes]) -> Result<Chunk, WriteError> {
        let coord = self.coord(slot)?;
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
            .map_or((&[][..], &[][..]), |(a, b)| (a.as_ref(), b));
        let size = self
            .columns
            .first()
            .or_bug("rows without a position")?
            .len();
        let count = positions.len() / size;
        if count * size != positions.len() {
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
        let sizes = self.parse_index(slot, index)?;
        if sizes.iter().map(|size| u64::from(*size)).sum::<u64>() != wide(count) {
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
            if cell.len() != count * column.len() {
                let found = format!("{} bytes for {count} rows", cell.len());
                return Err(refused(one.array.path(), found, "a value for every row"));
            }
        }
        let width = self.columns.iter().map(ExactSizeIterator::len).sum();
        let mut row = 0_usize;
        let mut fragments = Vec::with_capacity(sizes.len());
        for size in sizes {
            let mut rows = Rows::with_capacity(zvf_format::int::index(size), width);
            for _ in 0..size {
                let number = narrow("rows of one chunk", row)?;
                let cells = std::iter::once(positions).chain(attributes);
                let parts = self.columns.iter().zip(cells);
                let parts = parts.map(|(column, cell)| row_of(cell, row, column.len()));
                let parts: Option<Vec<&[u8]>> = parts.collect();
                rows.push(
                    stored(slot, number),
                    parts.or_bug("a row behind its cells")?,
                )?;
                row += 1;
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
        let slots = self.all_slots()?;
        self.load(slots.iter().copied()).await?;
        Ok(slots)
    }

    /// The chunks of the level and of the edit, in the order of answers: by coordinate.
    pub(crate) fn all_slots(&mut self) -> Result<Vec<u32>, WriteError> {
        let mut all: BTreeSet<ChunkCoord> = self
            .level
            .vertices()
            .presence()
            .iter()
            .map(ChunkCoord::new)
            .collect();
        all.extend(self.chunks.iter().map(|(coord, _)| coord.clone()));
        all.iter().map(|chunk| self.slot(chunk)).collect()
    }

    /// Where the vertices of all chunks whose rows moved are now.
    pub(crate) fn places(&self) -> Result<Places, WriteError> {
        let mut places = Places {
            stored: HashMap::new(),
            fresh: vec![Places::GONE; to_index("new vertices of an edit", self.fresh)?],
        };
        let moved = |chunk: &Chunk| chunk.moved.then_some(chunk.before);
        for (slot, (_, chunk)) in (0_u32..).zip(&self.chunks) {
            if let Some(before) = chunk.as_ref().and_then(moved) {
                places.stored.insert(slot, vec![Places::GONE; before]);
            }
        }
        for (slot, (_, chunk)) in (0_u32..).zip(&self.chunks) {
            let Some(chunk) = chunk.as_ref().filter(|chunk| chunk.moved) else {
                continue;
            };
            for (at, name) in chunk.names().enumerate() {
                places.note(name, (slot, narrow("rows of one chunk", at)?))?;
            }
        }
        Ok(places)
    }

    /// Where a vertex is now; `None`: it is gone.
    pub(crate) fn place(&self, places: &Places, vertex: Vertex) -> Option<(u32, u32)> {
        if let Some(place) = places.get(vertex) {
            return Some(place);
        }
        let (slot, row) = parts(vertex);
        let untouched = slot != FRESH && !self.chunk(slot).is_some_and(|chunk| chunk.moved);
        untouched.then_some((slot, row))
    }

    /// The payload of a column of a chunk.
    pub(crate) fn column(&self, chunk: &Chunk, at: usize) -> Result<Vec<u8>, WriteError> {
        let missing = || WriteError::bug(format!("a row without column {at}"));
        let range = self.columns.get(at).ok_or_else(missing)?;
        let mut column = Vec::with_capacity(chunk.count() * range.len());
        for (_, row) in chunk.fragments.iter().flat_map(Rows::iter) {
            column.extend_from_slice(row.get(range.clone()).ok_or_else(missing)?);
        }
        Ok(column)
    }
}

/// The fragment index of a chunk.
pub(crate) fn index_cell(chunk: &Chunk) -> Result<Vec<u8>, WriteError> {
    narrow("rows of one chunk", chunk.count())?;
    fragment_index("vertex_fragments", chunk.fragments.iter().map(Rows::len))
}

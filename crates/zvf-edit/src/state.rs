//! The part of a store that an edit has read, with its changes, in memory.

use std::collections::{BTreeSet, HashMap};

use zvf_store::{ChunkCoord, ChunkParts, ChunkReader, DecodedChunk, Level};

use super::rows::{AttributeColumns, VertexRows};
use super::vertex::{FRESH, LinkValues, NewLink, Vertex, parts, stored};
use zvf_encode::batches::{Corners, SplitKeys, VertexLayout};
use zvf_encode::error::{OrBug, narrow, to_index};
use zvf_encode::level::fragment_index;
use zvf_encode::{StoreSpec, WriteError};
use zvf_format::int::{index, wide};

/// Number of chunks whose cells are requested together.
pub(super) const BATCH: usize = 32;

/// Bytes that an edit may take in addition to twice its memory budget. The documented peak is twice the budget plus 64 MB; the program itself takes
/// the rest of the 64 MB.
const SPARE: u128 = 16 << 20;

/// The rows of one chunk, in fragments. Numbers of fragments never change, so that manifests stay valid: a fragment that loses its rows stays, empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct EditedChunk {
    pub(crate) fragments: Vec<VertexRows>,
    /// Number of stored rows.
    pub(crate) before: usize,
    /// Whether rows were added, removed or reordered.
    pub(crate) moved: bool,
    /// Columns with changed values: 0 is the position, attributes follow.
    pub(crate) changed: BTreeSet<usize>,
}

impl EditedChunk {
    /// The vertices, in the order of rows.
    pub(crate) fn names(&self) -> impl Iterator<Item = Vertex> {
        self.fragments.iter().flat_map(VertexRows::names).copied()
    }

    /// Number of rows.
    pub(crate) fn count(&self) -> usize {
        self.fragments.iter().map(VertexRows::len).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fragments.iter().all(VertexRows::is_empty)
    }
}

/// The new rows of vertices in chunks with moved rows: 8 bytes per row.
#[derive(Debug, Default)]
pub(crate) struct NewRows {
    /// By chunk: the new places of its stored rows.
    stored: HashMap<u32, Vec<u64>>,
    /// The places of new vertices, by number.
    fresh: Vec<u64>,
}

impl NewRows {
    /// No place: the vertex was removed.
    const GONE: u64 = u64::MAX;

    fn note(&mut self, vertex: Vertex, place: (u32, u32)) -> Result<(), WriteError> {
        let (slot, row) = parts(vertex);
        let list = match slot {
            FRESH => Some(&mut self.fresh),
            slot => self.stored.get_mut(&slot),
        };
        let one = list.and_then(|list| list.get_mut(index(row)));
        let one = one.ok_or_else(|| {
            WriteError::bug(format!(
                "row {row} of chunk {slot} is in a changed chunk, but was in an unchanged one"
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
        let place = list?.get(index(row)).copied();
        place.filter(|place| *place != Self::GONE).map(parts)
    }
}

/// A place among fragments: chunk and fragment.
pub(crate) type FragmentAt = (u32, u32);

/// The level that an edit changes: the rows and links that were read, and their changes.
#[derive(Debug)]
pub(crate) struct EditState {
    pub(crate) level: Level,
    pub(crate) spec: StoreSpec,
    /// If an attribute splits chunks: its values, including those that this edit adds.
    pub(crate) keys: Option<SplitKeys>,
    /// The byte ranges of a row: the position, then every attribute.
    pub(crate) columns: Vec<std::ops::Range<usize>>,
    /// Changed attributes of chunks whose rows are not in memory.
    pub(crate) attribute_columns: AttributeColumns,
    /// By slot. `None`: not read.
    pub(crate) chunks: Vec<(ChunkCoord, Option<EditedChunk>)>,
    /// The number of rows of each fragment, by slot, for chunks whose cells were not read.
    sizes: HashMap<u32, Vec<u32>>,
    slots: HashMap<ChunkCoord, u32>,
    fresh: u64,
    /// Vertices that were renamed in a move so that their links are dropped: the new name by the old one.
    pub(crate) renamed: HashMap<Vertex, Vertex>,
    pub(crate) links: Vec<NewLink>,
    /// All attributes of stored links, for links with new values.
    pub(crate) link_values: LinkValues,
    /// Chunks of the first ends of links that must be stored again.
    pub(crate) relinked: BTreeSet<u32>,
    pub(crate) extent: Option<Corners>,
    /// The number of chunks that were read, and the number of their vertices.
    loaded: (usize, u128),
    /// The memory budget in bytes.
    budget: usize,
}

impl EditState {
    pub(crate) fn new(
        level: Level,
        spec: StoreSpec,
        keys: Option<SplitKeys>,
        budget: usize,
    ) -> Self {
        let layout = VertexLayout::new(&spec);
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
            attribute_columns: AttributeColumns::default(),
            chunks: Vec::new(),
            sizes: HashMap::new(),
            slots: HashMap::new(),
            fresh: 0,
            renamed: HashMap::new(),
            links: Vec::new(),
            link_values: LinkValues::new(),
            relinked: BTreeSet::new(),
            extent: None,
            loaded: (0, 0),
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

    /// The index of a vertex attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<usize> {
        let mut attributes = self.spec.vertex_attributes.iter();
        attributes.position(|one| one.name == name)
    }

    /// A name for a new vertex.
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
    pub(crate) fn chunk(&self, slot: u32) -> Option<&EditedChunk> {
        self.chunks.get(index(slot))?.1.as_ref()
    }

    /// A chunk that was read, to be changed.
    pub(crate) fn chunk_mut(&mut self, slot: u32) -> Result<&mut EditedChunk, WriteError> {
        let chunk = self
            .chunks
            .get_mut(index(slot))
            .and_then(|(_, chunk)| chunk.as_mut());
        chunk.or_bug(format_args!("chunk {slot} was not read"))
    }

    /// The rows of a fragment of a chunk that was read.
    pub(crate) fn fragment(&self, block: FragmentAt) -> Result<&VertexRows, WriteError> {
        let found = self
            .chunk(block.0)
            .and_then(|chunk| chunk.fragments.get(index(block.1)));
        found.ok_or_else(|| self.no_fragment(block))
    }

    /// The number of rows of a fragment in a chunk that was [measured](Self::measure).
    pub(crate) fn fragment_len(&self, block: FragmentAt) -> Result<usize, WriteError> {
        if self.chunk(block.0).is_some() {
            return Ok(self.fragment(block)?.len());
        }
        let sizes = self.sizes.get(&block.0);
        let size = sizes.and_then(|sizes| sizes.get(index(block.1)));
        size.map(|size| index(*size))
            .ok_or_else(|| self.no_fragment(block))
    }

    /// Rows of each fragment of a chunk that was measured.
    pub(crate) fn sizes(&self, slot: u32) -> Vec<usize> {
        match self.chunk(slot) {
            Some(chunk) => chunk.fragments.iter().map(VertexRows::len).collect(),
            None => {
                let sizes = self.sizes.get(&slot).into_iter().flatten();
                sizes.map(|size| index(*size)).collect()
            }
        }
    }

    #[cold]
    fn no_fragment(&self, block: FragmentAt) -> WriteError {
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
        WriteError::unsupported(path, found, "manifests that name existing fragments")
    }

    /// Removes all rows from a fragment, which stays, and returns them.
    pub(crate) fn take_fragment(&mut self, block: FragmentAt) -> Result<VertexRows, WriteError> {
        Ok(std::mem::take(self.fragment_mut(block)?))
    }

    /// A fragment of a chunk that was read, to change its rows.
    pub(crate) fn fragment_mut(
        &mut self,
        block: FragmentAt,
    ) -> Result<&mut VertexRows, WriteError> {
        self.fragment(block)?;
        let chunk = self.chunk_mut(block.0)?;
        chunk.moved = true;
        let fragment = chunk.fragments.get_mut(index(block.1));
        fragment.or_bug(format_args!("fragment {} is gone", block.1))
    }

    /// Appends rows to a fragment.
    pub(crate) fn extend_fragment(
        &mut self,
        block: FragmentAt,
        rows: VertexRows,
    ) -> Result<(), WriteError> {
        self.fragment_mut(block)?.append(rows)
    }

    /// Reads the number of rows of each fragment, for chunks that were not read.
    ///
    /// # Errors
    /// I/O; malformed fragment indexes; fragments that do not tile the rows of their chunk.
    pub(crate) async fn measure(
        &mut self,
        slots: impl IntoIterator<Item = u32>,
    ) -> Result<(), WriteError> {
        let slots: BTreeSet<u32> = slots
            .into_iter()
            .filter(|slot| self.chunk(*slot).is_none() && !self.sizes.contains_key(slot))
            .collect();
        let Some(array) = self.level.vertex_fragments() else {
            return Ok(());
        };
        let (mut stored, mut unindexed) = (Vec::new(), Vec::new());
        for &slot in &slots {
            let chunk = self.coord(slot)?;
            if array.presence().contains(chunk) {
                stored.push(slot);
            } else if self.level.vertices().presence().contains(chunk) {
                unindexed.push(slot);
            }
        }
        // A chunk without a fragment index is an error if it has rows.
        for (positions, slots) in [(false, stored), (true, unindexed)] {
            let reader = self.level.chunks(ChunkParts {
                positions,
                ..ChunkParts::GEOMETRY
            })?;
            for some in slots.chunks(BATCH) {
                for (slot, read) in self.read(&reader, some).await? {
                    let sizes = self.fragment_sizes(&read)?;
                    self.sizes.insert(slot, sizes);
                }
            }
        }
        for slot in slots {
            self.sizes.entry(slot).or_default();
        }
        Ok(())
    }

    /// The rows of each fragment of a chunk.
    fn fragment_sizes(&self, read: &DecodedChunk) -> Result<Vec<u32>, WriteError> {
        if !read.fragments.tile(read.rows) {
            let found = format!(
                "fragments at chunk {:?} that do not tile its rows",
                read.coord.as_slice()
            );
            let expected = "fragments that follow each other and hold every row once";
            let array = self.level.vertex_fragments();
            let path = array.map_or("", |array| array.path());
            return Err(WriteError::unsupported(path, found, expected));
        }
        let sizes = read
            .fragments
            .iter()
            .map(|one| narrow("rows of one chunk", one.len()));
        sizes.collect()
    }

    /// Reads chunks by their slots.
    async fn read(
        &self,
        reader: &ChunkReader,
        slots: &[u32],
    ) -> Result<Vec<(u32, DecodedChunk)>, WriteError> {
        let chunks = slots.iter().map(|&slot| self.coord(slot));
        let read = reader.read(&chunks.collect::<Result<Vec<_>, _>>()?).await?;
        Ok(slots.iter().copied().zip(read).collect())
    }

    /// Reads chunks that were not read yet.
    ///
    /// # Errors
    /// I/O; chunks that an edit could not preserve: fragments that do not tile their rows, attributes without a value for each row, chunks with
    /// vertices that no presence list names. Misuse: the chunks need more memory than the budget allows.
    pub(crate) async fn load(
        &mut self,
        slots: impl IntoIterator<Item = u32>,
    ) -> Result<(), WriteError> {
        let slots: BTreeSet<u32> = slots
            .into_iter()
            .filter(|&slot| self.chunk(slot).is_none())
            .collect();
        if self.level.vertex_fragments().is_none() || slots.is_empty() {
            return Ok(());
        }
        let level = self.level.clone();
        let reader = level.chunks(ChunkParts {
            fragment_attributes: &[],
            ..ChunkParts::all_of(&level)
        })?;
        let (mut stored, mut unlisted) = (Vec::new(), Vec::new());
        for &slot in &slots {
            match reader.is_listed(self.coord(slot)?) {
                true => stored.push(slot),
                false => unlisted.push(slot),
            }
        }
        self.check_budget(stored.len())?;
        self.check_unlisted(&unlisted).await?;
        for (number, some) in stored.chunks(BATCH).enumerate() {
            self.check_read(stored.len() - number * BATCH)?;
            for (slot, read) in self.read(&reader, some).await? {
                let mut chunk = self.parse(slot, &read)?;
                self.join_columns(slot, &mut chunk)?;
                self.keep(slot, chunk)?;
            }
        }
        for slot in slots {
            if self.chunk(slot).is_none() {
                self.keep(slot, EditedChunk::default())?;
            }
        }
        Ok(())
    }

    /// Refuses chunks that have vertices though no presence list names them: writers that race lose entries of the list (0.9, trap T34), and manifests
    /// may still name the chunk. An edit would write over the vertices.
    async fn check_unlisted(&self, slots: &[u32]) -> Result<(), WriteError> {
        let vertices = self.level.vertices();
        for some in slots.chunks(BATCH) {
            let coords = some.iter().map(|slot| self.coord(*slot));
            let coords = coords.collect::<Result<Vec<&[i64]>, _>>()?;
            let inside: Vec<&[i64]> = coords
                .into_iter()
                .filter(|one| vertices.in_grid(one))
                .collect();
            let cells = self.level.cells(&[vertices], &inside, |_, _| true).await?;
            let mut found = inside.iter().zip(cells.into_iter().flatten());
            if let Some((chunk, _)) = found.find(|(_, cell)| cell.is_some()) {
                return Err(WriteError::source(
                    vertices.path(),
                    format!(
                        "nonempty_chunks does not list chunk {chunk:?}, which has vertices: `zvf repair` restores the list; if no object has them, \
                         `zvf vacuum` removes them; nothing was changed"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Refuses to read `more` chunks if all chunks in memory would then take more than twice the memory budget plus [`SPARE`]. Each of the `more` chunks is
    /// taken to have the average number of vertices of the chunks of the level.
    fn check_budget(&self, more: usize) -> Result<(), WriteError> {
        let listed = self.level.vertices().presence().len().max(1);
        let (held, rows) = self.loaded;
        let share = u128::from(wide(more.min(listed)));
        // Below 2^64: a share of the count in the document.
        let expected = u128::from(self.level.doc().vertex_count) * share / u128::from(wide(listed));
        let rows = rows + expected;
        match self.fits(rows) {
            true => Ok(()),
            false => Err(self.over_budget(held + more, rows)),
        }
    }

    /// Refuses to read `more` chunks if the chunks that were read already need more than the memory budget, because they have more vertices than the
    /// average. The error assumes that the other chunks have as many.
    fn check_read(&self, more: usize) -> Result<(), WriteError> {
        let (held, rows) = self.loaded;
        if self.fits(rows) {
            return Ok(());
        }
        let all = u128::from(wide(held + more));
        let rows = rows * all / u128::from(wide(held.max(1)));
        Err(self.over_budget(held + more, rows))
    }

    fn fits(&self, rows: u128) -> bool {
        self.needed(rows, 0) <= u128::from(wide(self.budget))
    }

    /// The memory budget that an edit needs if it holds `rows` vertices and `more` bytes of columns in addition to the present ones.
    fn needed(&self, rows: u128, more: u128) -> u128 {
        // For each row its bytes, its name, its new place, and its cells as they are written.
        let width: usize = self.columns.iter().map(ExactSizeIterator::len).sum();
        let row = u128::from(wide(width) * 2 + 16);
        let columns = 2 * (self.attribute_columns.bytes() + more);
        (rows * row + columns).saturating_sub(SPARE) / 2
    }

    /// Refuses `more` bytes of columns of `chunks` chunks if the edit would then take more memory than [allowed](Self::check_budget).
    pub(super) fn check_columns(&self, chunks: usize, more: u128) -> Result<(), WriteError> {
        let needed = self.needed(self.loaded.1, more);
        if needed <= u128::from(wide(self.budget)) {
            return Ok(());
        }
        let listed = self.level.vertices().presence().len();
        let expected = format!(
            "at least {needed} bytes: this edit holds the values of {chunks} of {listed} chunks in memory"
        );
        Err(self.small_budget(expected))
    }

    fn over_budget(&self, held: usize, rows: u128) -> WriteError {
        let listed = self.level.vertices().presence().len();
        let needed = self.needed(rows, 0);
        let expected = format!(
            "at least {needed} bytes: this edit holds {held} of {listed} chunks with about {rows} vertices in memory"
        );
        self.small_budget(expected)
    }

    #[cold]
    fn small_budget(&self, expected: String) -> WriteError {
        let found = format!("{} bytes", self.budget);
        WriteError::input("memory budget", found, expected)
    }

    fn keep(&mut self, slot: u32, chunk: EditedChunk) -> Result<(), WriteError> {
        self.sizes.remove(&slot);
        let (chunks, rows) = self.loaded;
        self.loaded = (chunks + 1, rows + u128::from(wide(chunk.count())));
        let place = self.chunks.get_mut(index(slot));
        place.or_bug(format_args!("no chunk {slot}"))?.1 = Some(chunk);
        Ok(())
    }

    fn parse(&self, slot: u32, read: &DecodedChunk) -> Result<EditedChunk, WriteError> {
        let sizes = self.fragment_sizes(read)?;
        let count = index(read.rows);
        let attributes = read.columns.iter().zip(self.level.vertex_attributes());
        for (column, (values, one)) in self.columns.iter().skip(1).zip(attributes) {
            let bytes = values
                .as_ref()
                .map_or(0, |values| values.rows() * values.row_bytes());
            if count > 0 {
                let place = (one.array.path(), read.coord.as_slice());
                values_of_every_row(place, bytes, count, column.len())?;
            }
        }
        // Only the stored columns: `join_columns` appends those that the edit added.
        let width = self.columns.iter().take(1 + read.columns.len());
        let width = width.map(ExactSizeIterator::len).sum();
        let mut row = 0_u32;
        let mut fragments = Vec::with_capacity(sizes.len());
        for size in sizes {
            let mut rows = VertexRows::with_capacity(index(size), width);
            for _ in 0..size {
                let columns = read.columns.iter().map(|values| values.as_ref()?.row(row));
                let parts = std::iter::once(read.positions.row(row)).chain(columns);
                let parts: Option<Vec<&[u8]>> = parts.collect();
                rows.push(
                    stored(slot, row),
                    parts.or_bug("a row after the end of its cells")?,
                )?;
                row += 1;
            }
            fragments.push(rows);
        }
        Ok(EditedChunk {
            fragments,
            before: count,
            ..EditedChunk::default()
        })
    }

    /// The chunks of the level and of the edit, in the order of query results: by coordinate.
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

    /// The current rows of the vertices of all chunks with moved rows.
    pub(crate) fn places(&self) -> Result<NewRows, WriteError> {
        let mut places = NewRows {
            stored: HashMap::new(),
            fresh: vec![NewRows::GONE; to_index("new vertices of an edit", self.fresh)?],
        };
        let moved = |chunk: &EditedChunk| chunk.moved.then_some(chunk.before);
        for (slot, (_, chunk)) in (0_u32..).zip(&self.chunks) {
            if let Some(before) = chunk.as_ref().and_then(moved) {
                places.stored.insert(slot, vec![NewRows::GONE; before]);
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

    /// The current place of a vertex; `None` if it was removed.
    pub(crate) fn place(&self, places: &NewRows, vertex: Vertex) -> Option<(u32, u32)> {
        if let Some(place) = places.get(vertex) {
            return Some(place);
        }
        let (slot, row) = parts(vertex);
        let untouched = slot != FRESH && !self.chunk(slot).is_some_and(|chunk| chunk.moved);
        untouched.then_some((slot, row))
    }

    /// The payload of a column of a chunk.
    pub(crate) fn column(&self, chunk: &EditedChunk, at: usize) -> Result<Vec<u8>, WriteError> {
        let missing = || WriteError::bug(format!("a row without column {at}"));
        let range = self.columns.get(at).ok_or_else(missing)?;
        let mut column = Vec::with_capacity(chunk.count() * range.len());
        for (_, row) in chunk.fragments.iter().flat_map(VertexRows::iter) {
            column.extend_from_slice(row.get(range.clone()).ok_or_else(missing)?);
        }
        Ok(column)
    }
}

/// Refuses a cell of an attribute that does not have `width` bytes for each of `rows` rows. `path` and `chunk` locate the cell in the error.
pub(super) fn values_of_every_row(
    (path, chunk): (&str, &[i64]),
    bytes: usize,
    rows: usize,
    width: usize,
) -> Result<(), WriteError> {
    if bytes == rows * width {
        return Ok(());
    }
    let found = format!("{bytes} bytes for {rows} rows at chunk {chunk:?}");
    let expected = "a value for every row";
    Err(WriteError::unsupported(path, found, expected))
}

/// The fragment index of a chunk.
pub(crate) fn index_cell(chunk: &EditedChunk) -> Result<Vec<u8>, WriteError> {
    narrow("rows of one chunk", chunk.count())?;
    fragment_index(
        "vertex_fragments",
        chunk.fragments.iter().map(VertexRows::len),
    )
}

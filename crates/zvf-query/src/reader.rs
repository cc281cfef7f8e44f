//! Reads and decodes the chunks of one level for one query.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use zvf_store::{
    CellWant, ChunkCoord, ChunkReader, Level, OpenChunk, RowSet, RowValues, StoreError, WantedCells,
};

use crate::columns::attribute::{Cell, ColumnSpec};
use crate::columns::gather::Kept;
use crate::columns::position::{Extent, PositionSpec};
use crate::error::Place;
use crate::filter::{BoundFilter, BoundJoint, Fault, Operand, Truths};
use crate::fragments::Fragments;
use crate::plan::candidates::{Grid, farthest};
use crate::plan::chunks::{ChunkTable, Slot};
use crate::region::{BoundRegion, Overlap};
use crate::{BBox, QueryError};
use zvf_store::format::int;

/// The conditions on the rows of a chunk.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowTest {
    pub(crate) bbox: Option<BBox>,
    /// A region, which is inside the box.
    pub(crate) region: Option<Arc<BoundRegion>>,
    /// Whether a chunk is kept as a whole if one of its rows satisfies the conditions.
    pub(crate) whole_chunks: bool,
    /// Whether chunk keys do not determine positions; a chunk then intersects the box if one of its rows does.
    pub(crate) worthless_keys: bool,
    /// Whether the rows of a chunk must be inside the chunk of its key, because the box excludes chunks by their keys.
    pub(crate) placed: bool,
}

/// The requested cells of a chunk.
#[derive(Debug, Clone, Default)]
pub(crate) struct What {
    /// Positions, whose cell states the number of rows.
    pub(crate) vertices: bool,
    /// Whether positions are used; otherwise only the length of their cell is.
    pub(crate) positions: bool,
    pub(crate) fragments: bool,
    /// One flag for each column of the reader.
    pub(crate) attributes: Vec<bool>,
}

impl What {
    /// Whether a column of the reader is requested.
    fn wants(&self, column: usize) -> bool {
        self.attributes.get(column) == Some(&true)
    }
}

/// One level, prepared for one query. Shared with worker threads.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    pub(crate) level: Level,
    pub(crate) number: u32,
    /// The chunks of the query.
    pub(crate) table: ChunkTable,
    pub(crate) position: PositionSpec,
    pub(crate) grid: Grid,
    pub(crate) columns: Vec<ColumnSpec>,
    /// Reads the chunks of the level.
    pub(crate) chunks: ChunkReader,
    /// The index of each column in `chunks`; `None` for columns without an array.
    pub(crate) stored: Vec<Option<usize>>,
    /// For each column whether the filter tests it.
    pub(crate) tested: Vec<bool>,
    pub(crate) filter: Option<BoundFilter>,
    /// The parts of the condition that are tested with the values of objects, after decoding.
    pub(crate) joint: Option<BoundJoint>,
    pub(crate) test: RowTest,
    /// Set if the fragments of a chunk cover only a fraction of its rows: [`Fragments::are_short`].
    pub(crate) short: Arc<AtomicBool>,
    /// A chunk whose rows are compared with its key if no box requires this for all chunks.
    pub(crate) probe: Option<Slot>,
    /// Set if none of these rows is in the chunk.
    pub(crate) displaced: Arc<AtomicBool>,
}

/// Most rows of a chunk that are compared with its key without a box.
const PROBED: usize = 1024;

/// The decoded cells of one chunk.
#[derive(Debug, Clone)]
pub(crate) struct Decoded {
    pub(crate) slot: Slot,
    /// Rows of the buffer.
    pub(crate) rows: u32,
    /// Whether the chunk has no vertices: their cell is missing or empty.
    pub(crate) absent: bool,
    /// World positions of the used rows, if the query needs positions.
    pub(crate) positions: RowValues,
    pub(crate) fragments: Option<Arc<Fragments>>,
    /// One for each column of the reader.
    pub(crate) cells: Vec<Cell>,
    /// The rows that satisfy the query.
    pub(crate) kept: Kept,
    /// Whether the filter was applied to rows of the chunk.
    pub(crate) filtered: bool,
    /// Whether the rows are inside the chunk of the key.
    pub(crate) in_place: bool,
}

impl Decoded {
    /// Approximate memory of the chunk, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let cells = self.cells.iter().map(|cell| match cell {
            Cell::Rows { values, .. } | Cell::Short { values, .. } => values.bytes().len(),
            _ => 0,
        });
        let fragments = self
            .fragments
            .as_ref()
            .map_or(0, |fragments| fragments.len().saturating_mul(8));
        int::wide(self.positions.bytes().len() + cells.sum::<usize>() + fragments + 256)
    }
}

impl Decoded {
    /// The number of rows whose values were read; all rows of the chunk if the query uses no values.
    pub(crate) fn rows_read(&self) -> usize {
        let cells = self.cells.iter().map(|cell| match cell {
            Cell::Rows { values, .. } | Cell::Short { values, .. } => values.rows(),
            _ => 0,
        });
        match cells.fold(self.positions.rows(), usize::max) {
            0 => int::index(self.rows),
            rows => rows,
        }
    }

    /// Drops the values of the rows, and keeps the facts about the cells.
    pub(crate) fn forget_values(&mut self) {
        self.positions = RowValues::default();
        self.kept = Kept::Rows(Vec::new());
        for cell in &mut self.cells {
            if let Cell::Rows { values, .. } | Cell::Short { values, .. } = cell {
                *values = RowValues::default();
            }
        }
    }
}

impl Reader {
    /// Sets the chunks of a query.
    pub(crate) fn set_table(&mut self, table: ChunkTable) {
        let far = farthest(table.iter(), self.grid.dims());
        self.probe = far
            .and_then(|chunk| table.slot(chunk))
            .filter(|_| !self.test.placed && !self.test.worthless_keys);
        self.table = table;
    }

    /// Whether all of the first stored rows of a chunk are outside it.
    fn is_displaced(&self, chunk: &[i64], rows: &[u8]) -> bool {
        let most = PROBED.saturating_mul(self.position.row_bytes());
        let extent = self.position.extent(rows.get(..most).unwrap_or(rows));
        self.grid.is_elsewhere(chunk, &extent.min, &extent.max)
    }

    /// The requested cells of one chunk.
    fn wanted(&self, what: &What) -> WantedCells {
        let mut columns = vec![false; self.chunks.columns().len()];
        for (stored, wanted) in self.stored.iter().zip(&what.attributes) {
            if let Some(flag) = stored.and_then(|at| columns.get_mut(at)) {
                *flag = *wanted;
            }
        }
        WantedCells {
            positions: what.vertices,
            fragments: what.fragments,
            columns,
        }
    }

    /// The requested cells of some chunks.
    pub(crate) fn cells(&self, slots: impl Iterator<Item = Slot>, what: &What) -> Vec<CellWant> {
        let wanted = self.wanted(what);
        let cells = |slot| {
            self.chunks
                .cells(&ChunkCoord::from(self.table.get(slot)), &wanted)
        };
        slots.flat_map(cells).collect()
    }

    /// Requests the cells of some chunks in a round of requests, then runs `work` on them, on a worker thread or on this one (`here`).
    ///
    /// # Errors
    ///
    /// I/O; errors of `work`.
    pub(crate) fn open<R: Send + 'static>(
        &self,
        round: u32,
        chunks: impl IntoIterator<Item = (Slot, What)>,
        here: bool,
        work: impl FnOnce(Vec<OpenChunk>) -> Result<R, QueryError> + Send + 'static,
    ) -> BoxFuture<'static, Result<R, QueryError>> {
        let chunks = chunks.into_iter().map(|(slot, what)| {
            let chunk = ChunkCoord::from(self.table.get(slot));
            (chunk, self.wanted(&what))
        });
        let done = self.chunks.open_map(round, chunks.collect(), here, work);
        Box::pin(async move { done.await? })
    }

    /// Adds the place of a cell to its error. Errors of stored objects name the key already.
    fn placed(&self, path: &str, chunk: &[i64], error: StoreError) -> QueryError {
        let is_cell = |key: &str| {
            key.strip_prefix(path)
                .is_some_and(|rest| rest.starts_with(" at "))
        };
        match error {
            StoreError::Malformed { key, what } if is_cell(&key) => {
                QueryError::malformed(self.place(path, chunk), what)
            }
            StoreError::Decode { key, source } if is_cell(&key) => {
                QueryError::decode(self.place(path, chunk), source)
            }
            other => other.into(),
        }
    }

    /// Whether all rows of a chunk are tested, or compared with its key.
    pub(crate) fn tests_all(&self) -> bool {
        self.test.bbox.is_some() || self.test.placed || self.filter.is_some()
    }

    /// The rows of a chunk to decode: those of the `named` fragments, and those that are compared with the chunk's key. `None` for all rows: if all
    /// are tested, or no fragments are named.
    fn picked(
        &self,
        slot: Slot,
        rows: u32,
        fragments: Option<&Fragments>,
        named: Option<&[(u32, u32)]>,
    ) -> Option<Arc<RowSet>> {
        if self.tests_all() {
            return None;
        }
        let probed = match self.probe == Some(slot) {
            true => u32::try_from(PROBED).unwrap_or(u32::MAX).min(rows),
            false => 0,
        };
        Some(Arc::new(fragments?.rows_of(named?, 0..probed)))
    }

    /// The number of rows of a chunk.
    ///
    /// # Errors
    ///
    /// Malformed: incomplete rows. I/O.
    pub(crate) fn rows(&self, slot: Slot, open: &mut OpenChunk) -> Result<u32, QueryError> {
        let vertices = self.level.vertices().path();
        let rows = open.rows();
        rows.map_err(|error| self.placed(vertices, self.table.get(slot), error))
    }

    /// Decodes one chunk and finds the rows that satisfy the query. If no other rows are needed, only the rows of the `named` fragments (first number
    /// and count) are decoded, and attributes only for the rows found.
    ///
    /// # Errors
    ///
    /// Malformed: wrong lengths, damaged fragments, codes without category. Misuse: a filter with a channel that does not exist.
    pub(crate) fn decode(
        &self,
        slot: Slot,
        what: &What,
        mut open: OpenChunk,
        named: Option<&[(u32, u32)]>,
    ) -> Result<Decoded, QueryError> {
        let chunk = self.table.get(slot);
        let vertices = self.level.vertices().path();
        let of_vertices = |error| self.placed(vertices, chunk, error);
        let rows = self.rows(slot, &mut open)?;
        let absent = rows == 0;
        let fragments = match self.level.vertex_fragments().filter(|_| what.fragments) {
            Some(_) => Some(Arc::new(self.fragments(chunk, rows, &mut open)?)),
            None => None,
        };
        let picked = self.picked(slot, rows, fragments.as_deref(), named);
        let is_probe = self.probe == Some(slot);
        let stored = if what.positions || self.test.placed {
            open.positions(picked.as_ref()).map_err(of_vertices)?
        } else if is_probe {
            let first = u32::try_from(PROBED).unwrap_or(u32::MAX).min(rows);
            let first = Arc::new(RowSet::new(std::iter::once(0..first)));
            open.positions(Some(&first)).map_err(of_vertices)?
        } else {
            RowValues::default()
        };
        let mut in_place = true;
        let mut extent = None;
        if self.test.placed {
            let stored_extent = self.position.extent(stored.bytes());
            in_place = self
                .grid
                .in_place(chunk, &stored_extent.min, &stored_extent.max);
            extent = self
                .position
                .world
                .offset
                .is_empty()
                .then_some(stored_extent);
        } else if is_probe && self.is_displaced(chunk, stored.bytes()) {
            self.displaced.store(true, Ordering::Relaxed);
        }
        let positions = stored.map_bytes(|bytes| {
            let world = match self.position.to_world(Cow::Borrowed(&bytes)) {
                Cow::Borrowed(_) => None,
                Cow::Owned(world) => Some(world),
            };
            world.map_or(bytes, Into::into)
        });
        let mut cells = vec![Cell::Unread; self.columns.len()];
        let tested = |at: usize| self.tested.get(at) == Some(&true);
        self.read_columns(chunk, rows, &mut open, (&mut cells, None), |at| {
            what.wants(at) && tested(at)
        })?;
        let inside = self.in_box(rows, positions.bytes(), extent.as_ref())?;
        let filter = self.filter.as_ref().filter(|_| inside.len() > 0);
        let filtered = filter.is_some();
        let kept = match filter {
            Some(filter) => {
                self.passing(chunk, rows, filter, inside, (positions.bytes(), &cells))?
            }
            None => inside,
        };
        let some = match &kept {
            Kept::Rows(rows) => Some(Arc::new(RowSet::new(
                rows.iter().map(|row| *row..row.saturating_add(1)),
            ))),
            Kept::All(_) => picked,
        };
        self.read_columns(chunk, rows, &mut open, (&mut cells, some.as_ref()), |at| {
            what.wants(at) && !tested(at)
        })?;
        Ok(Decoded {
            slot,
            rows,
            absent,
            positions,
            fragments,
            cells,
            kept,
            filtered,
            in_place,
        })
    }

    /// Adds attribute cells to a chunk that was decoded before.
    ///
    /// # Errors
    ///
    /// As [`decode`](Self::decode).
    pub(crate) fn complete(
        &self,
        mut chunk: Decoded,
        what: &What,
        mut open: OpenChunk,
        named: Option<&[(u32, u32)]>,
    ) -> Result<Decoded, QueryError> {
        let coord = self.table.get(chunk.slot);
        let fragments = chunk.fragments.as_deref();
        let picked = self.picked(chunk.slot, chunk.rows, fragments, named);
        let into = (&mut chunk.cells, picked.as_ref());
        self.read_columns(coord, chunk.rows, &mut open, into, |at| what.wants(at))?;
        Ok(chunk)
    }

    /// Decodes the requested columns of a chunk with `rows` rows, for some or all of the rows.
    fn read_columns(
        &self,
        chunk: &[i64],
        rows: u32,
        open: &mut OpenChunk,
        (into, some): (&mut Vec<Cell>, Option<&Arc<RowSet>>),
        wants: impl Fn(usize) -> bool,
    ) -> Result<(), QueryError> {
        let columns = self.columns.iter().zip(&self.stored).zip(into).enumerate();
        for (_, ((column, stored), into)) in columns.filter(|(at, _)| wants(*at)) {
            *into = match stored {
                None if column.absent => Cell::Missing,
                None => self.key_cell(column, chunk)?,
                // Without vertices there are no attributes.
                Some(_) if rows == 0 => Cell::Missing,
                Some(stored) => {
                    let path = column.array.as_ref().map_or("", |array| array.path());
                    let values = open.column(*stored, rows, some);
                    let values = values.map_err(|error| self.placed(path, chunk, error))?;
                    let cell = values.map_or(Ok(Cell::Missing), |one| column.cell_of(one, rows));
                    let cell = cell.and_then(|cell| column.check_codes(&cell).map(|()| cell));
                    cell.map_err(|what| {
                        QueryError::malformed(self.column_place(column, chunk), what)
                    })?
                }
            };
        }
        Ok(())
    }

    fn fragments(
        &self,
        chunk: &[i64],
        rows: u32,
        open: &mut OpenChunk,
    ) -> Result<Fragments, QueryError> {
        // Missing vertices have no rows, even if the chunk has fragments.
        if rows == 0 {
            return Ok(Fragments::default());
        }
        let path = self.level.vertex_fragments();
        let path = path.map_or("vertex_fragments", |array| array.path());
        let found = open.fragments(rows);
        let found = found.map_err(|error| self.placed(path, chunk, error))?;
        let Some(found) = found.map(Fragments::from) else {
            return Err(QueryError::malformed(
                self.place(path, chunk),
                format!("no fragment index for a chunk of {rows} rows"),
            ));
        };
        if found.are_short(rows) {
            self.short.store(true, Ordering::Relaxed);
        }
        Ok(found)
    }

    /// The value of the attribute in the first component of the key.
    fn key_cell(&self, column: &ColumnSpec, chunk: &[i64]) -> Result<Cell, QueryError> {
        let cell = Cell::Code(chunk.first().copied().unwrap_or(-1));
        match column.check_codes(&cell) {
            Ok(()) => Ok(cell),
            Err(what) => Err(QueryError::malformed(
                self.place(self.level.vertices().path(), chunk),
                what,
            )),
        }
    }

    /// The rows inside the box and the region of the query.
    fn in_box(
        &self,
        rows: u32,
        positions: &[u8],
        extent: Option<&Extent>,
    ) -> Result<Kept, QueryError> {
        Ok(match &self.test.bbox {
            Some(bbox) if !self.test.whole_chunks => self.inside(positions, bbox, extent)?,
            Some(bbox) if self.test.worthless_keys => match self.inside(positions, bbox, extent)? {
                none @ Kept::Rows(_) if none.len() == 0 => none,
                _ => Kept::All(rows),
            },
            _ => Kept::All(rows),
        })
    }

    /// The rows of `inside` that satisfy the filter.
    fn passing(
        &self,
        chunk: &[i64],
        rows: u32,
        filter: &BoundFilter,
        inside: Kept,
        values: (&[u8], &[Cell]),
    ) -> Result<Kept, QueryError> {
        let truths = self.truths(filter, rows, values);
        let truths = truths.map_err(|fault| self.faulty(chunk, fault))?;
        let holds = |row: &u32| {
            truths
                .get(int::index(*row))
                .is_some_and(|truth| BoundFilter::holds(*truth))
        };
        let passing: Vec<u32> = inside.iter().filter(holds).collect();
        let all = match self.test.whole_chunks {
            true => !passing.is_empty(),
            false => passing.len() >= int::index(rows),
        };
        Ok(if all { inside } else { Kept::Rows(passing) })
    }

    /// The error for a chunk whose values do not fit the condition.
    pub(crate) fn faulty(&self, chunk: &[i64], fault: Fault) -> QueryError {
        fault.error(|name, what| {
            let path = format!("vertex_attributes/{name}");
            QueryError::malformed(self.place(&path, chunk), what)
        })
    }

    /// The rows inside the box and the region; `extent` is the extent of all rows, if known.
    fn inside(
        &self,
        positions: &[u8],
        bbox: &BBox,
        extent: Option<&Extent>,
    ) -> Result<Kept, QueryError> {
        let Some(region) = &self.test.region else {
            return Ok(self.position.inside(positions, bbox, extent));
        };
        let extent = match extent {
            Some(extent) => Cow::Borrowed(extent),
            None => Cow::Owned(self.position.extent(positions)),
        };
        let kept = self.position.inside(positions, bbox, Some(&extent));
        if kept.len() == 0 {
            return Ok(kept);
        }
        Ok(match region.overlap(&extent.min, &extent.max) {
            Overlap::Inside => kept,
            Overlap::Outside => Kept::Rows(Vec::new()),
            Overlap::Crosses => self
                .position
                .retained(positions, &kept, |position| region.contains(position))?,
        })
    }

    /// Whether a condition tests a column.
    pub(crate) fn tests(&self, column: usize) -> bool {
        let joint = self.joint.as_ref();
        self.tested.get(column) == Some(&true) || joint.is_some_and(|joint| joint.tests(column))
    }

    /// Whether rows are tested by their positions; `names` are those in the condition.
    pub(crate) fn tests_positions(&self, names: &[String]) -> bool {
        let columns = &self.columns;
        // A name that is not a column is an axis.
        let is_axis = |name: &String| !columns.iter().any(|column| column.name == *name);
        self.test.bbox.is_some() || names.iter().any(is_axis) || self.tests(columns.len())
    }

    /// Whether a chunk can have rows in the region, by its key.
    pub(crate) fn may_meet(&self, chunk: &[i64]) -> bool {
        let Some(region) = &self.test.region else {
            return true;
        };
        let dims = self.grid.dims();
        let places = chunk.iter().skip(chunk.len().saturating_sub(dims));
        let spans = places.enumerate();
        let spans = spans.map(|(axis, at)| self.grid.span(axis, *at, &self.position.world));
        let (low, high): (Vec<f64>, Vec<f64>) = spans.unzip();
        low.len() != dims || region.overlap(&low, &high) != Overlap::Outside
    }

    /// The result of the filter for every row.
    fn truths(
        &self,
        filter: &BoundFilter,
        rows: u32,
        (positions, cells): (&[u8], &[Cell]),
    ) -> Result<Truths, Fault> {
        let (row, width) = (self.position.row_bytes(), self.position.dims);
        let position = |from: u32, until: u32| {
            let at = |end: u32| int::index(end).saturating_mul(row);
            Operand::Rows {
                bytes: positions.get(at(from)..at(until)).unwrap_or(&[]),
                width,
            }
        };
        // Rows are tested in ranges between the ends of short cells, where each cell has all rows or none.
        let mut ends: Vec<u32> = cells
            .iter()
            .filter_map(|cell| match cell {
                Cell::Short { rows, .. } => Some(*rows),
                _ => None,
            })
            .collect();
        if ends.is_empty() {
            let operands = cells.iter().map(Cell::operand);
            let operands: Vec<Operand<'_>> = operands.chain([position(0, rows)]).collect();
            return filter.eval(int::index(rows), &operands);
        }
        ends.push(rows);
        ends.sort_unstable();
        ends.dedup();
        let mut truths = Vec::with_capacity(int::index(rows));
        let mut from = 0;
        for until in ends {
            let operands: Vec<Operand<'_>> = cells
                .iter()
                .zip(&self.columns)
                .map(|(cell, column)| cell.operand_of(from, until, column.dtype.size()))
                .chain([position(from, until)])
                .collect();
            truths.extend(filter.eval(int::index(until - from), &operands)?);
            from = until;
        }
        Ok(truths)
    }

    /// Whether the filter excludes a chunk before it is read.
    pub(crate) fn rules_out(&self, chunk: &[i64]) -> bool {
        let Some(filter) = &self.filter else {
            return false;
        };
        let code = chunk.first().copied().unwrap_or(-1);
        let operands: Vec<Operand<'_>> = self
            .columns
            .iter()
            .map(|column| {
                if column.absent {
                    Operand::Missing
                } else if column.array.is_none() {
                    Operand::Code(code)
                } else {
                    Operand::Unread
                }
            })
            .chain([Operand::Unread])
            .collect();
        filter.rules_out(&operands)
    }

    /// Whether any chunk of the query has a cell of an attribute.
    pub(crate) fn has_cells(&self, column: &ColumnSpec) -> bool {
        let Some(array) = &column.array else {
            return false;
        };
        let presence = array.presence();
        self.table.iter().any(|chunk| presence.contains(chunk))
    }

    /// Whether a chunk is inside the grid of `vertices`.
    pub(crate) fn in_grid(&self, chunk: &[i64]) -> bool {
        self.level.vertices().in_grid(chunk)
    }

    /// A cell of one array, given its path with or without the level.
    pub(crate) fn place(&self, path: &str, chunk: &[i64]) -> Place {
        Place::cell(self.number, self.relative(path), chunk)
    }

    /// A cell of an attribute.
    pub(crate) fn column_place(&self, column: &ColumnSpec, chunk: &[i64]) -> Place {
        let path = column
            .array
            .as_ref()
            .map_or(column.name.as_str(), |array| array.path());
        self.place(path, chunk)
    }

    /// A path without its level.
    pub(crate) fn relative<'p>(&self, path: &'p str) -> &'p str {
        let mut parts = path.splitn(2, '/');
        match (parts.next().map(str::parse::<u32>), parts.next()) {
            (Some(Ok(level)), Some(rest)) if level == self.number => rest,
            _ => path,
        }
    }
}

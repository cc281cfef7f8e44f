//! One level as one query sees it: which cells a chunk has, and what they say once they are read.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use zvf_store::{CellWant, ChunkCoord, ContainerKind, GridArray, Level};

use crate::columns::attribute::{Cell, ColumnSpec};
use crate::columns::gather::Kept;
use crate::columns::position::{Extent, PositionSpec};
use crate::error::Place;
use crate::filter::{BoundFilter, Fault, Operand, Truths};
use crate::fragments::Fragments;
use crate::plan::candidates::{Grid, farthest};
use crate::plan::chunks::{ChunkTable, Slot};
use crate::{BBox, QueryError, int};

/// The rows of a chunk that satisfy a query.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowTest {
    pub(crate) bbox: Option<BBox>,
    /// A chunk is kept whole as soon as one row passes.
    pub(crate) whole_chunks: bool,
    /// Chunk keys say nothing about where rows lie: a chunk meets the box when a row of it does.
    pub(crate) worthless_keys: bool,
    /// Whether the rows of a chunk must be where its key says: boxes that leave chunks out depend on it.
    pub(crate) placed: bool,
}

/// Which cells of a chunk are wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct What {
    pub(crate) vertices: bool,
    pub(crate) fragments: bool,
    /// One flag for each column of the reader.
    pub(crate) attributes: Vec<bool>,
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
    pub(crate) filter: Option<BoundFilter>,
    pub(crate) test: RowTest,
    /// Set once the fragments of a chunk are far from reaching over its rows.
    pub(crate) short: Arc<AtomicBool>,
    /// The chunk of the table of which some rows are compared with its key, where no box compares them all.
    pub(crate) probe: Option<Slot>,
    /// Set where none of these rows lies in the chunk.
    pub(crate) displaced: Arc<AtomicBool>,
}

/// Most rows of a chunk that are compared with its key where no box is asked for.
const PROBED: usize = 1024;

/// What the cells of one chunk say.
#[derive(Debug, Clone)]
pub(crate) struct Decoded {
    pub(crate) slot: Slot,
    /// Rows of the buffer.
    pub(crate) rows: u32,
    /// The chunk is listed, and its vertices are not there.
    pub(crate) absent: bool,
    /// World positions, little-endian.
    pub(crate) positions: Bytes,
    pub(crate) fragments: Option<Arc<Fragments>>,
    /// One for each column of the reader.
    pub(crate) cells: Vec<Cell>,
    /// The rows that satisfy the query.
    pub(crate) kept: Kept,
    /// Whether the rows are where the chunk's key says.
    pub(crate) in_place: bool,
}

impl Decoded {
    /// Bytes that the chunk keeps in memory, about.
    pub(crate) fn bytes(&self) -> u64 {
        let cells = self.cells.iter().map(|cell| match cell {
            Cell::Rows { bytes, .. } | Cell::Short { bytes, .. } => bytes.len(),
            _ => 0,
        });
        let fragments = self
            .fragments
            .as_ref()
            .map_or(0, |fragments| fragments.len().saturating_mul(8));
        int::wide(self.positions.len() + cells.sum::<usize>() + fragments + 256)
    }
}

impl Decoded {
    /// Drops the values of the rows; what is known about the cells stays.
    pub(crate) fn forget_values(&mut self) {
        self.positions = Bytes::new();
        self.kept = Kept::Rows(Vec::new());
        for cell in &mut self.cells {
            if let Cell::Rows { bytes, .. } | Cell::Short { bytes, .. } = cell {
                *bytes = Bytes::new();
            }
        }
    }
}

impl Reader {
    /// Takes the chunks of a query.
    pub(crate) fn set_table(&mut self, table: ChunkTable) {
        let far = farthest(table.iter(), self.grid.dims());
        self.probe = far
            .and_then(|chunk| table.slot(chunk))
            .filter(|_| !self.test.placed && !self.test.worthless_keys);
        self.table = table;
    }

    /// Whether none of the first rows of a chunk, as they are stored, lies in it.
    fn is_displaced(&self, chunk: &[i64], rows: &[u8]) -> bool {
        let most = PROBED.saturating_mul(self.position.row_bytes());
        let extent = self.position.extent(rows.get(..most).unwrap_or(rows));
        self.grid.is_elsewhere(chunk, &extent.min, &extent.max)
    }

    /// The cells that are wanted of one chunk. Cells that the array's presence list lacks are left out, except of
    /// `vertices`: a manifest may know a chunk that the list does not.
    pub(crate) fn wants(&self, slot: Slot, what: &What, out: &mut Vec<CellWant>) {
        let chunk = self.table.get(slot);
        let mut want = |array: &Arc<GridArray>| {
            out.push(CellWant {
                array: Arc::clone(array),
                chunk: ChunkCoord::from(chunk),
            });
        };
        if what.vertices {
            want(self.level.vertices());
        }
        for array in self.side_arrays(what).flatten() {
            if array.presence().contains(chunk) {
                want(array);
            }
        }
    }

    /// The arrays beside `vertices` that `what` names: fragments, then attributes; `None` where there is no array.
    fn side_arrays<'a>(
        &'a self,
        what: &'a What,
    ) -> impl Iterator<Item = Option<&'a Arc<GridArray>>> {
        let fragments = what.fragments.then(|| self.level.vertex_fragments());
        let wanted = self
            .columns
            .iter()
            .zip(&what.attributes)
            .filter(|(_, wanted)| **wanted);
        fragments
            .into_iter()
            .chain(wanted.map(|(column, _)| column.array.as_ref()))
    }

    /// Takes the cells of one chunk, in the order of [`wants`](Self::wants), and finds the rows that satisfy the
    /// query.
    ///
    /// # Errors
    ///
    /// Malformed: lengths that do not fit, damaged fragments, codes without category. Misuse: a filter that names a
    /// channel that is not there.
    pub(crate) fn decode(
        &self,
        slot: Slot,
        what: &What,
        cells: &mut impl Iterator<Item = Option<Bytes>>,
    ) -> Result<Decoded, QueryError> {
        let chunk = self.table.get(slot);
        let stored = if what.vertices {
            cells.next().flatten()
        } else {
            None
        };
        let absent = what.vertices && stored.is_none();
        let mut next = |array: Option<&Arc<GridArray>>| match array {
            Some(array) if array.presence().contains(chunk) => cells.next().flatten(),
            _ => None,
        };
        let stored = stored.unwrap_or_default();
        let rows = self.rows(chunk, &stored)?;
        let fragments = match self.level.vertex_fragments().filter(|_| what.fragments) {
            Some(array) => {
                let blob = next(Some(array));
                Some(Arc::new(self.fragments(chunk, rows, absent, blob)?))
            }
            None => None,
        };
        let mut found = vec![Cell::Unread; self.columns.len()];
        // Without vertices there is nothing that attributes could belong to.
        let mut attribute = |array: Option<&Arc<GridArray>>| next(array).filter(|_| !absent);
        self.read_columns(chunk, rows, what, &mut attribute, &mut found)?;
        let little = self.position.little(&stored);
        let mut in_place = true;
        let mut extent = None;
        if self.test.placed {
            let stored_extent = self.position.extent(&little);
            in_place = self
                .grid
                .in_place(chunk, &stored_extent.min, &stored_extent.max);
            extent = self
                .position
                .world
                .offset
                .is_empty()
                .then_some(stored_extent);
        } else if self.probe == Some(slot) && self.is_displaced(chunk, &little) {
            self.displaced.store(true, Ordering::Relaxed);
        }
        let positions = match self.position.to_world(little) {
            Cow::Borrowed(_) => stored.clone(),
            Cow::Owned(world) => Bytes::from(world),
        };
        let kept = self.kept(chunk, rows, &positions, extent.as_ref(), &found)?;
        Ok(Decoded {
            slot,
            rows,
            absent,
            positions,
            fragments,
            cells: found,
            kept,
            in_place,
        })
    }

    /// Adds attribute cells to a chunk that was decoded before, in the order of [`wants`](Self::wants).
    ///
    /// # Errors
    ///
    /// As [`decode`](Self::decode).
    pub(crate) fn complete(
        &self,
        mut chunk: Decoded,
        what: &What,
        cells: &mut impl Iterator<Item = Option<Bytes>>,
    ) -> Result<Decoded, QueryError> {
        let coord = self.table.get(chunk.slot);
        let mut next = |array: Option<&Arc<GridArray>>| match array {
            Some(array) if array.presence().contains(coord) => cells.next().flatten(),
            _ => None,
        };
        self.read_columns(coord, chunk.rows, what, &mut next, &mut chunk.cells)?;
        Ok(chunk)
    }

    fn read_columns(
        &self,
        chunk: &[i64],
        rows: u32,
        what: &What,
        next: &mut impl FnMut(Option<&Arc<GridArray>>) -> Option<Bytes>,
        into: &mut [Cell],
    ) -> Result<(), QueryError> {
        for ((column, wanted), into) in self.columns.iter().zip(&what.attributes).zip(into) {
            if !wanted {
                continue;
            }
            *into = match &column.array {
                None if column.absent => Cell::Missing,
                None => self.key_cell(column, chunk)?,
                Some(array) => match next(Some(array)) {
                    Some(bytes) => self.attribute(column, chunk, rows, bytes)?,
                    None => Cell::Missing,
                },
            };
        }
        Ok(())
    }

    /// Rows of a `vertices` cell.
    fn rows(&self, chunk: &[i64], stored: &[u8]) -> Result<u32, QueryError> {
        let row = self.position.row_bytes();
        let place = || self.place(self.level.vertices().path(), chunk);
        if row == 0 || !stored.len().is_multiple_of(row) {
            let what = format!("found {} bytes, expected a multiple of {row}", stored.len());
            return Err(QueryError::malformed(place(), what));
        }
        let count = stored.len() / row;
        u32::try_from(count).map_err(|_| {
            QueryError::limit(
                place(),
                "rows of a chunk",
                int::wide(count),
                u64::from(u32::MAX),
            )
        })
    }

    fn fragments(
        &self,
        chunk: &[i64],
        rows: u32,
        absent: bool,
        blob: Option<Bytes>,
    ) -> Result<Fragments, QueryError> {
        let place = || {
            let path = self
                .level
                .vertex_fragments()
                .map_or("vertex_fragments", |array| array.path());
            self.place(path, chunk)
        };
        match blob {
            // Listed vertices that are not there have no rows, regardless of what their fragments say.
            _ if absent => Ok(Fragments::default()),
            Some(blob) => {
                let found = Fragments::decode(&blob, rows)
                    .map_err(|source| QueryError::decode(place(), source))?;
                if found.are_short(rows) {
                    self.short.store(true, Ordering::Relaxed);
                }
                Ok(found)
            }
            None if rows == 0 => Ok(Fragments::default()),
            None => Err(QueryError::malformed(
                place(),
                format!("no fragment index for a chunk of {rows} rows"),
            )),
        }
    }

    fn attribute(
        &self,
        column: &ColumnSpec,
        chunk: &[i64],
        rows: u32,
        bytes: Bytes,
    ) -> Result<Cell, QueryError> {
        let blobs = column.array.as_ref().map(|array| array.container());
        let cell = if blobs == Some(ContainerKind::Blobs) {
            column.cell_of_appended(bytes, rows)
        } else {
            column.cell(bytes, rows)
        };
        let cell = cell.and_then(|cell| column.check_codes(&cell).map(|()| cell));
        cell.map_err(|what| QueryError::malformed(self.column_place(column, chunk), what))
    }

    /// The value of an attribute that is the first component of the key.
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

    fn kept(
        &self,
        chunk: &[i64],
        rows: u32,
        positions: &[u8],
        extent: Option<&Extent>,
        cells: &[Cell],
    ) -> Result<Kept, QueryError> {
        let mut kept = match &self.test.bbox {
            Some(bbox) if !self.test.whole_chunks => self.position.inside(positions, bbox, extent),
            Some(bbox) if self.test.worthless_keys => {
                match self.position.inside(positions, bbox, extent) {
                    none @ Kept::Rows(_) if none.len() == 0 => none,
                    _ => Kept::All(rows),
                }
            }
            _ => Kept::All(rows),
        };
        let Some(filter) = self.filter.as_ref().filter(|_| kept.len() > 0) else {
            return Ok(kept);
        };
        let truths = self
            .truths(filter, rows, cells)
            .map_err(|fault| match fault {
                Fault::Misuse(what) => QueryError::misuse(what),
                Fault::Malformed { name, what } => {
                    let path = format!("vertex_attributes/{name}");
                    QueryError::malformed(self.place(&path, chunk), what)
                }
            })?;
        let holds = |row: &u32| {
            truths
                .get(int::index(*row))
                .is_some_and(|truth| BoundFilter::holds(*truth))
        };
        let passing: Vec<u32> = kept.iter().filter(holds).collect();
        if self.test.whole_chunks {
            if passing.is_empty() {
                kept = Kept::Rows(passing);
            }
        } else if passing.len() < int::index(rows) {
            kept = Kept::Rows(passing);
        }
        Ok(kept)
    }

    /// What the filter says of every row.
    fn truths(&self, filter: &BoundFilter, rows: u32, cells: &[Cell]) -> Result<Truths, Fault> {
        // Between the ends of short cells every cell has all rows or none.
        let mut ends: Vec<u32> = cells
            .iter()
            .filter_map(|cell| match cell {
                Cell::Short { rows, .. } => Some(*rows),
                _ => None,
            })
            .collect();
        if ends.is_empty() {
            let operands: Vec<Operand<'_>> = cells.iter().map(Cell::operand).collect();
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
                .collect();
            truths.extend(filter.eval(int::index(until - from), &operands)?);
            from = until;
        }
        Ok(truths)
    }

    /// Whether the filter rules a chunk out before anything of it is read.
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

    /// Whether a chunk lies inside the grid of `vertices`.
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

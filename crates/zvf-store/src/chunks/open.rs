//! Chunks with cells that are read, but decoded only when they are used.

use std::sync::Arc;

use futures::future::BoxFuture;
use zvf_format::int::index;
use zvf_io::Handover;

use super::column::ChunkColumn;
use super::fault::CellFault;
use super::fragments::CheckedFragments;
use super::known::KnownChunk;
use super::values::RowValues;
use super::{ChunkReader, ChunkReaderInner};
use crate::cells::Mode;
use crate::cells::later::{FetchedCell, OpenCell};
use crate::codec::little_endian;
use crate::{CellWant, ChunkCoord, GridArray, RowSet, StoreError};

/// The requested cells of one chunk, a subset of the cells of a [`ChunkReader`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedCells {
    /// `vertices`, even if the presence list lacks the chunk.
    pub positions: bool,
    /// `vertex_fragments`, if their presence list names the chunk.
    pub fragments: bool,
    /// One flag for each of [`ChunkReader::columns`]; columns without a flag are not requested.
    pub columns: Vec<bool>,
}

/// A chunk with its cells, which are decoded when they are used. If the codec has blocks, and the requested rows are in few of them, only these
/// blocks are decoded.
///
/// # Errors
/// All methods: malformed, with array and chunk, for a cell that is damaged or has incomplete rows; I/O and limits, if cells are read in parts.
#[derive(Debug)]
pub struct OpenChunk {
    inner: Arc<ChunkReaderInner>,
    coord: ChunkCoord,
    requested: u64,
    /// Positions that are not opened yet.
    stored: Option<FetchedCell>,
    vertices: Option<OpenCell>,
    fragments: Option<FetchedCell>,
    /// One for each column.
    columns: Vec<Option<FetchedCell>>,
    /// Rows and fragments, once they are known.
    known: Option<KnownChunk>,
    /// Whether `known` was decoded here.
    is_new: bool,
}

impl ChunkReader {
    /// The cells that are requested of one chunk: vertices, fragments, columns.
    #[must_use]
    pub fn cells(&self, chunk: &ChunkCoord, wanted: &WantedCells) -> Vec<CellWant> {
        let arrays = self.0.wanted(chunk, wanted).flatten();
        arrays
            .map(|array| CellWant::new(array, chunk.clone()))
            .collect()
    }

    /// Requests cells of several chunks together, then runs `f` on them, on the worker thread that read them. With `here`, `f` runs on the calling
    /// thread while the future is polled, if the store is in a local folder.
    ///
    /// `round` is recorded in the trace. [`OpenChunk`]s are in the order of `chunks`.
    ///
    /// # Cost
    /// One round of requests. Only the data that `f` uses is decoded; local files with blocks or without a codec are read only in these parts.
    /// If `f` uses the positions of some rows of a chunk, the store keeps the rows and fragments of the chunk, up to 32 MiB; these are neither
    /// requested again nor in the trace.
    ///
    /// # Errors
    /// As [`read`](Self::read) for the requests. Damaged cells fail when they are used.
    pub fn open_map<R, F>(
        &self,
        round: u32,
        chunks: Vec<(ChunkCoord, WantedCells)>,
        here: bool,
        f: F,
    ) -> BoxFuture<'static, Result<R, StoreError>>
    where
        R: Send + 'static,
        F: FnOnce(Vec<OpenChunk>) -> R + Send + 'static,
    {
        let chunks = chunks.into_iter().map(|(chunk, mut wanted)| {
            let known = self.0.known(&chunk, &wanted);
            wanted.fragments &= known.is_none();
            (chunk, wanted, known)
        });
        let chunks: Vec<_> = chunks.collect();
        let wants = chunks.iter();
        let wants = wants.flat_map(|(chunk, wanted, _)| self.cells(chunk, wanted));
        let wants = wants.collect();
        let inner = Arc::clone(&self.0);
        let (to, result) = Handover::pair();
        let then = Box::new(move |cells: Vec<Option<FetchedCell>>| {
            let mut cells = cells.into_iter();
            let opened = chunks.into_iter().map(|(chunk, wanted, known)| {
                OpenChunk::new(&inner, (chunk, known), &wanted, &mut cells)
            });
            to.put(f(opened.collect()));
        });
        let mode = Mode { later: true, here };
        let work = self.0.level.store().fetch_and(round, wants, mode, then);
        Box::pin(async move {
            work.await?;
            Ok(result.take()?)
        })
    }
}

impl ChunkReaderInner {
    /// The rows and fragments of a chunk, if the store keeps them.
    fn known(&self, chunk: &ChunkCoord, wanted: &WantedCells) -> Option<KnownChunk> {
        if !wanted.positions || !wanted.fragments {
            return None;
        }
        let known = self.level.store().known_chunks();
        known.ready(&(self.level.number(), chunk.clone()))
    }

    /// The arrays of the requested cells of a chunk: vertices, fragments, and columns; `None` if the cell is not requested.
    fn wanted<'a>(
        &'a self,
        chunk: &'a ChunkCoord,
        wanted: &'a WantedCells,
    ) -> impl Iterator<Item = Option<&'a Arc<GridArray>>> {
        let listed = |array: &&Arc<GridArray>| array.presence().contains(chunk);
        let vertices = Some(self.level.vertices()).filter(|_| wanted.positions);
        let fragments = self.level.vertex_fragments();
        let fragments = fragments.filter(|_| wanted.fragments).filter(listed);
        let columns = self.columns.iter().enumerate().map(move |(at, column)| {
            let asked = wanted.columns.get(at) == Some(&true);
            Some(&column.attribute().array)
                .filter(|_| asked)
                .filter(listed)
        });
        [vertices, fragments].into_iter().chain(columns)
    }
}

impl OpenChunk {
    /// A chunk; takes its requested cells from `cells`. If the fragments are already `known`, their cell was not requested and counts as requested.
    fn new(
        inner: &Arc<ChunkReaderInner>,
        (coord, known): (ChunkCoord, Option<KnownChunk>),
        wanted: &WantedCells,
        cells: &mut impl Iterator<Item = Option<FetchedCell>>,
    ) -> Self {
        let mut requested = u64::from(known.is_some());
        let arrays = inner.wanted(&coord, wanted);
        let mut found = arrays.map(|array| {
            array?;
            requested += 1;
            cells.next().flatten()
        });
        let stored = found.next().flatten();
        let fragments = found.next().flatten();
        let columns = found.collect();
        Self {
            requested,
            stored,
            vertices: None,
            fragments,
            columns,
            known,
            is_new: false,
            inner: Arc::clone(inner),
            coord,
        }
    }

    /// The positions, opened by the first call.
    fn vertices(&mut self) -> Result<&mut Option<OpenCell>, StoreError> {
        if let Some(stored) = self.stored.take() {
            self.vertices = stored.open_of(self.known_length())?;
        }
        Ok(&mut self.vertices)
    }

    /// Bytes of the positions, if the rows are known.
    fn known_length(&self) -> Option<usize> {
        let rows = self.known.as_ref()?.rows;
        index(rows).checked_mul(self.inner.position_bytes)
    }

    /// The chunk.
    #[must_use]
    pub fn coord(&self) -> &ChunkCoord {
        &self.coord
    }

    /// The number of its requested cells.
    #[must_use]
    pub fn requested(&self) -> u64 {
        self.requested
    }

    /// Rows of the chunk, by the length of its positions; 0 without positions.
    ///
    /// # Errors
    /// See [`OpenChunk`].
    pub fn rows(&mut self) -> Result<u32, StoreError> {
        if let Some(known) = &self.known {
            return Ok(known.rows);
        }
        let length = self.vertices()?.as_ref().map_or(0, OpenCell::len);
        let (vertices, chunk) = (self.inner.level.vertices(), &self.coord);
        let rows = self.inner.rows_in(length, chunk);
        rows.map_err(|fault| fault.error(vertices, chunk))
    }

    /// The fragments of a chunk with `rows` rows; `None` if their cell is missing.
    ///
    /// # Errors
    /// See [`OpenChunk`]; malformed: a row outside the chunk.
    pub fn fragments(&mut self, rows: u32) -> Result<Option<Arc<CheckedFragments>>, StoreError> {
        if let Some(known) = &self.known {
            return Ok(Some(Arc::clone(&known.fragments)));
        }
        let Some(array) = self.inner.level.vertex_fragments() else {
            return Ok(None);
        };
        let blob = self.fragments.take().map(FetchedCell::whole).transpose()?;
        let decode = |blob: bytes::Bytes| {
            let found = CheckedFragments::read(&blob, Some(rows).filter(|rows| *rows > 0), false);
            let (found, _) =
                found.map_err(|fault| CellFault::Fragments(fault).error(array, &self.coord))?;
            self.inner.warn_unless_tiled(array, &found, rows);
            Ok::<_, StoreError>(Arc::new(found))
        };
        let found = blob.flatten().map(decode).transpose()?;
        let of_rows = found.clone().filter(|_| rows > 0);
        self.known = of_rows.map(|fragments| KnownChunk { rows, fragments });
        self.is_new = self.known.is_some();
        Ok(found)
    }

    /// The stored positions of `rows`, or of all rows. Consumes the cell: call it once, after [`rows`](Self::rows).
    ///
    /// # Errors
    /// See [`OpenChunk`].
    pub fn positions(&mut self, rows: Option<&Arc<RowSet>>) -> Result<RowValues, StoreError> {
        let expected = self.known_length();
        let cell = self.vertices()?.take();
        let found = cell.as_ref().map_or(0, OpenCell::len);
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            let place = format!("{} at {}", self.inner.level.vertices().path(), self.coord);
            let what = format!("{found} bytes found, expected {expected} as before");
            return Err(StoreError::malformed(place, what));
        }
        let Some(cell) = cell else {
            return Ok(RowValues::default());
        };
        let values = values_of(cell, self.inner.position_bytes, rows)?;
        if let Some(known) = self
            .known
            .as_ref()
            .filter(|_| self.is_new && rows.is_some())
        {
            let level = &self.inner.level;
            let key = (level.number(), self.coord.clone());
            level.store().known_chunks().insert(key, known.clone());
            self.is_new = false;
        }
        let dtype = self.inner.level.vertices().dtype();
        Ok(values.map_bytes(|bytes| little_endian(dtype, bytes)))
    }

    /// The values of a column of a chunk with `of` rows, for `rows` or for all. `None` if no row has a value. Consumes the cell: call it once for each
    /// column.
    ///
    /// If vertices were appended without values, only the first rows have values.
    ///
    /// # Errors
    /// See [`OpenChunk`].
    pub fn column(
        &mut self,
        column: usize,
        of: u32,
        rows: Option<&Arc<RowSet>>,
    ) -> Result<Option<RowValues>, StoreError> {
        let inner = Arc::clone(&self.inner);
        let spec: &ChunkColumn = inner
            .columns
            .get(column)
            .ok_or_else(|| StoreError::bug("a column that the reader does not have"))?;
        let cell = self.columns.get_mut(column).and_then(Option::take);
        let Some(cell) = cell.map(FetchedCell::open).transpose()?.flatten() else {
            return Ok(None);
        };
        let array = &spec.attribute().array;
        let row = spec.row_bytes_of(cell.len(), of);
        let Some(row) = row.map_err(|fault| fault.error(array, &self.coord))? else {
            return Ok(None);
        };
        let values = values_of(cell, row, rows)?;
        Ok(Some(
            values.map_bytes(|bytes| little_endian(array.dtype(), bytes)),
        ))
    }
}

/// The values of a cell of whole rows.
fn values_of(
    mut cell: OpenCell,
    row_bytes: usize,
    rows: Option<&Arc<RowSet>>,
) -> Result<RowValues, StoreError> {
    if let Some(rows) = rows
        && let Some(bytes) = cell.rows(rows, row_bytes)?
    {
        return Ok(RowValues::of_rows(row_bytes, bytes, rows));
    }
    Ok(RowValues::new(row_bytes, cell.whole()?))
}

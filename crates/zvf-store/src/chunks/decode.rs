//! The decoder of chunks: from cells to rows, for readers that fail at the first defect and for reports.

use std::sync::Arc;

use bytes::Bytes;
use zvf_format::int::wide;

use super::column::ChunkColumn;
use super::fault::{CellFault, ChunkCell, FaultSink};
use super::fragments::{CheckedFragments, FragmentFault};
use super::values::RowValues;
use super::{ChunkReaderInner, DecodedChunk, ExaminedChunk};
use crate::cells::wanted;
use crate::codec::little_endian;
use crate::{CellWant, ChunkCoord, GridArray, ReadCell, StoreError};

impl ChunkReaderInner {
    /// The cells of chunks, in the order in which they are decoded, and for each chunk one flag per array.
    pub(super) fn wants(&self, chunks: &[&[i64]]) -> (Vec<CellWant>, Vec<Vec<bool>>) {
        let arrays: Vec<_> = self.arrays().collect();
        wanted(&arrays, chunks, |array, chunk| self.is_wanted(array, chunk))
    }

    pub(super) fn all_columns(&self) -> impl Iterator<Item = &ChunkColumn> {
        self.columns.iter().chain(&self.fragment_columns)
    }

    /// The arrays of the cells of a chunk, in the order in which they are decoded.
    pub(super) fn arrays(&self) -> impl Iterator<Item = &Arc<GridArray>> {
        let vertices = self.positions.then(|| self.level.vertices());
        let fragments = self.level.vertex_fragments().filter(|_| self.fragments);
        let columns = self.all_columns().map(|column| &column.attribute().array);
        vertices.into_iter().chain(fragments).chain(columns)
    }

    fn is_wanted(&self, array: &Arc<GridArray>, chunk: &[i64]) -> bool {
        let listed = || array.presence().contains(chunk);
        if self.reports {
            return listed();
        }
        array.in_grid(chunk) && (Arc::ptr_eq(array, self.level.vertices()) || listed())
    }

    /// Rows in a cell of positions.
    pub(super) fn rows_in(&self, length: usize, chunk: &ChunkCoord) -> Result<u32, CellFault> {
        let row = self.position_bytes;
        let Some(count) = length.checked_div(row).filter(|rows| rows * row == length) else {
            let found = format_args!("{length} bytes");
            return Err(CellFault::rows(found, format_args!("a multiple of {row}")));
        };
        u32::try_from(count).map_err(|_| {
            let place = format!("{} at {chunk}", self.level.vertices().path());
            let most = u64::from(u32::MAX);
            let error = StoreError::limit(place, "rows of a chunk", wide(count), most);
            CellFault::Unreadable(error)
        })
    }

    /// Decodes one chunk from the cells of its arrays; `None` in place of those that were not requested.
    ///
    /// # Errors
    /// The first defect, unless defects are listed.
    pub(super) fn decode(
        &self,
        coord: ChunkCoord,
        cells: Vec<Option<ReadCell>>,
    ) -> Result<ExaminedChunk, StoreError> {
        let mut cells = cells.into_iter();
        let mut sink = FaultSink::new(self.reports, coord);
        let (mut requested, mut length) = (0_u64, 0_u64);
        // A cell of an array; `None` if its content is unknown.
        let mut next = |of: ChunkCell, array: &Arc<GridArray>, sink: &mut FaultSink| {
            let Some(cell) = cells.next().flatten() else {
                return Ok(Some(None));
            };
            requested = requested.saturating_add(1);
            let cell = sink.keep(of, array, cell.map_err(CellFault::Unreadable))?;
            let Some(cell) = cell else {
                return Ok(None);
            };
            length = length.saturating_add(cell.as_ref().map_or(0, |cell| wide(cell.len())));
            if cell.is_none() && self.reports && !array.presence().is_listed() {
                sink.note(of, array, CellFault::Empty);
                // How many rows the chunk had is not known.
                return Ok(Some(None).filter(|_| of != ChunkCell::Vertices));
            }
            Ok::<_, StoreError>(Some(cell))
        };
        let vertices = self.level.vertices();
        let (mut rows, mut positions) = (None, RowValues::default());
        if self.positions
            && let Some(cell) = next(ChunkCell::Vertices, vertices, &mut sink)?
            && self.level.has_raw_positions()
        {
            let cell = cell.unwrap_or_default();
            let found = self.rows_in(cell.len(), &sink.coord);
            rows = sink.keep(ChunkCell::Vertices, vertices, found)?;
            if rows.is_some() {
                let values = little_endian(vertices.dtype(), cell);
                positions = RowValues::new(self.position_bytes, values);
            }
        }
        let (fragments, fragment_count) = match self.level.vertex_fragments() {
            Some(array) if self.fragments => {
                let cell = next(ChunkCell::Fragments, array, &mut sink)?;
                self.index(array, cell, rows, &mut sink)?
            }
            _ => {
                let known = rows.or(Some(0).filter(|_| !self.positions));
                let whole = known.map(CheckedFragments::whole);
                let count = whole.as_ref().map(CheckedFragments::len);
                (whole, count)
            }
        };
        let by_fragments = fragments.as_ref().filter(|_| !self.positions);
        let rows = rows.or(by_fragments.map(CheckedFragments::extent));
        let mut values = |columns: &[ChunkColumn], rows: Option<u32>| {
            let values = columns.iter().map(|column| {
                let cell = next(column.cell(), &column.attribute().array, &mut sink)?;
                let Some((cell, rows)) = cell.zip(rows) else {
                    return Ok(None);
                };
                self.values(column, cell, rows, &mut sink)
            });
            values.collect::<Result<Vec<_>, StoreError>>()
        };
        let columns = values(&self.columns, rows)?;
        // For readers, fragments of a chunk without rows have no values.
        let named = fragment_count.map(|count| match rows {
            Some(0) if !self.reports => 0,
            _ => count,
        });
        let fragment_columns = values(&self.fragment_columns, named)?;
        Ok(ExaminedChunk {
            rows,
            positions,
            fragments,
            fragment_count,
            columns,
            fragment_columns,
            faults: sink.list,
            cells: requested,
            bytes: length,
            coord: sink.coord,
        })
    }

    /// The fragments of a chunk, and their number; each is `None` if it is unknown.
    fn index(
        &self,
        array: &Arc<GridArray>,
        cell: Option<Option<Bytes>>,
        rows: Option<u32>,
        sink: &mut FaultSink,
    ) -> Result<(Option<CheckedFragments>, Option<u32>), StoreError> {
        let of = ChunkCell::Fragments;
        let found = match (cell, rows) {
            (None, _) => return Ok((None, None)),
            // Rows are unknown because of another defect.
            (Some(_), None) if self.positions => return Ok((None, None)),
            (Some(None), None | Some(0)) => Ok(CheckedFragments::default()),
            (Some(None), Some(rows)) => Err(CellFault::NoFragments(rows)),
            (Some(Some(blob)), rows) => {
                // For readers, a chunk without rows has its stored fragments, though their rows do not exist.
                let rows = rows.filter(|rows| *rows > 0 || self.reports);
                CheckedFragments::read(&blob, rows, self.reports)
                    .map(|(fragments, odd)| {
                        if let Some(odd) = odd {
                            sink.note(of, array, CellFault::Padding(odd));
                        }
                        fragments
                    })
                    .map_err(CellFault::Fragments)
            }
        };
        if let Ok(fragments) = &found {
            let rows = rows.unwrap_or_else(|| fragments.extent());
            self.warn_unless_tiled(array, fragments, rows);
        }
        let count = match &found {
            Ok(fragments) => Some(fragments.len()),
            Err(CellFault::Fragments(FragmentFault::Rows { fragments, .. })) => Some(*fragments),
            Err(_) => None,
        };
        Ok((sink.keep(of, array, found)?, count))
    }

    /// The values in a cell of an attribute with `rows` rows; `None` if no row has a value.
    fn values(
        &self,
        column: &ChunkColumn,
        cell: Option<Bytes>,
        rows: u32,
        sink: &mut FaultSink,
    ) -> Result<Option<RowValues>, StoreError> {
        let (of, array) = (column.cell(), &column.attribute().array);
        let Some(cell) = cell else {
            // Fragments without values need no cell.
            if rows > 0 && of == ChunkCell::VertexColumn {
                sink.note(of, array, CellFault::Missing(rows));
            }
            return Ok(None);
        };
        let values = column.decode(cell, rows).and_then(|values| {
            match &values {
                Some(found) if self.reports => column.check_declared(found, rows)?,
                Some(found) => column.check_width(found)?,
                None => {}
            }
            Ok(values)
        });
        match values {
            Err(fault) if rows == 0 => {
                sink.note(of, array, fault);
                Ok(None)
            }
            values => Ok(sink.keep(of, array, values)?.flatten()),
        }
    }
}

impl ExaminedChunk {
    /// The chunk of a reader that fails at the first defect.
    pub(super) fn decoded(self) -> Result<DecodedChunk, StoreError> {
        let unknown = || StoreError::bug("a decoded chunk with unknown parts");
        Ok(DecodedChunk {
            coord: self.coord,
            rows: self.rows.ok_or_else(unknown)?,
            positions: self.positions,
            fragments: self.fragments.ok_or_else(unknown)?,
            columns: self.columns,
            fragment_columns: self.fragment_columns,
        })
    }
}

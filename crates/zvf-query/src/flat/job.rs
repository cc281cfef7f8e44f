//! The work on a group of chunks, done on a worker thread: decode, test rows, gather.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use zvf_store::CellWant;

use crate::QueryError;
use crate::columns::attribute::Cell;
use crate::columns::gather::{Kept, Pick};
use crate::fragments::Fragments;
use crate::links::records::{Family, LinkCellRef, RecordCell};
use crate::plan::chunks::{ChunkTable, Slot};
use crate::reader::{Decoded, Reader, What};
use crate::vertex_table::{Gathered, TablePlan};

/// What is done with every chunk of a result in chunk order.
#[derive(Debug)]
pub(crate) struct VertexPlan {
    pub(crate) reader: Arc<Reader>,
    pub(crate) what: What,
    pub(crate) table: TablePlan,
    /// Keep what was decoded, for a second pass.
    pub(crate) hold: bool,
}

/// One chunk of a group.
#[derive(Debug)]
pub(crate) struct ChunkOut {
    pub(crate) slot: Slot,
    /// Rows of the buffer; `None` where a listed chunk has no vertices.
    pub(crate) rows: Option<u32>,
    pub(crate) kept: Kept,
    pub(crate) fragments: Option<Arc<Fragments>>,
}

/// A group of chunks, done.
#[derive(Debug, Default)]
pub(crate) struct GroupOut {
    pub(crate) chunks: Vec<ChunkOut>,
    pub(crate) gathered: Gathered,
    pub(crate) held: Vec<Decoded>,
    /// For each column of the reader, how many chunks with rows lack it.
    pub(crate) missing: Vec<u64>,
    /// For each column of the reader, how many chunks with rows have values of some rows only.
    pub(crate) short: Vec<u64>,
    /// Listed chunks without vertices.
    pub(crate) absent: u64,
    /// A chunk whose rows lie elsewhere than its key says.
    pub(crate) misplaced: Option<Slot>,
    pub(crate) cells: u64,
}

impl VertexPlan {
    /// The cells of a group.
    pub(crate) fn wants(&self, slots: &Range<Slot>) -> Vec<CellWant> {
        let mut wants = Vec::new();
        for slot in slots.clone() {
            self.reader.wants(slot, &self.what, &mut wants);
        }
        wants
    }

    /// The work.
    ///
    /// # Errors
    ///
    /// Malformed cells.
    pub(crate) fn run(
        &self,
        slots: Range<Slot>,
        cells: Vec<Option<Bytes>>,
    ) -> Result<GroupOut, QueryError> {
        let mut out = GroupOut {
            cells: crate::int::wide(cells.len()),
            missing: vec![0; self.reader.columns.len()],
            short: vec![0; self.reader.columns.len()],
            ..GroupOut::default()
        };
        let mut cells = cells.into_iter();
        let mut decoded = Vec::new();
        let mut rows = 0_usize;
        for slot in slots {
            let chunk = self.reader.decode(slot, &self.what, &mut cells)?;
            if !chunk.in_place {
                out.misplaced.get_or_insert(slot);
            }
            out.absent += u64::from(chunk.absent);
            if chunk.kept.len() > 0 {
                for (missing, cell) in out.missing.iter_mut().zip(&chunk.cells) {
                    *missing += u64::from(matches!(cell, Cell::Missing));
                }
                for (short, cell) in out.short.iter_mut().zip(&chunk.cells) {
                    *short += u64::from(matches!(cell, Cell::Short { .. }));
                }
            }
            rows = rows.saturating_add(chunk.kept.len());
            decoded.push(chunk);
        }
        out.gathered = Gathered::with_capacity(&self.table, &self.reader, rows);
        for chunk in &decoded {
            out.gathered.push(
                &self.table,
                &self.reader,
                chunk,
                Pick::from(&chunk.kept),
                None,
            )?;
        }
        for chunk in decoded {
            out.chunks.push(ChunkOut {
                slot: chunk.slot,
                rows: (!chunk.absent).then_some(chunk.rows),
                kept: chunk.kept.clone(),
                fragments: chunk.fragments.clone(),
            });
            if self.hold {
                out.held.push(chunk);
            }
        }
        Ok(out)
    }
}

/// The cells of some link cells.
pub(crate) fn link_wants(family: &Family, cells: &[LinkCellRef]) -> Vec<CellWant> {
    let mut wants = Vec::new();
    for cell in cells {
        family.wants(cell, &mut wants);
    }
    wants
}

/// Decodes some link cells.
///
/// # Errors
///
/// Malformed cells.
pub(crate) fn link_records(
    family: &Family,
    table: &ChunkTable,
    refs: Vec<LinkCellRef>,
    cells: Vec<Option<Bytes>>,
) -> Result<Vec<RecordCell>, QueryError> {
    let mut cells = cells.into_iter();
    refs.into_iter()
        .map(|cell| family.decode(cell, table, &mut cells))
        .collect()
}

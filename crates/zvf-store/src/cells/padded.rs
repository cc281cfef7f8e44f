//! Cells of padded arrays: whole blocks, and the cells that count their rows.

use std::sync::Arc;

use bytes::Bytes;

use super::decoder::{BatchCells, Decoder};
use super::request::{Get, RequestBytes};
use super::want::CellWant;
use crate::StoreError;
use crate::container::padded::{Count, Padded};
use crate::container::{Container, GridArray};
use crate::coord::Dotted;
use zvf_format::int::wide;
use zvf_io::{Ask, Cap, Kv};

/// The block of one chunk, and the requested cells that it fills.
#[derive(Debug)]
pub(super) struct BlockWant {
    array: Arc<GridArray>,
    keys: Vec<String>,
    pub(super) wants: Vec<usize>,
    /// The decoded pieces: one for each of its objects.
    pieces: Vec<Option<Bytes>>,
}

/// A block that becomes a cell when its rows are known.
#[derive(Debug)]
pub(super) struct Trim {
    pub(super) want: usize,
    pub(super) cell: CellWant,
    /// The place of the companion's cell.
    pub(super) companion: Option<usize>,
}

/// The container of an array that is known to be padded.
fn padded(array: &GridArray) -> Result<&Padded, StoreError> {
    match array.contents() {
        Container::Padded(padded) => Ok(padded),
        _ => Err(StoreError::misuse(
            "a block was requested from an array without padding",
        )),
    }
}

impl BlockWant {
    /// The block that is stored in the objects at `keys`.
    pub(super) fn new(array: Arc<GridArray>, keys: Vec<String>) -> Self {
        Self {
            array,
            keys,
            wants: Vec::new(),
            pieces: Vec::new(),
        }
    }
}

impl Decoder for BlockWant {
    fn requests(&self, kv: &Kv) -> Result<Vec<Get>, StoreError> {
        let get = |key| Get::new(key, Ask::Whole, Cap::cell(kv.limits()));
        Ok(self.keys.iter().map(get).collect())
    }

    fn take(
        &mut self,
        request: usize,
        part: Option<RequestBytes<'_>>,
        cells: &mut BatchCells,
    ) -> Result<(), StoreError> {
        let key = self.keys.get(request).map_or("", String::as_str);
        let piece = part.map(|part| padded(&self.array)?.decode(key, part.data, cells.cap));
        self.pieces.push(piece.transpose()?);
        Ok(())
    }

    fn finish(self: Box<Self>, cells: &mut BatchCells) -> Result<(), StoreError> {
        let block = padded(&self.array)?.join(self.pieces);
        let key = self.keys.first().map_or("", String::as_str);
        cells.spend(key, block.as_ref().map_or(0, Bytes::len))?;
        for want in self.wants {
            cells.slot(want)?.clone_from(&block);
        }
        Ok(())
    }
}

/// Cuts off the padding, now that the companions are decoded. Blocks whose rows another padded array determines are trimmed last.
pub(super) fn trim(trims: &[Trim], cells: &mut BatchCells) -> Result<(), StoreError> {
    for late in [false, true] {
        for trim in trims {
            let container = padded(&trim.cell.array)?;
            if matches!(container.count, Count::Rows(_)) != late {
                continue;
            }
            let name = || format!("{} at {}", trim.cell.array.path(), Dotted(&trim.cell.chunk));
            let companion = match trim.companion {
                Some(place) => cells.slot(place)?.clone(),
                None => None,
            };
            let block = cells.slot(trim.want)?.take();
            let made = block.is_none();
            let cell = container.trim(&name, block, companion.as_ref())?;
            if made && let Some(cell) = &cell {
                let bytes = wide(cell.len());
                cells.cap.check(&name(), bytes)?;
                cells.spend(&name(), cell.len())?;
            }
            *cells.slot(trim.want)? = cell;
        }
    }
    Ok(())
}

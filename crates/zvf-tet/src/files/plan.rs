//! The tiles that a selection intersects, and their bytes.

use zvf_grid::{CellPart, Cells, Dims, Selection};

use super::catalog::{Catalog, Dataset};
use super::error::Error;
use super::tile::Tile;
use crate::layout::{IndexEntry, TileCodec};

/// One tile that a selection intersects.
#[derive(Debug, Clone, Copy)]
pub struct PlannedTile {
    /// Its coordinate in the grid.
    pub coord: Dims,
    /// Its row in the chunk index.
    pub row: u64,
    /// The position of its payload in the file.
    pub payload_offset: u64,
    /// Bytes of the payload.
    pub stored_byte_len: u64,
    /// Bytes of the decoded tile.
    pub raw_byte_len: u64,
    /// How it is stored.
    pub codec: TileCodec,
    /// First needed byte of the file. Of a raw tile, only the run of bytes that holds the wanted elements is
    /// needed.
    pub needed_offset: u64,
    /// The number of needed bytes.
    pub needed_len: u64,
}

/// Iterates over the tiles that a selection intersects, in C order of the grid.
///
/// # Cost
/// O(rank) for each tile that the selection intersects; nothing for any other tile.
#[derive(Debug, Clone)]
pub struct TilePlan<'f>(PlannedTiles<'f>);

impl<'f> TilePlan<'f> {
    pub(crate) fn new(
        catalog: &'f Catalog,
        front: &'f [u8],
        dataset: &'f Dataset,
        selection: &Selection,
    ) -> Result<Self, Error> {
        PlannedTiles::new(catalog, front, dataset, selection, u64::MAX).map(Self)
    }

    /// The number of all tiles, computed without iterating; `None` if it exceeds 64 bits.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.0.cells.total()
    }
}

impl Iterator for TilePlan<'_> {
    type Item = PlannedTile;

    fn next(&mut self) -> Option<PlannedTile> {
        let tile = self.0.next()?.ok()?;
        let codec = tile.entry.codec()?;
        let payload_offset = tile.entry.payload_offset.get();
        let stored_byte_len = tile.entry.stored_byte_len.get();
        let (needed_offset, needed_len) = match codec {
            TileCodec::Zstd => (payload_offset, stored_byte_len),
            TileCodec::Raw => {
                let block = tile.trim().ok()?;
                (payload_offset.saturating_add(block.offset), block.len)
            }
        };
        Some(PlannedTile {
            coord: tile.part.coord(),
            row: tile.row,
            payload_offset,
            stored_byte_len,
            raw_byte_len: tile.entry.raw_byte_len.get(),
            codec,
            needed_offset,
            needed_len,
        })
    }
}

/// The tiles of a [`TilePlan`], for readers.
#[derive(Debug, Clone)]
pub(crate) struct PlannedTiles<'f> {
    catalog: &'f Catalog,
    entries: &'f [IndexEntry],
    dataset: &'f Dataset,
    cells: Cells,
    /// Most bytes of one decoded tile.
    limit: u64,
}

impl<'f> PlannedTiles<'f> {
    pub(crate) fn new(
        catalog: &'f Catalog,
        front: &'f [u8],
        dataset: &'f Dataset,
        selection: &Selection,
        limit: u64,
    ) -> Result<Self, Error> {
        dataset.result_bytes(selection)?;
        Ok(Self {
            catalog,
            entries: catalog.entries(front),
            dataset,
            cells: selection.cells(&dataset.geometry().chunk_shape)?,
            limit,
        })
    }

    fn tile(&self, part: CellPart) -> Result<Tile, Error> {
        let coord = part.coord();
        let found = self.catalog.entry(self.entries, self.dataset, &coord);
        let extent = self.dataset.geometry().extent(&coord);
        let Some(((row, entry), extent)) = found.zip(extent) else {
            return Err(Error::Changed {
                what: "an entry of the index is missing now",
            });
        };
        Ok(Tile {
            row,
            entry: *entry,
            extent,
            part,
            item: self.dataset.item(),
            limit: self.limit,
        })
    }
}

impl Iterator for PlannedTiles<'_> {
    type Item = Result<Tile, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let part = self.cells.next()?;
        Some(self.tile(part))
    }
}

//! What a selection needs: the tiles it meets and their bytes.

use zvf_grid::{Cells, Dims, Selection};

use super::catalog::{Catalog, Dataset};
use super::decode::Tile;
use super::trouble::Error;
use crate::layout::{Codec, Entry};

/// One tile that a selection meets.
#[derive(Debug, Clone, Copy)]
pub struct PlannedTile {
    /// Its place in the grid.
    pub coord: Dims,
    /// Its row in the chunk index.
    pub row: u64,
    /// Where its payload lies in the file.
    pub payload_offset: u64,
    /// Bytes of the payload.
    pub stored_byte_len: u64,
    /// Bytes of the decoded tile.
    pub raw_byte_len: u64,
    /// How it is stored.
    pub codec: Codec,
    /// First byte of the file that is needed: of a raw tile only the run of bytes that holds what is wanted.
    pub needed_offset: u64,
    /// How many bytes are needed from there on.
    pub needed_len: u64,
}

/// The tiles that a selection meets, in C order of the grid, found one by one.
///
/// # Cost
/// O(rank) a tile that is met; nothing for any other.
#[derive(Debug, Clone)]
pub struct Plan<'f> {
    catalog: &'f Catalog,
    entries: &'f [Entry],
    dataset: &'f Dataset,
    cells: Cells,
}

impl<'f> Plan<'f> {
    pub(crate) fn new(
        catalog: &'f Catalog,
        front: &'f [u8],
        dataset: &'f Dataset,
        selection: &Selection,
    ) -> Result<Self, Error> {
        dataset.result_bytes(selection)?;
        Ok(Self {
            catalog,
            entries: catalog.entries(front),
            dataset,
            cells: selection.cells(&dataset.geometry().chunk_shape)?,
        })
    }

    /// How many tiles come in all, found without visiting them.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.cells.total()
    }

    /// Every tile with its part of the selection, for readers.
    pub(crate) fn for_each_tile(
        self,
        limit: u64,
        mut each: impl FnMut(&Tile<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let geometry = self.dataset.geometry();
        for part in self.cells {
            let coord = part.coord();
            let found = self.catalog.entry(self.entries, self.dataset, &coord);
            let Some(((row, entry), extent)) = found.zip(geometry.extent(&coord)) else {
                return Err(Error::Changed {
                    what: "an entry of the index is gone",
                });
            };
            each(&Tile {
                row,
                entry,
                extent,
                part: &part,
                item: self.dataset.item(),
                limit,
            })?;
        }
        Ok(())
    }
}

impl Iterator for Plan<'_> {
    type Item = PlannedTile;

    fn next(&mut self) -> Option<PlannedTile> {
        let part = self.cells.next()?;
        let coord = part.coord();
        let (row, entry) = self.catalog.entry(self.entries, self.dataset, &coord)?;
        let codec = entry.codec()?;
        let (offset, stored) = (entry.payload_offset.get(), entry.stored_byte_len.get());
        let needed = match codec {
            Codec::Zstd => (offset, stored),
            Codec::Raw => {
                let extent = self.dataset.geometry().extent(&coord)?;
                if part.is_whole(&extent) {
                    (offset, stored)
                } else {
                    let tile = Tile {
                        row,
                        entry,
                        extent,
                        part: &part,
                        item: self.dataset.item(),
                        limit: u64::MAX,
                    };
                    let block = tile.trim().ok()?;
                    (offset.saturating_add(block.offset), block.len)
                }
            }
        };
        Some(PlannedTile {
            coord,
            row,
            payload_offset: offset,
            stored_byte_len: stored,
            raw_byte_len: entry.raw_byte_len.get(),
            codec,
            needed_offset: needed.0,
            needed_len: needed.1,
        })
    }
}

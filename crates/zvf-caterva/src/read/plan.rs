//! Computes which blocks a selection needs, without reading bytes.

use zvf_grid::{CellPart, GridError, Selection};

use crate::Geometry;

/// The selected part of one block of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockPart {
    pub(crate) number: usize,
    pub(crate) part: CellPart,
}

impl Geometry {
    /// The chunks that a selection intersects, in C order, with their numbers.
    ///
    /// # Errors
    ///
    /// The selection has another rank than the array.
    pub fn chunks_of(
        &self,
        selection: &Selection,
    ) -> Result<impl Iterator<Item = (u64, CellPart)> + use<>, GridError> {
        let chunks = self.chunks;
        let cells = selection.cells(&self.chunk)?;
        Ok(cells.filter_map(move |part| Some((chunks.position(&part.coord())?, part))))
    }

    /// The blocks that the selected part of a chunk intersects, in C order.
    pub(crate) fn blocks_of(
        &self,
        part: &CellPart,
    ) -> Result<impl Iterator<Item = BlockPart> + use<>, GridError> {
        let blocks = self.blocks;
        let cells = part.inner().cells(&self.block)?;
        Ok(cells.filter_map(move |part| {
            let number = usize::try_from(blocks.position(&part.coord())?).ok()?;
            Some(BlockPart { number, part })
        }))
    }

    /// Every (chunk, block) pair that a selection needs, in C order of chunks, then of blocks. Blocks of special
    /// chunks are included, although a reader does not decode them.
    ///
    /// # Errors
    ///
    /// The selection has another rank than the array.
    pub fn pairs_of(&self, selection: &Selection) -> Result<Vec<(u64, u64)>, GridError> {
        let mut pairs = Vec::new();
        for (chunk, part) in self.chunks_of(selection)? {
            for block in self.blocks_of(&part)? {
                pairs.push((chunk, zvf_grid::int::wide(block.number)));
            }
        }
        Ok(pairs)
    }
}

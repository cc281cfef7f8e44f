//! From coordinates to chunks, blocks and bytes (`spec/caterva-b2nd.md` 6).

use zvf_blosc::{DecodeError, Expected, MOST};
use zvf_grid::{Dims, GridError};

use crate::header::signed;
use crate::{FrameHeader, NdMeta};
use zvf_grid::int::wide;

/// Shapes of an array, and the counts and sizes that follow from them. All sizes are checked.
///
/// # Shape
///
/// All orders are C order: of the chunks in the array, of the blocks in a chunk, of the items in a block. The grid of
/// blocks starts again in every chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Extents of the array.
    pub shape: Dims,
    /// Extents of a chunk.
    pub chunk: Dims,
    /// Extents of a block.
    pub block: Dims,
    /// Chunks on each axis.
    pub chunks: Dims,
    /// Blocks of a chunk on each axis.
    pub blocks: Dims,
    /// Bytes of an item.
    pub item: usize,
    /// Number of chunks; 0 if an axis has extent 0.
    pub chunk_count: u64,
    /// Blocks of a chunk.
    pub block_count: usize,
    /// Decoded bytes of a block.
    pub block_bytes: usize,
    /// Decoded bytes of a chunk: whole blocks, padding included.
    pub chunk_bytes: usize,
}

impl Geometry {
    /// The geometry of these shapes.
    ///
    /// # Errors
    ///
    /// Malformed: ranks that differ, or a chunk or block of extent 0 that divides a longer extent. Limit: a chunk of more
    /// than 2^31 - 33 bytes, or products that do not fit 64 bits.
    pub fn new(shape: Dims, chunk: Dims, block: Dims, item: usize) -> Result<Self, DecodeError> {
        let chunks = Dims::grid(&shape, &chunk).map_err(grid)?;
        let blocks = Dims::grid(&chunk, &block).map_err(grid)?;
        let (item_bytes, most) = (wide(item), u64::from(MOST));
        let overflow = || too_large("chunks of the array", u64::MAX, u64::MAX - 1);
        let chunk_count = chunks.count().ok_or_else(overflow)?;
        // Every byte of the array must have a 64-bit position.
        let bytes = shape
            .count()
            .and_then(|n| n.checked_mul(item_bytes))
            .ok_or_else(overflow)?;
        let limited = |n: Option<u64>| match n {
            Some(n) if n <= most || bytes == 0 => Ok(usize::try_from(n).unwrap_or(usize::MAX)),
            other => Err(too_large(
                "bytes of a chunk",
                other.unwrap_or(u64::MAX),
                most,
            )),
        };
        let block_bytes = block.count().and_then(|n| n.checked_mul(item_bytes));
        let block_count = blocks.count();
        let chunk_bytes = block_bytes
            .zip(block_count)
            .and_then(|(a, b)| a.checked_mul(b));
        Ok(Self {
            shape,
            chunk,
            block,
            chunks,
            blocks,
            item,
            chunk_count,
            block_count: limited(block_count)?,
            block_bytes: limited(block_bytes)?,
            chunk_bytes: limited(chunk_bytes)?,
        })
    }

    /// The geometry of a frame's array, checked against the frame's own numbers (5.4).
    ///
    /// # Errors
    ///
    /// As [`Self::new`]; malformed: the frame's chunk size, chunk count or total size contradicts the shapes.
    pub fn of_frame(header: &FrameHeader, meta: &NdMeta<'_>) -> Result<Self, DecodeError> {
        let [shape, chunk, block] = meta.dims().map_err(grid)?;
        let item = zvf_grid::int::index(header.typesize);
        let geometry = Self::new(shape, chunk, block, item)?;
        let empty = geometry.chunk_count == 0;
        let checks = [
            (
                "frame chunksize",
                58,
                u64::from(header.chunksize),
                wide(geometry.chunk_bytes),
            ),
            (
                "chunks of the frame",
                30,
                header.chunk_count(),
                geometry.chunk_count,
            ),
            (
                "frame nbytes",
                30,
                header.nbytes,
                geometry
                    .chunk_count
                    .saturating_mul(wide(geometry.chunk_bytes)),
            ),
        ];
        for (what, at, found, expected) in checks {
            if found != expected && !(empty && at == 58) {
                let expected = Expected::Exactly(signed(expected));
                return Err(DecodeError::malformed(what, at, signed(found), expected));
            }
        }
        Ok(geometry)
    }

    /// Bytes of the array, without padding.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        // `new` checked that this does not overflow.
        self.shape
            .count()
            .unwrap_or(0)
            .saturating_mul(wide(self.item))
    }
}

#[cold]
fn grid(error: GridError) -> DecodeError {
    match error {
        GridError::TooLarge => too_large("array extents", u64::MAX, u64::MAX),
        _ => {
            let expected = Expected::Text("equal ranks, and chunks and blocks of at least 1");
            DecodeError::malformed("n-d metalayer", 0, 0, expected)
        }
    }
}

#[cold]
fn too_large(what: &'static str, found: u64, most: u64) -> DecodeError {
    DecodeError::limit(what, 0, found, most)
}

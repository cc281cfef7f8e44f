//! Cells that callers want, and what they get.

use std::sync::Arc;

use bytes::Bytes;

use crate::{ChunkCoord, GridArray, StoreError};

/// One cell that is wanted.
#[derive(Debug, Clone)]
pub struct CellWant {
    /// The array.
    pub array: Arc<GridArray>,
    /// The chunk, in absolute coordinates.
    pub chunk: ChunkCoord,
}

impl CellWant {
    /// A cell of an array.
    pub fn new(array: &Arc<GridArray>, chunk: impl Into<ChunkCoord>) -> Self {
        Self {
            array: Arc::clone(array),
            chunk: chunk.into(),
        }
    }
}

/// The bytes of a cell, `None` if it is empty or missing; or why it cannot be read.
pub type ReadCell = Result<Option<Bytes>, StoreError>;

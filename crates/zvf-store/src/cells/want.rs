//! Requested cells and their results.

use std::sync::Arc;

use bytes::Bytes;

use crate::{ChunkCoord, GridArray, StoreError};

/// A request for one cell.
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

/// The wanted cells of several arrays in several chunks, and for each chunk one flag per array.
pub(crate) fn wanted(
    arrays: &[&Arc<GridArray>],
    chunks: &[&[i64]],
    asked: impl Fn(&Arc<GridArray>, &[i64]) -> bool,
) -> (Vec<CellWant>, Vec<Vec<bool>>) {
    let mut wants = Vec::new();
    let plan = chunks.iter().map(|chunk| {
        let of_chunk: Vec<bool> = arrays.iter().map(|array| asked(array, chunk)).collect();
        let arrays = arrays.iter().zip(&of_chunk).filter(|(_, asked)| **asked);
        wants.extend(arrays.map(|(array, _)| CellWant::new(array, *chunk)));
        of_chunk
    });
    let plan = plan.collect();
    (wants, plan)
}

/// Distributes the cells that were read to their chunks: one for each flag of the plan that is set, in order.
pub(crate) fn dealt<T>(
    plan: Vec<Vec<bool>>,
    mut found: impl Iterator<Item = T>,
) -> Vec<Vec<Option<T>>> {
    let mut next = |asked| if asked { found.next() } else { None };
    let chunks = plan.into_iter();
    let cells = chunks.map(|of_chunk| of_chunk.into_iter().map(&mut next).collect());
    cells.collect()
}

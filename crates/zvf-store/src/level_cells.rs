//! Cells of several arrays of a level, read together; and whether a coarse level fits the objects of level 0.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

use crate::cells::{dealt, wanted};
use crate::{GridArray, Level, ObjectIndex, ReadCell, StoreError};

impl Level {
    /// Whether this coarse level remains correct when level 0 has `rows` rows of objects: it has as many rows, or its ids are not the ids of level 0. A
    /// level that was made before objects were deleted has rows for them; one that was made later has none.
    ///
    /// The level must have been opened with [`Need::objects`](crate::Need::objects); without its object index it does not fit.
    pub fn fits_objects(&self, rows: u64) -> bool {
        let has = |index: &Arc<ObjectIndex>| index.len() == rows;
        let stated = self.doc().inherited_num_objects;
        !self.doc().preserves_object_ids
            || (stated == Some(rows) && self.object_index().is_some_and(has))
    }

    /// Reads the cells of several arrays in several chunks, in one round of requests.
    ///
    /// # Shape
    /// For each chunk a cell of each array, in their order; `None` if the cell is empty or missing, or its array is not in `asked`.
    ///
    /// # Errors
    /// As [`Store::fetch_map`](crate::Store::fetch_map).
    pub fn cells(
        &self,
        arrays: &[&Arc<GridArray>],
        chunks: &[&[i64]],
        asked: impl Fn(&Arc<GridArray>, &[i64]) -> bool,
    ) -> BoxFuture<'static, Result<Vec<Vec<Option<Bytes>>>, StoreError>> {
        let (wants, plan) = wanted(arrays, chunks, asked);
        let found = self
            .store()
            .fetch_map(self.next_round(), wants, move |found| {
                let dealt = dealt(plan, found.into_iter()).into_iter();
                let flat = |cells: Vec<Option<_>>| cells.into_iter().map(Option::flatten).collect();
                dealt.map(flat).collect()
            });
        Box::pin(found)
    }

    /// Like [`cells`](Self::cells), for reports: reads the cells that are in the presence list of their array, and a cell that cannot be read does
    /// not hide the others.
    ///
    /// # Shape
    /// `None` in place of cells that were not requested.
    ///
    /// # Errors
    /// As [`Store::fetch_each`](crate::Store::fetch_each).
    pub fn cells_each(
        &self,
        arrays: &[&Arc<GridArray>],
        chunks: &[&[i64]],
    ) -> BoxFuture<'static, Result<Vec<Vec<Option<ReadCell>>>, StoreError>> {
        let listed = |array: &Arc<GridArray>, chunk: &[i64]| array.presence().contains(chunk);
        let (wants, plan) = wanted(arrays, chunks, listed);
        let deal = |found: Vec<_>| dealt(plan, found.into_iter());
        self.store().fetch_each(self.next_round(), wants, deal)
    }
}

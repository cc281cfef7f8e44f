//! Looks up some ids in a large table of ids, without reading all of it.
//!
//! Writers store an ascending table of many ids in several chunks, and state the first id of each chunk in the attributes of the array, so that an id
//! is in at most one chunk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use futures::FutureExt;
use serde_json::Value;
use zvf_format::int::wide;
use zvf_meta::ObjectLayout;

use super::ids::{IdSource, IdTable, ids_of};
use super::stated::{FIRST, IDS};
use crate::StoreError;
use crate::ordered::all_in_order;
use crate::typed::TypedArray;

/// Most chunks of ids that an index caches.
const KEPT: usize = 64;

/// A table in which some ids can be looked up.
#[derive(Debug, Clone, Copy)]
pub(super) struct DividedTable<'a> {
    table: &'a TypedArray,
    /// The first id of each chunk, ascending.
    first: &'a [i64],
    /// Rows of a chunk.
    rows: u64,
}

impl DividedTable<'_> {
    /// The only chunk that can have an id; `None` if the id is below all ids of the table.
    fn chunk_of(&self, id: i64) -> Option<usize> {
        let after = self.first.partition_point(|first| *first <= id);
        after.checked_sub(1)
    }
}

impl IdSource {
    /// The table, if it states the first ids of its chunks, and has a row for each object.
    pub(super) fn divided(&self) -> Option<DividedTable<'_>> {
        if !matches!(self.layout, Some(ObjectLayout::V2 | ObjectLayout::Dense)) {
            return None;
        }
        let table = self.table.as_ref()?;
        let rows = table.chunk_rows();
        let stated = || {
            let first = table.attributes().extra.get(IDS)?.get(FIRST)?.as_array()?;
            let first: Option<Vec<i64>> = first.iter().map(Value::as_i64).collect();
            first.filter(|first| first.is_sorted_by(|a, b| a < b))
        };
        let first = self.lookups.first.get_or_init(stated).as_deref()?;
        let complete = table.rows() == self.rows
            && table.width() == 1
            && self.rows.div_ceil(rows) == wide(first.len());
        complete.then_some(DividedTable { table, first, rows })
    }

    /// The rows of some objects. `None` if the whole table has to be read: it is not divided, holds other ids than its attributes state, or most of its
    /// chunks are needed.
    pub(super) async fn look_up(
        &self,
        ids: &[i64],
        round: u32,
    ) -> Result<Option<Vec<Option<u64>>>, StoreError> {
        let Some(table) = self.divided() else {
            return Ok(None);
        };
        let wanted: BTreeSet<usize> = ids.iter().filter_map(|id| table.chunk_of(*id)).collect();
        if wanted.len() > table.first.len() / 2 {
            return Ok(None);
        }
        let reads = wanted
            .iter()
            .map(|at| self.chunk(table, *at, round).boxed());
        let chunks = all_in_order(reads.collect()).await?;
        let Some(chunks) = chunks.into_iter().collect::<Option<Vec<_>>>() else {
            self.warnings.add(format!(
                "{}: the attribute {IDS} states other first ids than those of the chunks, so the whole table is read",
                table.table.path()
            ));
            return Ok(None);
        };
        let chunks: BTreeMap<usize, Arc<[i64]>> = wanted.into_iter().zip(chunks).collect();
        let row = |id: &i64| {
            let at = table.chunk_of(*id)?;
            let inside = chunks.get(&at)?.binary_search(id).ok()?;
            let exists = self.deleted.binary_search(id).is_err();
            exists.then(|| wide(at) * table.rows + wide(inside))
        };
        Ok(Some(ids.iter().map(row).collect()))
    }

    /// The ids of a chunk; `None` if they are not as stated.
    async fn chunk(
        &self,
        DividedTable { table, first, rows }: DividedTable<'_>,
        at: usize,
        round: u32,
    ) -> Result<Option<Arc<[i64]>>, StoreError> {
        let chunks = || {
            let chunks = self.lookups.chunks.lock();
            chunks.unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(known) = chunks().get(&at) {
            return Ok(Some(Arc::clone(known)));
        }
        let start = wide(at) * rows;
        let end = start.saturating_add(rows).min(self.rows);
        let ids = ids_of(table, &table.read_rows_in(round, start..end).await?)?;
        let before_next = match (ids.last(), first.get(at.saturating_add(1))) {
            (Some(last), Some(next)) => last < next,
            _ => true,
        };
        if ids.first() != first.get(at) || !before_next || !ids.is_sorted_by(|a, b| a < b) {
            return Ok(None);
        }
        let ids: Arc<[i64]> = ids.into();
        let mut kept = chunks();
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(at, Arc::clone(&ids));
        Ok(Some(ids))
    }

    /// The first chunk whose stated first id is not the one in the table: the row, and the stated id.
    pub(super) fn misstated(&self, ids: &IdTable) -> Option<(u64, i64)> {
        let table = self.divided()?;
        let rows = (0..).map(|at: u64| at.saturating_mul(table.rows));
        let mut stated = rows.zip(table.first.iter().copied());
        stated.find(|(row, first)| ids.get(*row) != Some(*first))
    }
}

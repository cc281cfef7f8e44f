//! The ids of the rows of an object index that a query needs.

use std::sync::Arc;

use zvf_store::IdTable;

/// The ids of all rows, or of some.
#[derive(Debug, Clone)]
pub(crate) enum RowIds {
    /// The table of ids.
    All(Arc<IdTable>),
    /// Rows with their ids, both ascending.
    Some(Vec<(u64, i64)>),
}

impl RowIds {
    /// The id of a row, if it is known.
    pub(crate) fn get(&self, row: u64) -> Option<i64> {
        match self {
            Self::All(ids) => ids.get(row),
            Self::Some(rows) => {
                let at = rows.binary_search_by_key(&row, |(row, _)| *row).ok()?;
                rows.get(at).map(|(_, id)| *id)
            }
        }
    }

    /// The row of an object, if it is known and exists.
    pub(crate) fn row(&self, id: i64) -> Option<u64> {
        match self {
            Self::All(ids) => ids.slot(id),
            Self::Some(rows) => {
                let at = rows.binary_search_by_key(&id, |(_, id)| *id).ok()?;
                rows.get(at).map(|(row, _)| *row)
            }
        }
    }
}

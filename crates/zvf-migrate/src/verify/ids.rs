//! Where the objects of a store are in its copy.

use std::sync::Arc;

use zvf_store::IdTable;

/// The rows of a copy by those of the store that it was made from.
#[derive(Debug)]
pub(super) struct RowMap {
    old: Arc<IdTable>,
    new: Arc<IdTable>,
    /// All ids are the same, row for row.
    same: bool,
}

impl RowMap {
    /// Compares ids; they stand in the same rows, or, where the ids of the new table are its rows (`by_row`), are among
    /// them.
    ///
    /// # Errors
    /// The first id of the old table that is not there; `None` where ids stand in other rows.
    pub(super) fn new(
        old: Arc<IdTable>,
        new: Arc<IdTable>,
        by_row: bool,
    ) -> Result<Self, Option<i64>> {
        let same = old.iter().eq(new.iter());
        if !same {
            if !by_row {
                return Err(None);
            }
            if let Some(id) = old.iter().find(|id| new.slot(*id).is_none()) {
                return Err(Some(id));
            }
        }
        Ok(Self { old, new, same })
    }

    /// The row of the copy for one of the old store. Of two old rows with one id the first is the one that is copied.
    pub(super) fn row(&self, row: u64) -> Option<u64> {
        if self.same {
            return Some(row);
        }
        let id = self.old.get(row)?;
        (self.old.slot(id) == Some(row))
            .then(|| self.new.slot(id))
            .flatten()
    }

    /// The id of a row of the old store.
    pub(super) fn old_id(&self, row: u64) -> i64 {
        self.old.id(row)
    }

    /// The id of a row of the copy.
    pub(super) fn new_id(&self, row: u64) -> i64 {
        self.new.id(row)
    }

    /// Rows of the copy that stand for no object of the old store.
    pub(super) fn gaps(&self) -> Vec<u64> {
        if self.same {
            return Vec::new();
        }
        let rows = (0_u64..).zip(self.new.iter());
        rows.filter(|(_, id)| self.old.slot(*id).is_none())
            .map(|(row, _)| row)
            .collect()
    }
}

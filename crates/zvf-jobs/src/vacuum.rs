//! The job `vacuum`.

use serde::Serialize;

use crate::{Context, JobError};

options! {
    /// Removes the rows of deleted objects, and files that no reader uses
    VacuumJob {
        /// Path or URL of the store
        store: String,
    }
}

impl VacuumJob {
    pub(crate) fn check(&self) -> Result<(), JobError> {
        Ok(())
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<VacuumReport, JobError> {
        let done = zvf_edit::vacuum(&self.store, context.writing(false)).await;
        let done = done.map_err(JobError::write(&self.store))?;
        Ok(VacuumReport {
            store: self.store.clone(),
            rows: done.rows,
            leftovers: done.leftovers,
            put: done.edit.put,
            removed: done.edit.removed,
        })
    }
}

/// What `vacuum` removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VacuumReport {
    /// The store.
    pub store: String,
    /// Rows of deleted objects that were dropped.
    pub rows: u64,
    /// Unreferenced Zarr objects and temporary files that were removed.
    pub leftovers: u64,
    /// Objects of the storage that the edit replaced or added.
    pub put: u64,
    /// Objects of the storage that the edit removed.
    pub removed: u64,
}

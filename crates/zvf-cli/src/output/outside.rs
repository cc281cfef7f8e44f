//! Refuses results, reports and journals inside stores, where they would replace cells and documents.

use std::path::Path;

use zvf_store::writing::store_at_or_around;

use crate::error::{CliError, Result};

/// Refuses a path to write to that is a store or is in the folder of one.
///
/// # Errors
///
/// Usage.
pub(crate) fn check(path: &Path) -> Result<()> {
    match store_at_or_around(path) {
        None => Ok(()),
        Some(store) => Err(CliError::usage(format!(
            "{}: is in the folder of the store {}, expected a place outside of every store",
            path.display(),
            store.display()
        ))),
    }
}

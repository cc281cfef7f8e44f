//! Refuses results, reports and journals inside stores, where they would replace cells and documents.

use std::path::Path;

use zvf_jobs::check_outside;

use crate::error::Result;

/// Refuses an address that is a store or is in the folder of one; only paths of the local disk are looked at.
///
/// # Errors
///
/// Usage.
pub(crate) fn check_address(address: &str) -> Result<()> {
    match address.strip_prefix("file://") {
        Some(path) => Ok(check_outside(Path::new(path))?),
        None if address.contains("://") => Ok(()),
        None => Ok(check_outside(Path::new(address))?),
    }
}

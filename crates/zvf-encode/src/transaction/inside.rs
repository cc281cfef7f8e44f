//! Prevents stores inside other stores: writers of the outer store would take the folders of the inner one for cells, levels or stale files.

use zvf_store::OpenOptions;
use zvf_store::writing::{WriteLocation, is_part_of_store, store_around};

use crate::WriteError;
use crate::target::Target;
use crate::transaction::marker::{MARKER, ROOT};

/// Most folders above a prefix that are checked.
const ABOVE: usize = 16;

/// Refuses an address below the root of a store.
///
/// # Cost
/// In a bucket, one request for each of the 16 folders above the address; folders that cannot be read are ignored.
///
/// # Errors
/// [`WriteError::Exists`]: the address is inside a store, or is a link to a place that does not exist. Misuse: an invalid address.
pub fn check(address: &str, options: &OpenOptions) -> Result<(), WriteError> {
    let outer = match WriteLocation::of(address, &options.io)? {
        WriteLocation::Folder(folder) if folder.is_symlink() && !folder.exists() => {
            let what =
                "is a link to a place that does not exist, expected a folder or nothing there";
            return Err(WriteError::exists(address, what));
        }
        WriteLocation::Folder(folder) => {
            store_around(&folder).map(|outer| outer.display().to_string())
        }
        WriteLocation::Prefix { store, prefix } => {
            let mut above = prefix.as_str();
            let mut found = None;
            for _ in 0..ABOVE {
                let Some(folder) = above
                    .rsplit_once('/')
                    .map(|(folder, _)| folder)
                    .or_else(|| (!above.is_empty()).then_some(""))
                else {
                    break;
                };
                above = folder;
                let target = Target::of_prefix(&store, above, options)?;
                let is_store =
                    matches!(target.read(ROOT), Ok(Some(document)) if is_part_of_store(&document));
                // A store that is being written has only its marker.
                if is_store || matches!(target.exists(MARKER), Ok(true)) {
                    found = Some(format!("{above:?}"));
                }
            }
            found
        }
    };
    match outer {
        Some(outer) => {
            let what =
                format!("is inside the store {outer}, expected a place outside of every store");
            Err(WriteError::exists(address, what))
        }
        None => Ok(()),
    }
}

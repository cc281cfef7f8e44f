//! How a new writer treats an unfinished distributed write at its address: finished parts are never removed.

use super::folder::{BegunStore, listed};
use super::log::{Outcome, PartitionLog, PartitionState};
use crate::WriteError;
use crate::target::Target;
use crate::transaction::marker::StaleFiles;

/// Fails if a distributed write at this address has finished parts, or if one was begun and stale files are refused. Succeeds if there is none.
pub(crate) fn check(
    target: &Target,
    address: &str,
    stale_files: StaleFiles,
) -> Result<(), WriteError> {
    let Some(begun) = BegunStore::read(target)? else {
        return Ok(());
    };
    let finished = begun.finished(target)?;
    let what = match (finished.is_empty(), stale_files) {
        (true, StaleFiles::Remove) => return Ok(()),
        (true, StaleFiles::Refuse) => {
            "an unfinished store in parts was begun there; `zvf import STORE --status` lists its parts, --clear-leftovers removes it"
                .to_owned()
        }
        (false, _) => {
            let (count, names) = (finished.len(), listed(finished.iter().map(String::as_str)));
            let parts = if count == 1 { "part" } else { "parts" };
            format!(
                "an unfinished store with {count} finished {parts} ({names}) is there, and finished parts are not removed; `zvf import STORE --status` \
                 lists them, --commit makes the store from them, --discard-parts removes them"
            )
        }
    };
    Err(WriteError::exists(address, what))
}

/// Removes a distributed write; returns whether there was one. Fails if it has finished parts.
pub(crate) fn clear(target: &Target, address: &str) -> Result<bool, WriteError> {
    let Some(mut begun) = BegunStore::read(target)? else {
        return Ok(false);
    };
    if let Some(folder) = begun.folder.clone().filter(|_| !begun.discarded) {
        let log = PartitionLog {
            target,
            folder: &folder,
        };
        while let Ok(number) = log.look()? {
            if let Err(error) = check(target, address, StaleFiles::Remove) {
                log.decide(number, &Outcome::Nothing)?;
                return Err(error);
            }
            log.decide(number, &Outcome::Discarded)?;
        }
        if let PartitionState::Chosen(_) = log.state()? {
            check(target, address, StaleFiles::Remove)?;
        }
        begun.mark_discarded(target, address)?;
    } else {
        check(target, address, StaleFiles::Remove)?;
    }
    begun.clear(target, address)?;
    Ok(true)
}

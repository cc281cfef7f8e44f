//! Execution and rollback of a plan.

use crate::{Report, ValidateOptions, validate};
use futures::future::BoxFuture;
use zvf_edit::{backup_address, replace_documents, restore_documents};

use super::error::RepairError;
use super::options::RepairOptions;
use super::plan::RepairPlan;

/// The result of a repair.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Applied {
    /// The address of the backup of the old documents; `None` if nothing had to be changed.
    pub backup: Option<String>,
    /// Number of documents that were replaced. With a history entry in the options, the root is always one of them.
    pub documents: usize,
    /// The findings after the repair.
    pub report: Report,
}

/// Executes a plan: copies the old documents to `backup`, or to a folder next to the store, replaces them, and validates the store again at the depth
/// of the options.
///
/// The documents change together or not at all, even if the program is killed; `zvf edit STORE resume` finishes or rolls back an interrupted repair.
/// A root that could not be read is replaced first, alone.
///
/// # Errors
/// [`WriteError::Changed`](zvf_encode::WriteError::Changed): a document changed since the plan was made; nothing was replaced. Misuse: the backup
/// already exists, there is no folder next to the store, or another change is running. I/O. [`RepairError::Unchecked`]: the documents are replaced.
pub fn apply<'a>(
    plan: &'a RepairPlan,
    backup: Option<&'a str>,
    options: &'a RepairOptions,
) -> BoxFuture<'a, Result<Applied, RepairError>> {
    Box::pin(async move {
        let (mut kept, mut count) = (None, 0);
        if !plan.documents.is_empty() {
            let backup = match backup {
                Some(backup) => backup.to_owned(),
                None => backup_address(&plan.store)?,
            };
            let documents = plan.documents.clone();
            count = replace_documents(&plan.store, documents, &backup, &options.write).await?;
            kept = Some(backup);
        }
        let mut wanted = ValidateOptions::new(options.depth).with_open(options.write.open.clone());
        wanted.progress = options.progress.clone();
        let report = validate(&plan.store, &wanted).await;
        let report = report.map_err(|source| match &kept {
            Some(backup) => RepairError::Unchecked {
                backup: backup.clone(),
                source: Box::new(source),
            },
            None => source.into(),
        })?;
        Ok(Applied {
            backup: kept,
            documents: count,
            report,
        })
    })
}

/// Restores the documents that a repair saved at `backup`. Returns the number of changed documents.
///
/// # Errors
/// Misuse, with nothing replaced: there is no backup at this address, or a document differs from the one that the repair wrote and `force` is not set.
/// I/O.
pub fn undo<'a>(
    store: &'a str,
    backup: &'a str,
    force: bool,
    options: &'a RepairOptions,
) -> BoxFuture<'a, Result<usize, RepairError>> {
    Box::pin(async move { Ok(restore_documents(store, backup, force, &options.write).await?) })
}

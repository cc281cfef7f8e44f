//! A plan is carried out, and taken back.

use crate::{Report, ValidateOptions, validate};
use futures::future::BoxFuture;
use zvf_edit::{backup_address, replace_documents, restore_documents};

use super::error::RepairError;
use super::options::RepairOptions;
use super::plan::Plan;

/// What a repair did.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Applied {
    /// Where the documents were kept as they had been; `None`: nothing had to be changed.
    pub backup: Option<String>,
    /// Documents that were replaced.
    pub documents: usize,
    /// What was found in the store afterwards.
    pub report: Report,
}

/// Carries out a plan: keeps the documents as they are at `backup`, or beside the store, replaces them, and looks at the store
/// again, at the depth of the options.
///
/// All documents count at once, or none of them does, whenever the program ends; an interrupted repair is finished or taken
/// back by `zvf edit STORE resume`. Where the root could not be read before, it is replaced first, alone.
///
/// # Errors
/// [`WriteError::Changed`](zvf_encode::WriteError::Changed): a document is not what it was when the plan was made; nothing was
/// replaced. Misuse: a backup that is there already, a store that has nothing beside it, another change that is running. I/O.
pub fn apply<'a>(
    plan: &'a Plan,
    backup: Option<&'a str>,
    options: &'a RepairOptions,
) -> BoxFuture<'a, Result<Applied, RepairError>> {
    Box::pin(async move {
        let mut kept = None;
        if !plan.documents.is_empty() {
            let backup = match backup {
                Some(backup) => backup.to_owned(),
                None => backup_address(&plan.store)?,
            };
            let documents = plan.documents.clone();
            replace_documents(&plan.store, documents, &backup, &options.write).await?;
            kept = Some(backup);
        }
        let mut wanted = ValidateOptions::new(options.depth).with_open(options.write.open.clone());
        wanted.progress = options.progress.clone();
        Ok(Applied {
            backup: kept,
            documents: plan.documents.len(),
            report: validate(&plan.store, &wanted).await?,
        })
    })
}

/// Puts the documents back that a repair kept at `backup`. Returns how many were changed.
///
/// # Errors
/// [`WriteError::Changed`](zvf_encode::WriteError::Changed): a document is not the one that the repair wrote, and `force` does
/// not say that this does not matter; nothing was replaced. Misuse: no backup there. I/O.
pub fn undo<'a>(
    store: &'a str,
    backup: &'a str,
    force: bool,
    options: &'a RepairOptions,
) -> BoxFuture<'a, Result<usize, RepairError>> {
    Box::pin(async move { Ok(restore_documents(store, backup, force, &options.write).await?) })
}

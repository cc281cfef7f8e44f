//! The job `repair`: documents corrected from the cells.

use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::json;
use zvf_encode::transaction::ROOT;
use zvf_validate::repair::{
    Applied, RepairError, RepairOptions, RepairPlan, apply, document, plan, undo,
};

use crate::checks::{at_most_one, needs, outside};
use crate::error::Result;
use crate::validate::depth;
use crate::{CheckName, Context, JobError, JobEvent};

options! {
    /// Corrects the documents of a store that follow from its cells
    RepairJob {
        /// Path or URL of the store
        store: String,
        /// Makes the changes, and validates the store again
        #[arg(long)]
        apply: bool,
        /// Repairs findings of these checks only, by code or name
        #[arg(long, value_name = "CHECK,..", value_delimiter = ',')]
        only: Option<Vec<CheckName>>,
        /// The deepest level of checks
        #[arg(long = "level", value_name = "1..5", default_value_t = RepairJob::default().depth)]
        #[schemars(range(min = 1, max = 5))]
        depth: u8 = RepairOptions::default().depth.number(),
        /// Removes lost cells from their lists even if other arrays name their chunks, and lowers counts to the data that exists: the lost data is given up and reads as missing
        #[arg(long)]
        accept_loss: bool,
        /// Folder for copies of the old documents [default: beside the store]
        #[arg(long, value_name = "ADDRESS")]
        backup: Option<String>,
        /// Restores the old documents from this folder
        #[arg(long, value_name = "BACKUP")]
        undo: Option<String>,
        /// Restores documents also if they changed after the repair
        #[arg(long)]
        force: bool,
    }
}

impl RepairJob {
    pub(crate) fn check(&self) -> Result<()> {
        let (apply, undo) = (("apply", self.apply), ("undo", self.undo.is_some()));
        for other in [
            apply,
            ("only", self.only.is_some()),
            ("accept_loss", self.accept_loss),
            ("depth", self.depth != Self::default().depth),
        ] {
            at_most_one(&[undo, other])?;
        }
        needs(("backup", self.backup.is_some()), &[apply])?;
        needs(("force", self.force), &[undo])?;
        depth(self.depth).map(|_| ())
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<RepairReport> {
        let backup = self.backup.as_deref();
        let path = backup.map(|address| address.strip_prefix("file://").unwrap_or(address));
        let path = path.filter(|address| !address.contains("://"));
        outside("backup", path.map(Path::new))?;
        let mut options = RepairOptions::default()
            .with_write(context.writing(false))
            .with_depth(depth(self.depth)?)
            .with_accept_loss(self.accept_loss)
            .with_progress(context.checked());
        if let Some(only) = &self.only {
            options =
                options.with_only(only.iter().map(|check| *check.value()).collect::<Vec<_>>());
        }
        let failed = |source: RepairError| JobError::Repair {
            place: self.store.clone(),
            source: Box::new(source),
        };
        if let Some(backup) = &self.undo {
            let done = undo(&self.store, backup, self.force, &options).await;
            return Ok(RepairReport::Undone {
                store: self.store.clone(),
                backup: backup.clone(),
                documents: done.map_err(failed)?,
            });
        }
        let plan = plan(&self.store, &options).await.map_err(failed)?;
        let applied = match self.apply {
            true => {
                let done = apply(&plan, backup, &options).await;
                if let Err(RepairError::Unchecked { backup, .. }) = &done {
                    // The error also contains this text, but an interrupted command does not report the error.
                    context.event(&JobEvent::Note(&format!(
                        "{}: the documents are replaced; the old ones are in {backup}",
                        self.store
                    )));
                }
                Some(done.map_err(failed)?)
            }
            false => None,
        };
        Ok(RepairReport::Planned {
            plan: Box::new(plan),
            applied: applied.map(Box::new),
        })
    }
}

/// The report of `repair`. A plan is serialized as [`zvf_validate::repair::document`].
#[derive(Debug, Clone)]
pub enum RepairReport {
    /// A repair that was planned, and applied if the job has `apply`.
    Planned {
        /// The changes, and the findings that remain.
        plan: Box<RepairPlan>,
        /// The changes that were made; `None` without `apply`.
        applied: Option<Box<Applied>>,
    },
    /// A repair that was undone.
    Undone {
        /// The store.
        store: String,
        /// The folder with the old documents.
        backup: String,
        /// Number of restored documents.
        documents: usize,
    },
}

/// Whether a job that applies the plan replaces the root only to add itself to the history.
#[must_use]
pub fn adds_root(plan: &RepairPlan) -> bool {
    !plan.documents.is_empty() && plan.documents.iter().all(|one| one.key != ROOT)
}

impl Serialize for RepairReport {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Planned { plan, applied } => {
                let mut document = document(plan, applied.as_deref());
                if let Some(documents) = document["documents"].as_array_mut()
                    && applied.is_none()
                    && adds_root(plan)
                {
                    documents.push(ROOT.into());
                }
                document.serialize(to)
            }
            Self::Undone {
                store,
                backup,
                documents,
            } => json!({"store": store, "backup": backup, "documents": documents}).serialize(to),
        }
    }
}

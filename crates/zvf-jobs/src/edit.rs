//! The jobs `edit-…`: each makes one atomic change of an existing store.

/// Declares the options of a job that changes a store. On the command line, the store is an argument of `zvf edit` and not of the change.
macro_rules! edit_options {
    ($(#[doc = $about:tt])* $name:ident { $($own:tt)* }) => {
        options! {
            $(#[doc = $about])*
            $name {
                /// Path or URL of the store
                #[arg(skip)]
                store: String,
                $($own)*
            }
        }
    };
}

mod computed;
mod delete;
mod groups;
mod tables;

use serde::Serialize;
use zvf_edit::{Edit, EditSummary, Matched, Resumed};
use zvf_encode::WriteError;

use crate::error::Result;
use crate::{Context, JobError, JobEvent};
pub use delete::{DeleteSelect, EditDeleteJob, existing_ids};
pub use groups::{EditGroupAddJob, EditGroupDeleteJob, EditGroupRemoveJob, EditGroupRenameJob};
#[cfg(feature = "volumes")]
pub(crate) use groups::{add_to_group, check_group};
pub use tables::{EditAppendJob, EditMoveJob, EditSetAttributeJob, MatchOptions};

/// Begins an edit.
pub(crate) async fn begin(store: &str, context: &Context) -> Result<Edit> {
    let edit = Edit::open(store, context.writing(false)).await;
    edit.map_err(JobError::write(store))
}

/// Returns an edit with the result of a step, or abandons the edit if the step failed.
pub(crate) async fn or_abandon<T>(edit: Edit, done: Result<T>) -> Result<(Edit, T)> {
    match done {
        Ok(done) => Ok((edit, done)),
        Err(error) => {
            edit.abandon().await?;
            Err(error)
        }
    }
}

/// Commits an edit, or abandons it if a step failed. Returns the summary of the edit and the result of the step.
pub(crate) async fn end<T>(edit: Edit, store: &str, made: Result<T>) -> Result<(EditSummary, T)> {
    let (edit, made) = or_abandon(edit, made).await.map_err(|e| e.at(store))?;
    let done = edit.commit().await.map_err(JobError::write(store))?;
    Ok((done, made))
}

/// The parts of a report that the summary of an edit does not have.
#[derive(Debug, Default)]
struct EditNotes {
    notes: Vec<String>,
    /// Notes that were shown before the edit was committed.
    shown: Vec<String>,
    warnings: Vec<String>,
    matched: Option<Matched>,
}

/// The result of a change without notes.
fn done(made: std::result::Result<(), WriteError>) -> Result<EditNotes> {
    made.map(|()| EditNotes::default()).map_err(JobError::from)
}

/// Ends an edit as [`end`] does, and reports it.
async fn report(
    edit: Edit,
    store: &str,
    made: Result<EditNotes>,
    context: &Context,
) -> Result<EditReport> {
    let (done, mut made) = end(edit, store, made).await?;
    for note in &made.notes {
        context.event(&JobEvent::Note(note));
    }
    made.notes.append(&mut made.shown);
    Ok(EditReport::Done(EditDone {
        store: store.to_owned(),
        notes: made.notes,
        vertices: done.vertices,
        objects: done.objects,
        groups: done.groups,
        links: done.links,
        chunks: done.chunks,
        put: done.put,
        removed: done.removed,
        matched: made.matched.map(|matched| MatchedRows {
            by: matched.by,
            rows: matched.found,
            of: matched.of,
            ignored: matched.ignored,
        }),
        warnings: made.warnings,
    }))
}

edit_options! {
    /// Stores the object of each fragment beside the fragments, so that a box query reads no manifests; new stores already have this
    EditAddOwnersJob {}
}

impl EditAddOwnersJob {
    pub(crate) fn check(&self) -> Result<()> {
        Ok(())
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<EditReport> {
        let mut edit = begin(&self.store, context).await?;
        let made = done(edit.add_owners());
        report(edit, &self.store, made, context).await
    }
}

edit_options! {
    /// Finishes an interrupted edit, or reverts it if it was not committed; the program that began it must have ended
    EditResumeJob {}
}

impl EditResumeJob {
    pub(crate) fn check(&self) -> Result<()> {
        Ok(())
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<EditReport> {
        let found = Edit::resume(&self.store, context.writing(false)).await;
        let resumed = match found.map_err(JobError::write(&self.store))? {
            Resumed::Finished => ResumedEdit::Finished,
            Resumed::TakenBack => ResumedEdit::TakenBack,
            _ => ResumedEdit::Nothing,
        };
        let store = self.store.clone();
        Ok(EditReport::Resumed(EditResumed { store, resumed }))
    }
}

/// What an edit did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum EditReport {
    /// A change.
    Done(EditDone),
    /// The counts of a deletion that was not made.
    DryRun(EditDryRun),
    /// The result of resuming an interrupted edit.
    Resumed(EditResumed),
}

/// A change of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EditDone {
    /// The store.
    pub store: String,
    /// Notes about data that was not stored, and about rows without a match.
    pub notes: Vec<String>,
    /// Vertices of the level after the edit, less those before it.
    pub vertices: i64,
    /// Objects that were added or deleted, or that have changed fragments.
    pub objects: u64,
    /// Groups that were added, deleted or renamed, or that have changed members.
    pub groups: u64,
    /// Links that are stored after the edit, less those before it.
    pub links: i64,
    /// Chunks with at least one rewritten cell.
    pub chunks: u64,
    /// Objects of the storage that the edit replaced or added.
    pub put: u64,
    /// Objects of the storage that the edit removed.
    pub removed: u64,
    /// How the rows of a table were matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<MatchedRows>,
    /// Violations of the format that the selection found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// How the rows of a table were matched with the rows of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MatchedRows {
    /// The columns by which rows were matched.
    pub by: String,
    /// Vertices, objects or links with a row in the table.
    pub rows: u64,
    /// Vertices, objects or links of the store.
    pub of: u64,
    /// Rows that are not in the store, and were left out.
    pub ignored: u64,
}

/// The counts of a deletion that was not made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EditDryRun {
    /// The store.
    pub store: String,
    /// `true`: nothing was changed.
    pub dry_run: bool,
    /// Selected points; 0 if objects are selected.
    pub vertices: u64,
    /// Ids of the selected objects, ascending; `None` if points are selected.
    pub objects: Option<Vec<i64>>,
    /// Violations of the format that the selection found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The result of resuming an interrupted edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EditResumed {
    /// The store.
    pub store: String,
    /// The outcome.
    pub resumed: ResumedEdit,
}

/// The outcome of an interrupted edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResumedEdit {
    /// The edit was already committed, and is now completed.
    Finished,
    /// The edit was not committed yet, and is reverted.
    #[serde(rename = "taken back")]
    TakenBack,
    /// No edit was interrupted.
    Nothing,
}

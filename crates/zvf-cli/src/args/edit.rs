//! `zvf edit`.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use zvf_jobs::{
    EditAddOwnersJob, EditAppendJob, EditDeleteJob, EditGroupAddJob, EditGroupDeleteJob,
    EditGroupRemoveJob, EditGroupRenameJob, EditMoveJob, EditResumeJob, EditSetAttributeJob, Job,
};

/// `zvf edit`
#[derive(Debug, Args)]
#[command(after_help = help!("edit"))]
pub(crate) struct EditArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// What to do
    #[command(subcommand)]
    pub(crate) what: EditWhat,
    /// Prints the job as JSON for `zvf run` and does not run it. Common options are not included: give them to `zvf run`
    #[arg(long, global = true)]
    pub(crate) print_job: bool,
}

/// The edits.
#[derive(Debug, Subcommand)]
pub(crate) enum EditWhat {
    /// Deletes objects with their vertices and links (`zvf vacuum` drops their rows later), or points that belong to no object
    Delete(Box<EditDeleteJob>),
    /// Adds vertices: new objects, or more vertices of existing points, polylines and streamlines
    Append(Box<EditAppendJob>),
    /// Stores the object of each fragment beside the fragments, so that a box query reads no manifests; new stores already have this
    AddOwners(EditAddOwnersJob),
    /// Moves vertices to new positions
    Move(Box<EditMoveJob>),
    /// Replaces values of an attribute, or adds one
    SetAttribute(Box<EditSetAttributeJob>),
    /// Changes groups of objects
    #[command(subcommand)]
    Group(GroupWhat),
    /// Finishes an interrupted edit, or reverts it if it was not committed; the program that began it must have ended
    Resume(EditResumeJob),
}

/// The edits of groups. GROUP is a name or a number; name:WORD or number:N if the name of a group is the number of another one.
#[derive(Debug, Subcommand)]
pub(crate) enum GroupWhat {
    /// Adds objects to a group, which is created if it does not exist
    Add(EditGroupAddJob),
    /// Removes objects from a group
    Remove(EditGroupRemoveJob),
    /// Gives a group another name
    Rename(EditGroupRenameJob),
    /// Deletes a group, but not its objects; the numbers of later groups decrease by 1
    Delete(EditGroupDeleteJob),
}

impl EditArgs {
    /// The job, and whether it is only printed.
    pub(crate) fn job(&self) -> (Job, bool) {
        macro_rules! of {
            ($job:expr) => {{
                let mut job = $job.clone();
                job.store.clone_from(&self.store);
                Job::from(job)
            }};
        }
        let job = match &self.what {
            EditWhat::Delete(job) => of!(**job),
            EditWhat::Append(job) => of!(**job),
            EditWhat::AddOwners(job) => of!(job),
            EditWhat::Move(job) => of!(**job),
            EditWhat::SetAttribute(job) => of!(**job),
            EditWhat::Group(GroupWhat::Add(job)) => of!(job),
            EditWhat::Group(GroupWhat::Remove(job)) => of!(job),
            EditWhat::Group(GroupWhat::Rename(job)) => of!(job),
            EditWhat::Group(GroupWhat::Delete(job)) => of!(job),
            EditWhat::Resume(job) => of!(job),
        };
        (job, self.print_job)
    }
}

/// The subcommands that may be given before the store.
const VERBS: [&str; 6] = [
    "append",
    "add-owners",
    "delete",
    "move",
    "set-attribute",
    "resume",
];

/// Turns `zvf edit append STORE FILE` into `zvf edit STORE append FILE`.
pub(super) fn store_first(mut line: Vec<OsString>) -> Vec<OsString> {
    let is_verb = |word: &OsString| VERBS.iter().any(|verb| word == verb);
    let swapped = match &*line {
        [_, edit, verb, store, ..] => {
            edit == "edit"
                && is_verb(verb)
                && !is_verb(store)
                && !store.to_string_lossy().starts_with('-')
        }
        _ => false,
    };
    if swapped {
        line.swap(2, 3);
    }
    line
}

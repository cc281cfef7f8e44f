//! `zvf edit`.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use zvf_jobs::{
    EditAddOwnersJob, EditAppendJob, EditDeleteJob, EditGroupAddJob, EditGroupDeleteJob,
    EditGroupRemoveJob, EditGroupRenameJob, EditMoveJob, EditResumeJob, EditSetAttributeJob, Job,
};

/// `zvf edit`
#[derive(Debug, Args)]
#[command(after_help = "\
An edit is atomic: readers see all of it or nothing, also after an interruption. Ids of objects never change. Coarse levels are not
changed; the root lists the chunks that they are out of date for as `zvf_stale`. If chunks are divided by an attribute
(`zvf import --chunk-by`), tables of new vertices need its column; setting the attribute moves vertices to other chunks.

Points that belong to no object are deleted by --where, --bbox and regions (--sphere, --near, --polygon, --mesh, --mask, --region, see `zvf query --help`), which
combine with AND; --dry-run counts them. In stores with objects, --select objects deletes every object with such a vertex, and
--inside, --starting or --ending every object with this relation to the region.

FILE is a table as `zvf query -o FILE` writes it, or another that `zvf import` reads (.csv, .tsv, .txt, .csv.gz, .ndjson, .arrow, .feather,
.parquet, .npz): one column an axis (or lists `position`), `object_id`, one column an attribute (`NAME_0`, `NAME_1`, … for several channels, or lists NAME).

The vertex of a row is found in the first of these ways that the table allows:
  1. --key id            by attributes whose values identify a vertex (--key sample,cell: several together)
  2. chunk, row          as `zvf query --columns chunk,row,..` writes them; or `object_id` and `vertex` (the place in the object, from 0);
                         or `vertex` alone (the place in the answer of `zvf query STORE`)
  3. x, y, z             positions, compared as the store has them, and `object_id` where the table has it
  4. --by-order          all vertices, in the order of `zvf query STORE`
Columns that contradict each other are refused, and rows that are not in the store, unless --ignore-missing leaves them out. Vertices
without a row keep their value; of a new attribute they have --fill VALUE, else none.

Objects are addressed by `object_id`, by --key, or --by-order (that of `zvf objects`); an id that the store does not have is an error,
unless --new makes the object. Links are addressed by their ends: `vertices_0`, `vertices_1`, … (lists `vertices`: places in the answer of
`zvf query STORE`, as its links.arrow has them), `chunks_0`, … and `rows_0`, … (as `zvf links` writes them), or `object_id` and `vertex_0`, `vertex_1`, …, in the order in which queries return them (in
any order where that says which link is meant); ends that come again mean the next link between them; or by --key, or --by-order (that of
`zvf links STORE`).

Examples:
  zvf edit brain.zarrvectors delete 7 42
  zvf edit brain.zarrvectors delete 0-9,12
  zvf edit points.zarrvectors delete --where 'confidence < 0.2' --bbox 0,0,0:100,100,50
  zvf edit tracts.zarrvectors delete --near z=0,5 --inside
  zvf edit tracts.zarrvectors append continued.csv          # new files and objects: zvf append
  zvf edit brain.zarrvectors move --from moved.ndjson
  zvf edit points.zarrvectors set-attribute cell --type int64 --from cells.parquet --key transcript_id
  zvf edit brain.zarrvectors set-attribute label --from labels.csv
  zvf edit points.zarrvectors set-attribute land --fill unknown      # for all later appends
  zvf edit brain.zarrvectors set-attribute volume --object --type float32 --from volumes.csv
  zvf edit brain.zarrvectors set-attribute weight --link --from weights.csv
  zvf edit plants.zarrvectors set-attribute height --from field.csv --delimiter ';' --decimal , --rename Höhe=height
  zvf edit tracts.zarrvectors group add AF_left 3-9 17
  zvf edit tracts.zarrvectors group rename 0 CST_right
  zvf edit brain.zarrvectors resume")]
pub(crate) struct EditArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// What to do
    #[command(subcommand)]
    pub(crate) what: EditWhat,
    /// Prints the job as JSON for `zvf run`, and runs nothing. Common options are no part of it: give them to `zvf run`
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
    /// Stores which object each fragment belongs to, beside the fragments, so that a box reads no manifests; new stores have it
    AddOwners(EditAddOwnersJob),
    /// Moves vertices to new positions
    Move(Box<EditMoveJob>),
    /// Replaces values of an attribute, or adds one
    SetAttribute(Box<EditSetAttributeJob>),
    /// Changes groups of objects
    #[command(subcommand)]
    Group(GroupWhat),
    /// Finishes an interrupted edit, or reverts it if it was not committed; its writer must be dead
    Resume(EditResumeJob),
}

/// The edits of groups. GROUP is a name or a number; name:WORD or number:N if the name of a group is the number of another one.
#[derive(Debug, Subcommand)]
pub(crate) enum GroupWhat {
    /// Adds objects to a group, which is made if it is not there
    Add(EditGroupAddJob),
    /// Takes objects out of a group
    Remove(EditGroupRemoveJob),
    /// Gives a group another name
    Rename(EditGroupRenameJob),
    /// Deletes a group, not its objects; later groups get the number before theirs
    Delete(EditGroupDeleteJob),
}

impl EditArgs {
    /// The job, and whether it is printed only.
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

/// The words of the edits.
const VERBS: [&str; 5] = ["append", "delete", "move", "set-attribute", "resume"];

/// `zvf edit append STORE FILE` as `zvf edit STORE append FILE`.
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

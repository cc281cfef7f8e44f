//! The reports of `zvf edit` for people.

use zvf_jobs::{EditReport, ResumedEdit};

use crate::output::table::counted;

/// What an edit did.
pub(super) fn text(done: &EditReport) -> String {
    match done {
        EditReport::Done(done) => {
            let groups = match done.groups {
                0 => String::new(),
                groups => format!("{}, ", counted(groups, "group")),
            };
            format!(
                "{}: {:+} vertices, {:+} links; {groups}{} and {} changed, {} written, {} removed\n",
                done.store,
                done.vertices,
                done.links,
                counted(done.objects, "object"),
                counted(done.chunks, "chunk"),
                counted(done.put, "file"),
                counted(done.removed, "file"),
            )
        }
        EditReport::DryRun(done) => {
            let what = match &done.objects {
                Some(ids) => counted(ids.len() as u64, "object"),
                None => counted(done.vertices, "vertex"),
            };
            format!("{}: would delete {what}\n", done.store)
        }
        EditReport::Resumed(done) => {
            let line = match done.resumed {
                ResumedEdit::Finished => "the interrupted edit was committed and is completed now",
                ResumedEdit::TakenBack => "the interrupted edit was not committed and is undone",
                ResumedEdit::Nothing => "no edit was interrupted",
            };
            format!("{}: {line}\n", done.store)
        }
        _ => String::new(),
    }
}

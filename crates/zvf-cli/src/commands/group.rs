//! The report of `zvf group` for people.

use zvf_jobs::GroupReport;

use super::edit;
use crate::output::table::{count, counted};

/// Which groups were made.
pub(super) fn text(done: &GroupReport) -> String {
    match done {
        GroupReport::Edit(done) => edit::text(done),
        GroupReport::Ends(done) => format!(
            "{}: {} in {} {}/.., {} with an end in the background, {} outside of the volume\n",
            done.store,
            counted(done.grouped, "object"),
            counted(done.groups, "group"),
            done.name,
            count(done.background),
            counted(done.ends_outside, "end"),
        ),
        _ => String::new(),
    }
}

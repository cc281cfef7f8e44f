//! The report of `zvf merge` for people.

use zvf_jobs::MergeReport;

use crate::output::table::{counted, tally};

/// The text of the report.
pub(super) fn text(done: &MergeReport) -> String {
    let mut parts = vec![counted(done.vertices, "vertex")];
    parts.extend(tally([(done.objects, "object"), (done.groups, "group")]));
    let from = counted(done.stores.len() as u64, "store");
    format!("{}: {} of {from}\n", done.store, parts.join(", "))
}

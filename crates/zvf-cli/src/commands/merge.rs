//! The report of `zvf merge` for people.

use zvf_jobs::MergeReport;

use crate::output::table::counted;

/// The text of the report.
pub(super) fn text(done: &MergeReport) -> String {
    let mut parts = vec![counted(done.vertices, "vertex")];
    for (count, one) in [(done.objects, "object"), (done.groups, "group")] {
        if count > 0 {
            parts.push(counted(count, one));
        }
    }
    let from = counted(done.stores.len() as u64, "store");
    format!("{}: {} of {from}\n", done.store, parts.join(", "))
}

//! The report of `zvf split` for people.

use zvf_jobs::SplitReport;

use crate::output::table::{counted, tally};

/// The report for people.
pub(super) fn text(done: &SplitReport) -> String {
    let mut parts = vec![
        counted(done.parts.len() as u64, "part"),
        counted(done.vertices, "vertex"),
    ];
    parts.extend(tally([(done.objects, "object")]));
    if done.skipped > 0 {
        let skipped = counted(done.skipped, "part");
        parts.push(format!("{skipped} were there already"));
    }
    format!("{}: {}\n", done.store, parts.join(", "))
}

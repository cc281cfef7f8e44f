//! The report of `zvf resample` and `zvf simplify` for people.

use zvf_jobs::ResampleReport;

use crate::output::table::{count, counted, tally};

/// The report as text: vertices, objects and groups of the new store, and the share of the length that it keeps.
pub(super) fn text(report: &ResampleReport) -> String {
    let (target, done) = (&report.store, &report.report);
    let (vertices, before) = (counted(done.vertices, "vertex"), done.vertices_before);
    let vertices = format!("{vertices} of {}", count(before));
    let mut parts = vec![vertices, counted(done.objects, "object")];
    parts.extend(tally([(done.groups, "group")]));
    if done.length_before > 0.0 {
        let share = 100.0 * done.length / done.length_before;
        parts.push(format!("{share:.2} % of the length"));
    }
    let kept = tally([(done.kept, "object")]);
    parts.extend(kept.map(|kept| format!("{kept} of one vertex unchanged")));
    format!("{target}: {}\n", parts.join(", "))
}

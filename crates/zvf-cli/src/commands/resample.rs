//! The report of `zvf resample` and `zvf simplify` for people.

use zvf_jobs::ResampleReport;

use crate::output::table::{count, counted};

/// The report as text: vertices, objects and groups of the new store, and its part of the length.
pub(super) fn text(report: &ResampleReport) -> String {
    let (target, done) = (&report.store, &report.report);
    let mut parts = vec![
        format!(
            "{} of {}",
            counted(done.vertices, "vertex"),
            count(done.vertices_before)
        ),
        counted(done.objects, "object"),
    ];
    if done.groups > 0 {
        parts.push(counted(done.groups, "group"));
    }
    if done.length_before > 0.0 {
        let share = 100.0 * done.length / done.length_before;
        parts.push(format!("{share:.2} % of the length"));
    }
    if done.kept > 0 {
        parts.push(format!(
            "{} of one vertex as before",
            counted(done.kept, "object")
        ));
    }
    format!("{target}: {}\n", parts.join(", "))
}

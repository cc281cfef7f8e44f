//! `zvf export`: what its report says to people.

use zvf_jobs::{ExportReport, FileExported};

use super::split;
use crate::output::table::counted;

/// The report for people.
pub(super) fn text(report: &ExportReport) -> String {
    match report {
        ExportReport::Objects(done) => split::text(done),
        ExportReport::File(done) => format!("{}\n", line(done)),
        _ => String::new(),
    }
}

/// A file, in one line.
pub(super) fn line(done: &FileExported) -> String {
    let mut parts = vec![counted(done.vertices, "vertex")];
    if done.links > 0 {
        parts.push(counted(done.links, "link"));
    }
    if done.objects > 0 {
        parts.push(counted(done.objects, "object"));
    }
    format!("{}: {}, {}", done.file, done.format, parts.join(", "))
}

//! The report of `zvf export` for people.

use zvf_jobs::{ExportReport, FileExported};

use super::split;
use crate::output::table::{counted, tally};

/// The report for people.
pub(super) fn text(report: &ExportReport) -> String {
    match report {
        ExportReport::Objects(done) => split::text(done),
        ExportReport::File(done) => format!("{}\n", line(done)),
        ExportReport::Views(done) => format!(
            "{}: {} {}, {}\n",
            done.folder,
            done.format,
            done.views.join(" and "),
            counted(done.files, "file")
        ),
        _ => String::new(),
    }
}

/// A file, in one line.
pub(super) fn line(done: &FileExported) -> String {
    let mut parts = vec![counted(done.vertices, "vertex")];
    parts.extend(tally([(done.links, "link"), (done.objects, "object")]));
    format!("{}: {}, {}", done.file, done.format, parts.join(", "))
}

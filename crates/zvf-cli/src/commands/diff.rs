//! `zvf diff`: the differences between two stores.

use zvf_jobs::DiffReport;

use super::listing::more;
use crate::error::{Class, CliError};
use crate::output::table::counted;

/// The differences for people.
pub(super) fn text(done: &DiffReport) -> String {
    let found = &done.comparison;
    if found.is_same() {
        let [vertices, _] = found.vertices;
        let [objects, _] = found.objects;
        let [links, _] = found.links;
        return format!(
            "no differences: {}, {}, {}\n",
            counted(vertices, "vertex"),
            counted(objects, "object"),
            counted(links, "link")
        );
    }
    let lines = found.differences.iter();
    let mut out: String = lines.map(|difference| format!("{difference}\n")).collect();
    out.push_str(&more(found.differences.len() as u64, found.total));
    out
}

/// The error that sets the exit code, if the stores differ.
pub(super) fn findings(done: &DiffReport) -> Option<CliError> {
    let found = &done.comparison;
    let more = if found.more { " or more" } else { "" };
    let total = counted(found.total, "difference");
    let [first, second] = &done.stores;
    let message = format!("{first} and {second}: {total}{more}");
    (!found.is_same()).then(|| CliError::new(Class::Findings, message))
}

//! `zvf objects`: the objects of a level, their sizes and attributes.

use zvf_jobs::ObjectsReport;

use super::listing::{chain, more};
use crate::output::table::{TextTable, counted};

/// The objects for people.
pub(super) fn text(done: &ObjectsReport) -> String {
    let rows = done.objects.iter();
    let table: String = rows
        .map(|rows| TextTable::of(rows, TextTable::batch))
        .collect();
    format!(
        "{table}{}{}: {}\n",
        more(done.count, done.total),
        chain(done.level, &done.levels),
        counted(done.total, "object")
    )
}

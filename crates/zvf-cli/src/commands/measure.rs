//! `zvf measure`: lengths, branches, surfaces and means of each object.

use zvf_jobs::MeasureReport;

use super::listing::more;
use crate::output::table::{TextTable, counted};

/// The measures for people.
pub(super) fn text(done: &MeasureReport) -> String {
    match done {
        MeasureReport::Attributes(done) => format!(
            "{}: {} of {}: {}\n",
            done.store,
            counted(done.attributes.len() as u64, "attribute"),
            counted(done.objects, "object"),
            done.attributes.join(", ")
        ),
        MeasureReport::Table(done) => {
            let rows = done.objects.iter();
            let table: String = rows
                .map(|rows| TextTable::of(rows, TextTable::computed))
                .collect();
            table + &more(done.rows, done.total)
        }
        _ => String::new(),
    }
}

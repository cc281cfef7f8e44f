//! The report of `zvf splits` for people.

use zvf_jobs::SplitsReport;

use crate::output::table::{TextTable, count, size};

/// The report for people.
pub(super) fn text(done: &SplitsReport) -> String {
    let mut table = TextTable::new(["split", "vertices", "decoded"]);
    for split in &done.splits {
        let name = format!("{}/{}@{}", split.number, split.count, done.tag);
        table.row([name, count(split.rows), size(split.bytes)]);
    }
    table.render(0)
}

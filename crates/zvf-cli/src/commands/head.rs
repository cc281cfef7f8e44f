//! The reports of `zvf head`, `zvf tail` and `zvf sample-rows` for people.

use zvf_jobs::{FoundRows, RowsReport};

use super::query::titled;
use crate::context::Context;
use crate::error::Result;
use crate::output::print_text;
use crate::output::table::counted;

/// Prints the rows, or the name of the file that has them.
///
/// # Errors
///
/// I/O.
pub(super) fn show(done: &RowsReport, context: &Context<'_>) -> Result<()> {
    match &done.rows {
        FoundRows::Rows(rows) => print_text(&titled(rows).render(0)),
        FoundRows::Count(count) => {
            let of = done.of.map_or_else(String::new, |of| format!(" of {of}"));
            let (file, rows) = (done.files.join(", "), counted(*count, "row"));
            context.remark(&format!("wrote {file}: {rows}{of}"));
            Ok(())
        }
    }
}

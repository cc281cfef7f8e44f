//! Shared code of `zvf links` and `zvf head`: lists one table up to a limit, for the terminal or in a file.

use std::path::Path;

use zvf_jobs::Listing;
use zvf_query::{Answer, Table};
use zvf_store::Store;

use crate::context::Context;
use crate::error::Result;
use crate::output::table::count;

/// Reads one table of an answer, as [`Listing::read`], and prints its warnings.
///
/// # Errors
///
/// As there.
pub(crate) fn read(
    context: &mut Context<'_>,
    store: &Store,
    answer: Answer,
    table: Table,
    output: Option<&Path>,
    limit: Option<u64>,
) -> Result<Listing> {
    let progress = context.progress("rows");
    let add = |rows| progress.add(rows);
    let limits = (output, limit, None);
    let listing = context.wait(Listing::read(store, answer, table, limits, &add))??;
    drop(progress);
    context.warn(&listing.warnings);
    Ok(listing)
}

/// A text with the number of rows that are not listed; empty if all are.
pub(crate) fn more(rows: u64, total: u64) -> String {
    match total.saturating_sub(rows) {
        0 => String::new(),
        left => format!("… {} more\n", count(left)),
    }
}

/// The level, and the levels that complete it: `level 0`, `level 0 with 1, 2`.
pub(crate) fn chain(level: u32, levels: &[u32]) -> String {
    let more: Vec<String> = levels.iter().skip(1).map(ToString::to_string).collect();
    if more.is_empty() {
        format!("level {level}")
    } else {
        format!("level {level} with {}", more.join(", "))
    }
}

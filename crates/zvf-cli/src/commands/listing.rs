//! Texts about rows and levels that several commands print.

use crate::output::table::{count, joined};

/// A text with the number of rows that are not listed; empty if all are.
pub(crate) fn more(rows: u64, total: u64) -> String {
    match total.saturating_sub(rows) {
        0 => String::new(),
        left => format!("… {} more\n", count(left)),
    }
}

/// The level, and the levels that complete it: `level 0`, `level 0 with 1, 2`.
pub(crate) fn chain(level: u32, levels: &[u32]) -> String {
    match levels.get(1..).unwrap_or_default() {
        [] => format!("level {level}"),
        more => format!("level {level} with {}", joined(more, ", ")),
    }
}

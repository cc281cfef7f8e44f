//! Splits of queries, as the JSON that Python holds.

use pyo3::prelude::*;
use zvf_query::{Split, Target};

use crate::errors::misuse;
use crate::run::json_text;

/// The number or the size of splits, by `count`, `rows` or `bytes`.
///
/// # Errors
/// Misuse: another name; a count of 2^32 or more.
pub(crate) fn target(by: &str, size: u64) -> PyResult<Target> {
    match by {
        "count" => u32::try_from(size)
            .map(Target::Count)
            .map_err(|_| misuse(format!("count: found {size}, expected at most 2^20"))),
        "rows" => Ok(Target::Rows(size)),
        "bytes" => Ok(Target::Bytes(size)),
        other => Err(misuse(format!(
            "found splits by {other:?}, expected by \"count\", \"rows\" or \"bytes\""
        ))),
    }
}

/// Splits as JSON.
pub(crate) fn written(splits: &[Split]) -> PyResult<Vec<String>> {
    splits.iter().map(json_text).collect()
}

/// A split from JSON.
///
/// # Errors
/// Misuse: JSON that is not a split.
pub(crate) fn read(text: &str) -> PyResult<Split> {
    serde_json::from_str(text).map_err(|error| misuse(format!("found no split: {error}")))
}

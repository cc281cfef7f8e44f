//! Pieces of queries, as Python keeps them.

use pyo3::prelude::*;
use zvf_query::{Split, Target};

use crate::errors::misuse;
use crate::run::json_text;

/// How large pieces are to be: `count`, `rows` or `bytes`.
///
/// # Errors
/// Misuse: another word, or more pieces than are numbered.
pub(crate) fn target(by: &str, size: u64) -> PyResult<Target> {
    match by {
        "count" => u32::try_from(size)
            .map(Target::Count)
            .map_err(|_| misuse(format!("count: found {size}, expected fewer splits"))),
        "rows" => Ok(Target::Rows(size)),
        "bytes" => Ok(Target::Bytes(size)),
        other => Err(misuse(format!(
            "found splits by {other:?}, expected by \"count\", \"rows\" or \"bytes\""
        ))),
    }
}

/// Pieces as JSON.
pub(crate) fn written(splits: &[Split]) -> PyResult<Vec<String>> {
    splits.iter().map(json_text).collect()
}

/// A piece from JSON.
///
/// # Errors
/// Misuse: JSON that is no piece.
pub(crate) fn read(text: &str) -> PyResult<Split> {
    serde_json::from_str(text).map_err(|error| misuse(format!("found no split: {error}")))
}

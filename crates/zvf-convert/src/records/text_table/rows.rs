//! Rows of a table of text, whatever separates their values.

use std::path::Path;

use crate::error::{ConvertError, Place};

/// The rows of a file, one after another.
pub(in crate::records) trait Rows {
    fn path(&self) -> &Path;

    /// The names of the columns; before the first row.
    fn header(&mut self) -> Result<Vec<String>, ConvertError>;

    /// Reads the next row; false at the end.
    fn step(&mut self) -> Result<bool, ConvertError>;

    /// The value in a column; `None` where it is missing.
    fn value(&self, at: usize) -> Option<&str>;

    /// Where the row is.
    fn place(&self) -> Place;
}

/// What is wrong with a row.
#[cold]
pub(in crate::records) fn bad(
    rows: &dyn Rows,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> ConvertError {
    ConvertError::malformed(rows.path(), rows.place(), found, expected)
}

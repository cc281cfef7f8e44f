//! Rows of a table of text, whatever separates their values.

use std::path::Path;

use crate::error::{ConvertError, Place};

/// The rows of a file, one after another.
pub(super) trait Rows {
    fn path(&self) -> &Path;

    /// The names of the columns: those of the header, or of the rows that were read and at least of the first one.
    fn columns(&self) -> &[String];

    /// Whether a header names the columns of all rows.
    fn has_header(&self) -> bool;

    /// Finds the columns of all rows and starts over. Does nothing where a header names them.
    fn find_columns(&mut self) -> Result<(), ConvertError>;

    /// Reads the next row; false at the end.
    fn step(&mut self) -> Result<bool, ConvertError>;

    /// The value in a column; `None` where it is missing.
    fn value(&self, at: usize) -> Option<&str>;

    /// What was decided for the columns, for people.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// Where the row is.
    fn place(&self) -> Place;
}

/// What is wrong with a row.
#[cold]
pub(super) fn bad(
    rows: &dyn Rows,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> ConvertError {
    ConvertError::malformed(rows.path(), rows.place(), found, expected)
}

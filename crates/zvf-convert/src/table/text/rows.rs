//! The interface for rows of all text formats.

use std::path::Path;

use crate::error::{ConvertError, InFile};

/// The rows of a file, one after another.
pub(super) trait TextRows {
    fn path(&self) -> &Path;

    /// The names of the columns: from the header, or from the rows read so far, at least the first.
    fn columns(&self) -> &[String];

    /// Whether a header names the columns of all rows.
    fn has_header(&self) -> bool;

    /// Reads all rows to find their columns, and starts over. Does nothing if a header names the columns.
    fn find_columns(&mut self) -> Result<(), ConvertError>;

    /// Reads the next row; false at the end.
    fn step(&mut self) -> Result<bool, ConvertError>;

    /// The value in a column; `None` if it is missing.
    fn value(&self, at: usize) -> Option<&str>;

    /// Notes for the user about automatic choices.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// The position of the row in the file.
    fn place(&self) -> InFile;
}

/// The error for a row.
#[cold]
pub(super) fn bad(
    rows: &dyn TextRows,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> ConvertError {
    ConvertError::malformed(rows.path(), rows.place(), found, expected)
}

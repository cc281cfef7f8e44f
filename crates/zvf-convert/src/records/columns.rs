//! Names of the columns of a table, and errors about columns.

use std::path::Path;

use arrow_schema::Schema;

use crate::error::{ConvertError, InFile, shown};
use crate::options::Options;

/// Whether a column is the unnamed index of a data frame; such columns do not become attributes.
pub(crate) fn unnamed(name: &str) -> bool {
    name.is_empty() || (name.starts_with("__index_level_") && name.ends_with("__"))
}

/// The names of the columns of a table.
pub(crate) fn names_of(schema: &Schema) -> Vec<&str> {
    let fields = schema.fields().iter();
    fields.map(|field| field.name().as_str()).collect()
}

/// Checks that the columns to exclude exist.
pub(crate) fn check_exclude(
    path: &Path,
    names: &[&str],
    options: &Options,
) -> Result<(), ConvertError> {
    let mut asked = options.exclude.iter();
    match asked.find(|one| !names.contains(&one.as_str())) {
        None => Ok(()),
        Some(other) => {
            let all = names.join(", ");
            let expected = format!("one of the columns of {}: {all}", path.display());
            Err(ConvertError::usage("exclude", shown(other), expected))
        }
    }
}

/// The found and the expected text of the error for a column that cannot become an attribute.
pub(crate) fn refused(name: &str, found: String) -> (String, String) {
    let expected = format!(
        "a value in each row, or --nulls drop-row, or --nulls with a whole number that no row has, or --exclude {name}"
    );
    (format!("column {} with {found}", shown(name)), expected)
}

/// The error for a column with more different texts than the limit on categories.
pub(crate) fn too_many_texts(
    path: &Path,
    place: InFile,
    name: &str,
    options: &Options,
) -> ConvertError {
    let what = format!(
        "different texts in column {}: leave it out with --exclude {name}",
        shown(name)
    );
    ConvertError::limit(path, place, what, options.limits.categories)
}

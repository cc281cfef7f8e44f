//! Checks names of attributes and other parts of a store.

use crate::WriteError;
use crate::target::TEMPORARY;

/// Most bytes of a name. File systems accept 255, but some of them count units of another encoding than UTF-8.
const LONGEST_NAME: usize = 200;

/// Whether an attribute, or another part of a store, can have this name: it must be one path segment on every backend.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let bad = name.is_empty()
        || name.len() > LONGEST_NAME
        || matches!(name, "." | ".." | "zarr.json")
        || name.starts_with("__")
        // Listings of local folders do not contain such names.
        || name.starts_with(TEMPORARY)
        || name.contains(['/', '\\'])
        || name.chars().any(char::is_control);
    !bad
}

/// Refuses an invalid name.
pub fn check_name(member: &str, name: &str) -> Result<(), WriteError> {
    if !is_name(name) {
        let expected = "a path segment of 200 bytes at most, without slashes, not empty, `.`, `..`, `zarr.json` or beginning with `__` or `.zvf-`";
        return Err(WriteError::spec(member, format!("{name:?}"), expected));
    }
    Ok(())
}

//! The objects that an interrupted writer of a new store can have left, by their keys: only these are removed.

use serde_json::Value;
use zvf_meta::is_known_family;
use zvf_store::writing::{Redo, is_part_of_store};

use crate::WriteError;
use crate::target::{TEMPORARY, Target};
use crate::transaction::marker::{COPIED, MARKER, NOTES, ROOT};

/// Fails if there is an object that the writer of this marker did not put. A copy may have any files.
///
/// # Errors
/// [`WriteError::Exists`]; I/O.
pub(super) fn check_leftovers(
    target: &Target,
    address: &str,
    mark: &[u8],
) -> Result<(), WriteError> {
    let mark: Value = serde_json::from_slice(mark).unwrap_or_default();
    match mark.pointer("/details/copy") {
        Some(_) => Ok(()),
        None => check_keys(target, address, is_written),
    }
}

/// Whether the root of another store is at a key.
fn is_inner_root(target: &Target, key: &str) -> Result<bool, WriteError> {
    if is_piece(key) || !key.ends_with("/zarr.json") {
        return Ok(false);
    }
    let document = target.read(key)?;
    Ok(document.is_some_and(|document| is_part_of_store(&document)))
}

/// Fails if there is an object that no writer of these stores puts, or another store.
pub(super) fn check_keys(
    target: &Target,
    address: &str,
    is_ours: fn(&str) -> bool,
) -> Result<(), WriteError> {
    let mut foreign = None;
    for key in target.keys()? {
        if !is_ours(&key) || is_inner_root(target, &key)? {
            foreign = Some(key);
            break;
        }
    }
    match foreign {
        Some(key) if key == MARKER => {
            let what = "another writer began at the same time";
            Err(WriteError::busy(address, what))
        }
        Some(foreign) => {
            let what = format!(
                "found {foreign}, which does not belong to an unfinished store: nothing was removed"
            );
            Err(WriteError::exists(address, what))
        }
        None => Ok(()),
    }
}

/// Whether a writer can have put a key into a place that has its marker: nodes outside the levels are copied with any names.
pub(super) fn is_written(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    let chunk = name.strip_prefix('c').unwrap_or(name);
    let is_chunk = chunk
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
    let in_folder = key.contains('/');
    key == MARKER || is_piece(key) || (in_folder && (name == ROOT || is_chunk))
}

/// Whether a key, at an address without a root, can only belong to a store that was never finished.
pub(super) fn is_piece(key: &str) -> bool {
    let (folder, rest) = key.split_once('/').unwrap_or((key, ""));
    if folder.starts_with(TEMPORARY) {
        return true;
    }
    let staged = folder.strip_prefix(Redo::FOLDER);
    let staged = staged.is_some_and(|id| id.bytes().all(|digit| digit.is_ascii_hexdigit()));
    if !rest.is_empty() && (folder == NOTES || folder == COPIED || staged) {
        return true;
    }
    let (family, of_family) = rest.split_once('/').unwrap_or((rest, ""));
    let level = !folder.is_empty() && folder.bytes().all(|byte| byte.is_ascii_digit());
    let temporary = family.starts_with(TEMPORARY);
    let known = is_known_family(family) || family == "groupings_attributes";
    level && (rest == "zarr.json" || temporary || (known && is_of_array(of_family)))
}

/// Whether a path below a family is a document, a temporary file or a chunk: numbers after `c`.
fn is_of_array(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name == "zarr.json" || name.starts_with(TEMPORARY) {
        return true;
    }
    let array = path.trim_end_matches(|letter: char| letter == '/' || letter.is_ascii_digit());
    array == "c" || array.ends_with("/c")
}

#[cfg(test)]
mod tests {
    use super::{is_piece, is_written};

    /// A place with a marker may have nodes outside the levels, and files that a user put there meanwhile.
    #[test]
    fn files_of_others_are_not_removed_with_a_marker() {
        for written in [
            "zvf-unfinished.json",
            "0/vertices/c/0/0/0",
            "headers/trk/zarr.json",
            "mine/deep/zarr.json",
            "mine/deep/c/0/1",
            "mine/deep/c.0.1",
            "mine/deep/0.1",
            "zvf-unfinished/parts/a",
        ] {
            assert!(is_written(written), "{written}");
        }
        for foreign in [
            "notes.txt",
            "0",
            "c",
            "mine/notes.txt",
            "0/vertices/cat.png",
        ] {
            assert!(!is_written(foreign), "{foreign}");
        }
    }

    #[test]
    fn only_objects_of_levels_and_writers_are_removed_without_a_marker() {
        for piece in [
            "0/zarr.json",
            "0/vertices/c/0/0/0",
            "12/groups/c/0",
            "0/group_attributes/sz/data/c/0",
            "0/groupings/c/0",
            "0/links/+1/zarr.json",
            "1/object_index/ids/c/0",
            "0/vertices/-1.2/c/0",
            "0/vertices/c",
            "0/vertices/.zvf-1",
            "zvf-unfinished/a",
            "zvf-copied/0",
            "zvf-edit-1f/0/vertices/c/0",
        ] {
            assert!(is_piece(piece), "{piece}");
        }
        for foreign in [
            "zarr.json",
            "notes.txt",
            "0/notes.txt",
            "0/notes/a",
            "a/vertices/c/0",
            "0/vertices/thesis.txt",
            "0/vertices/abc/0",
            "zvf-notes.txt",
            "zvf-unfinished",
            "zvf-data/thesis.txt",
            "zvf-edit-notes/a",
        ] {
            assert!(!is_piece(foreign), "{foreign}");
        }
    }
}

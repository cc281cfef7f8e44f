//! Functions that writers share with the reader: the search for stores on a disk, and redo logs.

use std::io::Read;
use std::path::{Path, PathBuf};

pub use crate::redo::Redo;
#[cfg(feature = "backends")]
pub use zvf_io::{BackendAnswer, WriteLocation, WriteRequests, put_file};

/// The key of the marker that writers of this project put first and remove last.
pub const MARKER: &str = "zvf-unfinished.json";

/// The outermost store that contains a path of the local disk, other than a store at the path itself. Unfinished stores count, too. Symbolic links in
/// the path are followed.
#[must_use]
pub fn store_around(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    // A path that does not exist yet is resolved by its existing ancestors.
    let whole = path
        .ancestors()
        .find_map(|one| Some((one, one.canonicalize().ok()?)));
    let (there, real) = whole?;
    let above = match there == path {
        true => real.parent(),
        false => Some(real.as_path()),
    };
    // The path may be a symbolic link that is itself inside a store.
    let named = path.parent().and_then(|one| one.canonicalize().ok());
    let folders = above.into_iter().flat_map(Path::ancestors);
    let named = named.iter().flat_map(|one| one.ancestors());
    folders
        .chain(named)
        .filter(|one| is_store(one))
        .last()
        .map(Path::to_owned)
}

/// The store at a path of the local disk, else [the one around it](store_around). A file that is written there could replace a cell or a document.
#[must_use]
pub fn store_at_or_around(path: &Path) -> Option<PathBuf> {
    match is_store(path) {
        true => Some(path.to_owned()),
        false => store_around(path),
    }
}

/// Whether a folder of the local disk is a store or a part of one, including unfinished stores and those with a damaged root.
#[must_use]
pub fn is_store(folder: &Path) -> bool {
    let document = || {
        let mut bytes = Vec::new();
        let file = crate::open_file(&folder.join("zarr.json")).ok()?;
        file.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    folder.join(MARKER).is_file() || document().is_some_and(|bytes| is_part_of_store(&bytes))
}

/// Bytes of a document that are read at most.
const LOOKED_AT: u64 = 64 << 20;

/// Whether a document `zarr.json` belongs to a store or a part of one, even if it is damaged.
#[must_use]
pub fn is_part_of_store(document: &[u8]) -> bool {
    const MEMBER: &str = "zarr_vectors";
    match serde_json::from_slice::<serde_json::Value>(document) {
        // Only the node's own attributes count: consolidated metadata may contain those of other nodes.
        Ok(value) => value
            .get("attributes")
            .and_then(serde_json::Value::as_object)
            .is_some_and(|members| members.keys().any(|name| name.starts_with(MEMBER))),
        Err(_) => document
            .windows(MEMBER.len())
            .any(|part| part == MEMBER.as_bytes()),
    }
}

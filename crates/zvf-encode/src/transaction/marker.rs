//! The marker of an unfinished store, which identifies its content to later writers, and the key of the root.

use serde_json::{Map, Value};

use crate::target::unique;
use crate::transaction::holder::Holder;

pub use zvf_store::writing::MARKER;

/// The folder with the notes and work files of an unfinished distributed write.
pub const NOTES: &str = "zvf-unfinished";

/// The folder of the records of copied objects, which exists until a copy is complete.
pub const COPIED: &str = "zvf-copied";

/// The key of the root document: a store exists if it does.
pub const ROOT: &str = "zarr.json";

/// How the files of an interrupted writer are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StaleFiles {
    /// They are an error.
    #[default]
    Refuse,
    /// They are removed, if they are known to belong to a store that was never finished.
    Remove,
}

/// Makes the marker of a new store, with the process and a random number of its writer.
pub fn new_mark(details: Value) -> Vec<u8> {
    let what = "a Zarr Vectors store is being written here; without zarr.json beside it, it was never finished";
    Value::Object(mark(what, details)).to_string().into_bytes()
}

/// Makes a marker with the process and a random number of its writer: `what` is for users, `details` for the next writer.
pub fn mark(what: &str, details: Value) -> Map<String, Value> {
    // Two writers that begin at the same time must not confuse their markers.
    let writer = format!("{}-{:x}", std::process::id(), unique());
    let members = [
        ("what", Value::from(what)),
        ("writer", Value::from(writer)),
        ("by", Holder::current().document()),
        ("details", details),
    ];
    members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

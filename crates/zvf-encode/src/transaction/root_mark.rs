//! The members of a root that refer to an edit.

use serde_json::Value;
use zvf_meta::RootDoc;
use zvf_store::writing::Redo;

use crate::WriteError;
use crate::target::unique;

/// How a root refers to an edit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EditMark<'i> {
    /// The edit is committed and not completely applied yet.
    Committed(&'i str),
    /// The edit is the last one that was applied or rolled back.
    Done(&'i str),
}

/// The bytes of a root with this reference to an edit.
pub(crate) fn with_mark(root: &RootDoc, mark: EditMark<'_>) -> Vec<u8> {
    let mut root = root.clone();
    root.extra.remove(Redo::ATTRIBUTE);
    let (name, id) = match mark {
        EditMark::Committed(id) => (Redo::ATTRIBUTE, id),
        EditMark::Done(id) => (Redo::LAST, id),
    };
    root.extra.insert(name.to_owned(), Value::from(id));
    root.to_json().into_bytes()
}

/// The same root with bytes that no root had before: a late writer detects that the root has changed.
pub(crate) fn fenced(root: &[u8]) -> Vec<u8> {
    match RootDoc::parse(root) {
        Ok(doc) => with_mark(&doc, EditMark::Done(&new_id())),
        Err(_) => {
            let mut bytes = root.to_vec();
            if bytes.ends_with(b"\n") {
                bytes.pop();
            } else {
                bytes.push(b'\n');
            }
            bytes
        }
    }
}

/// Whether a root can be read and names no edit.
pub(crate) fn names_no_edit(root: &[u8]) -> bool {
    RootDoc::parse(root).is_ok_and(|doc| matches!(named(&doc), Ok(None)))
}

/// The edit that a root names.
pub(crate) fn named(root: &RootDoc) -> Result<Option<String>, WriteError> {
    Ok(Redo::named(&root.extra)?)
}

/// An id that no other change has.
pub(crate) fn new_id() -> String {
    format!("{:x}", unique())
}

//! What an edit that is decided, but not carried out yet, puts in the place of objects: its redo log.
//!
//! A writer that changes several objects of a store cannot change them at once. It lays the new ones into a folder of
//! its own, lists them in a manifest, and replaces the root by one that names the folder: from then on the edit counts.
//! Readers that find the name take the objects from the folder, until the writer has put them where they belong and
//! the root names no folder any more.
//!
//! ```text
//! zarr.json                        attributes.zvf_edit = "<id>"; once it is carried out attributes.zvf_edited = "<id>" instead
//! zvf-edit-<id>/manifest.json      {"edit": "<id>", "put": [key, …], "removed": [key, …]}
//! zvf-edit-<id>/<key>              the object that counts as <key>
//! ```

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::StoreError;
use crate::kv::is_segment;

/// The objects that an edit replaces, adds and removes, by key.
///
/// Its manifest comes from a file, so that [`Redo::parse`] takes no key that leaves the store, names the root, or lies
/// in a folder of writers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redo {
    id: String,
    put: BTreeSet<String>,
    removed: BTreeSet<String>,
}

/// Where an object is, under a redo log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Where its key says.
    Own,
    /// In the folder of the edit.
    Staged(String),
    /// Nowhere.
    Gone,
}

impl Redo {
    /// The attribute of the root that names an edit.
    pub const ATTRIBUTE: &str = "zvf_edit";
    /// The attribute of the root that says which edit was carried out last: no root is ever the same as an earlier one, so
    /// that a writer that is late cannot take one for the other.
    pub const LAST: &str = "zvf_edited";
    /// What the names of the folders of edits begin with.
    pub const FOLDER: &str = "zvf-edit-";

    /// A log of an edit.
    ///
    /// # Errors
    /// Misuse: an id that is none, or a key that no edit may have.
    pub fn new(
        id: &str,
        put: impl IntoIterator<Item = String>,
        removed: impl IntoIterator<Item = String>,
    ) -> Result<Self, StoreError> {
        if !is_id(id) {
            return Err(StoreError::misuse(format!(
                "{id:?} cannot be the id of an edit: expected 1 to 64 letters and digits"
            )));
        }
        let redo = Self {
            id: id.to_owned(),
            put: put.into_iter().collect(),
            removed: removed.into_iter().collect(),
        };
        let bad = redo
            .put
            .iter()
            .chain(&redo.removed)
            .find(|key| !is_key(key));
        match bad {
            Some(key) => Err(StoreError::misuse(format!(
                "{key:?} cannot be the key of an object that an edit changes"
            ))),
            None => Ok(redo),
        }
    }

    /// The edit that the document of a root names; `None` if it names none.
    ///
    /// # Errors
    /// Malformed: a name that is none.
    pub fn named(extra: &zvf_meta::JsonObject) -> Result<Option<String>, StoreError> {
        match extra.get(Self::ATTRIBUTE) {
            None => Ok(None),
            Some(Value::String(id)) if is_id(id) => Ok(Some(id.clone())),
            Some(other) => Err(StoreError::malformed(
                "zarr.json",
                format!(
                    "attribute {} is {}, expected 1 to 64 letters and digits",
                    Self::ATTRIBUTE,
                    shown(other)
                ),
            )),
        }
    }

    /// The folder of an edit.
    #[must_use]
    pub fn folder_of(id: &str) -> String {
        format!("{}{id}", Self::FOLDER)
    }

    /// The key of the manifest of an edit.
    #[must_use]
    pub fn manifest_of(id: &str) -> String {
        format!("{}{id}/manifest.json", Self::FOLDER)
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// Malformed: no manifest, that of another edit, or a key that no edit may have.
    pub fn parse(id: &str, bytes: &[u8]) -> Result<Self, StoreError> {
        let key = Self::manifest_of(id);
        let malformed = |what: &str| StoreError::malformed(key.clone(), what);
        let document: Value =
            serde_json::from_slice(bytes).map_err(|error| malformed(&error.to_string()))?;
        if document.get("edit").and_then(Value::as_str) != Some(id) {
            return Err(malformed("the manifest of another edit, or of none"));
        }
        let keys = |member: &str| -> Result<Vec<String>, StoreError> {
            let list = document.get(member).and_then(Value::as_array);
            let list = list.ok_or_else(|| malformed(&format!("{member} is no list of keys")))?;
            let keys = list.iter().map(|key| match key.as_str() {
                Some(key) if is_key(key) => Ok(key.to_owned()),
                _ => Err(malformed(&format!(
                    "{member} holds {}, which no edit may change",
                    shown(key)
                ))),
            });
            keys.collect()
        };
        Self::new(id, keys("put")?, keys("removed")?)
    }

    /// Writes the manifest.
    #[must_use]
    pub fn to_json(&self) -> String {
        json!({"edit": self.id, "put": self.put, "removed": self.removed}).to_string()
    }

    /// The id of the edit.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Keys of objects that are replaced or added, ascending.
    pub fn put(&self) -> impl Iterator<Item = &str> {
        self.put.iter().map(String::as_str)
    }

    /// Keys of objects that are removed, ascending.
    pub fn removed(&self) -> impl Iterator<Item = &str> {
        self.removed.iter().map(String::as_str)
    }

    /// The key in the edit's folder of an object that is put.
    #[must_use]
    pub fn staged(&self, key: &str) -> String {
        format!("{}{}/{key}", Self::FOLDER, self.id)
    }

    /// Where the object of a key is.
    pub(crate) fn place(&self, key: &str) -> Place {
        if self.put.contains(key) {
            Place::Staged(self.staged(key))
        } else if self.removed.contains(key) {
            Place::Gone
        } else {
            Place::Own
        }
    }

    /// Corrects the names of the folders below a prefix: those of new objects come, those whose document is removed
    /// go.
    pub(crate) fn correct_folders(&self, prefix: &str, names: &mut Vec<String>) {
        let below = below(prefix);
        names.retain(|name| !self.removed.contains(&format!("{below}{name}/zarr.json")));
        let new = self.put.range(below.clone()..);
        for key in new.take_while(|key| key.starts_with(&below)) {
            if let Some((name, _)) = key.get(below.len()..).and_then(|rest| rest.split_once('/')) {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        names.dedup();
    }

    /// Corrects the keys of the objects below a prefix, which are relative to it.
    pub(crate) fn correct_keys(&self, prefix: &str, keys: &mut Vec<String>) {
        let below = below(prefix);
        let gone = |key: &str| self.removed.contains(&format!("{below}{key}"));
        let staged = |key: &str| prefix.is_empty() && key.starts_with(Self::FOLDER);
        keys.retain(|key| !gone(key) && !staged(key));
        let new = self.put.range(below.clone()..);
        let new = new.take_while(|key| key.starts_with(&below));
        keys.extend(new.filter_map(|key| key.get(below.len()..).map(str::to_owned)));
        keys.sort_unstable();
        keys.dedup();
    }
}

/// What the keys below a prefix begin with.
fn below(prefix: &str) -> String {
    if prefix.is_empty() {
        String::new()
    } else {
        format!("{prefix}/")
    }
}

fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether an edit may change the object of a key: it lies in the store, is not the root, and is no file of writers.
fn is_key(key: &str) -> bool {
    key.len() <= 1024
        && key.split('/').all(is_segment)
        && key != "zarr.json"
        && !key.starts_with("zvf-")
}

/// A value in a message, which may be as long as somebody liked.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Redo};
    use serde_json::json;

    fn redo() -> Redo {
        let put = ["0/a/c/0", "0/b/zarr.json", "0/b/c/0/1"].map(str::to_owned);
        Redo::new(
            "e1",
            put,
            ["0/a/c/1".to_owned(), "0/d/zarr.json".to_owned()],
        )
        .unwrap()
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let bytes = redo().to_json().into_bytes();
        assert_eq!(Redo::parse("e1", &bytes).unwrap(), redo());
        assert!(Redo::parse("e2", &bytes).is_err());
    }

    #[test]
    fn keys_and_listings_follow_the_log() {
        let redo = redo();
        assert_eq!(
            redo.place("0/a/c/0"),
            Place::Staged("zvf-edit-e1/0/a/c/0".to_owned())
        );
        assert_eq!(redo.place("0/a/c/1"), Place::Gone);
        assert_eq!(redo.place("0/a/c/2"), Place::Own);
        let mut names = ["a", "c", "d"].map(str::to_owned).to_vec();
        redo.correct_folders("0", &mut names);
        assert_eq!(names, ["a", "b", "c"]);
        let mut keys = ["c/1", "c/2"].map(str::to_owned).to_vec();
        redo.correct_keys("0/a", &mut keys);
        assert_eq!(keys, ["c/0", "c/2"]);
        let mut all = ["0/a/c/1", "zvf-edit-e1/0/a/c/0"]
            .map(str::to_owned)
            .to_vec();
        redo.correct_keys("", &mut all);
        assert_eq!(all, ["0/a/c/0", "0/b/c/0/1", "0/b/zarr.json"]);
    }

    #[test]
    fn what_leads_out_of_the_store_is_refused() {
        let long = "x".repeat(2000);
        for key in [
            "../x",
            "/x",
            "a//b",
            "",
            ".",
            "a/..",
            "a\\b",
            "zarr.json",
            "zvf-edit-e1/x",
            &long,
        ] {
            let manifest = json!({"edit": "e1", "put": [key], "removed": []}).to_string();
            let error = Redo::parse("e1", manifest.as_bytes()).unwrap_err();
            assert_eq!(error.class(), crate::Class::Malformed, "{key}");
            assert!(error.to_string().len() < 300);
            assert!(Redo::new("e1", [], [key.to_owned()]).is_err());
        }
        for manifest in [
            "",
            "[]",
            "{}",
            r#"{"edit": "e1", "put": {}, "removed": []}"#,
        ] {
            assert!(Redo::parse("e1", manifest.as_bytes()).is_err());
        }
        for id in [
            json!("../x"),
            json!(""),
            json!(1),
            json!(null),
            json!("x".repeat(65)),
            json!({}),
        ] {
            let mut extra = zvf_meta::JsonObject::new();
            extra.insert("zvf_edit".to_owned(), id);
            assert!(Redo::named(&extra).is_err());
        }
    }
}

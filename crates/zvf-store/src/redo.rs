//! The redo log of an edit: the objects that replace stored ones, after the edit is committed and before it is applied.
//!
//! A writer that changes several objects of a store cannot change them at once. It puts the new objects into a folder, lists them in a manifest, and
//! replaces the root by one that names the folder: this commits the edit. Readers that find the name read the objects from the folder, until the
//! writer has copied them to their keys and the root no longer names a folder.
//!
//! ```text
//! zarr.json                        attributes.zvf_edit = "<id>"; once it is applied attributes.zvf_edited = "<id>" instead
//! zvf-edit-<id>/manifest.json      {"edit": "<id>", "put": [key, …], "removed": [key, …]}
//! zvf-edit-<id>/<key>              the object that replaces <key>
//! ```

use std::collections::BTreeSet;

use serde_json::{Value, json};
use zvf_io::{Ask, Cap, Kv, Overlay, is_segment};

use crate::StoreError;

/// The objects that an edit replaces, adds and removes, by key.
///
/// Its manifest comes from a file, so [`Redo::parse`] refuses keys that leave the store, name the root, or are
/// in a folder of writers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redo(Overlay);

impl Redo {
    /// The attribute of the root that names an edit.
    pub const ATTRIBUTE: &str = "zvf_edit";
    /// The attribute of the root that names the last edit that was applied. With it, no root is equal to an earlier one, so that a delayed writer
    /// cannot confuse them.
    pub const LAST: &str = "zvf_edited";
    /// Prefix of the names of the folders of edits.
    pub const FOLDER: &str = zvf_io::STAGING;

    /// The log of an edit.
    ///
    /// # Errors
    /// Misuse: an invalid id, or a key that an edit must not change.
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
        let put: BTreeSet<String> = put.into_iter().collect();
        let removed: BTreeSet<String> = removed.into_iter().collect();
        match put.iter().chain(&removed).find(|key| !is_key(key)) {
            Some(key) => Err(StoreError::misuse(format!(
                "{key:?} cannot be the key of an object that an edit changes"
            ))),
            None => Ok(Self(Overlay::new(id.to_owned(), put, removed))),
        }
    }

    /// The edit that the document of a root names; `None` if it names none.
    ///
    /// # Errors
    /// Malformed: an invalid name.
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
    /// Malformed: not a manifest, the manifest of another edit, or a key that an edit must not change.
    pub fn parse(id: &str, bytes: &[u8]) -> Result<Self, StoreError> {
        let key = Self::manifest_of(id);
        let malformed = |what: &str| StoreError::malformed(key.clone(), what);
        let document: Value =
            serde_json::from_slice(bytes).map_err(|error| malformed(&error.to_string()))?;
        if document.get("edit").and_then(Value::as_str) != Some(id) {
            return Err(malformed("the document is not the manifest of this edit"));
        }
        let keys = |member: &str| -> Result<Vec<String>, StoreError> {
            let list = document.get(member).and_then(Value::as_array);
            let list = list.ok_or_else(|| malformed(&format!("{member} is not a list of keys")))?;
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
        json!({"edit": self.0.id(), "put": self.0.put(), "removed": self.0.removed()}).to_string()
    }

    /// The id of the edit.
    #[must_use]
    pub fn id(&self) -> &str {
        self.0.id()
    }

    /// Keys of objects that are replaced or added, ascending.
    pub fn put(&self) -> impl Iterator<Item = &str> {
        self.0.put().iter().map(String::as_str)
    }

    /// Keys of objects that are removed, ascending.
    pub fn removed(&self) -> impl Iterator<Item = &str> {
        self.0.removed().iter().map(String::as_str)
    }

    /// The key in the edit's folder of an object that is put.
    #[must_use]
    pub fn staged(&self, key: &str) -> String {
        self.0.staged(key)
    }

    /// The overlay for reading objects.
    pub(crate) fn into_overlay(self) -> Overlay {
        self.0
    }

    /// Reads the redo log of an edit; `None` if it does not exist, because the edit was applied in the meantime.
    pub(crate) async fn read(kv: &Kv, id: &str) -> Result<Option<Self>, StoreError> {
        let (key, cap) = (Self::manifest_of(id), Cap::document(kv.limits()));
        match kv.get(&key, Ask::Whole, cap).await? {
            Some(manifest) => Self::parse(id, &manifest.bytes).map(Some),
            None => Ok(None),
        }
    }
}

fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether an edit may change the object of a key: it is inside the store, not the root, and not a file of writers.
fn is_key(key: &str) -> bool {
    key.len() <= 1024
        && key.split('/').all(is_segment)
        && key != "zarr.json"
        && !key.starts_with("zvf-")
}

/// A value in a message, shortened.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::Redo;
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

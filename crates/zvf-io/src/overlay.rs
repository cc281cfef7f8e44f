//! Objects of a committed change that are not yet at their final keys; readers use them instead of the stored ones.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// Prefix of the names of folders with staged objects. Listings of keys under an overlay omit their objects.
pub const STAGING: &str = "zvf-edit-";

/// The keys of the objects that a change replaces, adds and removes. The new object for a key is staged under the same key in the folder
/// [`STAGING`]`<id>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    id: String,
    put: BTreeSet<String>,
    removed: BTreeSet<String>,
}

/// The location of an object under an overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OverlayPlace {
    /// At its final key.
    Final,
    /// In the folder of staged objects.
    Staged(String),
    /// Removed.
    Gone,
}

impl Overlay {
    /// Creates an overlay. The caller checks `id` and the keys.
    #[must_use]
    pub fn new(id: String, put: BTreeSet<String>, removed: BTreeSet<String>) -> Self {
        Self { id, put, removed }
    }

    /// The id of the change.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Keys of objects that are replaced or added, ascending.
    #[must_use]
    pub fn put(&self) -> &BTreeSet<String> {
        &self.put
    }

    /// Keys of objects that are removed, ascending.
    #[must_use]
    pub fn removed(&self) -> &BTreeSet<String> {
        &self.removed
    }

    /// The key under which the new object for `key` is staged.
    #[must_use]
    pub fn staged(&self, key: &str) -> String {
        format!("{STAGING}{}/{key}", self.id)
    }

    /// The location of the object that belongs to a key.
    fn place(&self, key: &str) -> OverlayPlace {
        if self.put.contains(key) {
            OverlayPlace::Staged(self.staged(key))
        } else if self.removed.contains(key) {
            OverlayPlace::Gone
        } else {
            OverlayPlace::Final
        }
    }

    /// Corrects a listing of the folders below `prefix`: adds folders of new objects, and removes folders whose `zarr.json` is removed.
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

    /// Corrects a listing of the objects below `prefix`. Keys are relative to it.
    pub(crate) fn correct_keys(&self, prefix: &str, keys: &mut Vec<String>) {
        let below = below(prefix);
        let gone = |key: &str| self.removed.contains(&format!("{below}{key}"));
        let staged = |key: &str| prefix.is_empty() && key.starts_with(STAGING);
        keys.retain(|key| !gone(key) && !staged(key));
        let new = self.put.range(below.clone()..);
        let new = new.take_while(|key| key.starts_with(&below));
        keys.extend(new.filter_map(|key| key.get(below.len()..).map(str::to_owned)));
        keys.sort_unstable();
        keys.dedup();
    }
}

/// The key of the object that is read for `key`; `None` if the object is removed.
pub(crate) fn placed<'k>(overlay: Option<&Overlay>, key: &'k str) -> Option<Cow<'k, str>> {
    match overlay.map(|overlay| overlay.place(key)) {
        None | Some(OverlayPlace::Final) => Some(Cow::Borrowed(key)),
        Some(OverlayPlace::Staged(key)) => Some(Cow::Owned(key)),
        Some(OverlayPlace::Gone) => None,
    }
}

/// The text with which all keys below `prefix` begin.
fn below(prefix: &str) -> String {
    if prefix.is_empty() {
        String::new()
    } else {
        format!("{prefix}/")
    }
}

#[cfg(test)]
mod tests {
    use super::{Overlay, OverlayPlace};

    #[test]
    fn keys_and_listings_follow_the_overlay() {
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        let put = keys(&["0/a/c/0", "0/b/zarr.json", "0/b/c/0/1"]);
        let overlay = Overlay::new("e1".to_owned(), put, keys(&["0/a/c/1", "0/d/zarr.json"]));
        assert_eq!(
            overlay.place("0/a/c/0"),
            OverlayPlace::Staged("zvf-edit-e1/0/a/c/0".to_owned())
        );
        assert_eq!(overlay.place("0/a/c/1"), OverlayPlace::Gone);
        assert_eq!(overlay.place("0/a/c/2"), OverlayPlace::Final);
        let mut names = ["a", "c", "d"].map(str::to_owned).to_vec();
        overlay.correct_folders("0", &mut names);
        assert_eq!(names, ["a", "b", "c"]);
        let mut keys = ["c/1", "c/2"].map(str::to_owned).to_vec();
        overlay.correct_keys("0/a", &mut keys);
        assert_eq!(keys, ["c/0", "c/2"]);
        let mut all = ["0/a/c/1", "zvf-edit-e1/0/a/c/0"]
            .map(str::to_owned)
            .to_vec();
        overlay.correct_keys("", &mut all);
        assert_eq!(all, ["0/a/c/0", "0/b/c/0/1", "0/b/zarr.json"]);
    }
}

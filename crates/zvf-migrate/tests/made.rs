//! A store in a temporary folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use zvf_store::Store;

/// A store in a temporary folder.
pub(crate) struct Made(tempfile::TempDir);

impl Made {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("store.zarrvectors")
    }

    pub(crate) fn address(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }

    pub(crate) async fn open(&self) -> Store {
        Store::open(&self.address()).await.unwrap()
    }

    /// The bytes of every file, by its path inside the store.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let read = |(name, path)| (name, fs::read(path).unwrap());
        self.paths().into_iter().map(read).collect()
    }

    /// Every file except documents, by its path inside the store.
    pub(crate) fn cells(&self) -> BTreeMap<String, PathBuf> {
        let mut found = self.paths();
        found.retain(|_, path| path.file_name().unwrap() != "zarr.json");
        found
    }

    fn paths(&self) -> BTreeMap<String, PathBuf> {
        fn walk(folder: &Path, root: &Path, found: &mut BTreeMap<String, PathBuf>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, root, found);
                } else {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                    found.insert(name.to_owned(), path.clone());
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(&self.path(), &self.path(), &mut found);
        found
    }

    /// Replaces bytes that occur once below a folder of the store.
    pub(crate) fn patch(&self, folder: &str, from: &[u8], to: &[u8]) {
        assert_eq!(from.len(), to.len());
        let mut patched = 0;
        for (_, path) in self
            .cells()
            .iter()
            .filter(|(name, _)| name.starts_with(folder))
        {
            let mut bytes = fs::read(path).unwrap();
            while let Some(at) = bytes.windows(from.len()).position(|part| part == from) {
                bytes[at..at + to.len()].copy_from_slice(to);
                patched += 1;
            }
            fs::write(path, bytes).unwrap();
        }
        assert_eq!(patched, 1, "{from:?} below {folder}");
    }
}

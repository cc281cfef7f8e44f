//! An open store, and the tag of everything derived from it.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderValue;
use zvf_neuroglancer::ViewedStore;
use zvf_store::Store;

/// A snapshot of a store, in use until the store changes.
#[derive(Debug)]
pub(crate) struct OpenedStore {
    pub(crate) views: Arc<ViewedStore>,
    /// The part of ETags that all files of the snapshot share; if it is `None`, the files have no ETags.
    nonce: Option<String>,
    /// Warnings that were passed on.
    warned: Mutex<BTreeSet<String>>,
}

impl OpenedStore {
    pub(crate) fn new(store: Store) -> Self {
        // Random tags for this snapshot, because views are derived from the documents that were read when it was opened.
        let mut nonce = [0u8; 8];
        let filled = getrandom::fill(&mut nonce).ok();
        let nonce = filled.map(|()| format!("{:016x}", u64::from_le_bytes(nonce)));
        Self {
            views: Arc::new(ViewedStore::new(store)),
            nonce,
            warned: Mutex::default(),
        }
    }

    pub(crate) fn store(&self) -> &Store {
        self.views.store()
    }

    /// The warnings of the store and of an answer that no earlier call returned.
    pub(crate) fn new_warnings(&self, answer: &[String]) -> Vec<String> {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.store().warnings().into_iter();
        let all = all.chain(answer.iter().cloned());
        all.filter(|one| warned.insert(one.clone())).collect()
    }

    /// The ETag of a file of a view of this snapshot. Each file has its own ETag, so a client that sends an ETag has received the file.
    pub(crate) fn tag(&self, path: &[&str]) -> Option<HeaderValue> {
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        let text = format!("\"{}-{:016x}\"", self.nonce.as_ref()?, hasher.finish());
        HeaderValue::from_str(&text).ok()
    }
}

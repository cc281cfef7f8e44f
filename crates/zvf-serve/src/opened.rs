//! An open store, and the tag of everything derived from it.

use std::sync::Arc;

use axum::http::HeaderValue;
use zvf_neuroglancer::ViewedStore;
use zvf_store::Store;

/// An open store, until it changes.
#[derive(Debug)]
pub(crate) struct OpenedStore {
    pub(crate) views: Arc<ViewedStore>,
    tag: Option<HeaderValue>,
}

impl OpenedStore {
    pub(crate) fn new(store: Store) -> Self {
        // A random tag for this snapshot, because views are derived from the documents that were read when it was opened.
        let mut nonce = [0u8; 8];
        let tag = getrandom::fill(&mut nonce).ok().and_then(|()| {
            HeaderValue::from_str(&format!("\"{:016x}\"", u64::from_le_bytes(nonce))).ok()
        });
        Self {
            views: Arc::new(ViewedStore::new(store)),
            tag,
        }
    }

    pub(crate) fn store(&self) -> &Store {
        self.views.store()
    }

    /// The ETag of every view of this snapshot.
    pub(crate) fn tag(&self) -> Option<&HeaderValue> {
        self.tag.as_ref()
    }
}

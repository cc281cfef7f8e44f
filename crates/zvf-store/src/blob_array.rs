//! A whole array that is stored as one blob: the bytes of a table, or of a list.
//!
//! Source: specification 0.7, sections 2.1 and 10; 0.8, section 10.6.

use std::sync::Arc;

use bytes::Bytes;
use zvf_meta::ArrayDoc;

use crate::StoreError;
use crate::container::blob::{Blob, CHUNK};
use zvf_codec::Data;
use zvf_io::Once;
use zvf_io::{Ask, Cap, Kv, driven, on_worker};

/// One blob, read at its first use and then cached.
#[derive(Debug)]
pub(crate) struct BlobArray {
    path: String,
    blob: Blob,
    bytes: Once<Bytes, StoreError>,
}

impl BlobArray {
    /// Reads the document of the blob at `path`.
    ///
    /// # Errors
    /// As [`Blob::new`].
    pub(crate) fn new(path: String, doc: &ArrayDoc) -> Result<Self, StoreError> {
        Ok(Self {
            blob: Blob::new(&path, doc)?,
            path,
            bytes: Once::default(),
        })
    }

    /// Path inside the store.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Length of the blob in bytes, from its document. [`load`](Self::load) returns this many bytes, or fails.
    pub(crate) fn length(&self) -> u64 {
        self.blob.length
    }

    /// The bytes, which are requested only once. A chunk that is not stored is read as zeros (0.7, section 2.3).
    pub(crate) async fn load(self: &Arc<Self>, kv: &Kv) -> Result<Bytes, StoreError> {
        if let Some(bytes) = self.bytes.get() {
            return Ok(bytes);
        }
        let (array, kv) = (Arc::clone(self), kv.clone());
        // Several callers may wait for one load, so it runs as a task, which does not depend on any of them being polled.
        driven(async move { array.bytes.get_or_load(array.read(&kv)).await }).await
    }

    async fn read(&self, kv: &Kv) -> Result<Bytes, StoreError> {
        let cap = Cap::cell(kv.limits());
        cap.check(&self.path, self.blob.length)?;
        if self.blob.length == 0 {
            return Ok(Bytes::new());
        }
        let key = format!("{}/{CHUNK}", self.path);
        let object = kv.get_polled(&key, Ask::Whole, cap).await?;
        let (blob, path) = (self.blob.clone(), self.path.clone());
        let decode = move || {
            let data = object.map(|object| Data::Shared(object.bytes));
            blob.decode(&path, data, cap)
        };
        on_worker(decode).await?
    }
}

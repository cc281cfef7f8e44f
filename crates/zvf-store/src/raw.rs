//! Objects by key, without interpreting the store: for tools that show or repair files.

use bytes::Bytes;
use futures::future::BoxFuture;
use zvf_meta::Codec;

use crate::codec::decode;
use crate::writing::Redo;
use crate::{IoOptions, Limits, Listing, ObjectPart, ObjectState, ObjectStates, StoreError, Usage};
use zvf_codec::{Chain, Data};
use zvf_io::{Ask, Cap, Kv, Question, Reply, is_segment};

/// The objects of a store by key. Opening reads nothing, so damaged stores can be opened, too.
#[derive(Debug, Clone)]
pub struct RawStore(Kv);

impl RawStore {
    /// Opens a path or URL.
    ///
    /// # Errors
    /// Misuse, if no backend supports the address.
    pub fn open(url: &str, options: &IoOptions) -> Result<Self, StoreError> {
        Ok(Self(Kv::open(url, options)?))
    }

    /// The elements of a box of any Zarr array of numbers, by `zarrs`: C order, in the byte order of this machine. `path` is the
    /// array's folder, `document` its `zarr.json`, or the `.zarray` of version 2.
    ///
    /// # Cost
    /// Every chunk that meets the box is read and decoded whole, or in parts if the codecs allow it.
    ///
    /// # Errors
    /// I/O; a document or codec that `zarrs` does not support; malformed chunks.
    #[cfg(feature = "zarrs")]
    pub fn read_box<'a>(
        &'a self,
        path: &'a str,
        document: serde_json::Value,
        ranges: &'a [std::ops::Range<u64>],
    ) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(async move { crate::generic::read_box(&self.0, path, document, ranges).await })
    }

    pub(crate) fn of(kv: Kv) -> Self {
        Self(kv)
    }

    /// The same store with the changes of the edit that the root names, if any, as if they were already applied. [`usage`](Self::usage) still counts
    /// the stored files.
    ///
    /// # Cost
    /// One request; two if there is an edit.
    ///
    /// # Errors
    /// I/O; malformed, for a damaged name or manifest of an edit.
    pub fn under_edits<'a>(
        self,
        options: &'a IoOptions,
    ) -> BoxFuture<'a, Result<Self, StoreError>> {
        Box::pin(async move {
            let Some(root) = self.read("zarr.json").await? else {
                return Ok(self);
            };
            // A damaged root names no edit, so that tools can read damaged stores.
            let root: serde_json::Value = serde_json::from_slice(&root).unwrap_or_default();
            let attributes = root.get("attributes").and_then(|a| a.as_object());
            let named = attributes.map_or(Ok(None), Redo::named)?;
            let redo = match &named {
                Some(id) => Redo::read(&self.0.in_round(2), id).await?,
                None => None,
            };
            Ok(match redo {
                Some(redo) => Self(self.0.under(redo.into_overlay(), options.verify)),
                None => self,
            })
        })
    }

    /// Reads an object; `None` when it does not exist.
    ///
    /// # Cost
    /// One request.
    ///
    /// # Errors
    /// Misuse for a key with an empty, `.` or `..` segment; I/O; limit, for an object of more than
    /// [`Limits::cell_bytes`].
    pub fn read<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        Box::pin(async move {
            check_key(key)?;
            let object = self
                .0
                .get(key, Ask::Whole, Cap::cell(self.0.limits()))
                .await?;
            Ok(object.map(|object| object.bytes))
        })
    }

    /// Adds up the objects below a prefix; `None` if the backend cannot list.
    ///
    /// # Cost
    /// One listing, of as many pages as the backend needs.
    ///
    /// # Errors
    /// As [`read`](Self::read); limit, for more objects than [`Limits::cells_per_query`].
    pub fn usage<'a>(
        &'a self,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Option<Usage>, StoreError>> {
        Box::pin(async move {
            check_prefix(prefix)?;
            Ok(self.0.usage(prefix).await?)
        })
    }

    /// Names the folders directly below a prefix, ascending; `None` when the backend cannot list.
    ///
    /// # Cost
    /// One listing.
    ///
    /// # Errors
    /// As [`read`](Self::read); limit, for more names than [`Limits::listed_names`].
    pub async fn folders(&self, prefix: &str) -> Result<Option<Vec<String>>, StoreError> {
        self.list(prefix, Question::Names(prefix.to_owned())).await
    }

    /// The keys of all objects below a prefix, relative to it, in no order; `None` when the backend cannot list.
    ///
    /// # Cost
    /// One listing, of as many pages as the backend needs.
    ///
    /// # Errors
    /// As [`read`](Self::read); limit, for more objects than [`Limits::cells_per_query`].
    pub async fn keys(&self, prefix: &str) -> Result<Option<Vec<String>>, StoreError> {
        self.list(prefix, Question::Keys(prefix.to_owned())).await
    }

    /// All objects with their states, in ascending order of their keys; `None` when the backend cannot list.
    ///
    /// # Cost
    /// One listing, of as many pages as the backend needs; on a local disk one `stat` for each file.
    ///
    /// # Errors
    /// As [`read`](Self::read); malformed: a symbolic link to a folder; limit, for more objects than [`Limits::cells_per_query`].
    pub fn objects(&self) -> BoxFuture<'_, Result<Option<ObjectStates>, StoreError>> {
        Box::pin(async move { Ok(self.0.objects().await?) })
    }

    /// The same store, without the recorded states: an object that changed since it was read through `self` is not an error.
    #[must_use]
    pub fn renewed(&self) -> Self {
        Self(self.0.clone().without_versions(false))
    }

    /// As [`renewed`](Self::renewed); the path of a local store is resolved again, so that a store that replaced this one is read.
    #[must_use]
    pub fn reopened(&self) -> Self {
        Self(self.0.clone().reopened())
    }

    /// Whether a local store is still at its path: it was not moved, and not replaced by another folder or by a link to one. Always true for other
    /// backends, and on systems other than Unix.
    ///
    /// # Cost
    /// Two `stat` calls.
    ///
    /// # Errors
    /// I/O: the work was cancelled.
    pub fn is_at_its_path(&self) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move { Ok(self.0.is_at_its_path().await?) })
    }

    /// The state of one object, without its bytes; `None` if it does not exist, is a folder, or is a symbolic link to a
    /// place outside of a local store.
    ///
    /// # Cost
    /// One `stat`, or one HEAD request; one byte is requested if a server refuses HEAD.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn state<'a>(
        &'a self,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<ObjectState>, StoreError>> {
        Box::pin(async move {
            check_key(key)?;
            Ok(self.0.object_state(key).await?)
        })
    }

    /// Reads a range of one object; `None` as for [`state`](Self::state). The range ends at the latest at the end of the object.
    ///
    /// # Cost
    /// One request.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`IoError::SourceChanged`](zvf_io::IoError::SourceChanged) if a part of the object was read before, in another state.
    pub fn read_range<'a>(
        &'a self,
        key: &'a str,
        range: std::ops::Range<u64>,
    ) -> BoxFuture<'a, Result<Option<ObjectPart>, StoreError>> {
        Box::pin(async move {
            check_key(key)?;
            Ok(self.0.object_range(key, range).await?)
        })
    }

    /// The names of folders and objects directly below a prefix, ascending; `None` when the backend cannot list. Both lists are empty if the prefix does not
    /// exist.
    ///
    /// # Cost
    /// One listing.
    ///
    /// # Errors
    /// As [`read`](Self::read); limit, for more names than [`Limits::listed_names`].
    pub fn listing<'a>(
        &'a self,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Option<Listing>, StoreError>> {
        Box::pin(async move {
            check_prefix(prefix)?;
            Ok(self.0.listing(prefix).await?)
        })
    }

    /// The limits.
    pub(crate) fn limits(&self) -> &Limits {
        self.0.limits()
    }

    async fn list(
        &self,
        prefix: &str,
        question: Question,
    ) -> Result<Option<Vec<String>>, StoreError> {
        check_prefix(prefix)?;
        match self.0.ask_all(vec![question]).await?.pop() {
            Some((_, Ok(Reply::Names(names)))) => Ok(names),
            Some((_, Err(error))) => Err(error.into()),
            Some((_, Ok(Reply::Document(_)))) | None => Ok(None),
        }
    }
}

/// Decodes bytes with bytes-to-bytes codecs. `codecs` are in the order of encoding.
///
/// # Errors
/// Malformed, for bytes that a codec cannot decode; unsupported, for a codec that this build does not have; limit,
/// for more than [`Limits::cell_bytes`] decoded bytes. `key` names the object in them.
pub fn undo_codecs(
    key: &str,
    codecs: &[Codec],
    bytes: Bytes,
    limits: &Limits,
) -> Result<Bytes, StoreError> {
    let chain = Chain::new(codecs).map_err(|name| StoreError::Unsupported {
        key: key.to_owned(),
        what: format!("codec {name:?}"),
    })?;
    Ok(decode(&chain, key, Data::Shared(bytes), Cap::cell(limits))?.into_bytes())
}

fn check_key(key: &str) -> Result<(), StoreError> {
    if key.split('/').all(is_segment) {
        Ok(())
    } else {
        Err(StoreError::misuse(format!(
            "{key:?} cannot be the key of an object"
        )))
    }
}

fn check_prefix(prefix: &str) -> Result<(), StoreError> {
    if prefix.is_empty() {
        Ok(())
    } else {
        check_key(prefix)
    }
}

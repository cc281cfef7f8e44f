//! What a path inside a store names, and the reader that finds it out.

use bytes::Bytes;
use zvf_meta::{ArrayDoc, Codec, NodeKind, node_kind};
use zvf_store::RawStore;

use super::Context as Known;
use crate::args::BlobArg;
use crate::context::Context;
use crate::error::{CliError, Result};

/// Reads the objects of a store one by one, before anything is understood.
pub(crate) struct Reader<'r, 'c> {
    /// Where requests wait.
    pub(crate) context: &'r mut Context<'c>,
    /// The store.
    pub(crate) raw: RawStore,
}

impl Reader<'_, '_> {
    /// Reads an object; `None` when it does not exist.
    ///
    /// # Errors
    ///
    /// I/O; limit.
    pub(crate) fn read(&mut self, key: &str) -> Result<Option<Bytes>> {
        Ok(self.context.wait(self.raw.read(key))??)
    }

    /// The document of an array, if there is one; a group is none.
    pub(super) fn array(&mut self, path: &str) -> Result<Option<ArrayDoc>> {
        let key = format!("{path}/zarr.json");
        let Some(bytes) = self.read(&key)? else {
            return Ok(None);
        };
        if matches!(node_kind(&bytes), Ok(NodeKind::Group)) {
            return Ok(None);
        }
        ArrayDoc::parse(&bytes)
            .map(Some)
            .map_err(|e| CliError::malformed(format!("{key}: {}", crate::error::fold(&e))))
    }

    /// Reads a document and parses it; one that is missing or damaged counts as unknown.
    pub(super) fn document<T, E>(
        &mut self,
        key: &str,
        parse: impl Fn(&[u8]) -> std::result::Result<T, E>,
    ) -> Option<T> {
        self.read(key)
            .ok()
            .flatten()
            .and_then(|bytes| parse(&bytes).ok())
    }
}

/// What a path names.
#[derive(Debug)]
pub(crate) enum Place {
    /// A document.
    Document {
        /// Its key.
        key: String,
    },
    /// An object of an array.
    Object(Box<ObjectPlace>),
}

/// An object of an array, and the element of it that is asked for.
#[derive(Debug)]
pub(crate) struct ObjectPlace {
    /// The array.
    pub(crate) array: String,
    /// Its document.
    pub(crate) doc: ArrayDoc,
    /// The key of the object.
    pub(crate) key: String,
    /// The inner chunk of a shard that is asked for, in C order.
    pub(crate) inner: Option<u64>,
    /// Entries of the shard's index; none when the array is not sharded.
    pub(crate) entries: Option<u64>,
    /// Whether the index stands at the end of the shard.
    pub(crate) index_at_end: bool,
    /// Codecs of the object, or of an inner chunk of the shard.
    pub(crate) codecs: Vec<Codec>,
    /// What the payload is.
    pub(crate) blob: BlobArg,
    /// What is known about it.
    pub(crate) known: Known,
    /// What the document says about a blob that is an array of its own.
    pub(crate) child: Option<Child>,
}

/// Bytes of a packed chunk that belong to one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packed {
    /// The key.
    pub(crate) key: String,
    /// First byte.
    pub(crate) offset: u64,
    /// Bytes.
    pub(crate) length: u64,
}

/// What is known of a blob child besides the bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Child {
    /// Bytes that the child's document states.
    pub(crate) stated: u64,
    /// The index of a packed chunk.
    pub(crate) packed: Option<Vec<Packed>>,
    /// The entry of it that is asked for.
    pub(crate) wanted: Option<Packed>,
}

/// Elements of a shape.
pub(super) fn product(shape: &[u64]) -> u64 {
    shape.iter().copied().fold(1, u64::saturating_mul)
}

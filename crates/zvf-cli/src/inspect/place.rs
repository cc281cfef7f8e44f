//! The bytes that a path inside a store names, and the facts about them.

use bytes::Bytes;
use zvf_format::dtype::DType;
use zvf_format::keys::{format_key, parse_key};
use zvf_meta::{ArrayDoc, Codec, NodeKind, node_kind};
use zvf_store::RawStore;

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
    /// The document with this key.
    Document(String),
    /// An object of an array.
    Object(Box<ObjectPlace>),
}

/// An object of an array, and the requested element of it.
#[derive(Debug)]
pub(crate) struct ObjectPlace {
    /// The array.
    pub(crate) array: String,
    /// The key of the object.
    pub(crate) key: String,
    /// Entries and requested entry of the shard's index; none when the array is not sharded.
    pub(crate) shard: Option<Known>,
    /// Whether the index is at the end of the shard.
    pub(crate) index_at_end: bool,
    /// Codecs of the object, or of an inner chunk of the shard.
    pub(crate) codecs: Vec<Codec>,
    /// Bytes that the document of a blob states; none if the array is no blob.
    pub(crate) stated: Option<u64>,
    /// The container of several elements, in which the payload is.
    pub(crate) container: Option<BlobArg>,
    /// The kind of the payload.
    pub(crate) blob: BlobArg,
    /// Facts about it.
    pub(crate) known: Known,
}

/// Facts about a blob besides its bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// Components of a chunk key.
    pub(crate) key_rank: Option<usize>,
    /// Columns of a row, without a permutation column.
    pub(crate) width: Option<usize>,
    /// Element type of rows.
    pub(crate) dtype: Option<DType>,
    /// Whether link rows begin with a permutation column.
    pub(crate) perm: Option<bool>,
    /// Names of the columns: axes, channels.
    pub(crate) columns: Vec<String>,
    /// Values of dictionary codes.
    pub(crate) categories: Vec<String>,
    /// The chunk that the blob belongs to.
    pub(crate) chunk: Option<Vec<i64>>,
    /// Chunks of the endpoints of a link row, in stored order: `chunk 0.0.0`, `chunk 1.0.0 of level 1`.
    pub(crate) endpoints: Vec<String>,
    /// Levels of the first and of the other endpoints, where they do not follow from the stored order.
    pub(crate) levels: Option<(i64, i64)>,
    /// Byte offsets of the rows of a blob, from the table beside it.
    pub(crate) offsets: Vec<u64>,
    /// Keys of a packed chunk, each with the offset and the number of its bytes.
    pub(crate) packed: Vec<(String, u64, u64)>,
    /// Elements of a vlen chunk, when its array says so.
    pub(crate) elements: Option<u64>,
    /// The requested element of a vlen chunk, entry of a shard or key of a packed chunk.
    pub(crate) element: Option<u64>,
    /// Rows before the requested one.
    pub(crate) first_row: u64,
    /// Rows of this chunk that the array has; the others are padding.
    pub(crate) real_rows: Option<u64>,
    /// Entries of a shard's index.
    pub(crate) entries: Option<u64>,
}

impl Known {
    /// The level of an endpoint, as the end of the name of its chunk; nothing if all are of one level.
    pub(crate) fn level_of(&self, endpoint: usize) -> String {
        match self.levels {
            Some((near, _)) if endpoint == 0 => format!(" of level {near}"),
            Some((_, far)) => format!(" of level {far}"),
            None => String::new(),
        }
    }
}

/// A number of a document as a size.
pub(super) fn sized(number: impl TryInto<usize>) -> Option<usize> {
    number.try_into().ok()
}

/// Elements of a shape.
pub(super) fn product(shape: &[u64]) -> u64 {
    shape.iter().copied().fold(1, u64::saturating_mul)
}

/// A chunk key.
pub(crate) fn key<T: Copy + Into<i64>>(chunk: &[T]) -> String {
    let chunk: Vec<i64> = chunk.iter().map(|part| (*part).into()).collect();
    format_key(&chunk).to_string()
}

/// The components of a key; `None` if a text is none.
pub(super) fn numbers(key: &str) -> Option<Vec<i64>> {
    let mut found = vec![0; key.len()];
    let rank = parse_key(key, &mut found).ok()?;
    found.truncate(rank);
    Some(found)
}

//! Resolves a path inside a store.

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

/// The object of a path.
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

/// An object of an array, and the requested element of it.
#[derive(Debug)]
pub(crate) struct ObjectPlace {
    /// The array.
    pub(crate) array: String,
    /// Its document.
    pub(crate) doc: ArrayDoc,
    /// The key of the object.
    pub(crate) key: String,
    /// The index of the requested inner chunk of a shard, in C order.
    pub(crate) inner: Option<u64>,
    /// Entries of the shard's index; none when the array is not sharded.
    pub(crate) entries: Option<u64>,
    /// Whether the index is at the end of the shard.
    pub(crate) index_at_end: bool,
    /// Codecs of the object, or of an inner chunk of the shard.
    pub(crate) codecs: Vec<Codec>,
    /// The kind of the payload.
    pub(crate) blob: BlobArg,
    /// Facts about it.
    pub(crate) known: Known,
    /// The document of a blob that is an array of its own.
    pub(crate) child: Option<Child>,
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
    /// Levels of the first and of the other endpoints, if they differ.
    pub(crate) levels: Option<(i64, i64)>,
    /// Byte offsets of the rows of a blob, from the table beside it.
    pub(crate) offsets: Vec<u64>,
    /// Elements of a vlen chunk, when its array says so.
    pub(crate) elements: Option<u64>,
    /// The requested element of a vlen chunk, or entry of a shard.
    pub(crate) element: Option<u64>,
    /// Rows before the requested one.
    pub(crate) first_row: u64,
    /// Rows of this chunk that the array has; the others are padding.
    pub(crate) real_rows: Option<u64>,
    /// Entries of a shard's index.
    pub(crate) entries: Option<u64>,
}

/// Endpoints of a link whose chunks are named: a document may state any number.
const MOST_ENDPOINTS: usize = 1024;

impl Known {
    /// The level of an endpoint, as the end of the name of its chunk; nothing if all are of one level.
    pub(crate) fn level_of(&self, endpoint: usize) -> String {
        match self.levels {
            Some((near, _)) if endpoint == 0 => format!(" of level {near}"),
            Some((_, far)) => format!(" of level {far}"),
            None => String::new(),
        }
    }

    /// Names the chunks of the endpoints of links whose cell has the key of one chunk.
    pub(super) fn in_one_chunk(&mut self, chunk: &[i64]) {
        let own = format!("chunk {}", key(chunk));
        let width = self.width.unwrap_or(2).min(MOST_ENDPOINTS);
        let others = (1..width).map(|place| own.clone() + &self.level_of(place));
        self.endpoints = std::iter::once(own.clone()).chain(others).collect();
    }
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

/// Facts about the child of a blob besides its bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Child {
    /// Bytes that the child's document states.
    pub(crate) stated: u64,
    /// The index of a packed chunk.
    pub(crate) packed: Option<Vec<Packed>>,
    /// The requested entry of it.
    pub(crate) wanted: Option<Packed>,
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
pub(crate) fn key(chunk: &[i64]) -> String {
    format_key(chunk).to_string()
}

/// The components of a key; `None` if a text is none.
pub(super) fn numbers(key: &str) -> Option<Vec<i64>> {
    let mut found = vec![0; key.len()];
    let rank = parse_key(key, &mut found).ok()?;
    found.truncate(rank);
    Some(found)
}

//! Chunk-grid arrays: one variable-length cell for each chunk of a level.

use std::sync::{Arc, OnceLock};

use zvf_format::dtype::DType;
use zvf_meta::ArrayDoc;

use crate::coord::Dotted;
use crate::layout::{Layout, Refused};
use crate::presence::Presence;
use crate::{Limits, StoreError};

/// How an array's cells are read.
#[derive(Debug)]
pub(crate) enum Reader {
    /// Framing and codecs of this crate.
    Own(Layout),
    /// The generic Zarr reader.
    Generic,
    /// Not at all: the name of the codec that is missing.
    Unsupported(String),
}

/// One chunk-grid array of a level: `vertices`, `vertex_fragments`, an attribute, a link array.
///
/// # Shape
/// One cell for each chunk; `shape()` counts chunks, the cell of chunk `c` is at index `c - origin()`. Every array
/// has its own shape and origin, also inside one level (trap T6).
///
/// Source: specification 0.9, section 7.
#[derive(Debug)]
pub struct GridArray {
    path: String,
    doc: ArrayDoc,
    dtype: DType,
    origin: Vec<i64>,
    reader: Reader,
    presence: OnceLock<Presence>,
    listed: Option<Presence>,
}

impl GridArray {
    /// Reads the array out of its document.
    pub(crate) fn new(
        path: String,
        doc: ArrayDoc,
        missing_dtype: DType,
        limits: &Limits,
    ) -> Result<Self, StoreError> {
        let key = || format!("{path}/zarr.json");
        let dtype = match &doc.attributes.dtype {
            Some(text) => DType::parse(text)
                .map_err(|e| StoreError::decode(format!("{path}: dtype {text:?}"), e))?,
            None => missing_dtype,
        };
        let rank = doc.shape.len();
        let origin = match &doc.attributes.chunk_grid_origin {
            None => vec![0; rank],
            Some(origin) if origin.len() == rank => origin.clone(),
            Some(origin) => {
                return Err(StoreError::malformed(
                    key(),
                    format!(
                        "chunk_grid_origin has {} components, expected {rank}",
                        origin.len()
                    ),
                ));
            }
        };
        let reader = reader(&path, &doc, limits)?;
        Ok(Self {
            path,
            doc,
            dtype,
            origin,
            reader,
            presence: OnceLock::new(),
            listed: None,
        })
    }

    /// Sets what a listing found, for an array without a presence list.
    pub(crate) fn with_listing(mut self, listed: Presence) -> Self {
        self.listed = Some(listed);
        self
    }

    /// Path inside the store, such as `0/vertices`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The array's document.
    pub fn doc(&self) -> &ArrayDoc {
        &self.doc
    }

    /// Type of the elements inside a cell; `float32` where the document does not say.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Absolute coordinate of the cell at index zero.
    pub fn origin(&self) -> &[i64] {
        &self.origin
    }

    /// Cells on each axis.
    pub fn shape(&self) -> &[u64] {
        &self.doc.shape
    }

    /// Components of a chunk coordinate.
    pub fn key_rank(&self) -> usize {
        self.doc.shape.len()
    }

    /// Whether several cells share one stored object.
    pub fn is_sharded(&self) -> bool {
        matches!(&self.reader, Reader::Own(layout) if layout.shard.is_some())
            || self
                .doc
                .codecs
                .first()
                .is_some_and(|c| c.name == "sharding_indexed")
    }

    /// The cells that have content.
    ///
    /// # Cost
    /// The first call sorts the list, later ones are free.
    pub fn presence(&self) -> &Presence {
        if let Some(listed) = &self.listed {
            return listed;
        }
        self.presence
            .get_or_init(|| match &self.doc.attributes.nonempty_chunks {
                Some(keys) => Presence::from_keys(keys.iter(), &self.origin, &self.doc.shape),
                None => Presence::default(),
            })
    }

    /// Refuses an array whose presence list cannot be right: keys outside the grid, duplicates, text that is no key.
    ///
    /// # Errors
    /// [`Class::Malformed`](crate::Class::Malformed), with the first problem.
    pub fn check_presence(&self) -> Result<(), StoreError> {
        match self.presence().problems().first() {
            None => Ok(()),
            Some(problem) => Err(StoreError::malformed(
                format!("{}/zarr.json", self.path),
                format!("nonempty_chunks: {problem}"),
            )),
        }
    }

    /// Whether the document has no presence list.
    pub(crate) fn lacks_presence(doc: &ArrayDoc) -> bool {
        doc.attributes.nonempty_chunks.is_none()
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The grid index of a chunk.
    ///
    /// # Errors
    /// When the coordinate has another rank or lies outside the grid.
    pub(crate) fn cell_index(&self, chunk: &[i64], index: &mut Vec<u64>) -> Result<(), StoreError> {
        index.clear();
        if chunk.len() == self.origin.len() {
            for ((c, o), n) in chunk.iter().zip(&self.origin).zip(&self.doc.shape) {
                match c
                    .checked_sub(*o)
                    .and_then(|i| u64::try_from(i).ok())
                    .filter(|i| i < n)
                {
                    Some(i) => index.push(i),
                    None => break,
                }
            }
            if index.len() == chunk.len() {
                return Ok(());
            }
        }
        Err(StoreError::malformed(
            self.path.clone(),
            format!(
                "chunk {} lies outside the grid of {:?} chunks from {}",
                Dotted(chunk),
                self.doc.shape,
                Dotted(&self.origin)
            ),
        ))
    }

    /// The key of a stored object, by its index.
    pub(crate) fn object_key(&self, index: &[u64]) -> String {
        object_key(&self.path, &self.doc, index)
    }
}

/// The key of a stored object of any array.
pub(crate) fn object_key(path: &str, doc: &ArrayDoc, index: &[u64]) -> String {
    format!("{path}/{}", doc.key_encoding.object_key(index))
}

/// Chooses who reads a variable-length array.
pub(crate) fn reader(path: &str, doc: &ArrayDoc, limits: &Limits) -> Result<Reader, StoreError> {
    if !doc.data_type.is_vlen_bytes() {
        return Err(StoreError::malformed(
            format!("{path}/zarr.json"),
            format!(
                "data_type is {:?}, expected \"variable_length_bytes\"",
                doc.data_type.name
            ),
        ));
    }
    match &doc.fill_value {
        serde_json::Value::String(text) if text.is_empty() => {}
        serde_json::Value::Array(list) if list.is_empty() => {}
        serde_json::Value::Null => {}
        other => return Ok(Reader::Unsupported(format!("fill_value {other}"))),
    }
    if let Some(transformer) = doc.storage_transformers.first() {
        return Ok(Reader::Unsupported(format!(
            "storage transformer {transformer}"
        )));
    }
    match Layout::new(path, doc, limits) {
        Ok(layout) => Ok(Reader::Own(layout)),
        Err(Refused::Error(error)) => Err(error),
        Err(Refused::Foreign(name))
            if cfg!(feature = "zarrs") && !name.contains("blosc inside shards") =>
        {
            Ok(Reader::Generic)
        }
        Err(Refused::Foreign(name)) => Ok(Reader::Unsupported(name)),
    }
}

/// A grid array that many cells and tables share.
pub(crate) type Shared = Arc<GridArray>;

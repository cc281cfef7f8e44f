//! The layout of the cells of a variable-length array in stored objects, and the reader for it: the element at a chunk's index is its cell.
//!
//! Source: specification 0.9, sections 4.2 to 4.4 and 7; 0.8, section 3.4.

use zvf_format::dtype::ByteOrder;
use zvf_format::int::wide;
use zvf_format::shard::{ShardEntry, ShardTail};
use zvf_meta::{ArrayDoc, Codec, Sharding};

use crate::codec::{byte_order, index_checksum};
use crate::coord::product;
use crate::{Limits, StoreError};
use zvf_codec::Chain;

/// How cells are found and decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CellLayout {
    /// Cells of the array on each axis.
    pub(crate) shape: Vec<u64>,
    /// Cells of a stored object on each axis.
    pub(crate) object: Vec<u64>,
    /// Cells of a chunk inside an object; equal to `object` when the array is not sharded.
    pub(crate) chunk: Vec<u64>,
    /// Elements of a chunk.
    pub(crate) elements: u64,
    pub(crate) chain: Chain,
    pub(crate) shard: Option<ShardLayout>,
}

/// The index of a sharded object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShardLayout {
    pub(crate) entries: u64,
    pub(crate) at_end: bool,
    pub(crate) checksum: bool,
}

impl ShardLayout {
    /// Bytes of the index.
    pub(crate) fn index_bytes(self) -> u64 {
        let tail = if self.checksum {
            size_of::<ShardTail>()
        } else {
            0
        };
        self.entries
            .saturating_mul(wide(size_of::<ShardEntry>()))
            .saturating_add(wide(tail))
    }
}

/// The place of one element of an array among its stored objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementPlace {
    /// Index of the object on each axis.
    pub object: Vec<u64>,
    /// Number of the chunk in the shard's index, C order; 0 when not sharded.
    pub entry: u64,
    /// Number of the element in the chunk, C order.
    pub element: u64,
}

impl ElementPlace {
    /// The place of the element `index` of an array with objects of the shape `object`, which are divided into chunks of the shape `chunk`; without
    /// shards both are the same. A component of 0 counts as 1. Numbers that exceed 64 bits saturate.
    #[must_use]
    pub fn new(index: &[u64], object: &[u64], chunk: &[u64]) -> Self {
        let mut place = Self {
            object: Vec::with_capacity(index.len()),
            entry: 0,
            element: 0,
        };
        for ((i, object), chunk) in index.iter().zip(object).zip(chunk) {
            let (object, chunk) = ((*object).max(1), (*chunk).max(1));
            let inside = i % object;
            place.object.push(i / object);
            let next = |number: u64, extent, at| number.saturating_mul(extent).saturating_add(at);
            place.entry = next(place.entry, object / chunk, inside / chunk);
            place.element = next(place.element, chunk, inside % chunk);
        }
        place
    }
}

/// Why the reader of this crate cannot read an array.
#[derive(Debug)]
pub(crate) enum LayoutError {
    /// Legal, but not read here; the generic reader may.
    Foreign(String),
    /// Not legal, or beyond a limit.
    Error(StoreError),
}

impl CellLayout {
    /// Reads the layout of a variable-length array from its document.
    pub(crate) fn new(path: &str, doc: &ArrayDoc, limits: &Limits) -> Result<Self, LayoutError> {
        let malformed = |what: String| {
            LayoutError::Error(StoreError::malformed(format!("{path}/zarr.json"), what))
        };
        if doc.chunk_shape.len() != doc.shape.len() {
            return Err(malformed(format!(
                "chunk_shape has {} components, expected {}",
                doc.chunk_shape.len(),
                doc.shape.len()
            )));
        }
        if doc.chunk_shape.contains(&0) {
            return Err(malformed("chunk_shape has a component of 0".to_owned()));
        }
        let Some((first, rest)) = doc.codecs.split_first() else {
            return Err(malformed("the codec list is empty".to_owned()));
        };
        let sharding = doc.sharding().map_err(|e| {
            LayoutError::Error(StoreError::document(format!("{path}/zarr.json"), e))
        })?;
        let layout = match sharding {
            Some(sharding) => {
                if let Some(outer) = rest.first() {
                    return Err(LayoutError::Foreign(format!(
                        "{} around shards",
                        outer.name
                    )));
                }
                Self::sharded(doc, sharding, is_vlen, &malformed)?
            }
            None if is_vlen(first) => Self {
                shape: doc.shape.clone(),
                object: doc.chunk_shape.clone(),
                chunk: doc.chunk_shape.clone(),
                elements: 0,
                chain: Chain::new(rest).map_err(LayoutError::Foreign)?,
                shard: None,
            },
            None => return Err(LayoutError::Foreign(first.name.clone())),
        };
        let elements = product(&layout.chunk)
            .filter(|n| u32::try_from(*n).is_ok())
            .ok_or_else(|| {
                malformed(format!(
                    "a chunk of {:?} cells cannot be stored",
                    layout.chunk
                ))
            })?;
        if let Some(shard) = layout.shard
            && shard.entries > limits.shard_entries
        {
            return Err(LayoutError::Error(StoreError::limit(
                format!("{path}/zarr.json"),
                "shard_entries",
                shard.entries,
                limits.shard_entries,
            )));
        }
        Ok(Self { elements, ..layout })
    }

    /// The layout of chunks in shards. `is_read` returns whether the first codec of the chunks is supported.
    ///
    /// # Errors
    /// `malformed`: a shard that is not a whole number of chunks or has too many, or no inner codecs. Foreign: a codec or an index that this crate does
    /// not read.
    pub(crate) fn sharded(
        doc: &ArrayDoc,
        sharding: Sharding,
        is_read: impl Fn(&Codec) -> bool,
        malformed: &dyn Fn(String) -> LayoutError,
    ) -> Result<Self, LayoutError> {
        let chunk = sharding.chunk_shape;
        if chunk.len() != doc.chunk_shape.len()
            || chunk
                .iter()
                .zip(&doc.chunk_shape)
                .any(|(inner, outer)| outer.checked_rem(*inner) != Some(0))
        {
            return Err(malformed(format!(
                "sharding_indexed: chunk_shape {chunk:?} does not divide the shard's {:?}",
                doc.chunk_shape
            )));
        }
        let Some((first, rest)) = sharding.codecs.split_first() else {
            return Err(malformed(
                "sharding_indexed: the list of inner codecs is empty".to_owned(),
            ));
        };
        if !is_read(first) {
            return Err(LayoutError::Foreign(format!(
                "{} inside shards",
                first.name
            )));
        }
        let checksum = index_checksum(&sharding.index_codecs)
            .map_err(|names| LayoutError::Foreign(format!("shard index with codecs {names:?}")))?;
        if sharding.index_codecs.first().and_then(byte_order) == Some(ByteOrder::Big) {
            return Err(LayoutError::Foreign("big-endian shard index".to_owned()));
        }
        let entries = doc
            .chunk_shape
            .iter()
            .zip(&chunk)
            .try_fold(1u64, |n, (outer, inner)| {
                n.checked_mul(outer.checked_div(*inner)?)
            })
            .ok_or_else(|| {
                malformed(format!(
                    "a shard of {:?} cells has too many entries",
                    doc.chunk_shape
                ))
            })?;
        Ok(Self {
            shape: doc.shape.clone(),
            object: doc.chunk_shape.clone(),
            chunk,
            elements: 0,
            chain: Chain::new(rest)
                .map_err(|name| LayoutError::Foreign(format!("{name} inside shards")))?,
            shard: Some(ShardLayout {
                entries,
                at_end: sharding.index_at_end,
                checksum,
            }),
        })
    }

    /// The place of the cell `index`; the caller has checked that it is inside the grid.
    pub(crate) fn place(&self, index: &[u64]) -> ElementPlace {
        ElementPlace::new(index, &self.object, &self.chunk)
    }
}

fn is_vlen(codec: &Codec) -> bool {
    matches!(codec.name.as_str(), "vlen-bytes" | "numcodecs.vlen-bytes")
}

/// The reader for the chunks of an array.
#[derive(Debug, Clone)]
pub(crate) enum ChunkDecoding<L> {
    /// This crate: how chunks are stored.
    Own(L),
    /// The generic Zarr reader.
    Generic,
    /// No reader: what is not supported, by its name in the document.
    Unsupported(String),
}

impl<L> ChunkDecoding<L> {
    /// For data that this crate does not read itself: the generic reader, if this build has it.
    pub(crate) fn foreign(what: String) -> Self {
        if cfg!(feature = "zarrs") {
            Self::Generic
        } else {
            Self::Unsupported(what)
        }
    }

    /// Byte order and codecs of chunks of numbers. The error is the reader to use if this crate does not support them.
    pub(crate) fn of_numbers(doc: &ArrayDoc) -> Result<(ByteOrder, Chain), Self> {
        if let Some(transformer) = doc.storage_transformers.first() {
            let what = format!("storage transformer {transformer}");
            return Err(Self::Unsupported(what));
        }
        let Some((first, rest)) = doc.codecs.split_first() else {
            return Err(Self::Unsupported("an empty codec list".to_owned()));
        };
        match byte_order(first).filter(|_| first.name == "bytes") {
            Some(order) => Ok((order, Chain::new(rest).map_err(Self::foreign)?)),
            None => Err(Self::foreign(first.name.clone())),
        }
    }
}

/// The key of a stored object of any array.
pub(crate) fn object_key(path: &str, doc: &ArrayDoc, index: &[u64]) -> String {
    format!("{path}/{}", doc.key_encoding.object_key(index))
}

/// The error for a missing chunk with this key and this number in the array, if its writer recorded it as stored (`zvf_stored_chunks`). Any other
/// missing chunk has the fill value, and there is no error.
pub(crate) fn lost(key: &str, number: u64, stored: Option<u64>) -> Option<StoreError> {
    let stored = stored.filter(|stored| number < *stored)?;
    let what = format!(
        "the chunk is missing, though its array records that it is stored (zvf_stored_chunks: {stored})"
    );
    Some(StoreError::malformed(key, what))
}

/// Chooses the reader for a variable-length array.
pub(crate) fn reader(
    path: &str,
    doc: &ArrayDoc,
    limits: &Limits,
) -> Result<ChunkDecoding<CellLayout>, StoreError> {
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
        other => return Ok(ChunkDecoding::Unsupported(format!("fill_value {other}"))),
    }
    if let Some(transformer) = doc.storage_transformers.first() {
        return Ok(ChunkDecoding::Unsupported(format!(
            "storage transformer {transformer}"
        )));
    }
    match CellLayout::new(path, doc, limits) {
        Ok(layout) => Ok(ChunkDecoding::Own(layout)),
        Err(LayoutError::Error(error)) => Err(error),
        Err(LayoutError::Foreign(name)) if name.contains("blosc inside shards") => {
            Ok(ChunkDecoding::Unsupported(name))
        }
        Err(LayoutError::Foreign(name)) => Ok(ChunkDecoding::foreign(name)),
    }
}

//! One-dimensional variable-length arrays: object manifests and groups.

use std::sync::Arc;

use bytes::Bytes;
use zvf_format::vlen::VlenChunk;
use zvf_meta::ArrayDoc;

use crate::cells::fetch_entries;
use crate::codec::decode;
use crate::elements::Elements;
use crate::layout::{self, Layout, Reader};
use crate::once_cache::OnceCache;
use crate::warnings::Warnings;
use crate::{Limits, StoreError};
use zvf_codec::Data;
use zvf_io::{Ask, Cap, Kv, blocking};

/// A one-dimensional variable-length array, read chunk by chunk; each chunk is loaded once and shared.
#[derive(Debug)]
pub(crate) struct RaggedArray {
    path: String,
    doc: ArrayDoc,
    reader: Reader<Layout>,
    rows: u64,
    /// Elements of a chunk, or of one inside a shard.
    per_chunk: u64,
    /// How many elements are not empty, if a document states it; otherwise the warnings to which missing chunks are added.
    filled: Filled,
    cache: Arc<OnceCache<u64, Arc<Elements>>>,
}

/// Knowledge about the number of elements that are not empty.
#[derive(Debug)]
enum Filled {
    /// None, and a missing chunk is no reason for a warning.
    Any,
    /// A document states the number.
    Stated(u64),
    /// No document states it.
    Unknown(Arc<Warnings>),
}

/// The first elements of a chunk, up to `most`.
fn parse(key: &str, bytes: Bytes, elements: u64, most: u64) -> Result<Arc<Elements>, StoreError> {
    let chunk = VlenChunk::parse(&bytes, elements).map_err(|e| StoreError::decode(key, e))?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    // The first element starts after the chunk's count and its own length, the others after their length.
    let (mut starts, mut at) = (vec![8], 8_usize);
    for element in chunk.iter().take(most) {
        at = at.saturating_add(element.len()).saturating_add(4);
        starts.push(at);
    }
    Ok(Arc::new(Elements::new(bytes, starts, 4)))
}

impl RaggedArray {
    pub(crate) fn new(path: String, doc: ArrayDoc, limits: &Limits) -> Result<Self, StoreError> {
        let key = || format!("{path}/zarr.json");
        let ([rows], [per_chunk]) = (doc.shape.as_slice(), doc.chunk_shape.as_slice()) else {
            return Err(StoreError::malformed(
                key(),
                format!("shape is {:?}, expected one axis", doc.shape),
            ));
        };
        let (rows, per_chunk) = (*rows, *per_chunk);
        Cap::rows(limits).check(&key(), rows)?;
        if per_chunk == 0 {
            return Err(StoreError::malformed(
                key(),
                "chunk_shape is 0, expected at least 1",
            ));
        }
        let reader = layout::reader(&path, &doc, limits)?;
        // In shards the chunks inside of them are read one by one.
        let per_chunk = match &reader {
            Reader::Own(layout) => layout.chunk.first().copied().unwrap_or(per_chunk).max(1),
            Reader::Generic | Reader::Unsupported(_) => per_chunk,
        };
        Ok(Self {
            path,
            doc,
            reader,
            rows,
            per_chunk,
            filled: Filled::Any,
            cache: Arc::new(OnceCache::new(
                limits.cache_bytes,
                |chunk: &Arc<Elements>| chunk.weight(),
            )),
        })
    }

    /// An array with `filled` elements that are not empty: a missing chunk is damage if the others have fewer.
    /// Without a number it is a warning.
    pub(crate) fn with_filled(mut self, filled: Option<u64>, warnings: &Arc<Warnings>) -> Self {
        self.filled = match filled {
            Some(filled) => Filled::Stated(filled),
            None => Filled::Unknown(Arc::clone(warnings)),
        };
        self
    }

    /// The elements of a chunk without an object.
    fn empty(&self, key: &str, first: u64, end: u64) -> Result<Arc<Elements>, StoreError> {
        let sharded = matches!(&self.reader, Reader::Own(layout) if layout.shard.is_some());
        let number = first.checked_div(self.per_chunk).filter(|_| !sharded);
        let stored = self.doc.attributes.stored_chunks;
        if let Some(error) = number.and_then(|number| layout::lost(key, number, stored)) {
            return Err(error);
        }
        let rows = end.saturating_sub(first);
        match &self.filled {
            Filled::Stated(filled) if *filled > self.rows.saturating_sub(rows) => {
                let what = format!(
                    "the chunk is missing, but {filled} of {} manifests are not empty, as num_present says",
                    self.rows
                );
                return Err(StoreError::malformed(key, what));
            }
            Filled::Unknown(warnings) => warnings.add(format!(
                "{key}: the chunk is missing: the objects from {first} to {} have no vertices",
                end.saturating_sub(1)
            )),
            Filled::Stated(_) | Filled::Any => {}
        }
        Ok(Arc::default())
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Elements of the array.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Stored objects that the array can have.
    pub(crate) fn chunks(&self) -> u64 {
        self.rows.div_ceil(self.per_chunk)
    }

    /// Elements of a chunk, or of one inside a shard.
    pub(crate) fn chunk_rows(&self) -> u64 {
        self.per_chunk
    }

    /// Loads a chunk, once.
    pub(crate) async fn chunk(
        self: &Arc<Self>,
        kv: &Kv,
        number: u64,
    ) -> Result<Arc<Elements>, StoreError> {
        if number >= self.chunks() {
            return Err(StoreError::misuse(format!(
                "{}: chunk {number} asked for, there are {}",
                self.path,
                self.chunks()
            )));
        }
        let (array, kv) = (Arc::clone(self), kv.clone());
        let load = Box::pin(async move { array.load(&kv, number).await });
        self.cache.get(number, load).await
    }

    /// The element of a row, from the chunk that holds it.
    pub(crate) async fn element(self: &Arc<Self>, kv: &Kv, row: u64) -> Result<Bytes, StoreError> {
        let chunk = self.chunk(kv, row / self.per_chunk).await?;
        let inside = usize::try_from(row % self.per_chunk).unwrap_or(usize::MAX);
        Ok(chunk.get_shared(inside).unwrap_or_default())
    }

    /// Forgets the chunks that are loaded.
    pub(crate) fn forget(&self) {
        self.cache.clear();
    }

    async fn load(&self, kv: &Kv, number: u64) -> Result<Arc<Elements>, StoreError> {
        let first = number.saturating_mul(self.per_chunk);
        let most = self.rows.saturating_sub(first);
        let end = first.saturating_add(self.per_chunk).min(self.rows);
        let layout = match &self.reader {
            Reader::Own(layout) => layout,
            Reader::Unsupported(what) => {
                return Err(StoreError::unsupported(self.path.clone(), what.clone()));
            }
            Reader::Generic => {
                let bytes =
                    crate::generic::read_ragged_chunk(kv, &self.path, &self.doc, first..end)
                        .await?;
                let key = self.path.clone();
                return match bytes {
                    None => self.empty(&key, first, end),
                    Some((bytes, elements)) => parse(&key, bytes, elements, most),
                };
            }
        };
        let place = layout.place(&[first]);
        let key = layout::object_key(&self.path, &self.doc, &place.object);
        let cap = Cap::cell(kv.limits());
        let found = match layout.shard {
            Some(shard) => {
                let found = fetch_entries(kv, &key, shard, &[place.entry]).await?;
                found.into_iter().next().flatten()
            }
            None => {
                let object = kv.get_polled(&key, Ask::Whole, cap).await?;
                object.map(|object| object.bytes)
            }
        };
        let Some(bytes) = found else {
            return self.empty(&key, first, end);
        };
        let (chain, elements) = (layout.chain.clone(), layout.elements);
        let decode = move || {
            let bytes = decode(&chain, &key, Data::Shared(bytes), cap)?.into_bytes();
            parse(&key, bytes, elements, most)
        };
        blocking(decode).await?
    }
}

//! One-dimensional variable-length arrays: object manifests and groups.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use zvf_format::vlen::VlenChunk;
use zvf_meta::ArrayDoc;

use crate::cells::{self, ChunkWant, Mode, ShardCache, TableObjects};
use crate::elements::Elements;
use crate::layout::{self, ChunkDecoding};
use crate::once_cache::OnceCache;
use crate::ordered::all_in_order;
use crate::warnings::Warnings;
use crate::{Limits, StoreError};
use zvf_io::{Cap, Kv, driven};

/// A one-dimensional variable-length array, read chunk by chunk; each chunk is loaded once and shared.
#[derive(Debug)]
pub(crate) struct RaggedArray {
    path: String,
    doc: ArrayDoc,
    reader: ChunkDecoding<Arc<TableObjects>>,
    rows: u64,
    /// Elements of a chunk, or of a chunk inside a shard.
    per_chunk: u64,
    /// Elements of a stored object.
    per_object: u64,
    /// The number of elements that are not empty, which decides whether a missing chunk is an error or a warning.
    filled: Filled,
    cache: Arc<OnceCache<u64, Arc<Elements>>>,
    shards: Arc<ShardCache>,
}

/// Objects of a local disk that are read by one task.
const TOGETHER: usize = 64;

/// Most elements of a chunk of a local disk that is read on the calling thread: decoding so few is faster than a change of threads.
const HERE: u64 = 512;

/// What is known about the number of elements that are not empty.
#[derive(Debug)]
enum Filled {
    /// Nothing; a missing chunk causes no warning.
    Any,
    /// A document states the number.
    Stated(u64),
    /// No document states it; missing chunks cause a warning.
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
        let (per_object, mut inner) = (per_chunk, per_chunk);
        let reader = match layout::reader(&path, &doc, limits)? {
            ChunkDecoding::Own(layout) => {
                // In shards, the inner chunks are read one by one.
                inner = layout.chunk.first().copied().unwrap_or(per_chunk).max(1);
                ChunkDecoding::Own(Arc::new(TableObjects {
                    layout,
                    lengths: doc.attributes.shard_lengths.clone(),
                    path: path.clone(),
                }))
            }
            ChunkDecoding::Generic => ChunkDecoding::Generic,
            ChunkDecoding::Unsupported(what) => ChunkDecoding::Unsupported(what),
        };
        Ok(Self {
            path,
            doc,
            reader,
            rows,
            per_chunk: inner,
            per_object,
            filled: Filled::Any,
            cache: Arc::new(OnceCache::new(
                limits.cache_bytes,
                |chunk: &Arc<Elements>| chunk.weight(),
            )),
            shards: Arc::new(ShardCache::new(limits.cache_bytes)),
        })
    }

    /// Sets the number of elements that are not empty. A missing chunk is then damage if the other chunks have too few elements for this number. Without a
    /// number, a missing chunk causes a warning.
    pub(crate) fn with_filled(mut self, filled: Option<u64>, warnings: &Arc<Warnings>) -> Self {
        self.filled = match filled {
            Some(filled) => Filled::Stated(filled),
            None => Filled::Unknown(Arc::clone(warnings)),
        };
        self
    }

    /// The elements of a chunk without an object.
    fn empty(&self, key: &str, first: u64, end: u64) -> Result<Arc<Elements>, StoreError> {
        let number = first.checked_div(self.per_object);
        let stored = self.doc.attributes.stored_chunks;
        if let Some(error) = number.and_then(|number| layout::lost(key, number, stored)) {
            return Err(error);
        }
        let mut rows = end.saturating_sub(first);
        if let Some(number) = number.filter(|_| self.shards.lacks(key)) {
            // All chunks of a lost shard are missing.
            let first = number.saturating_mul(self.per_object);
            rows = self.per_object.min(self.rows.saturating_sub(first));
        }
        match &self.filled {
            Filled::Stated(filled) if *filled > self.rows.saturating_sub(rows) => {
                let what = format!(
                    "the chunk is missing, but {filled} of {} manifests are not empty, as num_present states",
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

    /// Elements of a stored object.
    pub(crate) fn object_rows(&self) -> u64 {
        self.per_object
    }

    /// Elements of a chunk, or of a chunk inside a shard.
    pub(crate) fn chunk_rows(&self) -> u64 {
        self.per_chunk
    }

    /// The elements of some rows, in the order of `rows`; empty for rows past the end.
    ///
    /// # Cost
    /// Requests the chunks that are not loaded yet at once; the chunks of one shard share an index.
    pub(crate) async fn elements(
        self: &Arc<Self>,
        kv: &Kv,
        rows: &[u64],
    ) -> Result<Vec<Bytes>, StoreError> {
        let chunk_of = |row: &u64| row / self.per_chunk;
        let there = rows.iter().filter(|row| **row < self.rows);
        let mut numbers: Vec<u64> = there.map(chunk_of).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let chunks = self.chunks(kv, &numbers).await?;
        if chunks.len() != numbers.len() {
            return Err(StoreError::bug("a wrong number of chunks was loaded"));
        }
        // A chunk that is not stored has empty elements.
        let element = |row: &u64| {
            let chunk = chunks.get(numbers.binary_search(&chunk_of(row)).ok()?)?;
            chunk.get_shared(usize::try_from(row % self.per_chunk).ok()?)
        };
        Ok(rows
            .iter()
            .map(|row| element(row).unwrap_or_default())
            .collect())
    }

    /// The element of a row, from the chunk that holds it.
    pub(crate) async fn element(self: &Arc<Self>, kv: &Kv, row: u64) -> Result<Bytes, StoreError> {
        let found = self.elements(kv, &[row]).await?;
        let mut found = found.into_iter();
        found
            .next()
            .ok_or_else(|| StoreError::bug("a requested element was not loaded"))
    }

    /// Loads chunks, given in ascending order, each once.
    pub(crate) async fn chunks(
        self: &Arc<Self>,
        kv: &Kv,
        numbers: &[u64],
    ) -> Result<Vec<Arc<Elements>>, StoreError> {
        if let [number] = *numbers {
            if kv.is_local() && self.per_chunk <= HERE {
                if let Some(chunk) = self.cache.ready(&number) {
                    return Ok(vec![chunk]);
                }
                let mode = Mode {
                    here: true,
                    ..Mode::default()
                };
                let chunk = self.load_one(kv, number, mode).await?;
                self.cache.insert(number, Arc::clone(&chunk));
                return Ok(vec![chunk]);
            }
            let (array, kv) = (Arc::clone(self), kv.clone());
            let load = Box::pin(async move { array.load_one(&kv, number, Mode::default()).await });
            return Ok(vec![self.cache.get(number, load).await?]);
        }
        let ready = numbers.iter().map(|number| self.cache.ready(number));
        let mut found: Vec<Option<Arc<Elements>>> = ready.collect();
        let missing = found
            .iter()
            .zip(numbers)
            .filter(|(chunk, _)| chunk.is_none());
        let missing: Vec<u64> = missing.map(|(_, number)| *number).collect();
        let per_object = (self.per_object / self.per_chunk).max(1);
        let mut loads = Vec::new();
        let mut rest = missing.as_slice();
        while !rest.is_empty() {
            // Batches of whole objects, so that the index of a shard is read once.
            let mut objects = 0;
            let mut last = None;
            let end = rest.iter().position(|number| {
                let object = number / per_object;
                objects += usize::from(last.replace(object) != Some(object));
                objects > TOGETHER
            });
            let (part, more) = rest.split_at(end.unwrap_or(rest.len()));
            let (array, kv, part) = (Arc::clone(self), kv.clone(), part.to_vec());
            let load = driven(async move { array.load(&kv, &part, Mode::default()).await });
            loads.push(Box::pin(load) as BoxFuture<'_, _>);
            rest = more;
        }
        let loaded = all_in_order(loads).await?.into_iter().flatten();
        let mut loaded = missing.into_iter().zip(loaded);
        for chunk in found.iter_mut().filter(|chunk| chunk.is_none()) {
            if let Some((number, elements)) = loaded.next() {
                self.cache.insert(number, Arc::clone(&elements));
                *chunk = Some(elements);
            }
        }
        let found: Option<Vec<_>> = found.into_iter().collect();
        found.ok_or_else(|| StoreError::bug("a requested chunk was not loaded"))
    }

    /// The chunks of a stored object, ascending.
    pub(crate) fn chunks_of_object(&self, number: u64) -> Vec<u64> {
        let first = number.saturating_mul(self.per_object);
        let end = first.saturating_add(self.per_object).min(self.rows);
        (first / self.per_chunk..end.div_ceil(self.per_chunk)).collect()
    }

    /// Removes the loaded chunks.
    pub(crate) fn forget(&self) {
        self.cache.clear();
    }

    async fn load_one(
        &self,
        kv: &Kv,
        number: u64,
        mode: Mode,
    ) -> Result<Arc<Elements>, StoreError> {
        let loaded = self.load(kv, &[number], mode).await?.pop();
        loaded.ok_or_else(|| StoreError::bug("a requested chunk was not loaded"))
    }

    async fn load(
        &self,
        kv: &Kv,
        numbers: &[u64],
        mode: Mode,
    ) -> Result<Vec<Arc<Elements>>, StoreError> {
        let table = match &self.reader {
            ChunkDecoding::Own(table) => table,
            ChunkDecoding::Unsupported(what) => {
                return Err(StoreError::unsupported(self.path.clone(), what.clone()));
            }
            ChunkDecoding::Generic => {
                let mut all = Vec::with_capacity(numbers.len());
                for number in numbers {
                    all.push(self.load_generic(kv, *number).await?);
                }
                return Ok(all);
            }
        };
        let wants = numbers.iter().map(|number| {
            let place = table.layout.place(&[number.saturating_mul(self.per_chunk)]);
            ChunkWant {
                key: layout::object_key(&self.path, &self.doc, &place.object),
                entry: place.entry,
            }
        });
        let wants: Vec<ChunkWant> = wants.collect();
        let shards = Arc::clone(&self.shards);
        let found = cells::fetch_table(kv.clone(), shards, table, &wants, mode).await?;
        let all = found.into_iter().zip(&wants).zip(numbers);
        all.map(|((bytes, want), number)| {
            let (first, end) = self.rows_of(*number);
            match bytes {
                None => self.empty(&want.key, first, end),
                Some(bytes) => {
                    let most = self.rows.saturating_sub(first);
                    parse(&want.key, bytes, table.layout.elements, most)
                }
            }
        })
        .collect()
    }

    /// The rows of a chunk: the first, and the one after the last.
    fn rows_of(&self, number: u64) -> (u64, u64) {
        let first = number.saturating_mul(self.per_chunk);
        (first, first.saturating_add(self.per_chunk).min(self.rows))
    }

    async fn load_generic(&self, kv: &Kv, number: u64) -> Result<Arc<Elements>, StoreError> {
        let (first, end) = self.rows_of(number);
        let bytes =
            crate::generic::read_ragged_chunk(kv, &self.path, &self.doc, first..end).await?;
        match bytes {
            None => self.empty(&self.path, first, end),
            Some((bytes, elements)) => {
                parse(&self.path, bytes, elements, self.rows.saturating_sub(first))
            }
        }
    }
}

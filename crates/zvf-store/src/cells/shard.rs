//! Sharded objects: their index, read once and cached, and the byte ranges of chunks.
//!
//! The first request reads the index together with the bytes next to it: a small shard is read whole. If the document of the array has the lengths of
//! cells in a large shard, the expected ranges of wanted cells are requested together with the index. If the index states other ranges, these are read
//! afterwards.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::kept_files::KeptFiles;
use super::request::{Get, RequestBytes, SizeAndTag};
use crate::layout::ShardLayout;
use crate::once_cache::OnceCache;
use crate::{IoError, StoreError};
use zvf_format::int::wide;
use zvf_format::shard::ShardEntry;
use zvf_format::shard_lengths;
use zvf_io::{Ask, Cap, Kv, Object};

/// `None` = the shard does not exist: none of its cells has content.
pub(super) type FoundHead = Option<Arc<ShardHead>>;

/// The index of one shard, and the part of the shard that was read with it.
#[derive(Debug)]
pub(crate) struct ShardHead {
    entries: Vec<ShardEntry>,
    /// Bytes of the shard.
    size: u64,
    start: u64,
    tail: Bytes,
    etag: Option<String>,
}

impl ShardHead {
    /// Reads the index out of the first or last bytes of a shard.
    pub(super) fn parse(key: &str, shard: ShardLayout, object: Object) -> Result<Self, StoreError> {
        let index = usize::try_from(shard.index_bytes())
            .map_err(|_| StoreError::limit(key, "shard_entries", shard.entries, u64::MAX))?;
        let cut = |found: usize| {
            StoreError::malformed(
                key,
                format!("shard index: {found} bytes found, expected {index}"),
            )
        };
        let bytes = &object.bytes;
        let reaches = if shard.at_end {
            object.start + wide(bytes.len()) >= object.size
        } else {
            object.start == 0
        };
        if !reaches {
            return Err(cut(bytes.len()));
        }
        let table = if shard.at_end {
            bytes
                .len()
                .checked_sub(index)
                .and_then(|from| bytes.get(from..))
        } else {
            bytes.get(..index)
        };
        let table = table.ok_or_else(|| cut(bytes.len()))?;
        let table = if shard.checksum {
            let (body, stored) = table
                .split_last_chunk::<4>()
                .ok_or_else(|| cut(table.len()))?;
            let (stored, found) = (u32::from_le_bytes(*stored), crc32c::crc32c(body));
            if stored != found {
                return Err(StoreError::malformed(
                    key,
                    format!("shard index: crc32c {found:#010x} found, expected {stored:#010x}"),
                ));
            }
            body
        } else {
            table
        };
        let entries = ShardEntry::all(table).ok_or_else(|| cut(table.len()))?;
        Ok(Self {
            entries: entries.to_vec(),
            size: object.size,
            start: object.start,
            tail: object.bytes,
            etag: object.etag,
        })
    }

    /// The index without the part of the shard that was read with it.
    pub(super) fn without_tail(self) -> Self {
        Self {
            start: self.size,
            tail: Bytes::new(),
            ..self
        }
    }

    /// The byte range of one chunk; `None` if it is not stored.
    fn range_of(&self, key: &str, entry: u64) -> Result<Option<Range<u64>>, StoreError> {
        let found = usize::try_from(entry).ok();
        let Some(found) = found.and_then(|entry| self.entries.get(entry)) else {
            return Err(StoreError::malformed(
                key,
                format!("shard index: entry {entry} is missing"),
            ));
        };
        if found.is_absent() {
            return Ok(None);
        }
        let (offset, length) = (found.offset.get(), found.nbytes.get());
        match offset.checked_add(length) {
            Some(end) if end <= self.size => Ok(Some(offset..end)),
            _ => Err(StoreError::malformed(
                key,
                format!(
                    "shard index: entry {entry} claims {length} bytes at {offset}, the shard has {}",
                    self.size
                ),
            )),
        }
    }

    /// Fails if the shard changed since its index was read: `size` and `etag` belong to a later request.
    fn check_same(&self, key: &str, size: u64, etag: Option<String>) -> Result<(), StoreError> {
        let (first, now) = match (&self.etag, etag) {
            (Some(first), Some(now)) if *first != now => (first.clone(), now),
            _ if self.size != size => {
                let of = |size| format!("of {size} bytes");
                (of(self.size), of(size))
            }
            _ => return Ok(()),
        };
        let key = key.to_owned();
        Err(IoError::SourceChanged { key, first, now }.into())
    }

    /// Memory of a cached head, in bytes.
    fn weight(&self) -> u64 {
        wide(self.entries.len())
            .saturating_mul(wide(size_of::<ShardEntry>()))
            .saturating_add(wide(self.tail.len()))
            .saturating_add(256)
    }
}

/// The first request for a shard.
pub(super) fn first_ask(shard: ShardLayout, gap: u64) -> Ask {
    let bytes = shard.index_bytes().saturating_add(gap);
    if shard.at_end {
        Ask::Suffix(bytes)
    } else {
        Ask::Prefix(bytes)
    }
}

/// Where wanted chunks of a shard are expected.
#[derive(Debug)]
pub(super) struct Guess {
    pub(super) ranges: Vec<Range<u64>>,
    /// The end of all chunks, where the index begins.
    pub(super) end: u64,
}

impl Guess {
    /// The expected ranges of wanted cells, from the [lengths](shard_lengths) in `text` and the shape of the shard. Leaves out a cell if `fits` returns
    /// false for its size.
    pub(super) fn of(
        text: &str,
        shape: &[u64],
        cells: &[WantedCell],
        fits: impl Fn(u64) -> bool,
    ) -> Option<Self> {
        let all = shard_lengths::ranges(text, shape)?;
        let wanted = cells.iter().filter_map(|cell| {
            let range = all.get(usize::try_from(cell.entry).ok()?)?.clone();
            let size = range.end.saturating_sub(range.start);
            (size > 0 && fits(size)).then_some(range)
        });
        Some(Self {
            ranges: wanted.collect(),
            end: all.iter().map(|range| range.end).max()?,
        })
    }
}

/// The first requests for a shard.
#[derive(Debug)]
pub(super) struct FirstAsks {
    /// The request for the index.
    pub(super) index: Ask,
    /// The range that is read with the index, because it ends shortly before it. If another batch already requests the index, for other chunks, this
    /// range is requested like those in `beside`.
    pub(super) with_index: Option<Range<u64>>,
    /// The ranges that are requested together with the index.
    pub(super) beside: Vec<Range<u64>>,
}

impl FirstAsks {
    pub(super) fn of(shard: ShardLayout, guess: Option<Guess>, kv: &Kv, cap: Cap) -> Self {
        let merge = kv.merge();
        let Some(guess) = guess.filter(|guess| guess.end > merge.gap) else {
            return Self {
                index: first_ask(shard, merge.gap),
                with_index: None,
                beside: Vec::new(),
            };
        };
        let mut beside = kv.requests(guess.ranges);
        let most = merge.most.min(cap.most);
        let last = beside.pop_if(|last| {
            let bytes = guess.end.saturating_sub(last.start);
            guess.end.saturating_sub(last.end) <= merge.gap
                && bytes.saturating_add(shard.index_bytes()) <= most
        });
        let before = last.as_ref().map_or(0, |last| guess.end - last.start);
        Self {
            index: first_ask(shard, before),
            with_index: last,
            beside,
        }
    }
}

/// One wanted cell: its place in the batch, the entry of its chunk in the shard, and its element in the chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct WantedCell {
    pub(super) want: usize,
    pub(super) entry: u64,
    pub(super) element: u64,
}

/// One chunk of a shard that is wanted.
#[derive(Debug)]
pub(super) struct ShardChunk {
    pub(super) range: Range<u64>,
    /// Its bytes, if they were read with the index.
    bytes: Option<Bytes>,
    pub(super) cells: Vec<WantedCell>,
}

impl ShardChunk {
    /// The name of the chunk in messages.
    pub(super) fn name(&self, key: &str) -> String {
        format!("{key}, bytes {} to {}", self.range.start, self.range.end)
    }
}

/// The wanted chunks of one shard, and the bytes read so far. Does no I/O.
#[derive(Debug)]
pub(super) struct ShardRead {
    head: Arc<ShardHead>,
    chunks: Vec<ShardChunk>,
    /// Bytes read together with the index, by offset in the shard.
    parts: Vec<(u64, Bytes)>,
}

impl ShardRead {
    /// The chunks that contain the wanted cells, each once.
    ///
    /// # Errors
    /// Malformed: invalid entries of the index; limit: a chunk over `cap`.
    pub(super) fn new(
        key: &str,
        head: Arc<ShardHead>,
        cells: &[WantedCell],
        cap: Cap,
    ) -> Result<Self, StoreError> {
        let mut chunks: Vec<ShardChunk> = Vec::with_capacity(cells.len());
        let mut seen: HashMap<u64, usize> = HashMap::with_capacity(cells.len());
        for cell in cells {
            if let Some(chunk) = seen.get(&cell.entry).and_then(|at| chunks.get_mut(*at)) {
                chunk.cells.push(*cell);
                continue;
            }
            let Some(range) = head.range_of(key, cell.entry)? else {
                continue;
            };
            cap.check(key, range.end - range.start)?;
            seen.insert(cell.entry, chunks.len());
            chunks.push(ShardChunk {
                bytes: cut(head.start, &head.tail, &range),
                range,
                cells: vec![*cell],
            });
        }
        Ok(Self {
            head,
            chunks,
            parts: Vec::new(),
        })
    }

    /// Takes parts of the shard that were read together with its index. Parts of another state of the shard are ignored.
    pub(super) fn take_beside(&mut self, key: &str, beside: Vec<Object>) {
        let same = |object: &Object| {
            let (size, etag) = (object.size, object.etag.clone());
            self.head.check_same(key, size, etag).is_ok()
        };
        let beside = beside.into_iter().filter(same);
        let mut parts: Vec<_> = beside.map(|object| (object.start, object.bytes)).collect();
        parts.sort_unstable_by_key(|(start, _)| *start);
        for chunk in &mut self.chunks {
            if chunk.bytes.is_none() {
                chunk.bytes = cut_of(&parts, &chunk.range);
            }
        }
    }

    pub(super) fn chunks(&self) -> &[ShardChunk] {
        &self.chunks
    }

    /// The chunks that were not read with the index, by their places in [`chunks`](Self::chunks); ascending in the shard.
    pub(super) fn missing_chunks(&self) -> Vec<usize> {
        let chunks = self.chunks.iter().enumerate();
        let missing = chunks.filter(|(_, chunk)| chunk.bytes.is_none() && !chunk.range.is_empty());
        let mut missing: Vec<_> = missing.map(|(at, chunk)| (chunk.range.start, at)).collect();
        missing.sort_unstable();
        missing.into_iter().map(|(_, at)| at).collect()
    }

    /// Fails if the shard changed since its index was read.
    ///
    /// # Errors
    /// I/O: the shard changed since its index was read.
    pub(super) fn check_state(&self, key: &str, state: SizeAndTag) -> Result<(), StoreError> {
        match state {
            Some((size, etag)) => self.head.check_same(key, size, etag),
            None => Ok(()),
        }
    }

    /// The ranges that were not read with the index, ascending.
    pub(super) fn missing(&self) -> Vec<Range<u64>> {
        let missing = self.chunks.iter().filter(|chunk| chunk.bytes.is_none());
        let mut ranges: Vec<_> = missing.map(|chunk| chunk.range.clone()).collect();
        ranges.retain(|range| !range.is_empty());
        ranges.sort_unstable_by_key(|range| range.start);
        ranges
    }

    /// The requests for the [`missing`](Self::missing) ranges; close ones are merged.
    pub(super) fn requests(&self, key: &str, kv: &Kv) -> Vec<Get> {
        let cap = Cap::cell(kv.limits());
        let ranges = kv.requests(self.missing()).into_iter();
        ranges
            .map(|range| Get::new(key, Ask::Range(range), cap))
            .collect()
    }

    /// Takes the bytes of a range that covers missing ones. Must be called in ascending order of ranges.
    ///
    /// # Errors
    /// I/O: the shard changed since its index was read; malformed: it no longer exists.
    pub(super) fn take(
        &mut self,
        key: &str,
        part: Option<RequestBytes<'_>>,
    ) -> Result<(), StoreError> {
        let part =
            part.ok_or_else(|| StoreError::malformed(key, "the shard vanished while it was read"))?;
        self.check_state(key, part.state)?;
        self.parts.push((part.start, part.data.into_bytes()));
        Ok(())
    }

    /// The bytes of a chunk, out of the head or the parts that were read.
    ///
    /// # Errors
    /// Malformed: the shard ends before the chunk does.
    pub(super) fn bytes_of(&self, key: &str, chunk: &ShardChunk) -> Result<Bytes, StoreError> {
        if let Some(bytes) = &chunk.bytes {
            return Ok(bytes.clone());
        }
        if chunk.range.is_empty() {
            return Ok(Bytes::new());
        }
        cut_of(&self.parts, &chunk.range).ok_or_else(|| {
            StoreError::malformed(
                key,
                format!(
                    "the shard ends before byte {}, where a chunk should end",
                    chunk.range.end
                ),
            )
        })
    }
}

/// A range of an object, out of parts of it in ascending order.
pub(super) fn cut_of(parts: &[(u64, Bytes)], range: &Range<u64>) -> Option<Bytes> {
    let after = parts.partition_point(|(start, _)| *start <= range.start);
    let (start, bytes) = parts.get(after.checked_sub(1)?)?;
    cut(*start, bytes, range)
}

/// A range of an object, out of its bytes from `start` on.
fn cut(start: u64, bytes: &Bytes, range: &Range<u64>) -> Option<Bytes> {
    let from = usize::try_from(range.start.checked_sub(start)?).ok()?;
    let to = usize::try_from(range.end.checked_sub(start)?).ok()?;
    (to <= bytes.len()).then(|| bytes.slice(from..to))
}

/// Shard heads by key, bounded by bytes; the oldest are evicted first. Concurrent calls for one head share a request.
#[derive(Debug)]
pub(crate) struct ShardCache {
    pub(super) heads: OnceCache<String, FoundHead>,
    pub(super) files: KeptFiles,
}

impl ShardCache {
    pub(crate) fn new(limit: u64) -> Self {
        let weight = |head: &FoundHead| head.as_ref().map_or(256, |head| head.weight());
        Self {
            heads: OnceCache::new(limit, weight),
            files: KeptFiles::new(),
        }
    }

    /// Whether a shard was looked up and does not exist.
    pub(crate) fn lacks(&self, key: &str) -> bool {
        matches!(self.heads.ready(key), Some(None))
    }
}

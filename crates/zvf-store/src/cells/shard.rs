//! Sharded objects: the index, read once and kept, and where chunks lie.
//!
//! The first request asks for the index together with the bytes beside it: a small shard comes whole.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::Cell;
use crate::layout::Shard;
use crate::{IoError, StoreError};
use zvf_format::shard::ShardEntry;
use zvf_io::Once;
use zvf_io::local::OpenFile;
use zvf_io::{Ask, Cap, Object};

/// `None` = the shard does not exist: none of its cells has content.
pub(super) type Head = Option<Arc<ShardHead>>;

/// The index of one shard, and the part of the shard that came with it.
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
    pub(super) fn parse(key: &str, shard: Shard, object: Object) -> Result<Self, StoreError> {
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
            object.start + as_u64(bytes.len()) >= object.size
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

    /// Refuses bytes of another state of the shard than the index was read from.
    pub(super) fn check_same(&self, key: &str, object: &Object) -> Result<(), StoreError> {
        match (&self.etag, &object.etag) {
            (Some(first), Some(now)) if first != now => {
                Err(StoreError::Io(IoError::SourceChanged {
                    key: key.to_owned(),
                    first: first.clone(),
                    now: now.clone(),
                }))
            }
            _ if self.size != object.size => Err(StoreError::Io(IoError::SourceChanged {
                key: key.to_owned(),
                first: format!("of {} bytes", self.size),
                now: format!("of {} bytes", object.size),
            })),
            _ => Ok(()),
        }
    }

    /// Bytes that keeping this head costs.
    fn weight(&self) -> u64 {
        as_u64(self.entries.len())
            .saturating_mul(as_u64(size_of::<ShardEntry>()))
            .saturating_add(as_u64(self.tail.len()))
            .saturating_add(256)
    }
}

fn as_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// The first request for a shard.
pub(super) fn first_ask(shard: Shard, gap: u64) -> Ask {
    let bytes = shard.index_bytes().saturating_add(gap);
    if shard.at_end {
        Ask::Suffix(bytes)
    } else {
        Ask::Prefix(bytes)
    }
}

/// One chunk of a shard that is wanted.
#[derive(Debug)]
pub(super) struct ShardChunk {
    pub(super) range: Range<u64>,
    /// Its bytes, when they came with the index.
    pub(super) bytes: Option<Bytes>,
    pub(super) cells: Vec<Cell>,
}

impl ShardChunk {
    /// How the chunk is called in messages.
    pub(super) fn name(&self, key: &str) -> String {
        format!("{key}, bytes {} to {}", self.range.start, self.range.end)
    }
}

/// The chunks that the wanted cells lie in, each once.
pub(super) fn chunks(
    key: &str,
    head: &ShardHead,
    cells: &[Cell],
    cap: Cap,
) -> Result<Vec<ShardChunk>, StoreError> {
    let mut chunks: Vec<ShardChunk> = Vec::with_capacity(cells.len());
    let mut seen: HashMap<u64, usize> = HashMap::with_capacity(cells.len());
    for cell in cells {
        if let Some(chunk) = seen.get(&cell.entry).and_then(|at| chunks.get_mut(*at)) {
            chunk.cells.push(*cell);
            continue;
        }
        let entry = usize::try_from(cell.entry)
            .ok()
            .and_then(|i| head.entries.get(i));
        let Some(entry) = entry else {
            return Err(StoreError::malformed(
                key,
                format!("shard index: entry {} is missing", cell.entry),
            ));
        };
        if entry.is_absent() {
            continue;
        }
        let (offset, length) = (entry.offset.get(), entry.nbytes.get());
        let end = offset
            .checked_add(length)
            .filter(|end| *end <= head.size)
            .ok_or_else(|| {
                StoreError::malformed(
                    key,
                    format!(
                        "shard index: entry {} claims {length} bytes at {offset}, the shard has {}",
                        cell.entry, head.size
                    ),
                )
            })?;
        cap.check(key, length)?;
        let bytes = offset
            .checked_sub(head.start)
            .and_then(|from| usize::try_from(from).ok())
            .zip(usize::try_from(length).ok())
            .and_then(|(from, length)| Some(from..from.checked_add(length)?))
            .filter(|range| range.end <= head.tail.len())
            .map(|range| head.tail.slice(range));
        seen.insert(cell.entry, chunks.len());
        chunks.push(ShardChunk {
            range: offset..end,
            bytes,
            cells: vec![*cell],
        });
    }
    Ok(chunks)
}

/// The bytes of a chunk, out of the head or the parts that were read.
pub(super) fn cut(
    key: &str,
    chunk: &ShardChunk,
    parts: &[(u64, Bytes)],
) -> Result<Bytes, StoreError> {
    if let Some(bytes) = &chunk.bytes {
        return Ok(bytes.clone());
    }
    if chunk.range.is_empty() {
        return Ok(Bytes::new());
    }
    let after = parts.partition_point(|(start, _)| *start <= chunk.range.start);
    let found = after
        .checked_sub(1)
        .and_then(|at| parts.get(at))
        .and_then(|(start, bytes)| {
            let from = usize::try_from(chunk.range.start - start).ok()?;
            let length = usize::try_from(chunk.range.end - chunk.range.start).ok()?;
            let to = from.checked_add(length)?;
            (to <= bytes.len()).then(|| bytes.slice(from..to))
        });
    found.ok_or_else(|| {
        StoreError::malformed(
            key,
            format!(
                "the shard ends before byte {}, where a chunk should end",
                chunk.range.end
            ),
        )
    })
}

/// Shard heads by key, bounded by bytes; the oldest go first. A head in flight is fetched once.
#[derive(Debug)]
pub(crate) struct ShardCache {
    state: Mutex<State>,
    limit: u64,
    /// Files of a local disk, the one used last at the end.
    files: Mutex<VecDeque<(String, Arc<OpenFile>)>>,
}

/// How many files stay open.
const OPEN_FILES: usize = 32;

#[derive(Debug, Default)]
struct State {
    heads: HashMap<String, Arc<Once<Head, StoreError>>>,
    order: VecDeque<(String, u64)>,
    weight: u64,
}

impl ShardCache {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            state: Mutex::default(),
            limit,
            files: Mutex::default(),
        }
    }

    /// An open file that was kept.
    pub(super) fn open_file(&self, key: &str) -> Option<Arc<OpenFile>> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, file)| Arc::clone(file))
    }

    /// Keeps a file open; the one kept longest is closed when there are too many.
    pub(super) fn keep_file(&self, key: &str, file: Arc<OpenFile>) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if files.len() >= OPEN_FILES {
            files.pop_front();
        }
        files.push_back((key.to_owned(), file));
    }

    /// The head, when it is there already.
    pub(super) fn ready(&self, key: &str) -> Option<Head> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.heads.get(key).and_then(|cell| cell.get())
    }

    /// Keeps a head.
    pub(super) fn insert(&self, key: &str, head: Head) {
        let cell = Arc::new(Once::ready(head.clone()));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.heads.insert(key.to_owned(), cell);
        drop(state);
        self.account(key, &head);
    }

    /// The head, fetched by the first caller; the others wait for it.
    pub(super) async fn get_or_fetch(
        &self,
        key: &str,
        fetch: impl Future<Output = Result<Head, StoreError>>,
    ) -> Result<Head, StoreError> {
        let cell = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(state.heads.entry(key.to_owned()).or_default())
        };
        let mut fetched = false;
        let head = cell
            .get_or_load(async {
                fetched = true;
                fetch.await
            })
            .await?;
        if fetched {
            self.account(key, &head);
        }
        Ok(head)
    }

    fn account(&self, key: &str, head: &Head) {
        let weight = head.as_ref().map_or(256, |h| h.weight());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.weight = state.weight.saturating_add(weight);
        state.order.push_back((key.to_owned(), weight));
        while state.weight > self.limit {
            let Some((old, freed)) = state.order.pop_front() else {
                break;
            };
            state.weight = state.weight.saturating_sub(freed);
            state.heads.remove(&old);
        }
    }
}

//! The cache of chunk heads, and the buffers that reads reuse.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use zvf_blosc::{BlockTable, Body, Codecs, DecodeError, Header, Pipeline, Special, SpecialKind};

use zvf_grid::int::wide;

/// Limit of the bytes of cached chunk heads. When they exceed it, all are dropped.
const TABLES: usize = 64 << 20;

/// Header, block table and dictionary of one chunk, which are read before its blocks.
#[derive(Debug)]
pub(crate) struct ChunkHead {
    pub(crate) header: Header,
    pub(crate) pipeline: Option<Pipeline>,
    /// The chunk's first bytes, through the dictionary; for a special chunk, through its value.
    head: Vec<u8>,
    /// For each block, the end of its stored bytes: the start of the next stored block, or the end of the chunk.
    ends: Vec<u32>,
}

impl ChunkHead {
    /// The length of the prefix that [`Self::new`] needs. It can grow once `prefix` contains the
    /// size of the dictionary.
    pub(crate) fn needs(header: &Header, prefix: &[u8]) -> usize {
        let end = header.table_end();
        match header.body() {
            Body::Special(_) => header.cbytes(),
            Body::Compressed if header.has_dictionary() => {
                let field = prefix.get(end..).and_then(|rest| rest.first_chunk::<4>());
                let more = field.map_or(0, |field| u32::from_le_bytes(*field).min(32768));
                (end + 4 + zvf_grid::int::index(more)).min(header.cbytes())
            }
            _ => end,
        }
    }

    /// Creates the head of a chunk that begins with `bytes`.
    pub(crate) fn new(
        header: Header,
        bytes: &[u8],
        frame_typesize: usize,
    ) -> Result<Self, DecodeError> {
        let needs = Self::needs(&header, bytes);
        let head = bytes.get(..needs).unwrap_or(bytes).to_vec();
        let mut ends = Vec::new();
        let mut pipeline = None;
        if header.body() == Body::Compressed {
            let table = BlockTable::parse(&header, &head)?;
            pipeline = Some(header.pipeline(frame_typesize)?);
            let mut starts: Vec<(usize, usize)> = (0..table.len())
                .filter_map(|block| Some((table.start(block).ok()?, block)))
                .collect();
            starts.sort_unstable();
            ends.resize(table.len(), 0);
            let mut end = header.cbytes();
            for (start, block) in starts.into_iter().rev() {
                if let Some(place) = ends.get_mut(block) {
                    *place = u32::try_from(end).unwrap_or(u32::MAX);
                }
                end = start;
            }
        }
        Ok(Self {
            header,
            pipeline,
            head,
            ends,
        })
    }

    /// The range of bytes of a block in the chunk.
    pub(crate) fn extent(&self, block: usize) -> Result<std::ops::Range<usize>, DecodeError> {
        if self.header.body() == Body::Compressed {
            let start = BlockTable::parse(&self.header, &self.head)?.start(block)?;
            let end = self
                .ends
                .get(block)
                .copied()
                .map_or(start, zvf_grid::int::index);
            return Ok(start..end.max(start));
        }
        let start = self.header.len() + block.saturating_mul(self.header.blocksize());
        let end = start + self.header.block_len(block);
        if end > self.header.cbytes() {
            let (have, need) = (wide(self.header.cbytes()), wide(end));
            return Err(DecodeError::truncated(
                "stored block",
                wide(start),
                have,
                need,
            ));
        }
        Ok(start..end)
    }

    pub(crate) fn dictionary(&self) -> Option<&[u8]> {
        BlockTable::parse(&self.header, &self.head)
            .ok()?
            .dictionary()
    }

    /// The content of a special chunk; `None` for other chunks.
    pub(crate) fn special(&self) -> Result<Option<Special<'_>>, DecodeError> {
        match self.header.body() {
            Body::Special(SpecialKind::Value) => {
                let value = self.head.get(self.header.len()..).unwrap_or_default();
                Ok(Some(Special::Value(value)))
            }
            Body::Special(kind) => Special::of(kind, self.header.typesize()).map(Some),
            _ => Ok(None),
        }
    }

    fn weight(&self) -> usize {
        self.head.len() + 4 * self.ends.len() + 128
    }
}

/// Cached heads of chunks.
#[derive(Debug, Default)]
pub(crate) struct ChunkHeadCache {
    kept: Mutex<(HashMap<u64, Arc<ChunkHead>>, usize)>,
}

impl ChunkHeadCache {
    pub(crate) fn get(&self, chunk: u64) -> Option<Arc<ChunkHead>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0.get(&chunk).cloned()
    }

    pub(crate) fn keep(&self, chunk: u64, table: ChunkHead) -> Arc<ChunkHead> {
        let table = Arc::new(table);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (map, weight) = &mut *kept;
        if *weight > TABLES {
            map.clear();
            *weight = 0;
        }
        *weight += table.weight();
        map.insert(chunk, Arc::clone(&table));
        table
    }
}

/// Buffers and codecs of one thread.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) codecs: Codecs,
    /// Bytes as read.
    pub(crate) raw: Vec<u8>,
    /// Segments of `raw`: where each begins in the chunk, its length, and its place in `raw`.
    pub(crate) segments: Vec<(usize, usize, usize)>,
    /// Ranges to read next.
    pub(crate) extents: Vec<std::ops::Range<usize>>,
    /// A block whose filters are not decoded yet.
    pub(crate) scratch: Vec<u8>,
    /// A decoded block, if it is not decoded in place.
    pub(crate) block: Vec<u8>,
    /// A decoded block of the chunk; used if the chunk is divided into blocks of another size than the array states.
    pub(crate) piece: Vec<u8>,
    /// Block 0 of the chunk `reference_of`, if chunks have delta.
    pub(crate) reference: Vec<u8>,
    pub(crate) reference_of: Option<u64>,
}

/// Workspaces that no thread is using.
#[derive(Debug, Default)]
pub(crate) struct WorkspacePool(Mutex<Vec<Workspace>>);

impl WorkspacePool {
    pub(crate) fn take(&self) -> Workspace {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
            .unwrap_or_default()
    }

    pub(crate) fn put(&self, workspace: Workspace) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(workspace);
    }
}

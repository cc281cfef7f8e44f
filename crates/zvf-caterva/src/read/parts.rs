//! The parsed parts of an opened frame, shared by all readers.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use zvf_blosc::{Chunk, Codecs, DecodeError, Header, LONG};

use super::Error;
use super::cache::{ChunkHead, ChunkHeadCache, WorkspacePool};
use super::index::FrameIndex;
use crate::view::find_nd;
use crate::{FrameHeader, FrameLayout, Geometry, Metalayers, NdKind, TrailerTail};
use zvf_grid::int::{index, wide};

/// Format and text of an item type, if the metalayer has them.
pub(crate) type StoredDtype = Option<(u8, Vec<u8>)>;

/// Counts of reads and decoded blocks since a frame was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ReadCounts {
    /// Ranges read from files or objects, opening included. Bytes in memory are not counted.
    pub reads: u64,
    /// Bytes of those ranges.
    pub bytes: u64,
    /// Blocks decoded or copied out of stored chunks.
    pub blocks: u64,
}

#[derive(Debug, Default)]
pub(crate) struct ReadCounters {
    pub(crate) reads: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) blocks: AtomicU64,
}

impl ReadCounters {
    pub(crate) fn read(&self, bytes: usize) {
        self.reads.fetch_add(1, Relaxed);
        self.bytes.fetch_add(wide(bytes), Relaxed);
    }

    pub(crate) fn get(&self) -> ReadCounts {
        ReadCounts {
            reads: self.reads.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            blocks: self.blocks.load(Relaxed),
        }
    }
}

/// Why [`FrameParts::open`] returned no frame.
pub(crate) enum Stop {
    /// These bytes have to be read first: more of the head, or the tail.
    Lacks(Range<u64>),
    /// The frame is refused.
    Refused(Error),
}

impl From<DecodeError> for Stop {
    fn from(error: DecodeError) -> Self {
        Self::Refused(Error::Frame(error))
    }
}

/// The result of [`FrameParts::table`].
pub(crate) enum TableRead {
    /// The chunk must be read up to this many bytes.
    Lacks(usize),
    Table(Arc<ChunkHead>),
}

/// An opened frame without its byte source.
#[derive(Debug)]
pub(crate) struct FrameParts {
    pub(crate) header: FrameHeader,
    head: Vec<u8>,
    trailer: Vec<u8>,
    pub(crate) index: FrameIndex,
    pub(crate) tables: ChunkHeadCache,
    pub(crate) pool: WorkspacePool,
    pub(crate) counters: ReadCounters,
}

impl FrameParts {
    /// Bytes to read first: enough for the header of nearly every frame.
    pub(crate) const FIRST: usize = 4096;
    /// Most bytes from the index to the end of the frame that are read into memory: an index of 2^27 stored entries.
    const TAIL: u64 = 1 << 30;

    /// Opens a frame from its first bytes, `head`. `tail` holds the bytes from the index to the end of the frame, if they
    /// were read already. `size` is the number of available bytes from the start of the frame, if known.
    pub(crate) fn open(
        head: &[u8],
        tail: Option<&[u8]>,
        size: Option<u64>,
        layout: FrameLayout,
    ) -> Result<Self, Stop> {
        let header = FrameHeader::parse(head)?;
        check_layout(&header, layout)?;
        if let Some(size) = size {
            header.check_available(size)?;
        }
        let Some(own) = head.get(..index(header.header_len)) else {
            return Err(Stop::Lacks(0..u64::from(header.header_len)));
        };
        let from = header.index_start().unwrap_or(u64::MAX);
        let length = header.frame_len.saturating_sub(from);
        if length > Self::TAIL {
            let error = DecodeError::limit("index and trailer", from, length, Self::TAIL);
            return Err(error.into());
        }
        let (start, stop) = (usize::try_from(from), usize::try_from(header.frame_len));
        let whole = start.ok().zip(stop.ok());
        let whole = whole.and_then(|(start, stop)| head.get(start..stop));
        let Some(tail) = tail.or(whole) else {
            return Err(Stop::Lacks(from..header.frame_len));
        };
        let available = from.saturating_add(wide(tail.len()));
        header.check_available(available)?;
        Ok(Self::new(header, own.to_vec(), tail)?)
    }

    /// Creates the parts from the first `header_len` bytes and from the bytes from the index to the end of the frame.
    fn new(header: FrameHeader, head: Vec<u8>, tail: &[u8]) -> Result<Self, DecodeError> {
        Metalayers::of_header(&head)?;
        let end = tail
            .get(tail.len().saturating_sub(TrailerTail::LEN)..)
            .unwrap_or_default();
        let end = TrailerTail::parse(end, &header)?;
        let length = index(end.trailer_len);
        let (between, trailer) = tail.split_at(tail.len().saturating_sub(length));
        let at = header.frame_len.saturating_sub(wide(length));
        Metalayers::of_trailer(trailer, at)?;
        let index = FrameIndex::new(header, between)?;
        let trailer = trailer.to_vec();
        Ok(Self {
            header,
            head,
            trailer,
            index,
            tables: ChunkHeadCache::default(),
            pool: WorkspacePool::default(),
            counters: ReadCounters::default(),
        })
    }

    pub(crate) fn metalayers(&self) -> Result<Metalayers<'_>, Error> {
        Metalayers::of_header(&self.head).map_err(Error::Frame)
    }

    pub(crate) fn vlmetalayers(&self) -> Result<Metalayers<'_>, Error> {
        let at = self
            .header
            .frame_len
            .saturating_sub(wide(self.trailer.len()));
        Metalayers::of_trailer(&self.trailer, at).map_err(Error::Frame)
    }

    /// The decoded content of a variable-length metalayer.
    pub(crate) fn vlmeta(&self, name: &str, cap: usize) -> Result<Option<Vec<u8>>, Error> {
        let Some(content) = self.vlmetalayers()?.get(name) else {
            return Ok(None);
        };
        let chunk = Chunk::parse(content).map_err(Error::Frame)?;
        chunk
            .decode_vec(1, cap, &mut Codecs::new())
            .map(Some)
            .map_err(Error::Frame)
    }

    /// Geometry and item type of the frame's array.
    pub(crate) fn array(&self) -> Result<(Geometry, NdKind, StoredDtype), Error> {
        let layers = self.metalayers()?;
        let meta = find_nd(&layers)
            .map_err(Error::Frame)?
            .ok_or(Error::NotAnArray)?;
        let geometry = Geometry::of_frame(&self.header, &meta).map_err(Error::Frame)?;
        let dtype = meta.dtype().map(|(format, text)| (format, text.to_vec()));
        Ok((geometry, meta.kind(), dtype))
    }

    /// Parses the header of a chunk that ends within `most` bytes. A chunk that does not have the expected length is refused
    /// before memory is allocated for it.
    pub(crate) fn chunk_header(
        &self,
        chunk: u64,
        bytes: &[u8],
        most: u64,
    ) -> Result<Header, Error> {
        let bad = Error::chunk(chunk);
        let header = Header::parse_for(bytes, self.header.chunk_len(chunk)).map_err(&bad)?;
        let need = wide(header.cbytes());
        if need > most {
            return Err(bad(DecodeError::truncated("chunk", 0, most, need)));
        }
        Ok(header)
    }

    /// Parses header and block table of a chunk from its first bytes, or returns how many first bytes are needed. The chunk
    /// has at most `most` bytes. If `bytes` is empty, `guess` bytes are requested: at least a header.
    pub(crate) fn table(
        &self,
        chunk: u64,
        bytes: &[u8],
        most: u64,
        guess: usize,
    ) -> Result<TableRead, Error> {
        let limit = usize::try_from(most).unwrap_or(usize::MAX);
        if bytes.is_empty() && limit > 0 {
            return Ok(TableRead::Lacks(guess.min(limit)));
        }
        let header = self.chunk_header(chunk, bytes, most)?;
        // The size of a dictionary is stored after the table: at most two more reads.
        let needs = ChunkHead::needs(&header, bytes);
        if bytes.len() < needs && bytes.len() < limit {
            return Ok(TableRead::Lacks(needs.min(limit)));
        }
        let bad = Error::chunk(chunk);
        let table = ChunkHead::new(header, bytes, index(self.header.typesize)).map_err(bad)?;
        Ok(TableRead::Table(self.tables.keep(chunk, table)))
    }

    /// Bytes that hold the table of most chunks of `blocks` blocks.
    pub(crate) fn table_guess(blocks: usize) -> usize {
        LONG.saturating_add(blocks.saturating_mul(4)).min(64 << 10)
    }
}

/// Checks that the header states the layout of the frame that is opened.
fn check_layout(header: &FrameHeader, layout: FrameLayout) -> Result<(), DecodeError> {
    if header.layout == layout {
        return Ok(());
    }
    let expected = zvf_blosc::Expected::Text("0 in a file, 1 in the folder of a sparse frame");
    let found = i64::from(header.layout == FrameLayout::Sparse);
    Err(DecodeError::malformed("frame type", 26, found, expected))
}

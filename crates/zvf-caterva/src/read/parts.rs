//! What every kind of reader keeps of an opened frame.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use zvf_blosc::{Chunk, Codecs, DecodeError};

use super::Error;
use super::cache::{Pool, Tables};
use super::index::Index;
use crate::view::find_nd;
use crate::{FrameHeader, Geometry, Metalayers, NdKind, TrailerTail};
use zvf_grid::int::{index, wide};

/// Format and text of an item type, where the metalayer has them.
pub(crate) type StoredDtype = Option<(u8, Vec<u8>)>;

/// Reads and decodes since a frame was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Ranges read from files or objects, opening included. Bytes in memory are not counted.
    pub reads: u64,
    /// Bytes of those ranges.
    pub bytes: u64,
    /// Blocks decoded or copied out of stored chunks.
    pub blocks: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) reads: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) blocks: AtomicU64,
}

impl Counters {
    pub(crate) fn read(&self, bytes: usize) {
        self.reads.fetch_add(1, Relaxed);
        self.bytes.fetch_add(wide(bytes), Relaxed);
    }

    pub(crate) fn get(&self) -> Counts {
        Counts {
            reads: self.reads.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            blocks: self.blocks.load(Relaxed),
        }
    }
}

/// An opened frame without the way to its bytes.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) header: FrameHeader,
    head: Vec<u8>,
    trailer: Vec<u8>,
    pub(crate) index: Index,
    pub(crate) tables: Tables,
    pub(crate) pool: Pool,
    pub(crate) counters: Counters,
}

impl Parts {
    /// Bytes to read first: enough for the header of nearly every frame.
    pub(crate) const FIRST: usize = 4096;
    /// Most bytes from the index to the end of the frame that are read into memory: an index of 2^27 stored entries.
    const TAIL: u64 = 1 << 30;

    /// How many bytes there are from the index to the end of the frame. A header that leaves out most of a large file is
    /// refused.
    pub(crate) fn tail_len(header: &FrameHeader) -> Result<u64, Error> {
        let from = header.index_start().unwrap_or(u64::MAX);
        let n = header.frame_len.saturating_sub(from);
        if n > Self::TAIL {
            let error = DecodeError::limit("index and trailer", from, n, Self::TAIL);
            return Err(Error::Frame(error));
        }
        Ok(n)
    }

    /// From the first `header_len` bytes, and those from the index to the end of the frame.
    pub(crate) fn new(header: FrameHeader, mut head: Vec<u8>, tail: &[u8]) -> Result<Self, Error> {
        head.truncate(index(header.header_len));
        Metalayers::of_header(&head).map_err(Error::Frame)?;
        let end = tail
            .get(tail.len().saturating_sub(TrailerTail::LEN)..)
            .unwrap_or_default();
        let end = TrailerTail::parse(end, &header).map_err(Error::Frame)?;
        let length = index(end.trailer_len);
        let (between, trailer) = tail.split_at(tail.len().saturating_sub(length));
        let at = header.frame_len.saturating_sub(wide(length));
        Metalayers::of_trailer(trailer, at).map_err(Error::Frame)?;
        let index = Index::new(header, between).map_err(Error::Frame)?;
        let trailer = trailer.to_vec();
        Ok(Self {
            header,
            head,
            trailer,
            index,
            tables: Tables::default(),
            pool: Pool::default(),
            counters: Counters::default(),
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

    /// The header of a chunk. One that is not of the expected length is refused before anything is allocated for it.
    pub(crate) fn chunk_header(
        &self,
        chunk: u64,
        bytes: &[u8],
    ) -> Result<zvf_blosc::Header, DecodeError> {
        zvf_blosc::Header::parse_for(bytes, self.header.chunk_len(chunk))
    }
}

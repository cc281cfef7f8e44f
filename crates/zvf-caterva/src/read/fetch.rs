//! Reads the bytes of one chunk: only those that its blocks need, in few reads (`spec/caterva-b2nd.md` 8).

use std::ops::Range;
use std::sync::Arc;

use zvf_grid::Merge;
use zvf_sys::ReadAt;

use super::Error;
use super::cache::{ChunkHead, Workspace};
use super::frame::{Frame, Storage, chunk_file};
use super::parts::{FrameParts, TableRead};
use crate::FrameLayout;
use zvf_grid::int::wide;

/// How to read. The default suits local files.
#[derive(Clone, Copy)]
pub struct ReadOptions<'a> {
    /// Threads to use, the calling one included; 0 for as many as the rayon pool has. Reads of remote frames ignore it.
    pub threads: usize,
    /// Largest gap between two needed blocks, in bytes, that is read rather than skipped.
    pub gap: usize,
    /// Chunks of at most this many stored bytes are read whole.
    pub whole_chunk: usize,
    /// Most stored bytes of blocks that are read from a file before they are decoded, so that they are still in the processor's cache. A
    /// single block may be larger. Reads of remote frames ignore it.
    pub piece: usize,
    /// Called with the numbers of chunk and block before a block is decoded or copied out of a stored chunk.
    pub observer: Option<&'a (dyn Fn(u64, u64) + Sync)>,
}

impl Default for ReadOptions<'_> {
    fn default() -> Self {
        Self {
            threads: 0,
            gap: 4096,
            whole_chunk: 64 << 10,
            piece: 256 << 10,
            observer: None,
        }
    }
}

impl std::fmt::Debug for ReadOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadOptions")
            .field("threads", &self.threads)
            .field("gap", &self.gap)
            .field("whole_chunk", &self.whole_chunk)
            .field("piece", &self.piece)
            .finish_non_exhaustive()
    }
}

impl ReadOptions<'_> {
    pub(crate) fn decoding(&self, chunk: u64, block: usize) {
        if let Some(observer) = self.observer {
            observer(chunk, wide(block));
        }
    }

    pub(crate) fn thread_count(&self) -> usize {
        match self.threads {
            0 => rayon::current_num_threads(),
            n => n,
        }
    }
}

/// The file of a chunk.
#[derive(Debug)]
enum ChunkFile<'a> {
    /// The file of the frame.
    Frame(&'a dyn ReadAt),
    /// The chunk's own file.
    Own(Box<dyn ReadAt>),
}

/// Where the bytes of a chunk are read from.
#[derive(Debug)]
pub(crate) struct ChunkSource<'a> {
    frame: &'a Frame,
    chunk: u64,
    /// The position in the index.
    at: u64,
    file: ChunkFile<'a>,
    /// Where the chunk begins in the file.
    start: u64,
}

impl Frame {
    pub(crate) fn chunk_source(&self, chunk: u64, at: u64) -> Result<ChunkSource<'_>, Error> {
        let (file, start) = match &self.storage {
            Storage::One { source, offset } => {
                let header = &self.parts.header;
                debug_assert_eq!(header.layout, FrameLayout::Contiguous);
                let start = u64::from(header.header_len).saturating_add(at);
                (ChunkFile::Frame(&**source), start.saturating_add(*offset))
            }
            Storage::Folder(folder) => {
                let failed = Error::io(format!("opening the file of chunk {chunk}"));
                let file = folder.open(&chunk_file(at)).map_err(failed)?;
                (ChunkFile::Own(file), 0)
            }
        };
        Ok(ChunkSource {
            frame: self,
            chunk,
            at,
            file,
            start,
        })
    }

    /// Returns header and block table of a chunk, and the first bytes of the chunk that were read for them; no bytes if the table was
    /// cached. Takes at most three reads. If a remote chunk has at most `whole` bytes, it is read whole.
    pub(crate) fn table(
        &self,
        source: &ChunkSource<'_>,
        whole: usize,
    ) -> Result<(Arc<ChunkHead>, Vec<u8>), Error> {
        let mut bytes = Vec::new();
        if let Some(table) = self.parts.tables.get(source.chunk) {
            return Ok((table, bytes));
        }
        let blocks = match u64::from(self.parts.header.blocksize) {
            0 => 0,
            each => self.parts.header.chunk_len(source.chunk).div_ceil(each),
        };
        let most = source.available()?;
        let mut guess = FrameParts::table_guess(usize::try_from(blocks).unwrap_or(usize::MAX));
        if self.remote && most <= wide(whole) {
            guess = guess.max(whole);
        }
        loop {
            match self.parts.table(source.chunk, &bytes, most, guess)? {
                TableRead::Table(table) => return Ok((table, bytes)),
                TableRead::Lacks(n) => bytes = source.read(0, wide(n))?,
            }
        }
    }
}

impl ChunkSource<'_> {
    fn file(&self) -> &dyn ReadAt {
        match &self.file {
            ChunkFile::Frame(file) => *file,
            ChunkFile::Own(file) => &**file,
        }
    }

    /// The largest number of bytes that the chunk can have in its file.
    pub(crate) fn available(&self) -> Result<u64, Error> {
        let parts = &self.frame.parts;
        match &self.file {
            // A tight bound shows whether the chunk is small enough to read whole.
            ChunkFile::Frame(_) if self.frame.remote => {
                Ok(parts.index.next_above(self.at).saturating_sub(self.at))
            }
            ChunkFile::Frame(_) => Ok(parts.header.cbytes.saturating_sub(self.at)),
            ChunkFile::Own(file) => file
                .size()
                .map_err(Error::io(format!("reading chunk {}", self.chunk))),
        }
    }

    pub(crate) fn read(&self, at: u64, n: u64) -> Result<Vec<u8>, Error> {
        let n = usize::try_from(n).map_err(|_| Error::Memory { bytes: n })?;
        let mut out = vec![0; n];
        self.read_into(at, &mut out)?;
        Ok(out)
    }

    fn read_into(&self, at: u64, out: &mut [u8]) -> Result<(), Error> {
        self.read_all(&mut [(self.start.saturating_add(at), out)])
    }

    /// Reads parts of the file.
    fn read_all(&self, parts: &mut [(u64, &mut [u8])]) -> Result<(), Error> {
        let file = self.file();
        if file.bytes().is_none() {
            let counters = &self.frame.parts.counters;
            parts.iter().for_each(|(_, out)| counters.read(out.len()));
        }
        let failed = Error::io(format!("reading chunk {}", self.chunk));
        file.read_all(parts).map_err(failed)
    }

    /// The chunk, if its bytes are in memory.
    pub(crate) fn bytes(&self, cbytes: usize) -> Option<&[u8]> {
        self.file().slice(self.start, wide(cbytes))
    }

    /// Reads ranges of the chunk, in ascending order, into the workspace.
    pub(crate) fn read_ranges(
        &self,
        ranges: &[Range<usize>],
        work: &mut Workspace,
    ) -> Result<(), Error> {
        work.segments.clear();
        let total: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        if work.raw.len() < total {
            work.raw.resize(total, 0);
        }
        let mut rest = work.raw.get_mut(..total).unwrap_or_default();
        let mut parts = Vec::with_capacity(ranges.len());
        let mut place = 0;
        for range in ranges {
            let (out, after) = rest.split_at_mut(range.len());
            parts.push((self.start.saturating_add(wide(range.start)), out));
            work.segments.push((range.start, range.len(), place));
            place += range.len();
            rest = after;
        }
        self.read_all(&mut parts)
    }
}

/// The ranges to read for these extents: the whole chunk if it is small, otherwise the extents, with neighbours
/// joined across gaps of at most `options.gap`.
pub(crate) fn coalesce(
    cbytes: usize,
    extents: &mut Vec<Range<usize>>,
    options: &ReadOptions<'_>,
) -> Vec<Range<usize>> {
    extents.retain(|extent| !extent.is_empty());
    extents.sort_unstable_by_key(|extent| extent.start);
    extents.dedup();
    if extents.is_empty() {
        return Vec::new();
    }
    if cbytes <= options.whole_chunk {
        return std::iter::once(0..cbytes).collect();
    }
    let merge = Merge {
        gap: wide(options.gap),
        most: u64::MAX,
    };
    let mut rest = &extents[..];
    let positions = extents.iter().map(|one| wide(one.start)..wide(one.end));
    let joined = merge.requests(positions).map_while(|(_, count)| {
        let (own, after) = rest.split_at_checked(count)?;
        rest = after;
        Some(own.first()?.start..own.iter().map(|one| one.end).max()?)
    });
    joined.collect()
}

/// Bytes that were read, addressed by their position in the chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FetchedBytes<'a> {
    /// The chunk from its first byte.
    Whole(&'a [u8]),
    /// Segments, ascending.
    Pieces(&'a [u8], &'a [(usize, usize, usize)]),
}

impl<'a> FetchedBytes<'a> {
    pub(crate) fn get(&self, range: &Range<usize>) -> Option<&'a [u8]> {
        match *self {
            Self::Whole(bytes) => bytes.get(range.clone()),
            Self::Pieces(raw, segments) => {
                let next = segments.partition_point(|(start, ..)| *start <= range.start);
                let (start, n, place) = segments.get(next.checked_sub(1)?)?;
                let from = range.start - start;
                raw.get(*place..place + n)?
                    .get(from..from.checked_add(range.len())?)
            }
        }
    }
}

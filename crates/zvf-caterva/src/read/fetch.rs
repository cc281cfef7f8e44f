//! Getting the bytes of one chunk, as few and in as few reads as its blocks need (`spec/caterva-b2nd.md` 8).

use std::ops::Range;
use std::sync::Arc;

use zvf_grid::Merge;

use super::Error;
use super::cache::{Table, Workspace};
use super::frame::{Frame, Storage, open_chunk_file};
use super::parts::{Parts, TableRead};
use super::source::{FileAt, ReadAt};
use crate::Layout;
use zvf_grid::int::wide;

/// How to read. The default suits local files.
#[derive(Clone, Copy)]
pub struct ReadOptions<'a> {
    /// Threads to use, this one included; 0 for as many as the rayon pool has.
    pub threads: usize,
    /// Bytes between two needed blocks that are read along rather than skipped.
    pub gap: usize,
    /// Chunks of at most this many stored bytes are read whole.
    pub whole_chunk: usize,
    /// Stored bytes of blocks that are read from a file before they are decoded, so that they are still in the processor's
    /// cache then. A block is never cut, and a request to an object store never bounded by this.
    pub piece: usize,
    /// Called with chunk and block before every block that is decoded or copied out of a stored chunk.
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

/// A source that starts with a chunk.
#[derive(Debug)]
pub(crate) struct ChunkSource<'a> {
    frame: &'a Frame,
    chunk: u64,
    file: Option<FileAt>,
    start: u64,
    /// Bytes from the start of the chunk to where it has to end at the latest.
    pub(crate) available: u64,
}

impl Frame {
    pub(crate) fn chunk_source(&self, chunk: u64, at: u64) -> Result<ChunkSource<'_>, Error> {
        match &self.storage {
            Storage::One { offset, .. } => {
                let header = &self.parts.header;
                debug_assert_eq!(header.layout, Layout::Contiguous);
                let start = u64::from(header.header_len).saturating_add(at);
                let available = header.cbytes.saturating_sub(at);
                let start = start.saturating_add(*offset);
                Ok(ChunkSource {
                    frame: self,
                    chunk,
                    file: None,
                    start,
                    available,
                })
            }
            Storage::Folder(folder) => {
                let file = open_chunk_file(folder, at)?;
                let available = file
                    .size()
                    .map_err(Error::io(format!("reading chunk {chunk}")))?;
                Ok(ChunkSource {
                    frame: self,
                    chunk,
                    file: Some(file),
                    start: 0,
                    available,
                })
            }
        }
    }

    /// Header and block table of a chunk, from the cache or by at most three reads.
    pub(crate) fn table(&self, source: &ChunkSource<'_>) -> Result<Arc<Table>, Error> {
        let blocks = match u64::from(self.parts.header.blocksize) {
            0 => 0,
            each => self.parts.header.chunk_len(source.chunk).div_ceil(each),
        };
        let guess = Parts::table_guess(usize::try_from(blocks).unwrap_or(usize::MAX));
        let (most, mut bytes) = (source.available, Vec::new());
        loop {
            match self.parts.table(source.chunk, &bytes, most, guess)? {
                TableRead::Table(table) => return Ok(table),
                TableRead::Lacks(n) => bytes = source.read(0, wide(n))?,
            }
        }
    }
}

impl ChunkSource<'_> {
    fn source(&self) -> &dyn ReadAt {
        match (&self.file, &self.frame.storage) {
            (Some(file), _) => file,
            (None, Storage::One { source, .. }) => &**source,
            // A folder's chunks have files.
            (None, Storage::Folder(_)) => &NOTHING,
        }
    }

    pub(crate) fn read(&self, at: u64, n: u64) -> Result<Vec<u8>, Error> {
        let n = usize::try_from(n).map_err(|_| Error::Memory { bytes: n })?;
        let mut out = vec![0; n];
        self.read_into(at, &mut out)?;
        Ok(out)
    }

    fn read_into(&self, at: u64, out: &mut [u8]) -> Result<(), Error> {
        let source = self.source();
        if source.bytes().is_none() {
            self.frame.parts.counters.read(out.len());
        }
        let failed = Error::io(format!("reading chunk {}", self.chunk));
        source
            .read_at(self.start.saturating_add(at), out)
            .map_err(failed)
    }

    /// The chunk, if its bytes are in memory.
    pub(crate) fn bytes(&self, cbytes: usize) -> Option<&[u8]> {
        let from = usize::try_from(self.start).ok()?;
        self.source().bytes()?.get(from..)?.get(..cbytes)
    }

    /// Reads the extents of some blocks, in any order, into the workspace.
    pub(crate) fn read_extents(
        &self,
        table: &Table,
        extents: &mut Vec<Range<usize>>,
        options: &ReadOptions<'_>,
        work: &mut Workspace,
    ) -> Result<(), Error> {
        work.segments.clear();
        let ranges = coalesce(table.header.cbytes(), extents, options);
        let total: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        if work.raw.len() < total {
            work.raw.resize(total, 0);
        }
        let mut place = 0;
        for range in ranges {
            let n = range.len();
            let out = work.raw.get_mut(place..place + n).unwrap_or_default();
            self.read_into(wide(range.start), out)?;
            work.segments.push((range.start, n, place));
            place += n;
        }
        Ok(())
    }
}

/// The ranges to read for these extents: the whole chunk where it is small, otherwise the extents, with neighbours
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

/// Bytes that were read, found by their place in the chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fetched<'a> {
    /// The chunk from its first byte.
    Whole(&'a [u8]),
    /// Segments, ascending.
    Pieces(&'a [u8], &'a [(usize, usize, usize)]),
}

impl<'a> Fetched<'a> {
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

/// A source without bytes.
static NOTHING: super::source::Memory<[u8; 0]> = super::source::Memory([]);

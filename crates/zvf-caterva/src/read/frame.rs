//! A frame in a file, a folder or memory.

use std::ops::Range;
use std::path::Path;

use zvf_blosc::{Chunk, Codecs, DecodeError};
use zvf_sys::{FileAt, Memory, ReadAt, ReadFolder};

use super::Error;
use super::parts::{FrameParts, ReadCounts, Stop};
use crate::{Entry, FrameHeader, FrameLayout, Metalayers, Special};
use zvf_grid::int::{index, wide};

/// The storage of the chunks.
#[derive(Debug)]
pub(crate) enum Storage {
    /// In one source; the frame begins at byte `offset`.
    One {
        source: Box<dyn ReadAt>,
        offset: u64,
    },
    /// Each chunk is a file in a folder.
    Folder(Box<dyn ReadFolder>),
}

/// A list of chunks with metadata: a contiguous frame or the folder of a sparse one.
///
/// # Examples
///
/// ```no_run
/// use zvf_caterva::Frame;
///
/// let frame = Frame::open("volume.b2nd")?;
/// println!("{} chunks", frame.header().chunk_count());
/// let array = frame.into_array()?;
/// # Ok::<(), zvf_caterva::Error>(())
/// ```
#[derive(Debug)]
pub struct Frame {
    pub(crate) parts: FrameParts,
    pub(crate) storage: Storage,
    /// Whether each read is a request to a server.
    pub(crate) remote: bool,
}

impl Frame {
    /// Name of the file in a sparse frame that holds everything except the chunks.
    pub const HEAD: &'static str = "chunks.b2frame";

    /// Opens a file, or a folder with a `chunks.b2frame` in it.
    ///
    /// # Cost
    ///
    /// One read of the first 4 KiB, another of the whole header if it is longer, and another of everything from the index
    /// on unless the bytes already read contain it.
    ///
    /// # Errors
    ///
    /// I/O; a frame that violates the format (`spec/caterva-b2nd.md` 9).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        if path.is_dir() {
            let head = Box::new(open(&path.join(Self::HEAD))?);
            return Self::from_folder(head, Box::new(path.to_owned()));
        }
        Self::open_at(path, 0)
    }

    /// Opens a contiguous frame that begins at byte `offset` of a file.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn open_at(path: impl AsRef<Path>, offset: u64) -> Result<Self, Error> {
        Self::from_source(Box::new(open(path.as_ref())?), offset)
    }

    /// A contiguous frame at the start of bytes in memory. Blocks are decoded without copying the stored bytes.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Self, Error> {
        Self::from_source(Box::new(Memory(bytes)), 0)
    }

    /// A contiguous frame that begins at byte `offset` of any source.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn from_source(source: Box<dyn ReadAt>, offset: u64) -> Result<Self, Error> {
        let parts = read_parts(&*source, offset, FrameLayout::Contiguous)?;
        Ok(Self {
            parts,
            remote: source.requests().is_some(),
            storage: Storage::One { source, offset },
        })
    }

    /// A sparse frame: its open file [`HEAD`](Self::HEAD), and the folder of its chunk files. A chunk file is opened when its chunk is
    /// read.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn from_folder(head: Box<dyn ReadAt>, folder: Box<dyn ReadFolder>) -> Result<Self, Error> {
        Ok(Self {
            parts: read_parts(&*head, 0, FrameLayout::Sparse)?,
            remote: head.requests().is_some(),
            storage: Storage::Folder(folder),
        })
    }

    /// The fixed header.
    #[must_use]
    pub const fn header(&self) -> &FrameHeader {
        &self.parts.header
    }

    /// The fixed metalayers; their contents are not compressed.
    ///
    /// # Errors
    ///
    /// None for an opened frame: they were checked.
    pub fn metalayers(&self) -> Result<Metalayers<'_>, Error> {
        self.parts.metalayers()
    }

    /// The variable-length metalayers, as stored: each content is a chunk.
    ///
    /// # Errors
    ///
    /// None for an opened frame: they were checked.
    pub fn vlmetalayers(&self) -> Result<Metalayers<'_>, Error> {
        self.parts.vlmetalayers()
    }

    /// The decoded content of one variable-length metalayer, of at most `cap` bytes; `None` for an unknown name.
    ///
    /// # Errors
    ///
    /// As [`Chunk::decode_vec`].
    pub fn vlmeta(&self, name: &str, cap: usize) -> Result<Option<Vec<u8>>, Error> {
        self.parts.vlmeta(name, cap)
    }

    /// The index entry of chunk `chunk`.
    ///
    /// # Errors
    ///
    /// [`Error::Absent`]; [`Error::Chunk`] for an invalid entry.
    pub fn entry(&self, chunk: u64) -> Result<Entry, Error> {
        if chunk >= self.parts.header.chunk_count() {
            return Err(Error::Absent {
                what: format!("chunk {chunk}"),
            });
        }
        self.parts.index.entry(chunk).map_err(Error::chunk(chunk))
    }

    /// Decodes one whole chunk of at most `cap` bytes, with its blocks in stored order.
    ///
    /// # Errors
    ///
    /// [`Error::Absent`]; [`Error::Chunk`]; I/O.
    pub fn chunk(&self, chunk: u64, cap: usize) -> Result<Vec<u8>, Error> {
        let typesize = index(self.parts.header.typesize);
        let length = self.parts.header.chunk_len(chunk);
        let bad = Error::chunk(chunk);
        match self.entry(chunk)? {
            Entry::Special(kind) => {
                let n = usize::try_from(length).ok().filter(|n| *n <= cap);
                let n = n.ok_or_else(|| bad(DecodeError::limit("chunk", 0, length, wide(cap))))?;
                let mut out = vec![0; n];
                Special::of(kind, typesize).map_err(&bad)?.fill(0, &mut out);
                Ok(out)
            }
            Entry::At(at) => {
                let bytes = self.stored_chunk(chunk, at)?;
                let view = Chunk::parse(&bytes).map_err(&bad)?;
                view.decode_vec(typesize, cap, &mut Codecs::new())
                    .map_err(bad)
            }
        }
    }

    /// The stored bytes of a chunk.
    fn stored_chunk(&self, chunk: u64, at: u64) -> Result<Vec<u8>, Error> {
        let source = self.chunk_source(chunk, at)?;
        let available = source.available()?;
        let first = source.read(0, available.min(wide(zvf_blosc::LONG)))?;
        let header = self.parts.chunk_header(chunk, &first, available)?;
        source.read(0, wide(header.cbytes()))
    }

    /// Counts of reads and decoded blocks, including the reads of opening.
    #[must_use]
    pub fn counts(&self) -> ReadCounts {
        self.parts.counters.get()
    }
}

fn open(path: &Path) -> Result<FileAt, Error> {
    FileAt::open(path).map_err(Error::io(format!("opening {}", path.display())))
}

/// File name of a chunk in a sparse frame.
pub(crate) fn chunk_file(number: u64) -> String {
    format!("{number:08X}.chunk")
}

/// Reads all parts of a frame except its chunks.
fn read_parts(source: &dyn ReadAt, offset: u64, layout: FrameLayout) -> Result<FrameParts, Error> {
    let failed = || Error::io("reading a frame");
    let size = source.size().map_err(failed())?.saturating_sub(offset);
    let mut reads = Vec::new();
    let mut read = |range: Range<u64>| -> Result<Vec<u8>, Error> {
        let bytes = range.end.saturating_sub(range.start);
        let n = usize::try_from(bytes).map_err(|_| Error::Memory { bytes })?;
        let mut out = vec![0; n];
        let at = offset.saturating_add(range.start);
        source.read_at(at, &mut out).map_err(failed())?;
        reads.push(n);
        Ok(out)
    };
    let mut head = read(0..size.min(wide(FrameParts::FIRST)))?;
    let mut tail = None;
    let parts = loop {
        match FrameParts::open(&head, tail.as_deref(), Some(size), layout) {
            Ok(parts) => break parts,
            Err(Stop::Refused(error)) => return Err(error),
            Err(Stop::Lacks(range)) if range.start == 0 => head = read(range)?,
            Err(Stop::Lacks(range)) => tail = Some(read(range)?),
        }
    };
    reads.into_iter().for_each(|n| parts.counters.read(n));
    Ok(parts)
}

//! Where the bytes of a file come from: memory, plain reads, a map.

use std::fs::File;
use std::io;
use std::vec::Vec;

use zvf_grid::int::wide;

/// The bytes of one file.
#[derive(Debug)]
pub(crate) enum Source {
    /// All of them in memory.
    Memory(Vec<u8>),
    /// Read when they are needed.
    File { file: File, len: u64 },
    /// Mapped.
    #[cfg(feature = "mmap")]
    Map(zvf_sys::Map),
}

impl Source {
    pub(crate) fn file(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self::File { file, len })
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File { len, .. } => *len,
            other => wide(other.all().map_or(0, <[u8]>::len)),
        }
    }

    /// All bytes, where they can be borrowed.
    pub(crate) fn all(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            Self::File { .. } => None,
            #[cfg(feature = "mmap")]
            Self::Map(map) => Some(map),
        }
    }

    /// Bytes `offset .. offset + len`, where they can be borrowed and are there.
    pub(crate) fn slice(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.all()?
            .get(start..start.checked_add(usize::try_from(len).ok()?)?)
    }

    /// Fills `into` with the bytes from `offset` on.
    pub(crate) fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            Self::File { file, .. } => read_exact_at(file, offset, into),
            other => match other.slice(offset, wide(into.len())) {
                Some(bytes) => {
                    into.copy_from_slice(bytes);
                    Ok(())
                }
                None => Err(io::ErrorKind::UnexpectedEof.into()),
            },
        }
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, into: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut offset: u64, mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, into, offset)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        offset += wide(read);
        into = into.get_mut(read..).unwrap_or(&mut []);
    }
    Ok(())
}

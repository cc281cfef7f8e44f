//! Reads files by position: [`ReadAt`].

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use zvf_grid::Merge;
use zvf_grid::int::wide;

use crate::regular_file::open_file;

/// Reads ranges of one file: in memory, mapped, on a disk, or on a server. Reads do not depend on a cursor, so several threads can read
/// concurrently.
///
/// ```
/// use zvf_sys::{Memory, ReadAt};
///
/// let file: Box<dyn ReadAt> = Box::new(Memory(b"TETR\x01\0"));
/// let mut magic = [0; 4];
/// file.read_at(0, &mut magic)?;
/// assert_eq!((&magic, file.slice(4, 2)), (b"TETR", Some(b"\x01\0".as_slice())));
/// assert!(file.read_at(4, &mut magic).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait ReadAt: Send + Sync + fmt::Debug {
    /// The length of the file in bytes.
    ///
    /// # Errors
    /// Errors of the operating system or the server.
    fn size(&self) -> io::Result<u64>;

    /// Fills `out` with the bytes that start at position `at`.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the file ends before `out` is full; errors of the operating system or the server.
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()>;

    /// Fills several buffers, each with the bytes that start at its position. For files on a server, the requests are sent concurrently.
    ///
    /// # Errors
    /// As [`read_at`](Self::read_at): the error of one of the failed reads.
    fn read_all(&self, parts: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        parts
            .iter_mut()
            .try_for_each(|(at, out)| self.read_at(*at, out))
    }

    /// All bytes, if they are in memory or mapped. Readers decode them in place.
    fn bytes(&self) -> Option<&[u8]> {
        None
    }

    /// The cost of reads; `None` if reads are not requests to a server.
    fn requests(&self) -> Option<RequestCost> {
        None
    }
}

impl dyn ReadAt + '_ {
    /// The bytes `at .. at + len`, if they exist and are in memory or mapped.
    #[must_use]
    pub fn slice(&self, at: u64, len: u64) -> Option<&[u8]> {
        let start = usize::try_from(at).ok()?;
        self.bytes()?
            .get(start..start.checked_add(usize::try_from(len).ok()?)?)
    }
}

/// The cost of reads that are requests to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestCost {
    /// The rules by which neighbouring ranges are merged into one request.
    pub merge: Merge,
    /// Bytes at the start and at the end of a file that the first request there should include.
    pub ahead: u64,
}

/// The files of one folder, by name.
pub trait ReadFolder: Send + Sync + fmt::Debug {
    /// Opens a file. If it is missing, opening it or reading it fails.
    ///
    /// # Errors
    /// Errors of the operating system or the server.
    fn open(&self, name: &str) -> io::Result<Box<dyn ReadAt>>;
}

impl ReadFolder for PathBuf {
    fn open(&self, name: &str) -> io::Result<Box<dyn ReadAt>> {
        Ok(Box::new(FileAt::open(&self.join(name))?))
    }
}

/// A file on the local disk, read by position (`pread` on Unix).
#[derive(Debug)]
pub struct FileAt(
    #[cfg(any(unix, windows))] File,
    #[cfg(not(any(unix, windows)))] std::sync::Mutex<File>,
);

impl FileAt {
    /// Opens a regular file.
    ///
    /// # Errors
    /// As [`open_file`].
    pub fn open(path: &Path) -> io::Result<Self> {
        open_file(path).map(Self::new)
    }

    /// Reads an open file, wherever its cursor is.
    #[must_use]
    pub fn new(file: File) -> Self {
        #[cfg(any(unix, windows))]
        return Self(file);
        #[cfg(not(any(unix, windows)))]
        return Self(std::sync::Mutex::new(file));
    }
}

#[cfg(not(any(unix, windows)))]
impl FileAt {
    fn file(&self) -> std::sync::MutexGuard<'_, File> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl ReadAt for FileAt {
    #[cfg(any(unix, windows))]
    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    #[cfg(not(any(unix, windows)))]
    fn size(&self) -> io::Result<u64> {
        Ok(self.file().metadata()?.len())
    }

    #[cfg(unix)]
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, out, at)
    }

    #[cfg(windows)]
    fn read_at(&self, mut at: u64, mut out: &mut [u8]) -> io::Result<()> {
        while !out.is_empty() {
            let read = std::os::windows::fs::FileExt::seek_read(&self.0, out, at)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            at += wide(read);
            out = out.get_mut(read..).unwrap_or(&mut []);
        }
        Ok(())
    }

    #[cfg(not(any(unix, windows)))]
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        use std::io::{Read, Seek};
        let mut file = self.file();
        file.seek(io::SeekFrom::Start(at))?;
        file.read_exact(out)
    }
}

/// A file in memory.
pub struct Memory<T>(
    /// Its bytes.
    pub T,
);

impl<T: AsRef<[u8]>> fmt::Debug for Memory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({} bytes)", self.0.as_ref().len())
    }
}

impl<T: AsRef<[u8]> + Send + Sync> ReadAt for Memory<T> {
    fn size(&self) -> io::Result<u64> {
        Ok(wide(self.0.as_ref().len()))
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        copy(self.0.as_ref(), at, out)
    }

    fn bytes(&self) -> Option<&[u8]> {
        Some(self.0.as_ref())
    }
}

#[cfg(feature = "mmap")]
impl ReadAt for crate::Map {
    fn size(&self) -> io::Result<u64> {
        Ok(wide(self.len()))
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        copy(self, at, out)
    }

    fn bytes(&self) -> Option<&[u8]> {
        Some(self)
    }
}

fn copy(bytes: &[u8], at: u64, out: &mut [u8]) -> io::Result<()> {
    let from = usize::try_from(at).ok().and_then(|at| bytes.get(at..));
    match from.and_then(|from| from.get(..out.len())) {
        Some(from) => {
            out.copy_from_slice(from);
            Ok(())
        }
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::{FileAt, Memory, ReadAt, ReadFolder};

    /// The same answers from memory, files and maps.
    fn check(file: &dyn ReadAt) {
        assert_eq!(file.size().unwrap(), 6);
        let (mut a, mut b, mut none) = ([0; 2], [0; 3], [0; 0]);
        file.read_all(&mut [(4, &mut a), (0, &mut b), (6, &mut none)])
            .unwrap();
        assert_eq!((&a, &b), (b"ef", b"abc"));
        for (at, len) in [(4, 3), (6, 1), (7, 1), (u64::MAX, 1)] {
            let error = file.read_at(at, &mut vec![0; len]).unwrap_err();
            // The system refuses a position that no file can have.
            let end = error.kind() == ErrorKind::UnexpectedEof;
            assert!(end || at == u64::MAX, "{at}: {error}");
            assert_eq!(
                file.slice(at, 1),
                file.bytes().filter(|_| at == 4).map(|_| &b"e"[..])
            );
        }
        assert_eq!(file.slice(u64::MAX, u64::MAX), None);
        assert!(file.requests().is_none());
    }

    #[test]
    fn memory_files_and_maps_give_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"abcdef").unwrap();
        check(&Memory(b"abcdef"));
        check(&FileAt::open(&path).unwrap());
        check(&*folder.path().to_path_buf().open("a").unwrap());
        #[cfg(feature = "mmap")]
        check(&crate::Map::open(&path).unwrap());
        let missing = folder.path().to_path_buf().open("b").unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }
}

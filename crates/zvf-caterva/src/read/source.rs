//! Where a frame's bytes come from.

use std::fs::File;
use std::io;

/// Bytes at positions, without a cursor: what several threads can read at once.
pub trait ReadAt: Send + Sync + std::fmt::Debug {
    /// How many bytes there are.
    ///
    /// # Errors
    ///
    /// The system's.
    fn size(&self) -> io::Result<u64>;

    /// Fills `out` from position `at` on.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` where the bytes end before `out` does; otherwise the system's.
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()>;

    /// All the bytes, if they are in memory. They are then decoded in place.
    fn bytes(&self) -> Option<&[u8]> {
        None
    }
}

/// A file that is read by position (`pread`).
#[derive(Debug)]
pub struct FileAt(
    #[cfg(any(unix, windows))] File,
    #[cfg(not(any(unix, windows)))] std::sync::Mutex<File>,
);

impl FileAt {
    /// Reads this file; its cursor is not looked at.
    #[must_use]
    pub fn new(file: File) -> Self {
        #[cfg(any(unix, windows))]
        return Self(file);
        #[cfg(not(any(unix, windows)))]
        return Self(std::sync::Mutex::new(file));
    }
}

impl ReadAt for FileAt {
    #[cfg(any(unix, windows))]
    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    #[cfg(not(any(unix, windows)))]
    fn size(&self) -> io::Result<u64> {
        let file = self
            .0
            .lock()
            .map_err(|_| io::Error::other("a reader stopped"))?;
        Ok(file.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, out, at)
    }

    #[cfg(windows)]
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while let Some(rest) = out.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let position = at.saturating_add(zvf_grid::int::wide(done));
            match std::os::windows::fs::FileExt::seek_read(&self.0, rest, position)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => done += n,
            }
        }
        Ok(())
    }

    #[cfg(not(any(unix, windows)))]
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        use std::io::{Read, Seek};
        let mut file = self
            .0
            .lock()
            .map_err(|_| io::Error::other("a reader stopped"))?;
        file.seek(io::SeekFrom::Start(at))?;
        file.read_exact(out)
    }
}

/// Bytes in memory.
pub(crate) struct Memory<T>(pub(crate) T);

impl<T: AsRef<[u8]>> std::fmt::Debug for Memory<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Memory({} bytes)", self.0.as_ref().len())
    }
}

impl<T: AsRef<[u8]> + Send + Sync> ReadAt for Memory<T> {
    fn size(&self) -> io::Result<u64> {
        Ok(zvf_grid::int::wide(self.0.as_ref().len()))
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(at)
            .ok()
            .and_then(|at| self.0.as_ref().get(at..));
        match from.and_then(|rest| rest.get(..out.len())) {
            Some(bytes) => out.copy_from_slice(bytes),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        Ok(())
    }

    fn bytes(&self) -> Option<&[u8]> {
        Some(self.0.as_ref())
    }
}

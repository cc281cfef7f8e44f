//! Read-only memory maps of whole files.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// The bytes of one file, mapped read-only, for formats that are designed to be mapped.
///
/// A map needs `unsafe`, because the operating system does not prevent other programs from changing a mapped file. The condition:
///
/// **While a map exists, no program truncates the file or writes into it.** Renaming another file over its name is allowed: the map keeps the
/// old content. If this cannot be guaranteed, read the file instead. If the file is truncated, a signal ends the process; if it is rewritten,
/// bytes that were already checked change.
///
/// ```
/// let file = tempfile::NamedTempFile::new()?;
/// std::fs::write(file.path(), b"TETR")?;
/// let map = zvf_sys::Map::open(file.path())?;
/// assert_eq!(&*map, b"TETR");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Map {
    map: memmap2::Mmap,
}

impl Map {
    /// Maps the whole file at `path`.
    ///
    /// The file must not be truncated or written to while the map exists, see [`Map`].
    ///
    /// # Cost
    ///
    /// One system call; pages are read when they are accessed.
    ///
    /// # Errors
    ///
    /// Errors of opening and mapping, and [`io::ErrorKind::InvalidInput`] for anything but a regular file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::of(&File::open(path)?)
    }

    /// Maps a whole file that is open for reading, under the condition of [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    #[allow(
        unsafe_code,
        reason = "mapping a file is unsafe; the type documents the condition"
    )]
    pub fn of(file: &File) -> io::Result<Self> {
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "only regular files are mapped",
            ));
        }
        // SAFETY: the map is read-only and private to this value, and no slice outlives it: `Deref`
        // borrows it. memmap2 also requires that the file is not changed while it is mapped: callers must
        // guarantee this, as the documentation of the function and of the type states.
        let map = unsafe { memmap2::Mmap::map(file)? };
        Ok(Self { map })
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map").field("len", &self.map.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Map;

    #[test]
    fn a_map_holds_the_file_and_survives_its_replacement() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"one").unwrap();
        let map = Map::open(&path).unwrap();
        std::fs::write(folder.path().join("b"), b"two!").unwrap();
        std::fs::rename(folder.path().join("b"), &path).unwrap();
        assert_eq!(&*map, b"one");
        assert_eq!(&*Map::open(&path).unwrap(), b"two!");
    }

    #[test]
    fn folders_and_absent_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Map::open(folder.path()).is_err());
        assert!(Map::open(folder.path().join("absent")).is_err());
    }

    #[test]
    fn an_empty_file_is_an_empty_map() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Map::open(file.path()).unwrap().is_empty());
    }
}

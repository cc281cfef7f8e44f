//! A folder of the local disk, kept open by a handle.
//!
//! If the system supports it, every file is opened relative to the handle of the folder. A store that is moved and replaced during a read is
//! therefore read to its end. Resolving the path for every file would mix files of both stores, and a check at the end would not detect it if
//! the first store is moved back.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};

use crate::Overlay;
use crate::overlay::placed;

/// The entries of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderEntry {
    Folder,
    File,
    /// A link or anything else.
    Other,
}

/// Receives the name and kind of an entry, and a function that returns its size.
type VisitEntry<'v, X> =
    dyn FnMut(String, FolderEntry, &dyn Fn() -> io::Result<u64>) -> Result<(), X> + 'v;

/// Distinguishes a file from its replacement, and its states before and after a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileStamp {
    /// 0 on systems without inodes.
    pub(crate) inode: u64,
    /// Time of the last write, since 1970; zero for earlier times.
    pub(crate) written: Duration,
    /// Bytes.
    pub(crate) size: u64,
}

impl FileStamp {
    /// The stamp in the metadata of a file.
    pub(crate) fn of(meta: &Metadata) -> Self {
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(meta);
        #[cfg(not(unix))]
        let inode = 0;
        let written = meta.modified().ok();
        let written = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self {
            inode,
            written: written.unwrap_or_default(),
            size: meta.len(),
        }
    }
}

/// A folder: its path and, once it is open, its handle.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    root: OnceLock<at::Root>,
    /// The replacements of an unfinished edit.
    overlay: Option<Overlay>,
}

impl Folder {
    /// A folder, which is opened at the first access. If it does not exist, its files do not exist either.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            root: OnceLock::new(),
            overlay: None,
        }
    }

    /// The same folder under an overlay.
    pub(crate) fn under(&self, overlay: Overlay) -> Self {
        Self {
            overlay: Some(overlay),
            ..Self::new(self.path.clone())
        }
    }

    /// The overlay.
    pub(crate) fn overlay(&self) -> Option<&Overlay> {
        self.overlay.as_ref()
    }

    /// The key of the file that is read for `key`.
    fn key<'k>(&self, key: &'k str) -> io::Result<Cow<'k, str>> {
        let key = placed(self.overlay.as_ref(), key);
        key.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn root(&self) -> &at::Root {
        self.root.get_or_init(|| at::Root::of(&self.path))
    }

    /// The same folder. Its path is resolved again at the first access.
    pub(crate) fn reopened(&self) -> Self {
        Self {
            overlay: self.overlay.clone(),
            ..Self::new(self.path.clone())
        }
    }

    /// Whether the path still leads to the open folder, which may have been moved or replaced. True if it is not open, or if it has no handle.
    pub(crate) fn is_at_its_path(&self) -> bool {
        let open = self.root.get();
        open.is_none_or(|root| root.is_at(&self.path))
    }

    /// The path with which it was opened, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file of a key for reading. Keys consist of checked segments, so they stay below the folder.
    pub(crate) fn open(&self, key: &str) -> io::Result<(File, Metadata)> {
        self.root().open(&self.path, &self.key(key)?)
    }

    /// The metadata of the file of a key; follows symbolic links.
    pub(crate) fn metadata(&self, key: &str) -> io::Result<Metadata> {
        self.root().metadata(&self.path, &self.key(key)?)
    }

    /// The stamp of the file of a key; follows symbolic links.
    pub(crate) fn stamp(&self, key: &str) -> io::Result<FileStamp> {
        self.root().stamp(&self.path, &self.key(key)?)
    }

    /// Visits the entries of the folder of a key, in no particular order. Names that are not UTF-8 are left out, because they cannot be part of
    /// a key.
    ///
    /// # Errors
    /// I/O, and the errors of `visit`.
    pub(crate) fn visit<X: From<io::Error>>(
        &self,
        key: &str,
        visit: &mut dyn FnMut(String, FolderEntry) -> Result<(), X>,
    ) -> Result<(), X> {
        self.root()
            .visit(&self.path, key, &mut |name, kind, _| visit(name, kind))
    }

    /// As [`visit`](Self::visit), with the size of each entry except folders; does not follow symbolic links.
    ///
    /// # Cost
    /// One `stat` for each entry, relative to its folder.
    ///
    /// # Errors
    /// I/O, and the errors of `visit`.
    pub(crate) fn visit_sizes<X: From<io::Error>>(
        &self,
        key: &str,
        visit: &mut dyn FnMut(String, Option<u64>) -> Result<(), X>,
    ) -> Result<(), X> {
        self.root().visit(&self.path, key, &mut |name, kind, size| {
            let size = match kind {
                FolderEntry::Folder => None,
                FolderEntry::File | FolderEntry::Other => Some(size()?),
            };
            visit(name, size)
        })
    }
}

#[cfg(unix)]
mod at {
    use std::fs::{File, Metadata};
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use std::time::Duration;

    use rustix::fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, stat, statat,
    };
    use rustix::io::Errno;

    use super::{FileStamp, FolderEntry, VisitEntry};
    use zvf_sys::regular_file;

    /// Flags of a handle for looking up names. On systems with `O_PATH`, it needs no read permission.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const LOOKUP: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
    /// Flags of a handle for looking up names. Opening does not block if the path is not a folder.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const LOOKUP: OFlags = OFlags::RDONLY
        .union(OFlags::NONBLOCK)
        .union(OFlags::CLOEXEC);

    /// Flags for reading. Opening does not block if the path is not a file.
    const READ: OFlags = OFlags::RDONLY
        .union(OFlags::NONBLOCK)
        .union(OFlags::NOCTTY)
        .union(OFlags::CLOEXEC);

    /// Converts a number of a stamp; its type depends on the operating system. Negative numbers become 0.
    fn positive(number: impl TryInto<u64>) -> u64 {
        number.try_into().unwrap_or(0)
    }

    /// The handle, or the error of opening it. It is opened once, so that all files belong to one folder.
    #[derive(Debug)]
    pub(crate) struct Root(Result<OwnedFd, Errno>);

    impl Root {
        pub(crate) fn of(path: &Path) -> Self {
            let open = || openat(CWD, path, LOOKUP | OFlags::DIRECTORY, Mode::empty());
            Self(rustix::io::retry_on_intr(open))
        }

        fn root(&self) -> Result<&OwnedFd, Errno> {
            self.0.as_ref().map_err(|error| *error)
        }

        /// Whether this folder is the one at `path`, which may be a symbolic link.
        pub(crate) fn is_at(&self, path: &Path) -> bool {
            let Ok(root) = self.root() else {
                return false;
            };
            let own = rustix::io::retry_on_intr(|| fstat(root));
            let now = rustix::io::retry_on_intr(|| stat(path));
            matches!((own, now), (Ok(own), Ok(now)) if (own.st_dev, own.st_ino) == (now.st_dev, now.st_ino))
        }

        fn handle(&self, key: &str, flags: OFlags) -> io::Result<OwnedFd> {
            let key = if key.is_empty() { "." } else { key };
            let root = self.root()?;
            let open = || openat(root, key, flags, Mode::empty());
            Ok(rustix::io::retry_on_intr(open)?)
        }

        pub(crate) fn open(&self, _: &Path, key: &str) -> io::Result<(File, Metadata)> {
            match self.handle(key, READ) {
                Ok(handle) => regular_file::checked(File::from(handle)),
                // A socket cannot be opened at all.
                Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
                    Err(regular_file::refused("a socket or a device"))
                }
                Err(error) => Err(error),
            }
        }

        pub(crate) fn metadata(&self, _: &Path, key: &str) -> io::Result<Metadata> {
            File::from(self.handle(key, LOOKUP)?).metadata()
        }

        pub(crate) fn stamp(&self, _: &Path, key: &str) -> io::Result<FileStamp> {
            let root = self.root()?;
            let stat = rustix::io::retry_on_intr(|| statat(root, key, AtFlags::empty()))?;
            let written = match stat.st_mtime < 0 {
                true => Duration::ZERO,
                false => Duration::from_secs(positive(stat.st_mtime))
                    .saturating_add(Duration::from_nanos(positive(stat.st_mtime_nsec))),
            };
            Ok(FileStamp {
                inode: positive(stat.st_ino),
                written,
                size: positive(stat.st_size),
            })
        }

        pub(crate) fn visit<X: From<io::Error>>(
            &self,
            _: &Path,
            key: &str,
            visit: &mut VisitEntry<'_, X>,
        ) -> Result<(), X> {
            let handle = self.handle(key, READ | OFlags::DIRECTORY)?;
            let mut folder = Dir::new(handle).map_err(io::Error::from)?;
            while let Some(entry) = folder.read() {
                let entry = entry.map_err(io::Error::from)?;
                let Ok(name) = entry.file_name().to_str() else {
                    continue;
                };
                if name == "." || name == ".." {
                    continue;
                }
                let stat = || -> io::Result<Stat> {
                    Ok(statat(folder.fd()?, name, AtFlags::SYMLINK_NOFOLLOW)?)
                };
                let kind = match entry.file_type() {
                    FileType::Unknown => FileType::from_raw_mode(stat()?.st_mode),
                    known => known,
                };
                let kind = match kind {
                    FileType::Directory => FolderEntry::Folder,
                    FileType::RegularFile => FolderEntry::File,
                    _ => FolderEntry::Other,
                };
                let size = || Ok(u64::try_from(stat()?.st_size).unwrap_or(0));
                visit(name.to_owned(), kind, &size)?;
            }
            Ok(())
        }
    }
}

#[cfg(not(unix))]
mod at {
    use std::fs::{File, Metadata};
    use std::io;
    use std::path::{Path, PathBuf};

    use super::{FileStamp, FolderEntry, VisitEntry};

    /// No handle: files are looked up by path.
    #[derive(Debug)]
    pub(crate) struct Root;

    fn file(path: &Path, key: &str) -> PathBuf {
        if key.is_empty() {
            path.to_owned()
        } else {
            path.join(key)
        }
    }

    impl Root {
        pub(crate) fn of(_: &Path) -> Self {
            Self
        }

        /// Always true: files are looked up by path, so a folder that replaced this one is read.
        pub(crate) fn is_at(&self, _: &Path) -> bool {
            true
        }

        pub(crate) fn open(&self, path: &Path, key: &str) -> io::Result<(File, Metadata)> {
            let file = crate::open_file(&file(path, key))?;
            let meta = file.metadata()?;
            Ok((file, meta))
        }

        pub(crate) fn metadata(&self, path: &Path, key: &str) -> io::Result<Metadata> {
            std::fs::metadata(file(path, key))
        }

        pub(crate) fn stamp(&self, path: &Path, key: &str) -> io::Result<FileStamp> {
            Ok(FileStamp::of(&self.metadata(path, key)?))
        }

        pub(crate) fn visit<X: From<io::Error>>(
            &self,
            path: &Path,
            key: &str,
            visit: &mut VisitEntry<'_, X>,
        ) -> Result<(), X> {
            for entry in std::fs::read_dir(file(path, key))? {
                let entry = entry?;
                let kind = entry.file_type()?;
                let Ok(name) = entry.file_name().into_string() else {
                    continue;
                };
                let kind = match (kind.is_dir(), kind.is_file()) {
                    (true, _) => FolderEntry::Folder,
                    (_, true) => FolderEntry::File,
                    _ => FolderEntry::Other,
                };
                visit(name, kind, &|| Ok(entry.metadata()?.len()))?;
            }
            Ok(())
        }
    }
}

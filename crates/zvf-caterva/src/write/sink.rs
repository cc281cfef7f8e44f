//! Where a new frame goes.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Error;

/// Tells the files of one process apart.
static NUMBER: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(crate) enum Sink {
    Memory(Vec<u8>),
    File(Temporary),
}

/// A file beside its later place; removed when dropped, unless it was renamed.
#[derive(Debug)]
pub(crate) struct Temporary {
    file: File,
    path: PathBuf,
    target: PathBuf,
    done: bool,
}

impl Sink {
    pub(crate) fn file(target: &Path, head: Vec<u8>) -> Result<Self, Error> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let number = NUMBER.fetch_add(1, Relaxed);
        let path = target.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()));
        let opened = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = opened.map_err(Error::io(format!("creating {}", path.display())))?;
        let target = target.to_owned();
        let mut sink = Self::File(Temporary {
            file,
            path,
            target,
            done: false,
        });
        sink.append(&head)?;
        Ok(sink)
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match self {
            Self::Memory(out) => out.extend(bytes),
            Self::File(file) => file.file.write_all(bytes).map_err(file.failed())?,
        }
        Ok(())
    }

    /// Replaces the header and puts the frame in its place.
    pub(crate) fn finish(self, header: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::Memory(mut out) => {
                if let Some(place) = out.get_mut(..header.len()) {
                    place.copy_from_slice(header);
                }
                Ok(Some(out))
            }
            Self::File(mut file) => {
                file.finish(header).map_err(file.failed())?;
                Ok(None)
            }
        }
    }
}

impl Temporary {
    fn failed(&self) -> impl FnOnce(std::io::Error) -> Error + use<> {
        Error::io(format!("writing {}", self.target.display()))
    }

    fn finish(&mut self, header: &[u8]) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(header)?;
        self.file.sync_all()?;
        std::fs::rename(&self.path, &self.target)?;
        self.done = true;
        // The new name has to survive a crash as well; folders cannot be opened everywhere.
        #[cfg(unix)]
        if let Some(folder) = self.target.parent() {
            let folder = if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            };
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.done {
            // Nothing can be done about a file that cannot be removed.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

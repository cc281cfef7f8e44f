//! The destination of a new frame: a file or memory.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::Error;

#[derive(Debug)]
pub(crate) enum FrameSink {
    Memory(Vec<u8>),
    File(Temporary),
}

/// A temporary file in the folder of its target; removed when dropped, unless it was renamed.
#[derive(Debug)]
pub(crate) struct Temporary {
    file: tempfile::NamedTempFile,
    target: PathBuf,
    /// Whether a write failed. How much of it was written is unknown, so further writes are refused.
    broken: bool,
}

impl FrameSink {
    pub(crate) fn file(target: &Path, head: Vec<u8>) -> Result<Self, Error> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".b2nd-").suffix(".partial");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder
            .tempfile_in(folder(target))
            .map_err(Error::io(format!("creating {}", target.display())))?;
        let mut sink = Self::File(Temporary {
            file,
            target: target.to_owned(),
            broken: false,
        });
        sink.append(&head)?;
        Ok(sink)
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match self {
            Self::Memory(out) => out.extend(bytes),
            Self::File(file) => {
                file.check_sound().map_err(file.failed())?;
                file.broken = true;
                let written = file.file.as_file_mut().write_all(bytes);
                written.map_err(file.failed())?;
                file.broken = false;
            }
        }
        Ok(())
    }

    /// Replaces the header. Then syncs a file and renames it to its target, or returns the bytes in memory.
    pub(crate) fn finish(self, header: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::Memory(mut out) => {
                if let Some(place) = out.get_mut(..header.len()) {
                    place.copy_from_slice(header);
                }
                Ok(Some(out))
            }
            Self::File(file) => {
                let failed = file.failed();
                file.finish(header).map_err(failed)?;
                Ok(None)
            }
        }
    }
}

impl Temporary {
    fn check_sound(&self) -> std::io::Result<()> {
        if self.broken {
            return Err(std::io::Error::other(
                "an earlier write to this file failed",
            ));
        }
        Ok(())
    }

    fn failed(&self) -> impl FnOnce(std::io::Error) -> Error + use<> {
        Error::io(format!("writing {}", self.target.display()))
    }

    fn finish(mut self, header: &[u8]) -> std::io::Result<()> {
        self.check_sound()?;
        let file = self.file.as_file_mut();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(header)?;
        file.sync_all()?;
        self.file
            .persist(&self.target)
            .map_err(|error| error.error)?;
        // The folder is synced so that the rename survives a crash. Not all systems can open
        // folders.
        if cfg!(unix) {
            File::open(folder(&self.target))?.sync_all()?;
        }
        Ok(())
    }
}

/// The folder of a file; the current one for a bare name.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::FrameSink;

    #[test]
    fn a_file_that_is_not_finished_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.b2nd");
        std::fs::write(&target, b"old").unwrap();
        let mut sink = FrameSink::file(&target, b"head".to_vec()).unwrap();
        sink.append(b" and more").unwrap();
        drop(sink);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(std::fs::read(&target).unwrap(), b"old");
        let mut sink = FrameSink::file(&target, b"head".to_vec()).unwrap();
        sink.append(b" and more").unwrap();
        sink.finish(b"HEAD").unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(std::fs::read(&target).unwrap(), b"HEAD and more");
    }
}

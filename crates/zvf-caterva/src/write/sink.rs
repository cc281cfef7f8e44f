//! Where a new frame goes.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
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
    /// A write failed: nobody knows how much of it is there, so nothing may follow it.
    broken: bool,
}

impl Sink {
    pub(crate) fn file(target: &Path, head: Vec<u8>) -> Result<Self, Error> {
        let (file, path) = temporary(target)?;
        let target = target.to_owned();
        let mut sink = Self::File(Temporary {
            file,
            path,
            target,
            done: false,
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
                file.file.write_all(bytes).map_err(file.failed())?;
                file.broken = false;
            }
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

/// A new file beside `target`. A name that a program of the same number left behind when it was stopped is passed over.
fn temporary(target: &Path) -> Result<(File, PathBuf), Error> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    loop {
        let number = NUMBER.fetch_add(1, Relaxed);
        let path = target.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io(format!("creating {}", path.display()))(error)),
            Ok(file) => return Ok((file, path)),
        }
    }
}

impl Temporary {
    fn check_sound(&self) -> std::io::Result<()> {
        if self.broken {
            return Err(std::io::Error::other("an earlier write of it failed"));
        }
        Ok(())
    }

    fn failed(&self) -> impl FnOnce(std::io::Error) -> Error + use<> {
        Error::io(format!("writing {}", self.target.display()))
    }

    fn finish(&mut self, header: &[u8]) -> std::io::Result<()> {
        self.check_sound()?;
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

#[cfg(test)]
mod tests {
    use super::{NUMBER, Sink};
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn files_of_a_program_that_was_stopped_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.b2nd");
        // The next names that this process would take; other tests take some of them meanwhile.
        let next = NUMBER.load(Relaxed);
        let left: Vec<_> = (next..next + 20)
            .map(|number| {
                let name = format!(".a.b2nd.{}-{number}.tmp", std::process::id());
                folder.path().join(name)
            })
            .collect();
        for path in &left {
            std::fs::write(path, b"half").unwrap();
        }
        let sink = Sink::file(&target, b"head".to_vec()).unwrap();
        sink.finish(b"HEAD").unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"HEAD");
        for path in &left {
            assert_eq!(std::fs::read(path).unwrap(), b"half");
        }
    }
}

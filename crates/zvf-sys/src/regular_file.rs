//! Opens files but no pipes, devices and sockets: opening a pipe would wait for its writer, and a device has no end.

use std::fmt;
use std::fs::{File, FileType, Metadata};
use std::io;
use std::path::Path;

/// The name of the kind of an object that is not a regular file: a named pipe, a device or a socket.
#[derive(Debug)]
struct SpecialFile(&'static str);

impl fmt::Display for SpecialFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is {}, expected a file", self.0)
    }
}

impl std::error::Error for SpecialFile {}

/// Opens a file of the local disk for reading. A named pipe, a device or a socket is an error, without waiting. Symbolic links are followed. A
/// folder can be opened; reading from it fails.
///
/// # Errors
/// The error of the system; [`io::ErrorKind::InvalidInput`] for other objects than files.
pub fn open_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Opening a pipe without a writer would block before its type is known.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    match options.open(path) {
        Ok(file) => Ok(checked(file)?.0),
        // A socket cannot be opened at all.
        Err(error) => match std::fs::metadata(path).ok().and_then(|meta| special(&meta)) {
            Some(kind) => Err(refused(kind)),
            None => Err(error),
        },
    }
}

/// How many files this process may have open at the same time; `None` if the system has or reports no limit.
#[must_use]
pub fn open_file_limit() -> Option<u64> {
    #[cfg(unix)]
    return rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    return None;
}

/// Checks that an open file is a regular file or a folder, and also returns its metadata. It must have been opened without blocking.
///
/// # Errors
/// As [`open_file`].
pub fn checked(file: File) -> io::Result<(File, Metadata)> {
    let meta = file.metadata()?;
    match special(&meta) {
        Some(kind) => Err(refused(kind)),
        None => Ok((file, meta)),
    }
}

/// The error for an object of this kind.
#[cold]
#[must_use]
pub fn refused(kind: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, SpecialFile(kind))
}

/// The message with the kind of the refused object, such as `is a socket, expected a file`; `None` for other errors.
#[must_use]
pub fn is_refused(error: &io::Error) -> Option<String> {
    let inner = error.get_ref()?;
    inner.is::<SpecialFile>().then(|| inner.to_string())
}

/// The name of the kind of an object that is neither file nor folder.
#[must_use]
pub fn special(meta: &Metadata) -> Option<&'static str> {
    let kind = meta.file_type();
    if kind.is_file() || kind.is_dir() {
        return None;
    }
    Some(name(kind))
}

#[cfg(unix)]
fn name(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn name(_: FileType) -> &'static str {
    "no file"
}

#[cfg(all(test, unix))]
mod tests {
    use std::path::Path;

    use super::open_file;

    #[test]
    fn only_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let socket = folder.path().join("socket");
        let _listens = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for (path, kind) in [
            (pipe.as_path(), "a named pipe"),
            (&socket, "a socket"),
            (&link, "a device"),
            (Path::new("/dev/null"), "a device"),
        ] {
            let error = open_file(path).unwrap_err();
            assert_eq!(error.to_string(), format!("is {kind}, expected a file"));
        }
        let file = folder.path().join("file");
        std::fs::write(&file, "bytes").unwrap();
        let linked = folder.path().join("linked");
        std::os::unix::fs::symlink(&file, &linked).unwrap();
        let text = std::io::read_to_string(open_file(&linked).unwrap());
        assert_eq!(text.unwrap(), "bytes");
        let missing = open_file(&folder.path().join("missing")).unwrap_err();
        assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
    }
}

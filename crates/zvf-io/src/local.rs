//! Plain file operations. All of them block.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::ops::Range;

#[cfg(unix)]
use rustix::buffer::spare_capacity;

use crate::context::Context;
use crate::folder::{FileStamp, Folder, FolderEntry};
use crate::versions::changed;
use crate::versions::{ReportedState, SnapshotRole};
use crate::{Ask, Cap, IoError, Method, Object, Question, Reply, Usage};
use zvf_grid::int::wide;
use zvf_sys::regular_file;

/// Reads a file or part of it; `None` when it does not exist. Blocks.
///
/// # Errors
/// I/O; limit: more bytes than `cap`; malformed: not a file.
pub fn read(
    root: &Folder,
    context: &Context,
    key: &str,
    ask: &Ask,
    cap: Cap,
) -> Result<Option<Object>, IoError> {
    Ok(read_state(root, context, key, ask, cap)?.map(|(object, _)| object))
}

/// As [`read`], with the state of the file.
fn read_state(
    root: &Folder,
    context: &Context,
    key: &str,
    ask: &Ask,
    cap: Cap,
) -> Result<Option<(Object, ReportedState)>, IoError> {
    let trace = context.trace();
    let start = trace.start();
    let result = read_file(root, key, ask, cap);
    if trace.is_on() {
        let bytes = match &result {
            Ok(Some((object, _))) => Some(wide(object.bytes.len())),
            _ => None,
        };
        context.record(start, Method::Read, key, ask.traced(), bytes);
    }
    result
}

fn read_file(
    root: &Folder,
    key: &str,
    ask: &Ask,
    cap: Cap,
) -> Result<Option<(Object, ReportedState)>, IoError> {
    let Some(mut open) = OpenFile::open(root, key)? else {
        return Ok(None);
    };
    let state = state_of(&open.stamp(key)?);
    let size = state.size;
    let Range { start, end } = ask.of(size);
    let length = end.saturating_sub(start);
    cap.check(key, length)?;
    let bytes = if *ask == Ask::Whole {
        open.rest(key, length)?
    } else {
        open.at(key, start, length)?
    };
    let found = wide(bytes.len());
    if found != length {
        return Err(changed(key, &state, &format!("shorter than {size} bytes")));
    }
    let object = Object {
        bytes: bytes.into(),
        start,
        size,
        etag: state.etag.clone(),
    };
    Ok(Some((object, state)))
}

/// An open file.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    /// Its metadata when it was opened.
    opened: Metadata,
}

impl OpenFile {
    /// Opens a file; `None` when it does not exist.
    ///
    /// # Errors
    /// I/O; malformed: a folder, a pipe or a device.
    pub fn open(root: &Folder, key: &str) -> Result<Option<Self>, IoError> {
        match root.open(key) {
            Ok((file, opened)) => Ok(Some(Self { file, opened })),
            // A path below a file counts as missing.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(None)
            }
            Err(error) => match regular_file::is_refused(&error) {
                Some(what) => Err(IoError::no_object(key, what)),
                None => Err(IoError::file(key, error)),
            },
        }
    }

    /// The stamp of the file when it was opened.
    fn stamp(&self, key: &str) -> Result<FileStamp, IoError> {
        if self.opened.is_dir() {
            return Err(IoError::no_object(key, "is a folder, expected a file"));
        }
        Ok(FileStamp::of(&self.opened))
    }

    /// Bytes of the file when it was opened.
    ///
    /// # Errors
    /// I/O; malformed: a folder.
    pub fn size(&self, key: &str) -> Result<u64, IoError> {
        Ok(self.stamp(key)?.size)
    }

    /// Bytes of the file when it was opened, and a text that changes if the file is replaced or written to.
    ///
    /// # Errors
    /// I/O; malformed: a folder.
    pub fn state(&self, key: &str) -> Result<(u64, String), IoError> {
        let state = state_of(&self.stamp(key)?);
        Ok((state.size, state.etag.unwrap_or_default()))
    }

    /// The rest of the file, whose expected length is `length` bytes.
    fn rest(&mut self, key: &str, length: u64) -> Result<Vec<u8>, IoError> {
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        (&mut self.file)
            .take(length)
            .read_to_end(&mut bytes)
            .map_err(|e| IoError::file(key, e))?;
        Ok(bytes)
    }

    /// `length` bytes from `start`, or fewer at the end of the file.
    ///
    /// # Errors
    /// I/O.
    #[cfg(unix)]
    pub fn at(&self, key: &str, start: u64, length: u64) -> Result<Vec<u8>, IoError> {
        let length = usize::try_from(length)
            .map_err(|_| IoError::limit(key, crate::CELL_BYTES, length, u64::MAX))?;
        // The bytes are read into the spare capacity, so the memory need not be zeroed first.
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let offset = start.saturating_add(wide(bytes.len()));
            match rustix::io::pread(&self.file, spare_capacity(&mut bytes), offset) {
                Ok(0) => break,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(IoError::file(key, error.into())),
            }
        }
        bytes.truncate(length);
        Ok(bytes)
    }

    /// `length` bytes from `start`, or fewer at the end of the file.
    ///
    /// # Errors
    /// I/O.
    #[cfg(not(unix))]
    pub fn at(&self, key: &str, start: u64, length: u64) -> Result<Vec<u8>, IoError> {
        use std::io::{Seek, SeekFrom};
        let mut file = &self.file;
        file.seek(SeekFrom::Start(start))
            .map_err(|e| IoError::file(key, e))?;
        let mut bytes = Vec::new();
        file.take(length)
            .read_to_end(&mut bytes)
            .map_err(|e| IoError::file(key, e))?;
        Ok(bytes)
    }
}

/// The state of a file: inode, time of the last write, bytes.
fn state_of(stamp: &FileStamp) -> ReportedState {
    let FileStamp {
        inode,
        written,
        size,
    } = *stamp;
    ReportedState {
        etag: Some(format!("{inode:x}-{:x}", written.as_nanos())),
        modified: i64::try_from(written.as_micros()).unwrap_or(i64::MAX),
        size,
    }
}

/// The state of a file; `None` if it does not exist.
pub(crate) fn state(
    root: &Folder,
    context: &Context,
    key: &str,
) -> Result<Option<ReportedState>, IoError> {
    let trace = context.trace();
    let start = trace.start();
    let state = match root.stamp(key) {
        Ok(stamp) => Ok(Some(state_of(&stamp))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(IoError::file(key, error)),
    };
    context.record(start, Method::Stat, key, (None, None), Some(0));
    state
}

/// Size of the buffer that small files are read into.
const SCRATCH: usize = 64 << 10;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Reads a whole file and passes its bytes to `use_bytes`; `Ok(None)` if it does not exist.
///
/// Small files are read into a buffer of the thread, without an allocation and a `stat`.
///
/// # Errors
/// I/O; limit: a file larger than `cap`; malformed: not a file; the errors of `use_bytes`.
pub fn with_file<R, E: From<IoError>>(
    root: &Folder,
    key: &str,
    cap: Cap,
    use_bytes: impl FnOnce(Cow<'_, [u8]>) -> Result<R, E>,
) -> Result<Option<R>, E> {
    let Some(mut open) = OpenFile::open(root, key)? else {
        return Ok(None);
    };
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.is_empty() {
            buffer.resize(SCRATCH, 0);
        }
        let mut filled = 0;
        while let Some(hole) = buffer.get_mut(filled..).filter(|hole| !hole.is_empty()) {
            match open.file.read(hole) {
                Ok(0) => {
                    let small = buffer.get(..filled).unwrap_or_default();
                    cap.check(key, wide(filled))?;
                    return use_bytes(Cow::Borrowed(small)).map(Some);
                }
                Ok(n) => filled += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::IsADirectory => {
                    return Err(IoError::no_object(key, "is a folder, expected a file").into());
                }
                Err(error) => return Err(IoError::file(key, error).into()),
            }
        }
        let size = open.size(key)?;
        cap.check(key, size)?;
        let mut whole = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        whole.extend_from_slice(buffer);
        (&mut open.file)
            .take(cap.most)
            .read_to_end(&mut whole)
            .map_err(|e| IoError::file(key, e))?;
        use_bytes(Cow::Owned(whole)).map(Some)
    })
}

/// Answers one question about the tree.
pub(crate) fn answer(
    root: &Folder,
    context: &Context,
    question: &Question,
) -> Result<Reply, IoError> {
    let start = context.trace().start();
    match question {
        Question::Document(key) => {
            let cap = question.cap(context.limits());
            let read = read_state(root, context, key, &Ask::Whole, cap)?;
            if let Some((object, state)) = &read {
                context
                    .versions()
                    .note(key, state, SnapshotRole::Document, &object.bytes)?;
            } else {
                context.versions().note_absent(key)?;
            }
            Ok(Reply::Document(read.map(|(object, _)| object)))
        }
        Question::Names(prefix) | Question::Cells(prefix) | Question::Keys(prefix) => {
            let cap = question.cap(context.limits());
            let mut names = Vec::new();
            if let Question::Keys(_) = question {
                walk(root, prefix, "", &mut names, cap, 0)?;
                if let Some(overlay) = root.overlay() {
                    overlay.correct_keys(prefix, &mut names);
                }
            } else {
                names = folders(root, prefix, cap)?;
                if let Some(overlay) = root.overlay() {
                    overlay.correct_folders(prefix, &mut names);
                }
            }
            let found = Some(wide(names.len()));
            context.record(start, Method::List, prefix, (None, None), found);
            Ok(Reply::Names(Some(names)))
        }
    }
}

/// Visits the entries of a folder; none if it does not exist.
pub(crate) fn entries(
    root: &Folder,
    key: &str,
    visit: &mut dyn FnMut(String, FolderEntry) -> Result<(), VisitEnd>,
) -> Result<(), IoError> {
    visited(key, root.visit(key, visit))
}

/// A folder that does not exist has no entries.
fn visited(key: &str, result: Result<(), VisitEnd>) -> Result<(), IoError> {
    match result {
        Ok(()) => Ok(()),
        Err(VisitEnd::Io(error))
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
        {
            Ok(())
        }
        Err(VisitEnd::Io(error)) => Err(IoError::file(key, error)),
        Err(VisitEnd::Visit(error)) => Err(error),
    }
}

/// Why a visit ended early.
pub(crate) enum VisitEnd {
    Io(std::io::Error),
    Visit(IoError),
}

impl From<std::io::Error> for VisitEnd {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<IoError> for VisitEnd {
    fn from(error: IoError) -> Self {
        Self::Visit(error)
    }
}

fn folders(root: &Folder, key: &str, cap: Cap) -> Result<Vec<String>, IoError> {
    let mut names = Vec::new();
    entries(root, key, &mut |name, kind| {
        // A symbolic link to a file counts as a file. A broken link is listed like a folder, so that a later step reports the error.
        let file = match kind {
            FolderEntry::File => true,
            FolderEntry::Folder => false,
            FolderEntry::Other => root
                .metadata(&below(key, &name))
                .is_ok_and(|metadata| metadata.is_file()),
        };
        if file {
            return Ok(());
        }
        names.push(name);
        Ok(cap.check(key, wide(names.len()))?)
    })?;
    names.sort_unstable();
    Ok(names)
}

/// The deepest nesting of folders that is listed.
const DEEPEST: usize = 32;

fn check_depth(key: &str, depth: usize) -> Result<(), IoError> {
    if depth > DEEPEST {
        let what = format!("folders are nested more than {DEEPEST} deep");
        return Err(IoError::no_object(key, what));
    }
    Ok(())
}

pub(crate) fn below(key: &str, name: &str) -> String {
    if key.is_empty() {
        name.to_owned()
    } else {
        format!("{key}/{name}")
    }
}

/// Counts the files directly in the folder of `key` and their bytes, and returns the keys of its subfolders.
pub(crate) fn folder_usage(
    root: &Folder,
    key: &str,
    cap: Cap,
) -> Result<(Usage, Vec<String>), IoError> {
    let (mut usage, mut folders) = (Usage::default(), Vec::new());
    let summed = root.visit_sizes(key, &mut |name, size| {
        let key = below(key, &name);
        match size {
            None => folders.push(key),
            Some(bytes) => usage.add(&key, bytes, cap)?,
        }
        Ok(())
    });
    visited(key, summed)?;
    Ok((usage, folders))
}

/// Counts the files below the folder of `key` and their bytes. A folder is closed before its subfolders are opened, so only one handle is open.
pub(crate) fn usage(root: &Folder, key: &str, cap: Cap, depth: usize) -> Result<Usage, IoError> {
    check_depth(key, depth)?;
    let (mut usage, folders) = folder_usage(root, key, cap)?;
    for folder in folders {
        usage.merge(key, self::usage(root, &folder, cap, depth + 1)?, cap)?;
    }
    Ok(usage)
}

/// All files of the folder, with their states.
pub(crate) fn files(root: &Folder, cap: Cap) -> Result<Vec<(String, ReportedState)>, IoError> {
    let mut keys = Vec::new();
    walk(root, "", "", &mut keys, cap, 0)?;
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        match root.metadata(&key) {
            Ok(meta) if meta.is_file() => found.push((key, state_of(&FileStamp::of(&meta)))),
            Ok(_) => {
                let what = "is a pipe, a socket, a device, or a link to one of these or to a folder; expected files and folders";
                return Err(IoError::no_object(&key, what));
            }
            Err(error) => return Err(IoError::file(&key, error)),
        }
    }
    Ok(found)
}

/// Collects the files below the folder of `key`, relative to it. The recursion is at most [`DEEPEST`] folders deep.
fn walk(
    root: &Folder,
    key: &str,
    prefix: &str,
    keys: &mut Vec<String>,
    cap: Cap,
    depth: usize,
) -> Result<(), IoError> {
    check_depth(key, depth)?;
    let mut deeper = Vec::new();
    entries(root, key, &mut |name, kind| {
        if kind == FolderEntry::Folder {
            deeper.push(name);
            return Ok(());
        }
        keys.push(below(prefix, &name));
        Ok(cap.check(key, wide(keys.len()))?)
    })?;
    for name in deeper {
        let (key, prefix) = (below(key, &name), below(prefix, &name));
        walk(root, &key, &prefix, keys, cap, depth + 1)?;
    }
    Ok(())
}

//! Plain file calls. Everything here blocks.

use std::cell::RefCell;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};

use super::folder::{Entry, Folder};
use super::pins::changed;
use super::{Ask, Cap, Kv, Object, Question, Reply, Role, State};
use crate::raw::Usage;
use crate::trace::Method;
use crate::{IoTrace, StoreError, regular};

/// Reads a file or part of it; `None` when it does not exist.
pub(crate) fn read(
    root: &Folder,
    round: u32,
    key: &str,
    ask: &Ask,
    cap: Cap,
    trace: &IoTrace,
) -> Result<Option<Object>, StoreError> {
    Ok(read_state(root, round, key, ask, cap, trace)?.map(|(object, _)| object))
}

/// As [`read`], with the state of the file.
fn read_state(
    root: &Folder,
    round: u32,
    key: &str,
    ask: &Ask,
    cap: Cap,
    trace: &IoTrace,
) -> Result<Option<(Object, State)>, StoreError> {
    let start = trace.start();
    let result = read_file(root, key, ask, cap);
    if trace.is_on() {
        let bytes = match &result {
            Ok(Some((object, _))) => u64::try_from(object.bytes.len()).ok(),
            _ => None,
        };
        let range = match ask {
            Ask::Whole => (None, None),
            Ask::Prefix(n) => (Some(0), Some(*n)),
            Ask::Suffix(n) => (None, Some(*n)),
            Ask::Range(r) => (Some(r.start), Some(r.end.saturating_sub(r.start))),
        };
        trace.record(start, round, Method::Read, key, range, bytes);
    }
    result
}

fn read_file(
    root: &Folder,
    key: &str,
    ask: &Ask,
    cap: Cap,
) -> Result<Option<(Object, State)>, StoreError> {
    let Some(mut open) = OpenFile::open(root, key)? else {
        return Ok(None);
    };
    let state = open.state_now(key)?;
    let size = state.size;
    let (start, end) = match ask {
        Ask::Whole => (0, size),
        Ask::Prefix(n) => (0, size.min(*n)),
        Ask::Suffix(n) => (size.saturating_sub(*n), size),
        Ask::Range(r) => (r.start.min(size), r.end.min(size)),
    };
    let length = end.saturating_sub(start);
    cap.check(key, length)?;
    let bytes = if *ask == Ask::Whole {
        open.rest(key, length)?
    } else {
        open.at(key, start, length)?
    };
    let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
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

/// An open file and the path it is known by.
#[derive(Debug)]
pub(crate) struct OpenFile(File);

impl OpenFile {
    /// Opens a file; `None` when it does not exist.
    pub(crate) fn open(root: &Folder, key: &str) -> Result<Option<Self>, StoreError> {
        match root.open(key) {
            Ok(file) => Ok(Some(Self(file))),
            // A path through a file is as absent as a missing one.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(None)
            }
            Err(error) => match regular::is_refused(&error) {
                Some(what) => Err(StoreError::malformed(key, what)),
                None => Err(StoreError::io(key, error)),
            },
        }
    }

    pub(crate) fn size(&self, key: &str) -> Result<u64, StoreError> {
        let meta = self.0.metadata().map_err(|e| StoreError::io(key, e))?;
        if meta.is_dir() {
            return Err(StoreError::malformed(key, "is a folder, expected a file"));
        }
        Ok(meta.len())
    }

    /// Bytes of the file, and a text that changes when the file is replaced or written to.
    pub(crate) fn state(&self, key: &str) -> Result<(u64, String), StoreError> {
        let state = self.state_now(key)?;
        Ok((state.size, state.etag.unwrap_or_default()))
    }

    fn state_now(&self, key: &str) -> Result<State, StoreError> {
        let meta = self.0.metadata().map_err(|e| StoreError::io(key, e))?;
        if meta.is_dir() {
            return Err(StoreError::malformed(key, "is a folder, expected a file"));
        }
        Ok(state_of(&meta))
    }

    /// The rest of the file, which should have `length` bytes.
    fn rest(&mut self, key: &str, length: u64) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        (&mut self.0)
            .take(length)
            .read_to_end(&mut bytes)
            .map_err(|e| StoreError::io(key, e))?;
        Ok(bytes)
    }

    /// Exactly `length` bytes from `start`; fewer only where the file ends.
    #[cfg(unix)]
    pub(crate) fn at(&self, key: &str, start: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        use std::os::unix::fs::FileExt;
        let length = usize::try_from(length)
            .map_err(|_| StoreError::limit(key, "cell_bytes", length, u64::MAX))?;
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while let Some(hole) = bytes.get_mut(filled..).filter(|hole| !hole.is_empty()) {
            let offset = start.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
            match self.0.read_at(hole, offset) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(StoreError::io(key, error)),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// Exactly `length` bytes from `start`; fewer only where the file ends.
    #[cfg(not(unix))]
    pub(crate) fn at(&self, key: &str, start: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        use std::io::{Seek, SeekFrom};
        let mut file = &self.0;
        file.seek(SeekFrom::Start(start))
            .map_err(|e| StoreError::io(key, e))?;
        let mut bytes = Vec::new();
        file.take(length)
            .read_to_end(&mut bytes)
            .map_err(|e| StoreError::io(key, e))?;
        Ok(bytes)
    }
}

/// The state of a file: inode, time of the last write, bytes.
fn state_of(meta: &Metadata) -> State {
    let written = meta
        .modified()
        .ok()
        .and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok())
        .unwrap_or_default();
    State {
        etag: Some(format!("{:x}-{:x}", inode(meta), written.as_nanos())),
        modified: i64::try_from(written.as_micros()).unwrap_or(i64::MAX),
        size: meta.len(),
    }
}

/// Asks for the state of a file; `None` when it does not exist.
pub(super) fn state(
    root: &Folder,
    round: u32,
    key: &str,
    trace: &IoTrace,
) -> Result<Option<State>, StoreError> {
    let start = trace.start();
    let state = match root.metadata(key) {
        Ok(meta) => Ok(Some(state_of(&meta))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(StoreError::io(key, error)),
    };
    trace.record(start, round, Method::Stat, key, (None, None), Some(0));
    state
}

/// What tells a file from another one of the same name.
#[cfg(unix)]
fn inode(meta: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(meta)
}

/// What tells a file from another one of the same name: nothing, here.
#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

/// Size of the buffer that small files are read into.
const SCRATCH: usize = 64 << 10;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Reads a whole file and hands its bytes to `use_bytes`; `Ok(None)` when it does not exist.
///
/// Small files go through one buffer of the thread: no allocation and no `stat`.
pub(crate) fn with_file<R>(
    root: &Folder,
    key: &str,
    cap: Cap,
    use_bytes: impl FnOnce(Contents<'_>) -> Result<R, StoreError>,
) -> Result<Option<R>, StoreError> {
    let Some(mut open) = OpenFile::open(root, key)? else {
        return Ok(None);
    };
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.is_empty() {
            buffer.resize(SCRATCH, 0);
        }
        let mut filled = 0;
        while let Some(hole) = buffer.get_mut(filled..).filter(|hole| !hole.is_empty()) {
            match open.0.read(hole) {
                Ok(0) => {
                    let small = buffer.get(..filled).unwrap_or_default();
                    cap.check(key, u64::try_from(filled).unwrap_or(u64::MAX))?;
                    return use_bytes(Contents::Borrowed(small)).map(Some);
                }
                Ok(n) => filled += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::IsADirectory => {
                    return Err(StoreError::malformed(key, "is a folder, expected a file"));
                }
                Err(error) => return Err(StoreError::io(key, error)),
            }
        }
        let size = open.size(key)?;
        cap.check(key, size)?;
        let mut whole = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        whole.extend_from_slice(buffer);
        (&mut open.0)
            .take(cap.bytes)
            .read_to_end(&mut whole)
            .map_err(|e| StoreError::io(key, e))?;
        use_bytes(Contents::Owned(whole)).map(Some)
    })
}

/// The bytes of a file: in the thread's buffer, or in their own.
#[derive(Debug)]
pub(crate) enum Contents<'b> {
    Borrowed(&'b [u8]),
    Owned(Vec<u8>),
}

impl Contents<'_> {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// Answers one question about the tree.
pub(crate) fn answer(
    root: &Folder,
    round: u32,
    question: &Question,
    kv: &Kv,
) -> Result<Reply, StoreError> {
    let (limits, trace) = (&kv.limits, &kv.trace);
    match question {
        Question::Document(key) => {
            let cap = Cap::document(limits);
            let read = read_state(root, round, key, &Ask::Whole, cap, trace)?;
            if let Some((object, state)) = &read {
                kv.pins.note(key, state, Role::Document, &object.bytes)?;
            } else {
                kv.pins.note_absent(key)?;
            }
            Ok(Reply::Document(read.map(|(object, _)| object)))
        }
        Question::Names(prefix) | Question::Cells(prefix) => {
            let start = trace.start();
            let (what, limit) = match question {
                Question::Cells(_) => ("cells_per_query", limits.cells_per_query),
                _ => ("listed_names", limits.listed_names),
            };
            let mut names = folders(root, prefix, (what, limit))?;
            if let Some(redo) = root.redo() {
                redo.correct_folders(prefix, &mut names);
            }
            trace.record(
                start,
                round,
                Method::List,
                prefix,
                (None, None),
                u64::try_from(names.len()).ok(),
            );
            Ok(Reply::Names(Some(names)))
        }
        Question::Keys(prefix) => {
            let start = trace.start();
            let mut keys = Vec::new();
            walk(root, prefix, "", &mut keys, limits.cells_per_query, 0)?;
            if let Some(redo) = root.redo() {
                redo.correct_keys(prefix, &mut keys);
            }
            trace.record(
                start,
                round,
                Method::List,
                prefix,
                (None, None),
                u64::try_from(keys.len()).ok(),
            );
            Ok(Reply::Names(Some(keys)))
        }
    }
}

/// Visits what stands in a folder; nothing, when it does not exist.
fn entries(
    root: &Folder,
    key: &str,
    visit: &mut dyn FnMut(String, Entry) -> Result<(), Stop>,
) -> Result<(), StoreError> {
    match root.visit(key, visit) {
        Ok(()) => Ok(()),
        Err(Stop::Io(error))
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
        {
            Ok(())
        }
        Err(Stop::Io(error)) => Err(StoreError::io(key, error)),
        Err(Stop::Visit(error)) => Err(error),
    }
}

/// Why a visit ended early.
enum Stop {
    Io(std::io::Error),
    Visit(StoreError),
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Visit(error)
    }
}

fn folders(
    root: &Folder,
    key: &str,
    (what, limit): (&'static str, u64),
) -> Result<Vec<String>, StoreError> {
    let mut names = Vec::new();
    entries(root, key, &mut |name, kind| {
        if kind == Entry::File {
            return Ok(());
        }
        names.push(name);
        let found = u64::try_from(names.len()).unwrap_or(u64::MAX);
        if found > limit {
            return Err(StoreError::limit(key, what, found, limit).into());
        }
        Ok(())
    })?;
    names.sort_unstable();
    Ok(names)
}

/// Deepest folder below an array or a family.
const DEEPEST: usize = 32;

fn check_depth(key: &str, depth: usize) -> Result<(), StoreError> {
    if depth > DEEPEST {
        let what = format!("folders are nested more than {DEEPEST} deep");
        return Err(StoreError::malformed(key, what));
    }
    Ok(())
}

fn below(key: &str, name: &str) -> String {
    if key.is_empty() {
        name.to_owned()
    } else {
        format!("{key}/{name}")
    }
}

/// Adds up the files below the folder of `key`.
pub(crate) fn usage(
    root: &Folder,
    key: &str,
    usage: &mut Usage,
    limit: u64,
    depth: usize,
) -> Result<(), StoreError> {
    check_depth(key, depth)?;
    // Folders wait until theirs is closed: a handle each is open at one time.
    let mut deeper = Vec::new();
    entries(root, key, &mut |name, kind| {
        let key = below(key, &name);
        if kind == Entry::Folder {
            deeper.push(key);
        } else {
            usage.add(&key, root.size(&key)?, limit)?;
        }
        Ok(())
    })?;
    for key in deeper {
        self::usage(root, &key, usage, limit, depth + 1)?;
    }
    Ok(())
}

/// Collects the files below the folder of `key`, relative to it. Arrays have at most a handful of axes.
fn walk(
    root: &Folder,
    key: &str,
    prefix: &str,
    keys: &mut Vec<String>,
    limit: u64,
    depth: usize,
) -> Result<(), StoreError> {
    check_depth(key, depth)?;
    let mut deeper = Vec::new();
    entries(root, key, &mut |name, kind| {
        if kind == Entry::Folder {
            deeper.push(name);
            return Ok(());
        }
        keys.push(below(prefix, &name));
        let found = u64::try_from(keys.len()).unwrap_or(u64::MAX);
        if found > limit {
            return Err(StoreError::limit(key, "cells_per_query", found, limit).into());
        }
        Ok(())
    })?;
    for name in deeper {
        let (key, prefix) = (below(key, &name), below(prefix, &name));
        walk(root, &key, &prefix, keys, limit, depth + 1)?;
    }
    Ok(())
}

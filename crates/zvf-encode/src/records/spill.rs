//! Temporary files for data beyond the memory budget.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use zerocopy::{Immutable, IntoBytes};

use crate::WriteError;
use crate::error::{OrBug, to_index};
use crate::lock::lock;
use zvf_format::int::wide;

/// Small pieces are combined into writes of about this many bytes.
const WRITE: usize = 1 << 20;

/// A range of bytes of a [`SpillFile`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpillRange {
    at: u64,
    /// Bytes.
    pub(crate) len: u64,
}

/// An append-only file without a name. Clones share it; the system removes it after the last clone is dropped. Several threads may read parts of it.
#[derive(Debug, Clone)]
pub struct SpillFile {
    folder: PathBuf,
    inner: Arc<Mutex<Option<SpillInner>>>,
}

#[derive(Debug)]
struct SpillInner {
    file: File,
    end: u64,
}

impl SpillFile {
    /// A file in `folder`, which is created with the first bytes.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            inner: Arc::new(Mutex::new(None)),
        }
    }

    fn failed(&self, source: std::io::Error) -> WriteError {
        WriteError::io(&self.folder, source)
    }

    /// Appends bytes; returns their range.
    ///
    /// # Errors
    /// I/O.
    pub fn append(&self, bytes: &[u8]) -> Result<SpillRange, WriteError> {
        let mut inner = lock(&self.inner);
        let inner = match &mut *inner {
            Some(inner) => inner,
            empty => empty.insert(SpillInner {
                file: tempfile::tempfile_in(&self.folder).map_err(|e| self.failed(e))?,
                end: 0,
            }),
        };
        inner
            .file
            .seek(SeekFrom::Start(inner.end))
            .and_then(|_| inner.file.write_all(bytes))
            .map_err(|e| self.failed(e))?;
        let part = SpillRange {
            at: inner.end,
            len: wide(bytes.len()),
        };
        inner.end += part.len;
        Ok(part)
    }

    /// Appends many pieces in few writes; `note` receives the place of each.
    pub(crate) fn append_all<'p, T>(
        &self,
        pieces: impl Iterator<Item = (&'p mut T, Vec<u8>)>,
        note: impl Fn(&mut T, SpillRange),
    ) -> Result<(), WriteError>
    where
        T: 'p,
    {
        let (mut buffer, mut waiting) = (Vec::new(), Vec::new());
        let write = |buffer: &mut Vec<u8>, waiting: &mut Vec<(&mut T, u64)>| {
            let mut rest = self.append(buffer)?;
            buffer.clear();
            for (owner, len) in waiting.drain(..) {
                note(owner, Self::slice(rest, 0, len));
                rest = Self::slice(rest, len, u64::MAX);
            }
            Ok(())
        };
        for (owner, piece) in pieces {
            buffer.extend_from_slice(&piece);
            waiting.push((owner, wide(piece.len())));
            if buffer.len() >= WRITE {
                write(&mut buffer, &mut waiting)?;
            }
        }
        if waiting.is_empty() {
            Ok(())
        } else {
            write(&mut buffer, &mut waiting)
        }
    }

    /// Appends the bytes of a range to `out`.
    ///
    /// # Errors
    /// I/O. Bug: a range of another file.
    pub fn read(&self, part: SpillRange, out: &mut Vec<u8>) -> Result<(), WriteError> {
        let length = to_index("spilled bytes", part.len)?;
        let start = out.len();
        let mut inner = lock(&self.inner);
        let inner = match &mut *inner {
            Some(inner) if part.at + part.len <= inner.end => inner,
            None if length == 0 => return Ok(()),
            _ => return Err(WriteError::bug(format!("{part:?} is not in its file"))),
        };
        out.resize(start + length, 0);
        let into = out
            .get_mut(start..)
            .or_bug("a buffer that is smaller than the range")?;
        inner
            .file
            .seek(SeekFrom::Start(part.at))
            .and_then(|_| inner.file.read_exact(into))
            .map_err(|e| self.failed(e))
    }

    /// A part of a range: `len` bytes that begin `from` bytes into it, or fewer at its end.
    pub(crate) fn slice(part: SpillRange, from: u64, len: u64) -> SpillRange {
        let from = from.min(part.len);
        SpillRange {
            at: part.at + from,
            len: len.min(part.len - from),
        }
    }
}

/// Records in the order in which they were pushed: in memory up to a budget, in a temporary file beyond.
#[derive(Debug)]
pub struct Spool {
    parts: Vec<SpillRange>,
    tail: Vec<u8>,
    budget: usize,
    file: SpillFile,
}

impl Spool {
    /// An empty spool. About `budget` bytes are held in memory, more goes to a temporary file in `folder`.
    pub fn new(budget: usize, folder: &Path) -> Self {
        Self {
            parts: Vec::new(),
            tail: Vec::new(),
            budget: budget.max(1 << 16),
            file: SpillFile::new(folder),
        }
    }

    /// Appends one record. Records are never split between pieces.
    pub(crate) fn push(&mut self, record: &[u8]) -> Result<(), WriteError> {
        self.tail.extend_from_slice(record);
        if self.tail.len() >= self.budget {
            self.parts.push(self.file.append(&self.tail)?);
            self.tail.clear();
        }
        Ok(())
    }

    /// Appends a value as a record that [`typed`](crate::records::typed) can read.
    pub fn push_value(&mut self, value: &(impl IntoBytes + Immutable)) -> Result<(), WriteError> {
        self.push(value.as_bytes())
    }

    /// Applies `take` to the pieces in order; each has whole records. May be called repeatedly.
    pub fn each_piece(
        &self,
        mut take: impl FnMut(&[u8]) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let mut bytes = Vec::new();
        for part in &self.parts {
            bytes.clear();
            self.file.read(*part, &mut bytes)?;
            take(&bytes)?;
        }
        take(&self.tail)
    }

    /// The pieces in order; each has whole records.
    pub fn pieces(self) -> impl Iterator<Item = Result<Vec<u8>, WriteError>> {
        let file = self.file;
        let spilled = self.parts.into_iter().map(move |part| {
            let mut bytes = Vec::new();
            file.read(part, &mut bytes)?;
            Ok(bytes)
        });
        spilled.chain(std::iter::once(Ok(self.tail)))
    }
}

#[cfg(test)]
mod tests {
    use super::{SpillFile, Spool};
    use crate::WriteError;

    #[test]
    fn parts_come_back_in_any_order() {
        let file = SpillFile::new(&std::env::temp_dir());
        let (a, b) = (
            file.append(b"hello").unwrap(),
            file.append(b"world!").unwrap(),
        );
        let mut out = Vec::new();
        file.read(b, &mut out).unwrap();
        file.read(a, &mut out).unwrap();
        file.read(SpillFile::slice(b, 2, 100), &mut out).unwrap();
        assert_eq!(out, b"world!hellorld!");
    }

    #[test]
    fn pieces_go_where_they_are_said_to_go() {
        let file = SpillFile::new(&std::env::temp_dir());
        file.append(b"before").unwrap();
        let mut owners: Vec<(usize, Option<super::SpillRange>)> =
            (0..5000).map(|at| (at, None)).collect();
        let piece = |at: usize| vec![at.to_le_bytes()[0]; at % 700];
        let pieces = owners.iter_mut().map(|owner| {
            let piece = piece(owner.0);
            (owner, piece)
        });
        file.append_all(pieces, |owner, part| owner.1 = Some(part))
            .unwrap();
        for (at, part) in owners {
            let mut back = Vec::new();
            file.read(part.unwrap(), &mut back).unwrap();
            assert_eq!(back, piece(at));
        }
    }

    #[test]
    fn a_spool_keeps_order_and_records() {
        let mut spool = Spool::new(0, &std::env::temp_dir());
        let record = |i: u32| i.to_le_bytes().repeat(25);
        for i in 0..5000 {
            spool.push(&record(i)).unwrap();
        }
        let pieces: Vec<Vec<u8>> = spool.pieces().map(Result::unwrap).collect();
        assert!(pieces.len() > 3);
        assert!(pieces.iter().all(|piece| piece.len() % 100 == 0));
        assert_eq!(
            pieces.concat(),
            (0..5000).flat_map(record).collect::<Vec<u8>>()
        );
    }

    #[test]
    fn what_is_not_in_a_file_is_not_read() {
        let folder = std::env::temp_dir();
        let (one, empty) = (SpillFile::new(&folder), SpillFile::new(&folder));
        let part = one.append(b"hello").unwrap();
        let shorter = SpillFile::new(&folder);
        shorter.append(b"hell").unwrap();
        for other in [empty, shorter] {
            let mut out = vec![7];
            assert!(matches!(
                other.read(part, &mut out),
                Err(WriteError::Bug { .. })
            ));
            assert_eq!(out, [7]);
        }
    }
}

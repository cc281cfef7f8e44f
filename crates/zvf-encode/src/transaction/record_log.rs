//! A record log that several runs of a program append to, so that a run can continue an interrupted one.
//!
//! The file begins with eight bytes that no other file begins with, and then has records:
//!
//! ```text
//! ┌──────────┬──────┬──────────┬────────┬─────────┐
//! │ kind  u8 │ length u64      │ CRC u32│ payload │   complete before the call that appends it returns
//! └──────────┴─────────────────┴────────┴─────────┘
//! ```
//!
//! An incomplete record at the end, as after a crash, and zeros at the end are removed. A record is incomplete if it extends past the end of the file,
//! or if it is the last one and its checksum is wrong. A wrong checksum of any other record is an error. The checksum covers only the payload. The
//! file belongs to one machine and one version of this crate and is not a storage format. Payloads are CBOR (RFC 8949) of the derived serialization
//! of their types.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::WriteError;
use crate::error::{OrBug, to_index};
use crate::records::record::take_array;
use zvf_format::int::wide;

/// The first bytes of a journal. Files with other first bytes are refused, because opening truncates a journal after its last complete record. No
/// UTF-8 text begins with the first byte.
const MAGIC: &[u8] = b"\x89zvflog\n";

/// Bytes before a payload.
const HEAD: usize = 13;

/// A record log, locked while it is open.
#[derive(Debug)]
pub struct RecordLog {
    path: PathBuf,
    file: File,
    /// Whether appended records are durable when a call returns.
    sync: bool,
}

impl RecordLog {
    /// Opens or creates a file, and passes each complete record to `take`, in order: its position, its kind and its payload.
    ///
    /// # Errors
    /// Busy: another writer has the file open. Misuse: a file that is not a record log, or is damaged. I/O; the errors of `take`.
    pub fn open(
        path: &Path,
        sync: bool,
        mut take: impl FnMut(u64, u8, &[u8]) -> Result<(), WriteError>,
    ) -> Result<Self, WriteError> {
        let failed = |e| WriteError::io(path, e);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        // Reading from a pipe would wait for its writer.
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(misused(path, "a pipe or a device", "a journal, or nothing"));
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let journal = path.display().to_string();
                let what = "the journal is in use by another writer";
                return Err(WriteError::busy(&journal, what));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut records = Self {
            path: path.to_owned(),
            file,
            sync,
        };
        // An incomplete last record is removed, so files of another kind must be refused first.
        let mut begin = Vec::new();
        let mut beginning = (&records.file).take(wide(MAGIC.len()));
        beginning.read_to_end(&mut begin).map_err(failed)?;
        if !MAGIC.starts_with(&begin) {
            let expected = "a journal, or no file there, since other files are not overwritten";
            return Err(misused(path, "a file that is not a journal", expected));
        }
        if begin.len() < MAGIC.len() {
            records.clear()?;
        }
        let mut start = wide(MAGIC.len());
        records.file.seek(SeekFrom::Start(start)).map_err(failed)?;
        let mut reader = LogReader {
            path,
            length: records.file.metadata().map_err(failed)?.len(),
            file: BufReader::new(records.file.try_clone().map_err(failed)?),
            at: start,
        };
        while let Some((kind, payload)) = reader.next()? {
            take(start, kind, &payload)?;
            start = reader.at;
        }
        drop(reader);
        records.cut(start)?;
        Ok(records)
    }

    /// The payloads of the complete records of some kinds, without opening the file as a log: other payloads are not read, and nothing is locked,
    /// checked or changed. Empty if there is no log.
    ///
    /// # Errors
    /// I/O.
    pub fn peek(path: &Path, kinds: &[u8]) -> Result<Vec<(u8, Vec<u8>)>, WriteError> {
        let failed = |e| WriteError::io(path, e);
        // A pipe is not opened, since that would wait for its writer.
        let length = match std::fs::metadata(path) {
            Ok(found) if found.is_file() => found.len(),
            _ => return Ok(Vec::new()),
        };
        let mut file = BufReader::new(File::open(path).map_err(failed)?);
        let mut begin = Vec::new();
        let mut beginning = (&mut file).take(wide(MAGIC.len()));
        beginning.read_to_end(&mut begin).map_err(failed)?;
        let mut found = Vec::new();
        if begin != MAGIC {
            return Ok(found);
        }
        let mut at = wide(MAGIC.len());
        while let Some(left) = length.checked_sub(at + wide(HEAD)) {
            let mut head = [0; HEAD];
            file.read_exact(&mut head).map_err(failed)?;
            let mut rest = &head[..];
            let [kind] = take_array(&mut rest)?;
            let payload = u64::from_le_bytes(take_array(&mut rest)?);
            if payload > left {
                break;
            }
            at += wide(HEAD) + payload;
            if kinds.contains(&kind) {
                let mut bytes = vec![0; to_index("bytes of a journal's record", payload)?];
                file.read_exact(&mut bytes).map_err(failed)?;
                found.push((kind, bytes));
            } else {
                file.seek(SeekFrom::Start(at)).map_err(failed)?;
            }
        }
        Ok(found)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Truncates the file at `end`.
    fn cut(&mut self, end: u64) -> Result<(), WriteError> {
        let done = self.file.set_len(end);
        done.and_then(|()| self.file.seek(SeekFrom::Start(end)))
            .map_err(|e| WriteError::io(&self.path, e))
            .map(|_| ())
    }

    /// Removes all records.
    pub fn clear(&mut self) -> Result<(), WriteError> {
        self.cut(0)?;
        let begun = self.file.write_all(MAGIC);
        begun.map_err(|e| WriteError::io(&self.path, e))
    }

    /// Appends a record.
    pub fn append(&mut self, kind: u8, payload: &[u8]) -> Result<(), WriteError> {
        self.append_all(kind, &[payload])
    }

    /// Appends several records of one kind.
    pub fn append_all<P: AsRef<[u8]>>(
        &mut self,
        kind: u8,
        payloads: &[P],
    ) -> Result<(), WriteError> {
        let mut write = || -> std::io::Result<()> {
            for payload in payloads {
                let payload = payload.as_ref();
                let mut head = vec![kind];
                head.extend_from_slice(&wide(payload.len()).to_le_bytes());
                head.extend_from_slice(&crc32c::crc32c(payload).to_le_bytes());
                self.file.write_all(&head)?;
                self.file.write_all(payload)?;
            }
            if self.sync {
                self.file.sync_data()
            } else {
                Ok(())
            }
        };
        write().map_err(|e| WriteError::io(&self.path, e))
    }

    /// Removes the file, which is no longer needed.
    pub fn done(self) -> Result<(), WriteError> {
        let path = self.path.clone();
        drop(self);
        std::fs::remove_file(&path).map_err(|e| WriteError::Tidying {
            key: path.display().to_string(),
            source: Box::new(WriteError::io(&path, e)),
        })
    }
}

impl Drop for RecordLog {
    /// Unlocks the file. Closing it is not enough while a process that this program is starting still has a copy of the descriptor.
    fn drop(&mut self) {
        // A lock that cannot be removed ends when all copies are closed.
        let _unlocked = self.file.unlock();
    }
}

/// A value as the payload of a record. Equal values have equal bytes.
///
/// # Errors
/// Bug: a value that cannot be serialized.
pub fn to_bytes(value: &impl Serialize) -> Result<Vec<u8>, WriteError> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).or_bug("a payload")?;
    Ok(bytes)
}

/// The value of a payload; `None` if the bytes are not such a value.
pub fn from_bytes<T: DeserializeOwned>(mut bytes: &[u8]) -> Option<T> {
    let value = ciborium::from_reader(&mut bytes).ok()?;
    bytes.is_empty().then_some(value)
}

/// Reads records as far as they are complete.
struct LogReader<'p> {
    path: &'p Path,
    file: BufReader<File>,
    /// End of the last complete record.
    at: u64,
    length: u64,
}

impl LogReader<'_> {
    /// The next record; `None` at the end, or at a record that is incomplete after a crash.
    fn next(&mut self) -> Result<Option<(u8, Vec<u8>)>, WriteError> {
        let left = self.length.checked_sub(self.at);
        let left = left.or_bug("a record after the end of its journal")?;
        let Some(left) = left.checked_sub(wide(HEAD)) else {
            return Ok(None);
        };
        let mut head = [0; HEAD];
        self.fill(&mut head)?;
        if head == [0; HEAD] {
            // After a loss of power: the file was extended before its bytes were written.
            self.zeros()?;
            return Ok(None);
        }
        let mut rest = &head[..];
        let [kind] = take_array(&mut rest)?;
        let length = u64::from_le_bytes(take_array(&mut rest)?);
        let sum = u32::from_le_bytes(take_array(&mut rest)?);
        if length > left {
            return Ok(None);
        }
        let mut payload = vec![0; to_index("bytes of a journal's record", length)?];
        self.fill(&mut payload)?;
        if crc32c::crc32c(&payload) != sum {
            // The length of the last record may have been written before its bytes; all others were complete.
            return if length == left {
                Ok(None)
            } else {
                Err(damaged(self.path, self.at, "the record that was written"))
            };
        }
        self.at += wide(HEAD) + length;
        Ok(Some((kind, payload)))
    }

    /// Reads the rest of the file, and fails if it has other bytes than zeros.
    fn zeros(&mut self) -> Result<(), WriteError> {
        loop {
            let buffer = self.file.fill_buf();
            let buffer = buffer.map_err(|e| WriteError::io(self.path, e))?;
            if buffer.is_empty() {
                return Ok(());
            }
            if buffer.iter().any(|byte| *byte != 0) {
                return Err(damaged(self.path, self.at, "the record that was written"));
            }
            let read = buffer.len();
            self.file.consume(read);
        }
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), WriteError> {
        self.file
            .read_exact(into)
            .map_err(|e| WriteError::io(self.path, e))
    }
}

/// A journal that cannot be continued.
#[cold]
pub fn misused(path: &Path, found: &str, expected: &str) -> WriteError {
    WriteError::input(format!("journal {}", path.display()), found, expected)
}

/// A record that no writer can have written.
#[cold]
pub fn damaged(path: &Path, at: u64, expected: &str) -> WriteError {
    let what = format!("journal {}, byte {at}", path.display());
    WriteError::input(what, "a damaged record", expected)
}

#[cfg(test)]
mod tests {
    use super::RecordLog;
    use crate::WriteError;
    use crate::error::OrBug;

    fn open(path: &std::path::Path) -> Result<RecordLog, WriteError> {
        RecordLog::open(path, false, |_, _, _| Ok(()))
    }

    #[test]
    fn a_closed_log_is_free_although_the_descriptor_was_copied() -> Result<(), WriteError> {
        let folder = tempfile::tempdir().or_bug("a folder")?;
        let path = folder.path().join("log");
        let log = open(&path)?;
        assert!(matches!(open(&path), Err(WriteError::Busy { .. })));
        // As in a child process between `fork` and `exec`.
        let copy = log.file.try_clone().or_bug("a copy")?;
        drop(log);
        let again = open(&path)?;
        drop(copy);
        assert!(matches!(open(&path), Err(WriteError::Busy { .. })));
        again.done()
    }
}

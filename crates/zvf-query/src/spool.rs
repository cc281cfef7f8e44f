//! A temporary file for rows that exceed the memory budget.

use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, PoisonError};

use crate::QueryError;
use crate::error::OrBug;
use zvf_store::format::int;

/// A range of bytes of a [`Spool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) at: u64,
    pub(crate) len: u64,
}

/// The storage of the spool: a file.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
mod medium {
    pub(super) use std::fs::File as Medium;
    pub(super) use tempfile::tempfile as create;
}

/// The storage of the spool on systems without files: memory.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod medium {
    pub(super) type Medium = std::io::Cursor<Vec<u8>>;

    pub(super) fn create() -> std::io::Result<Medium> {
        Ok(Medium::default())
    }
}

/// An append-only file without a name in the system's folder for temporary files. It is created by the first
/// [`append`](Self::append), and the system removes it when the spool is dropped or the process ends, even by a crash.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    inner: Mutex<Option<Inner>>,
}

#[derive(Debug)]
struct Inner {
    file: medium::Medium,
    end: u64,
}

impl Spool {
    /// Appends bytes; can be called from several threads.
    ///
    /// # Errors
    ///
    /// I/O, naming the folder for temporary files.
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<Extent, QueryError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let inner = match &mut *inner {
            Some(inner) => inner,
            empty => empty.insert(Inner {
                file: medium::create().map_err(QueryError::temporary)?,
                end: 0,
            }),
        };
        // The position is set before every access, because a thread that panicked may have changed it.
        inner
            .file
            .seek(SeekFrom::Start(inner.end))
            .and_then(|_| inner.file.write_all(bytes))
            .map_err(QueryError::temporary)?;
        let extent = Extent {
            at: inner.end,
            len: int::wide(bytes.len()),
        };
        inner.end += extent.len;
        Ok(extent)
    }

    /// Appends bytes of the file to `out`.
    ///
    /// # Errors
    ///
    /// I/O. Bug: a range that was never written.
    pub(crate) fn read(&self, extent: Extent, out: &mut Vec<u8>) -> Result<(), QueryError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let end = extent.at.checked_add(extent.len);
        let inner = inner
            .as_mut()
            .filter(|inner| end.is_some_and(|end| end <= inner.end))
            .or_bug(format_args!("{extent:?} is not in the temporary file"))?;
        let length = usize::try_from(extent.len)
            .ok()
            .or_bug("a range larger than memory")?;
        out.reserve(length);
        let read = inner.file.seek(SeekFrom::Start(extent.at));
        // `read_to_end` does not have to set the memory to zero first.
        let read = read.and_then(|_| (&mut inner.file).take(extent.len).read_to_end(out));
        match read.map_err(QueryError::temporary)? {
            read if read == length => Ok(()),
            _ => Err(QueryError::temporary(ErrorKind::UnexpectedEof.into())),
        }
    }
}

/// Appends a number to a record.
pub(crate) fn put(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends bytes with their length.
pub(crate) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put(int::wide(bytes.len()), out);
    out.extend_from_slice(bytes);
}

/// Takes a number from the front of a record that this crate wrote.
///
/// # Errors
///
/// Bug: too few bytes.
pub(crate) fn take(rest: &mut &[u8]) -> Result<u64, QueryError> {
    let (number, after) = rest
        .split_first_chunk::<8>()
        .or_bug("a record of the temporary file ends inside a number")?;
    *rest = after;
    Ok(u64::from_le_bytes(*number))
}

/// Takes bytes that were appended with [`put_bytes`].
///
/// # Errors
///
/// Bug: too few bytes.
pub(crate) fn take_bytes<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], QueryError> {
    let length = usize::try_from(take(rest)?)
        .ok()
        .or_bug("bytes of a record larger than memory")?;
    let (bytes, after) = rest
        .split_at_checked(length)
        .or_bug("a record of the temporary file is too short")?;
    *rest = after;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zvf_store::Class;

    #[test]
    fn ranges_are_read_in_any_order() {
        let spool = Spool::default();
        let (a, b) = (
            spool.append(b"hello").unwrap(),
            spool.append(b"world!").unwrap(),
        );
        let mut out = Vec::new();
        for extent in [b, a, Extent { at: 3, len: 4 }] {
            spool.read(extent, &mut out).unwrap();
        }
        assert_eq!(out, b"world!hellolowo");
    }

    #[test]
    fn a_range_that_was_never_written_is_a_bug() {
        let spool = Spool::default();
        let outside = Extent { at: 0, len: 1 };
        let class = |spool: &Spool, extent| {
            let found = spool.read(extent, &mut Vec::new());
            found.unwrap_err().class()
        };
        assert_eq!(class(&spool, outside), Class::Bug);
        spool.append(b"a").unwrap();
        for (at, len) in [(0, 2), (1, 1), (u64::MAX, 1)] {
            assert_eq!(class(&spool, Extent { at, len }), Class::Bug);
        }
    }

    #[test]
    fn records_are_taken_as_they_were_put() {
        let mut out = Vec::new();
        put(7, &mut out);
        put_bytes(b"abc", &mut out);
        let mut rest = out.as_slice();
        assert_eq!(take(&mut rest).unwrap(), 7);
        assert_eq!(take_bytes(&mut rest).unwrap(), b"abc");
        assert_eq!(take(&mut rest).unwrap_err().class(), Class::Bug);
        let mut cut = out.get(8..out.len() - 1).unwrap();
        assert_eq!(take_bytes(&mut cut).unwrap_err().class(), Class::Bug);
    }
}

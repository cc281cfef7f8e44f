//! One stored object of a precomputed folder, in memory, and a cursor over it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{ConvertError, InFile};
use crate::format::unpacked;
use crate::gzip::GzipMembers;

/// Most bytes of one object if it may have at most `held` vertices.
pub(super) fn most(held: u64) -> u64 {
    held.saturating_mul(16)
}

/// The bytes of one object: a file of its own, or a range of a shard.
#[derive(Debug, Clone)]
pub(super) struct ObjectBytes {
    pub(super) path: Arc<Path>,
    /// The key under which it is stored.
    pub(super) key: u64,
    /// The offset of its stored bytes in the file.
    pub(super) start: u64,
    /// Whether `bytes` are decompressed, so that offsets in errors do not refer to the file.
    pub(super) packed: bool,
    pub(super) bytes: Vec<u8>,
}

impl ObjectBytes {
    /// A whole file, decompressed if it is gzip: `path` itself, as copies of a bucket have it, or `path` with the ending `.gz`, as cloud-volume
    /// writes it to a disk.
    ///
    /// # Errors
    /// I/O; malformed: a file `.gz` that is not gzip; a limit: more than `most` bytes.
    pub(super) fn read(path: &Path, key: u64, most: u64) -> Result<Self, ConvertError> {
        let stored = stored(path);
        let path = stored.as_path();
        let file = zvf_store::open_file(path).map_err(|error| ConvertError::io(path, error))?;
        let bytes = bounded(file, most)
            .map_err(|error| ConvertError::io(path, error))?
            .ok_or_else(|| ConvertError::limit(path, InFile::Whole, "bytes of an object", most))?;
        let record = Self {
            path: path.into(),
            key,
            start: 0,
            packed: false,
            bytes,
        };
        if unpacked(path).is_some() {
            return record.unpacked(most);
        }
        // The gzip magic may also be a number of vertices, but then the checksum at the end does not match.
        match record.bytes.starts_with(&[0x1f, 0x8b, 0x08]) {
            true => match record.clone().unpacked(most) {
                Err(ConvertError::Malformed { .. }) => Ok(record),
                other => other,
            },
            false => Ok(record),
        }
    }

    /// Unpacks gzip.
    ///
    /// # Errors
    /// Malformed: bytes that are not gzip; a limit: more than `most` bytes.
    pub(super) fn unpacked(self, most: u64) -> Result<Self, ConvertError> {
        let place = InFile::Byte(self.start);
        let bytes = bounded(GzipMembers::new(self.bytes.as_slice()), most)
            .map_err(|error| {
                let found = format!("bytes that cannot be decompressed ({error})");
                ConvertError::malformed(&self.path, place, found, "gzip")
            })?
            .ok_or_else(|| {
                ConvertError::limit(&self.path, place, "decompressed bytes of an object", most)
            })?;
        Ok(Self {
            bytes,
            packed: true,
            ..self
        })
    }

    pub(super) fn cursor(&self) -> ObjectCursor<'_> {
        ObjectCursor {
            record: self,
            rest: &self.bytes,
        }
    }

    /// The error for malformed data at offset `at` of the bytes.
    #[cold]
    pub(super) fn bad(
        &self,
        at: usize,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> ConvertError {
        let found = found.into();
        let at = at as u64;
        if self.packed {
            let found = format!(
                "in byte {at} of the decompressed object {}: {found}",
                self.key
            );
            let place = InFile::Byte(self.start);
            return ConvertError::malformed(&self.path, place, found, expected);
        }
        let place = InFile::Byte(self.start.saturating_add(at));
        ConvertError::malformed(&self.path, place, found, expected)
    }
}

/// The file to read for `path`: `path` with the ending `.gz` if only that exists.
fn stored(path: &Path) -> PathBuf {
    let mut packed = path.as_os_str().to_owned();
    packed.push(".gz");
    let packed = PathBuf::from(packed);
    match !path.exists() && packed.exists() {
        true => packed,
        false => path.to_owned(),
    }
}

/// All bytes of `reader`; `None` if there are more than `most`.
fn bounded(reader: impl Read, most: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let got = reader
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok((got as u64 <= most).then_some(bytes))
}

/// Reads an object forwards.
#[derive(Debug)]
pub(super) struct ObjectCursor<'r> {
    record: &'r ObjectBytes,
    rest: &'r [u8],
}

impl<'r> ObjectCursor<'r> {
    fn at(&self) -> usize {
        self.record.bytes.len().saturating_sub(self.rest.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    #[cold]
    pub(super) fn bad(
        &self,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> ConvertError {
        self.record.bad(self.at(), found, expected)
    }

    /// Takes `count` values of `size` bytes.
    ///
    /// # Errors
    /// Malformed: the object ends before them.
    pub(super) fn take(
        &mut self,
        count: usize,
        size: usize,
        what: &str,
    ) -> Result<&'r [u8], ConvertError> {
        let taken = count
            .checked_mul(size)
            .and_then(|bytes| self.rest.split_at_checked(bytes));
        let Some((taken, rest)) = taken else {
            let found = format!("the end after {} bytes", self.rest.len());
            return Err(self.bad(found, format!("{what}: {count} of {size} bytes")));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], ConvertError> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            let found = format!("the end after {} bytes", self.rest.len());
            return Err(self.bad(found, format!("{what}: {N} bytes")));
        };
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32, ConvertError> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64, ConvertError> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A count of 32 bits.
    pub(super) fn count(&mut self, what: &str) -> Result<usize, ConvertError> {
        let count = self.u32(what)?;
        usize::try_from(count).map_err(|_| self.bad(count.to_string(), what.to_owned()))
    }

    /// Takes `count` finite numbers.
    pub(super) fn floats(&mut self, count: usize, what: &str) -> Result<Vec<f64>, ConvertError> {
        let at = self.at();
        let bytes = self.take(count, 4, what)?;
        let (floats, _) = bytes.as_chunks::<4>();
        let mut numbers = Vec::with_capacity(floats.len());
        for (number, float) in floats.iter().enumerate() {
            let value = f32::from_le_bytes(*float);
            if !value.is_finite() {
                let at = at.saturating_add(number.saturating_mul(4));
                let expected = format!("{what}, finite numbers");
                return Err(self.record.bad(at, value.to_string(), expected));
            }
            numbers.push(f64::from(value));
        }
        Ok(numbers)
    }

    /// Takes `count` vertex numbers, each below `vertices`.
    pub(super) fn vertices(
        &mut self,
        count: usize,
        vertices: usize,
        what: &str,
    ) -> Result<Vec<u64>, ConvertError> {
        let at = self.at();
        let bytes = self.take(count, 4, what)?;
        let (numbers, _) = bytes.as_chunks::<4>();
        let mut found = Vec::with_capacity(numbers.len());
        for (place, number) in numbers.iter().enumerate() {
            let vertex = u64::from(u32::from_le_bytes(*number));
            if vertex >= vertices as u64 {
                let at = at.saturating_add(place.saturating_mul(4));
                let expected = format!("{what}: one of the {vertices} vertices, from 0");
                return Err(self.record.bad(at, format!("vertex {vertex}"), expected));
            }
            found.push(vertex);
        }
        Ok(found)
    }

    /// Takes ids of 64 bits.
    pub(super) fn ids(&mut self, count: usize, what: &str) -> Result<Vec<u64>, ConvertError> {
        let bytes = self.take(count, 8, what)?;
        let (ids, _) = bytes.as_chunks::<8>();
        Ok(ids.iter().map(|id| u64::from_le_bytes(*id)).collect())
    }

    /// Checks that all bytes were read.
    pub(super) fn end(&self) -> Result<(), ConvertError> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(self.bad(
                format!("{} more bytes", self.rest.len()),
                "the end of the object",
            )),
        }
    }
}

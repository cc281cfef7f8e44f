//! Reads zip files with stored or deflated members, and writes zip files with stored members, with the crate `zip`.
//!
//! The crate reads the directory and finds each member. Members are decompressed here, because the crate's readers borrow the archive, and
//! several columns of a table are read at the same time.

use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use zip::result::{ZipError, ZipResult};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use zvf_codec::isolate::isolate as caught;

use crate::bytes::Bytes;
use crate::error::{ConvertError, InFile, shown};
use crate::isolate::isolate;

/// Most members of an archive.
const MOST: usize = 65_536;

/// One file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArchiveMember {
    pub(crate) name: String,
    /// Bytes after decompression.
    pub(crate) size: u64,
    packed: u64,
    deflated: bool,
    crc: u32,
    start: u64,
}

/// The directory of an archive.
#[derive(Debug)]
pub(crate) struct Archive {
    path: PathBuf,
    pub(crate) members: Vec<ArchiveMember>,
}

impl Archive {
    pub(crate) fn open(path: &Path) -> Result<Self, ConvertError> {
        isolate(path, || Self::directory(path))
    }

    fn directory(path: &Path) -> Result<Self, ConvertError> {
        let bad = |found: String, expected: &str| {
            ConvertError::malformed(path, InFile::Whole, found, expected)
        };
        let failed = |error: ZipError| match error {
            ZipError::Io(source) if source.kind() != io::ErrorKind::UnexpectedEof => {
                ConvertError::io(path, source)
            }
            other => bad(other.to_string(), "a zip file"),
        };
        let file = zvf_store::open_file(path).map_err(|error| ConvertError::io(path, error))?;
        let length = file
            .metadata()
            .map_err(|error| ConvertError::io(path, error))?;
        let mut archive = ZipArchive::new(BufReader::new(file)).map_err(failed)?;
        if archive.has_duplicate_names() {
            return Err(bad(
                "two members with one name".to_owned(),
                "members with different names",
            ));
        }
        if archive.len() > MOST {
            let what = "members of an archive";
            return Err(ConvertError::limit(path, InFile::Whole, what, MOST as u64));
        }
        let mut members = Vec::new();
        for number in 0..archive.len() {
            let entry = archive.by_index_raw(number).map_err(failed)?;
            let name = entry.name().map_err(failed)?.into_owned();
            let deflated = match entry.compression() {
                CompressionMethod::Stored if !entry.encrypted() => false,
                CompressionMethod::Deflated if !entry.encrypted() => true,
                other => {
                    let found = format!("{} compressed by {other}", shown(&name));
                    return Err(bad(found, "stored or deflated members, not encrypted"));
                }
            };
            let packed = entry.compressed_size();
            let start = entry.data_start().filter(|start| {
                let end = start.checked_add(packed);
                end.is_some_and(|end| end <= length.len())
            });
            let Some(start) = start else {
                return Err(bad(
                    format!("{} after the end of the file", shown(&name)),
                    "a member inside the file",
                ));
            };
            members.push(ArchiveMember {
                name,
                size: entry.size(),
                packed,
                deflated,
                crc: entry.crc32(),
                start,
            });
        }
        Ok(Self {
            path: path.to_owned(),
            members,
        })
    }

    pub(crate) fn find(&self, name: &str) -> Option<&ArchiveMember> {
        self.members.iter().find(|member| member.name == name)
    }

    /// A reader of the decompressed bytes of a member.
    pub(crate) fn read(&self, member: &ArchiveMember) -> Result<Bytes, ConvertError> {
        let io = |error| ConvertError::io(&self.path, error);
        let mut file = zvf_store::open_file(&self.path).map_err(io)?;
        file.seek(SeekFrom::Start(member.start)).map_err(io)?;
        let packed = file.take(member.packed);
        let bytes: Box<dyn Read> = if member.deflated {
            Box::new(DeflateDecoder::new(packed))
        } else {
            Box::new(packed)
        };
        let checked = CheckedReader {
            bytes,
            left: member.size,
            sum: Crc::new(),
            wanted: member.crc,
        };
        Ok(Bytes::of(&self.path, Box::new(checked)))
    }
}

/// Reads up to the stated size, and compares the checksum once this size is reached.
struct CheckedReader {
    bytes: Box<dyn Read>,
    left: u64,
    sum: Crc,
    wanted: u32,
}

impl Read for CheckedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let Some(part) = buffer.get_mut(..most).filter(|part| !part.is_empty()) else {
            return Ok(0);
        };
        let got = caught(|| self.bytes.read(part)).map_err(io::Error::other)??;
        self.sum.update(part.get(..got).unwrap_or_default());
        self.left = self.left.saturating_sub(got as u64);
        if self.left == 0 && self.sum.sum() != self.wanted {
            let what = "a checksum that differs from the one in the archive's directory";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(got)
    }
}

/// Writes an archive of uncompressed members. All have the earliest date, so that equal members make equal bytes.
#[derive(Debug)]
pub(crate) struct ArchiveWriter<W: Write + Seek>(ZipWriter<W>);

impl<W: Write + Seek> ArchiveWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        Self(ZipWriter::new(out))
    }

    /// Adds a member with all bytes of `content`.
    pub(crate) fn add(&mut self, name: &str, content: &mut dyn Read) -> io::Result<()> {
        // The size is known only at the end, so 64-bit fields are reserved.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .large_file(true);
        plain(self.0.start_file(name, options))?;
        io::copy(content, &mut self.0).map(drop)
    }

    /// Writes the directory.
    pub(crate) fn finish(self) -> io::Result<()> {
        plain(self.0.finish())?.flush()
    }
}

/// The I/O error inside an archive error, or the archive error as an I/O error.
fn plain<T>(done: ZipResult<T>) -> io::Result<T> {
    done.map_err(|error| match error {
        ZipError::Io(source) => source,
        other => io::Error::other(other),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn members_come_back_and_damage_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zip");
        let mut bytes = Vec::new();
        let mut writer = ArchiveWriter::new(Cursor::new(&mut bytes));
        writer.add("a/b.txt", &mut &b"hello"[..]).unwrap();
        writer.add("empty", &mut &b""[..]).unwrap();
        writer.finish().unwrap();
        std::fs::write(&path, &bytes).unwrap();
        let archive = Archive::open(&path).unwrap();
        let names: Vec<&str> = archive
            .members
            .iter()
            .map(|member| member.name.as_str())
            .collect();
        assert_eq!(names, ["a/b.txt", "empty"]);
        let member = archive.find("a/b.txt").unwrap();
        let text = archive.read(member).unwrap().take_some(5, "text").unwrap();
        assert_eq!(text, b"hello");
        // No changed archive causes a panic; changed contents have another checksum.
        for at in 0..bytes.len() {
            for change in [1, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                std::fs::write(&path, &damaged).unwrap();
                let Ok(archive) = Archive::open(&path) else {
                    continue;
                };
                for member in &archive.members {
                    let size = usize::try_from(member.size.min(9)).unwrap();
                    let got = archive
                        .read(member)
                        .and_then(|mut bytes| bytes.take_some(size, "text"));
                    if let Ok(got) = got {
                        assert!(
                            got.is_empty() || got == b"hello" || size == 9,
                            "{at} {got:?}"
                        );
                    }
                }
            }
            std::fs::write(&path, &bytes[..at]).unwrap();
            assert!(Archive::open(&path).is_err());
        }
    }
}

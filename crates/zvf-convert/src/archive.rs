//! Zip files: members that are stored or deflated, found through the directory at the end; and files of stored members.
//!
//! Of the format just what arrays in archives need. Members of more than 4 GiB have 64-bit sizes.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::Crc;
use flate2::read::DeflateDecoder;

use crate::error::{ConvertError, Place, shown};
use crate::tracks::Bytes;

const END: &[u8; 4] = b"PK\x05\x06";
const END_64: &[u8; 4] = b"PK\x06\x06";
const LOCATOR_64: &[u8; 4] = b"PK\x06\x07";
const ENTRY: &[u8; 4] = b"PK\x01\x02";
const LOCAL: &[u8; 4] = b"PK\x03\x04";
/// The end record, and the longest comment behind it.
const LONGEST_END: u64 = 22 + 0xffff;
/// A directory that is longer is none.
const LONGEST_DIRECTORY: u64 = 64 << 20;

/// One file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Its bytes when they are unpacked.
    pub(crate) size: u64,
    packed: u64,
    deflated: bool,
    crc: u32,
    local: u64,
}

/// The directory of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Archive {
    path: PathBuf,
    pub(crate) members: Vec<Member>,
}

/// Little-endian fields of a record.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

impl Archive {
    pub(crate) fn open(path: &Path) -> Result<Self, ConvertError> {
        let mut file = File::open(path).map_err(|error| ConvertError::io(path, error))?;
        let length = file
            .metadata()
            .map_err(|error| ConvertError::io(path, error))?
            .len();
        let bad = |at: u64, found: &str, expected: &str| {
            ConvertError::malformed(path, Place::Byte(at), found, expected)
        };
        let first = length.saturating_sub(LONGEST_END);
        let tail = read(path, &mut file, first, length.saturating_sub(first))?;
        let at = tail.windows(4).rposition(|window| window == END);
        let Some(at) = at else {
            return Err(bad(length, "no end record", "a zip file"));
        };
        let place = first.saturating_add(at as u64);
        let (count, size, start) =
            directory(path, &mut file, place, tail.get(at..).unwrap_or_default())?
                .ok_or_else(|| bad(place, "a broken end record", "the place of the directory"))?;
        if size > LONGEST_DIRECTORY {
            let what = "bytes of a directory";
            return Err(ConvertError::limit(
                path,
                Place::Byte(start),
                what,
                LONGEST_DIRECTORY,
            ));
        }
        let bytes = read(path, &mut file, start, size)?;
        let mut fields = Fields(&bytes);
        let mut members: Vec<Member> = Vec::new();
        for _ in 0..count {
            let at = start
                .saturating_add(size)
                .saturating_sub(fields.0.len() as u64);
            let Some((member, method)) = entry(&mut fields) else {
                return Err(bad(at, "a broken entry", "one of the directory"));
            };
            if method != 0 && method != 8 {
                let found = format!("{} packed by method {method}", shown(&member.name));
                return Err(bad(at, &found, "stored or deflated members"));
            }
            if members.iter().any(|other| other.name == member.name) {
                let found = format!("{} again", shown(&member.name));
                return Err(bad(at, &found, "a name of its own"));
            }
            if members.len() >= 65_536 {
                return Err(ConvertError::limit(
                    path,
                    Place::Byte(at),
                    "members of an archive",
                    65_536,
                ));
            }
            members.push(member);
        }
        Ok(Self {
            path: path.to_owned(),
            members,
        })
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The bytes of a member, unpacked, forwards.
    pub(crate) fn read(&self, member: &Member) -> Result<Bytes, ConvertError> {
        let io = |error| ConvertError::io(&self.path, error);
        let mut file = File::open(&self.path).map_err(io)?;
        let head = read(&self.path, &mut file, member.local, 30)?;
        let mut fields = Fields(&head);
        let signature = fields.take(4);
        fields.take(22);
        let lengths = fields.u16().zip(fields.u16());
        let Some((name, extra)) = lengths.filter(|_| signature == Some(LOCAL)) else {
            let found = format!("no head of {}", shown(&member.name));
            let place = Place::Byte(member.local);
            return Err(ConvertError::malformed(
                &self.path, place, found, "a member",
            ));
        };
        let start = member
            .local
            .checked_add(30 + u64::from(name) + u64::from(extra));
        let start = start.unwrap_or(u64::MAX);
        file.seek(SeekFrom::Start(start)).map_err(io)?;
        let packed = file.take(member.packed);
        let bytes: Box<dyn Read> = if member.deflated {
            Box::new(DeflateDecoder::new(packed))
        } else {
            Box::new(packed)
        };
        let checked = Checked {
            bytes,
            left: member.size,
            sum: Crc::new(),
            wanted: member.crc,
        };
        Ok(Bytes::of(&self.path, Box::new(checked)))
    }
}

/// Bytes whose checksum is compared at their end. More than were promised are not read.
struct Checked {
    bytes: Box<dyn Read>,
    left: u64,
    sum: Crc,
    wanted: u32,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let Some(part) = buffer.get_mut(..most).filter(|part| !part.is_empty()) else {
            return Ok(0);
        };
        let got = self.bytes.read(part)?;
        self.sum.update(part.get(..got).unwrap_or_default());
        self.left = self.left.saturating_sub(got as u64);
        if self.left == 0 && self.sum.sum() != self.wanted {
            let what = "another checksum than that of the archive's directory";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(got)
    }
}

fn read(path: &Path, file: &mut File, at: u64, size: u64) -> Result<Vec<u8>, ConvertError> {
    let io = |error| ConvertError::io(path, error);
    file.seek(SeekFrom::Start(at)).map_err(io)?;
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes).map_err(io)?;
    if (bytes.len() as u64) < size {
        let found = format!("the end of the file after {} bytes", bytes.len());
        return Err(ConvertError::malformed(
            path,
            Place::Byte(at),
            found,
            format!("{size} bytes"),
        ));
    }
    Ok(bytes)
}

/// Members, bytes and place of the directory.
fn directory(
    path: &Path,
    file: &mut File,
    place: u64,
    end: &[u8],
) -> Result<Option<(u64, u64, u64)>, ConvertError> {
    let mut fields = Fields(end);
    let mut short = || {
        fields.take(10)?;
        let numbers = (
            u64::from(fields.u16()?),
            u64::from(fields.u32()?),
            u64::from(fields.u32()?),
        );
        // A comment is all that may follow.
        let comment = fields.u16()?;
        (fields.0.len() == usize::from(comment)).then_some(numbers)
    };
    let Some((count, size, start)) = short() else {
        return Ok(None);
    };
    if count < 0xffff && size < 0xffff_ffff && start < 0xffff_ffff {
        return Ok(Some((count, size, start)));
    }
    // The numbers stand in a longer record, whose place stands before this one.
    let Some(at) = place.checked_sub(20) else {
        return Ok(Some((count, size, start)));
    };
    let locator = read(path, file, at, 20)?;
    if !locator.starts_with(LOCATOR_64) {
        return Ok(Some((count, size, start)));
    }
    let mut fields = Fields(&locator);
    fields.take(8);
    let Some(at) = fields.u64() else {
        return Ok(None);
    };
    let record = read(path, file, at, 56)?;
    let mut fields = Fields(&record);
    let mut long = || {
        (fields.take(4)? == END_64).then_some(())?;
        fields.take(28)?;
        Some((fields.u64()?, fields.u64()?, fields.u64()?))
    };
    Ok(long())
}

/// One entry of the directory, and how it is packed.
fn entry(fields: &mut Fields<'_>) -> Option<(Member, u16)> {
    (fields.take(4)? == ENTRY).then_some(())?;
    fields.take(4)?;
    let flags = fields.u16()?;
    let method = fields.u16()?;
    fields.take(4)?;
    let crc = fields.u32()?;
    let (packed, size) = (fields.u32()?, fields.u32()?);
    let (name, extra, comment) = (fields.u16()?, fields.u16()?, fields.u16()?);
    fields.take(8)?;
    let local = fields.u32()?;
    let name = fields.take(usize::from(name))?;
    let mut more = Fields(fields.take(usize::from(extra))?);
    fields.take(usize::from(comment))?;
    let (mut sizes, mut local) = ([u64::from(size), u64::from(packed)], u64::from(local));
    while let (Some(id), Some(length)) = (more.u16(), more.u16()) {
        let mut body = Fields(more.take(usize::from(length))?);
        if id == 1 {
            // 64-bit numbers of those that did not fit, in this order.
            for number in &mut sizes {
                if *number == 0xffff_ffff {
                    *number = body.u64()?;
                }
            }
            if local == 0xffff_ffff {
                local = body.u64()?;
            }
        }
    }
    let [size, packed] = sizes;
    // Encrypted members are none that are read.
    let method = if flags & 1 == 0 { method } else { u16::MAX };
    let member = Member {
        name: std::str::from_utf8(name).ok()?.to_owned(),
        size,
        packed,
        deflated: method == 8,
        crc,
        local,
    };
    Some((member, method))
}

/// Writes an archive of stored members.
#[derive(Debug)]
pub(crate) struct ArchiveWriter<W> {
    out: W,
    at: u64,
    done: Vec<Member>,
}

impl<W: Write + Seek> ArchiveWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        Self {
            out,
            at: 0,
            done: Vec::new(),
        }
    }

    /// Adds a member: all that can be read.
    pub(crate) fn add(&mut self, name: &str, content: &mut dyn Read) -> io::Result<()> {
        let local = self.at;
        let mut member = Member {
            name: name.to_owned(),
            size: 0,
            packed: 0,
            deflated: false,
            crc: 0,
            local,
        };
        let head = head(&member);
        self.out.write_all(&head)?;
        let (mut sum, mut block) = (Crc::new(), vec![0; 1 << 16]);
        loop {
            let got = content.read(&mut block)?;
            if got == 0 {
                break;
            }
            let part = block.get(..got).unwrap_or_default();
            sum.update(part);
            self.out.write_all(part)?;
            member.size = member.size.saturating_add(got as u64);
        }
        (member.packed, member.crc) = (member.size, sum.sum());
        self.at = local
            .saturating_add(head.len() as u64)
            .saturating_add(member.size);
        self.out.seek(SeekFrom::Start(local))?;
        self.out.write_all(&self::head(&member))?;
        self.out.seek(SeekFrom::Start(self.at))?;
        self.done.push(member);
        Ok(())
    }

    /// Writes the directory.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let mut directory = Vec::new();
        for member in &self.done {
            directory.extend(ENTRY);
            directory.extend(45_u16.to_le_bytes());
            directory.extend(fixed(member));
            directory.extend(28_u16.to_le_bytes());
            directory.extend([0; 10]);
            directory.extend(u32::MAX.to_le_bytes());
            directory.extend(member.name.bytes());
            directory.extend(1_u16.to_le_bytes());
            directory.extend(24_u16.to_le_bytes());
            for number in [member.size, member.packed, member.local] {
                directory.extend(number.to_le_bytes());
            }
        }
        let (count, size) = (self.done.len() as u64, directory.len() as u64);
        let end = self.at.saturating_add(size);
        directory.extend(END_64);
        directory.extend(44_u64.to_le_bytes());
        directory.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for number in [count, count, size, self.at] {
            directory.extend(number.to_le_bytes());
        }
        directory.extend(LOCATOR_64);
        directory.extend([0; 4]);
        directory.extend(end.to_le_bytes());
        directory.extend(1_u32.to_le_bytes());
        directory.extend(END);
        directory.extend([0; 4]);
        let short = u16::try_from(count).unwrap_or(u16::MAX);
        directory.extend(short.to_le_bytes());
        directory.extend(short.to_le_bytes());
        directory.extend(u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes());
        directory.extend(u32::try_from(self.at).unwrap_or(u32::MAX).to_le_bytes());
        directory.extend([0; 2]);
        self.out.write_all(&directory)?;
        self.out.flush()
    }
}

/// The fields that the head of a member and its entry share: from the version needed to the length of the name. The time is
/// the first that there is, so that the same members are the same bytes.
fn fixed(member: &Member) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Version 4.5; names are UTF-8; stored.
    for number in [45_u16, 1 << 11, 0, 0, 33] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(member.crc.to_le_bytes());
    // The sizes stand in the 64-bit fields.
    bytes.extend([0xff; 8]);
    let name = u16::try_from(member.name.len()).unwrap_or(u16::MAX);
    bytes.extend(name.to_le_bytes());
    bytes
}

/// The head of a member.
fn head(member: &Member) -> Vec<u8> {
    let mut bytes = LOCAL.to_vec();
    bytes.extend(fixed(member));
    bytes.extend(20_u16.to_le_bytes());
    bytes.extend(member.name.bytes());
    bytes.extend(1_u16.to_le_bytes());
    bytes.extend(16_u16.to_le_bytes());
    bytes.extend(member.size.to_le_bytes());
    bytes.extend(member.packed.to_le_bytes());
    bytes
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
        // Not one of these panics; a changed content has another checksum.
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

//! Copies the bytes that a part of a COPC file needs from a server to a local file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use zvf_store::io::Merge;
use zvf_sys::{ReadAt, RequestCost};

use super::copc::{self, read_ranges};
use super::header::LasHeader;
use super::part::FilePart;
use crate::{ConvertError, Options};

/// Bytes of chunks that are requested at the same time; the last request of a group may exceed this number.
const AT_ONCE: u64 = 16 << 20;

/// Copies header, records, pages of the hierarchy and chunks of a part of a COPC file to the same positions of a local file. An import of that file
/// with these options reads no other bytes. Returns whether the file has a COPC index; of other files, only the header and the records are copied.
///
/// # Cost
/// A request for the first 64 KiB, one for records at the end of the file, one for each level of pages, and one for each run of neighbouring
/// chunks. Holds 16 MiB and the largest request in memory; the local file is sparse.
///
/// # Errors
/// I/O of the server and of the local file; malformed files; misuse, as for the import; limit: a chunk or page of more than 256 MiB.
pub fn fetch_part(
    path: &Path,
    from: &dyn ReadAt,
    to: &File,
    options: &Options,
) -> Result<bool, ConvertError> {
    let io = |error| ConvertError::io(path, error);
    let cost = from.requests().unwrap_or(RequestCost {
        merge: Merge::DISK,
        ahead: 0,
    });
    let size = from.size().map_err(io)?;
    to.set_len(size).map_err(io)?;
    let file = Copied { from, to };
    let mut cursor = AheadReader {
        file: &file,
        size,
        at: 0,
        ahead: cost.ahead,
        window: (0, Vec::new()),
    };
    let header = LasHeader::of(path, size, &mut cursor)?;
    let part = FilePart::of(options, &header)?;
    let Some(info) = &header.copc else {
        return Ok(false);
    };
    let chunks = copc::chunks(&header, info, &part, &file)?;
    let chunks = chunks.iter().map(|chunk| chunk.at..chunk.at + chunk.bytes);
    let (mut together, mut bytes) = (Vec::new(), 0_u64);
    for (request, _) in cost.merge.requests(chunks) {
        bytes = bytes.saturating_add(request.end - request.start);
        together.push(request);
        if bytes >= AT_ONCE {
            read_ranges(&file, &together).map_err(io)?;
            (together, bytes) = (Vec::new(), 0);
        }
    }
    read_ranges(&file, &together).map_err(io)?;
    Ok(true)
}

/// A file whose bytes are copied when they are read.
#[derive(Debug)]
struct Copied<'f> {
    from: &'f dyn ReadAt,
    to: &'f File,
}

impl ReadAt for Copied<'_> {
    fn size(&self) -> io::Result<u64> {
        self.from.size()
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_all(&mut [(at, out)])
    }

    fn read_all(&self, parts: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        self.from.read_all(parts)?;
        let mut to = self.to;
        parts.iter().try_for_each(|(at, bytes)| {
            to.seek(SeekFrom::Start(*at))?;
            to.write_all(bytes)
        })
    }
}

/// A buffered reader: each request for bytes that are not held reads at least `ahead` bytes.
struct AheadReader<'f> {
    file: &'f dyn ReadAt,
    size: u64,
    at: u64,
    ahead: u64,
    /// The bytes that were read last, and the position of the first.
    window: (u64, Vec<u8>),
}

impl AheadReader<'_> {
    /// The bytes of the window from the position on.
    fn held(&self) -> &[u8] {
        let (start, bytes) = &self.window;
        let skipped = self.at.checked_sub(*start).map(usize::try_from);
        skipped
            .and_then(|skipped| bytes.get(skipped.ok()?..))
            .unwrap_or_default()
    }
}

impl Read for AheadReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.held().is_empty() {
            let wanted = self.ahead.max(out.len() as u64);
            let end = self.at.saturating_add(wanted).min(self.size);
            let range: Range<u64> = self.at.min(end)..end;
            let read = read_ranges(self.file, &[range])?;
            self.window = (self.at, read.concat());
        }
        let count = self.held().read(out)?;
        self.at = self.at.saturating_add(count as u64);
        Ok(count)
    }
}

impl Seek for AheadReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.size.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

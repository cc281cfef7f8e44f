//! Bounds the allocations of the Arrow IPC reader: every block is inside the file, and no buffer decompresses to more bytes than it states.
//!
//! Other defects of a file are found by the reader itself, on a thread of its own ([`crate::isolate`]).

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use arrow_ipc::{CompressionType, DictionaryBatch, Field, Schema, root_as_footer, root_as_message};
use lz4_flex::frame::FrameDecoder;

use crate::error::{ConvertError, InFile, shown};

/// Most bytes of a footer, or of the metadata of a block.
const LONGEST: u64 = 256 << 20;
/// Most bytes of a batch after decompression.
const LARGEST: u64 = 8 << 30;
/// The marker before the length of a message.
const MARK: [u8; 4] = [0xff; 4];

/// An open file, and how long it is.
struct ArrowFile<'f> {
    path: &'f Path,
    file: &'f mut File,
    length: u64,
}

/// Checks all blocks of a file with a footer.
pub(super) fn file(path: &Path, file: &mut File) -> Result<(), ConvertError> {
    let mut checked = ArrowFile::of(path, file)?;
    let length = checked.length;
    let Some(end) = length.checked_sub(10) else {
        return Err(checked.bad(length, "the end of the file", "a footer"));
    };
    let tail = checked.read(end, 10)?;
    let (size, magic) = tail.split_at_checked(4).unwrap_or_default();
    let size: [u8; 4] = size.try_into().unwrap_or_default();
    if magic != b"ARROW1" {
        return Err(checked.bad(end.saturating_add(4), "other last bytes", "\"ARROW1\""));
    }
    let size = u64::try_from(i32::from_le_bytes(size)).ok();
    let start = size.and_then(|size| end.checked_sub(size));
    let (Some(size), Some(start)) = (size, start) else {
        return Err(checked.bad(
            end,
            "a footer that does not fit into the file",
            "a shorter footer",
        ));
    };
    let footer = checked.read(start, size)?;
    let footer = root_as_footer(&footer)
        .map_err(|error| checked.bad(start, &error.to_string(), "a footer of Arrow IPC"))?;
    if let Some(schema) = footer.schema() {
        checked.types(schema)?;
    }
    checked.length = start;
    let dictionaries = footer.dictionaries().into_iter().flatten();
    for block in dictionaries.chain(footer.recordBatches().into_iter().flatten()) {
        let at = u64::try_from(block.offset()).unwrap_or(u64::MAX);
        let head = u64::try_from(block.metaDataLength()).ok();
        let body = u64::try_from(block.bodyLength()).ok();
        let (Some(head), Some(body)) = (head.filter(|head| *head >= 8), body) else {
            return Err(checked.bad(at, "a block of negative length", "8 bytes or more"));
        };
        let bytes = checked.read(at, head)?;
        let skip = if bytes.starts_with(&MARK) { 8 } else { 4 };
        let start = at.saturating_add(head);
        checked.message(bytes.get(skip..).unwrap_or_default(), start, Some(body))?;
    }
    Ok(())
}

/// Checks all messages of a stream.
pub(super) fn stream(path: &Path, file: &mut File) -> Result<(), ConvertError> {
    let mut checked = ArrowFile::of(path, file)?;
    let mut at = 0_u64;
    // A stream may end without an end marker.
    while at < checked.length {
        let mut size = checked.read(at, 4)?;
        at = at.saturating_add(4);
        if size == MARK {
            size = checked.read(at, 4)?;
            at = at.saturating_add(4);
        }
        let size: [u8; 4] = size.as_slice().try_into().unwrap_or_default();
        let size = match u64::try_from(i32::from_le_bytes(size)) {
            Ok(0) => return Ok(()),
            Ok(size) => size,
            Err(_) => {
                return Err(checked.bad(
                    at,
                    "a message of negative length",
                    "a length of 0 or more",
                ));
            }
        };
        let head = checked.read(at, size)?;
        at = at.saturating_add(size);
        let body = checked.message(&head, at, None)?;
        at = at.saturating_add(body);
    }
    Ok(())
}

/// Whether a column has integers of more than 64 bits, also inside lists and structures. The reader panics on their type.
pub(super) fn has_wide_integers(field: Field<'_>) -> bool {
    let integer = field.type_as_int();
    let mut children = field.children().into_iter().flatten();
    integer.is_some_and(|integer| integer.bitWidth() > 64) || children.any(has_wide_integers)
}

impl<'f> ArrowFile<'f> {
    fn of(path: &'f Path, file: &'f mut File) -> Result<Self, ConvertError> {
        let metadata = file.metadata();
        let metadata = metadata.map_err(|error| ConvertError::io(path, error))?;
        Ok(Self {
            path,
            file,
            length: metadata.len(),
        })
    }

    #[cold]
    fn bad(&self, at: u64, found: &str, expected: &str) -> ConvertError {
        ConvertError::malformed(self.path, InFile::Byte(at), found, expected)
    }

    fn read(&mut self, at: u64, size: u64) -> Result<Vec<u8>, ConvertError> {
        if size > LONGEST {
            let what = "bytes of a footer or of a block's metadata";
            return Err(ConvertError::limit(
                self.path,
                InFile::Byte(at),
                what,
                LONGEST,
            ));
        }
        let io = |error| ConvertError::io(self.path, error);
        self.file.seek(SeekFrom::Start(at)).map_err(io)?;
        let mut bytes = Vec::new();
        let mut part = (&mut *self.file).take(size);
        part.read_to_end(&mut bytes).map_err(io)?;
        if (bytes.len() as u64) < size {
            return Err(self.bad(at, &format!("{} bytes", bytes.len()), &size.to_string()));
        }
        Ok(bytes)
    }

    /// Refuses types that the reader cannot represent.
    fn types(&self, schema: Schema<'_>) -> Result<(), ConvertError> {
        let mut fields = schema.fields().into_iter().flatten();
        match fields.find(|field| has_wide_integers(*field)) {
            None => Ok(()),
            Some(field) => {
                let name = shown(field.name().unwrap_or_default());
                let what = self.path.display().to_string();
                let found = format!("column {name} of whole numbers of more than 64 bits");
                let expected = "at most 64 bits: write the table with the column as Int64, or without it (--exclude omits a column of a Parquet file)";
                Err(ConvertError::usage(what, found, expected))
            }
        }
    }

    /// Checks a message whose body begins at `start`; returns the length of the body.
    fn message(&mut self, head: &[u8], start: u64, body: Option<u64>) -> Result<u64, ConvertError> {
        let message = root_as_message(head)
            .map_err(|error| self.bad(start, &error.to_string(), "a message of Arrow IPC"))?;
        if let Some(schema) = message.header_as_schema() {
            self.types(schema)?;
        }
        let body = body.or_else(|| u64::try_from(message.bodyLength()).ok());
        let inside = |body: &u64| {
            let end = start.checked_add(*body);
            end.is_some_and(|end| end <= self.length)
        };
        let Some(body) = body.filter(inside) else {
            return Err(self.bad(
                start,
                "a block that ends after the end of the file",
                "a block inside the file",
            ));
        };
        let dictionary = message.header_as_dictionary_batch();
        let batch = message
            .header_as_record_batch()
            .or_else(|| dictionary.as_ref().and_then(DictionaryBatch::data));
        let Some((batch, packed)) = batch.and_then(|batch| Some((batch, batch.compression()?)))
        else {
            return Ok(body);
        };
        let mut left = LARGEST;
        for buffer in batch.buffers().into_iter().flatten() {
            let at = u64::try_from(buffer.offset()).ok();
            let size = u64::try_from(buffer.length()).ok();
            let (Some(at), Some(size)) = (at, size) else {
                return Err(self.bad(
                    start,
                    "a buffer with a negative offset or length",
                    "a buffer inside the block",
                ));
            };
            // A shorter buffer has no length and nothing to decompress; the reader checks the range itself.
            if size < 8 || at.checked_add(size).is_none_or(|end| end > body) {
                continue;
            }
            let at = start.saturating_add(at);
            let stated = self.read(at, 8)?.try_into().unwrap_or_default();
            // -1: the buffer is not compressed. The reader refuses other negative lengths.
            let Ok(claimed) = u64::try_from(i64::from_le_bytes(stated)) else {
                continue;
            };
            left = left.checked_sub(claimed).ok_or_else(|| {
                let what = "decompressed bytes of a batch";
                ConvertError::limit(self.path, InFile::Byte(at), what, LARGEST)
            })?;
            if packed.codec() == CompressionType::LZ4_FRAME && self.holds_more(size, claimed) {
                let expected = format!("{claimed} bytes, the length that it states");
                return Err(self.bad(at, "a compressed buffer of more bytes", &expected));
            }
        }
        Ok(body)
    }

    /// Whether the compressed bytes from here decompress to more than `claimed`; for Zstandard, the reader allocates exactly `claimed` bytes.
    fn holds_more(&mut self, size: u64, claimed: u64) -> bool {
        let packed = (&mut *self.file).take(size.saturating_sub(8));
        let mut bytes = FrameDecoder::new(packed).take(claimed.saturating_add(1));
        // The reader reports damaged streams itself.
        io::copy(&mut bytes, &mut io::sink()).is_ok_and(|count| count > claimed)
    }
}

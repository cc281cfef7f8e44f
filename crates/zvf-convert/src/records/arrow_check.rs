//! Makes sure of an Arrow IPC file what its reader takes for granted: that every block lies in the file, every buffer in its
//! block, and that there are as many of them as the schema asks for.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use arrow_ipc::{
    Block, DateUnit, DictionaryBatch, Field, Precision, RecordBatch, TimeUnit, Type,
    root_as_footer, root_as_message,
};

use crate::error::{ConvertError, Place, shown};

/// A footer, or the head of a block, that is longer is none.
const LONGEST: u64 = 256 << 20;

/// Checks the footer and all blocks.
pub(super) fn check(path: &Path, file: &mut File) -> Result<(), ConvertError> {
    let io = |error| ConvertError::io(path, error);
    let bad = |at: u64, found: &str, expected: &str| {
        ConvertError::malformed(path, Place::Byte(at), found, expected)
    };
    let length = file.metadata().map_err(io)?.len();
    let Some(end) = length.checked_sub(10) else {
        return Err(bad(length, "the end of the file", "a footer"));
    };
    let tail = read(path, file, end, 10)?;
    let (size, magic) = tail.split_at_checked(4).unwrap_or_default();
    let size: [u8; 4] = size.try_into().unwrap_or_default();
    if magic != b"ARROW1" {
        return Err(bad(end.saturating_add(4), "another end", "\"ARROW1\""));
    }
    let size = u64::try_from(i32::from_le_bytes(size)).ok();
    let start = size.and_then(|size| end.checked_sub(size));
    let (Some(size), Some(start)) = (size, start) else {
        return Err(bad(
            end,
            "another length",
            "that of a footer inside the file",
        ));
    };
    let footer = read(path, file, start, size)?;
    let footer = root_as_footer(&footer)
        .map_err(|error| bad(start, &error.to_string(), "a footer of Arrow IPC"))?;
    let Some(schema) = footer.schema() else {
        return Err(bad(start, "no schema", "one in the footer"));
    };
    let pairs = footer.custom_metadata().into_iter().flatten();
    let pairs = pairs.chain(schema.custom_metadata().into_iter().flatten());
    let mut want = Buffers::default();
    let Some(fields) = schema.fields() else {
        return Err(bad(start, "a schema without columns", "columns"));
    };
    for field in fields {
        want.add(&field, 0).map_err(|found| {
            bad(
                start,
                &found,
                "a column of numbers, truth values, texts or moments",
            )
        })?;
    }
    for pair in pairs {
        if pair.key().is_none() || pair.value().is_none() {
            return Err(bad(start, "half a pair of metadata", "key and value"));
        }
    }
    let dictionaries = footer.dictionaries().into_iter().flatten();
    for block in dictionaries.map(|block| (block, true)).chain(
        footer
            .recordBatches()
            .into_iter()
            .flatten()
            .map(|block| (block, false)),
    ) {
        self::block(path, file, start, block, &want)?;
    }
    Ok(())
}

fn read(path: &Path, file: &mut File, at: u64, size: u64) -> Result<Vec<u8>, ConvertError> {
    if size > LONGEST {
        let what = "bytes of a head";
        return Err(ConvertError::limit(path, Place::Byte(at), what, LONGEST));
    }
    let io = |error| ConvertError::io(path, error);
    file.seek(SeekFrom::Start(at)).map_err(io)?;
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes).map_err(io)?;
    if (bytes.len() as u64) < size {
        let found = format!("{} bytes", bytes.len());
        return Err(ConvertError::malformed(
            path,
            Place::Byte(at),
            found,
            format!("{size}"),
        ));
    }
    Ok(bytes)
}

/// How large a buffer has to be, for the rows of its node.
#[derive(Debug, Clone, Copy)]
enum Need {
    /// A bit a row, where any row is missing.
    Validity,
    /// So many bits a row.
    Bits(u64),
    /// So many bytes a row, and once more at the end.
    Offsets(u64),
    /// Any: offsets say how much, and are checked when it is read.
    Bytes,
}

/// The nodes of a record batch, in order, with the buffers of each.
#[derive(Debug, Default)]
struct Buffers(Vec<Vec<Need>>);

impl Buffers {
    /// Those of a column of texts.
    fn texts(large: bool) -> Vec<Need> {
        let size = if large { 8 } else { 4 };
        vec![Need::Validity, Need::Offsets(size), Need::Bytes]
    }

    /// Adds those of a column; what it is, where it is nothing that is read.
    fn add(&mut self, field: &Field<'_>, depth: u32) -> Result<(), String> {
        let name = || shown(field.name().unwrap_or_default());
        if field.name().is_none() {
            return Err("a column without a name".to_owned());
        }
        for pair in field.custom_metadata().into_iter().flatten() {
            if pair.key().is_none() || pair.value().is_none() {
                return Err(format!("half a pair of metadata of {}", name()));
            }
        }
        let kind = field.type_type();
        let width = |bits: i32| match bits {
            8 | 16 | 32 | 64 => u64::try_from(bits).ok(),
            _ => None,
        };
        if let Some(dictionary) = field.dictionary() {
            let index = dictionary.indexType();
            let bits = index.and_then(|index| width(index.bitWidth()));
            let (Some(bits), Type::Utf8 | Type::LargeUtf8) = (bits, kind) else {
                return Err(format!("column {}, a dictionary of {kind:?}", name()));
            };
            self.0.push(vec![Need::Validity, Need::Bits(bits)]);
            return Ok(());
        }
        let bits = match kind {
            Type::Bool => Some(1),
            Type::Int => field.type_as_int().and_then(|int| width(int.bitWidth())),
            Type::FloatingPoint => match field
                .type_as_floating_point()
                .map(|float| float.precision())
            {
                Some(Precision::HALF) => Some(16),
                Some(Precision::SINGLE) => Some(32),
                Some(Precision::DOUBLE) => Some(64),
                _ => None,
            },
            Type::Date => match field.type_as_date().map(|date| date.unit()) {
                Some(DateUnit::DAY) => Some(32),
                Some(DateUnit::MILLISECOND) => Some(64),
                _ => None,
            },
            Type::Timestamp => match field.type_as_timestamp().map(|stamp| stamp.unit()) {
                Some(
                    TimeUnit::SECOND
                    | TimeUnit::MILLISECOND
                    | TimeUnit::MICROSECOND
                    | TimeUnit::NANOSECOND,
                ) => Some(64),
                _ => None,
            },
            Type::Utf8 | Type::LargeUtf8 | Type::Binary | Type::LargeBinary => {
                self.0.push(Self::texts(matches!(
                    kind,
                    Type::LargeUtf8 | Type::LargeBinary
                )));
                return Ok(());
            }
            Type::FixedSizeList if depth == 0 => {
                let list = field.type_as_fixed_size_list();
                let children = field.children();
                let (Some(list), Some(children)) = (list, children) else {
                    return Err(format!("column {}, a list of nothing", name()));
                };
                if list.listSize() < 1 || children.len() != 1 {
                    return Err(format!("column {}, a list of {}", name(), list.listSize()));
                }
                self.0.push(vec![Need::Validity]);
                return self.add(&children.get(0), 1);
            }
            _ => None,
        };
        let Some(bits) = bits else {
            return Err(format!("column {} of {kind:?}", name()));
        };
        self.0.push(vec![Need::Validity, Need::Bits(bits)]);
        Ok(())
    }
}

/// Checks one block: a dictionary, or a record batch.
fn block(
    path: &Path,
    file: &mut File,
    end: u64,
    (block, dictionary): (&Block, bool),
    want: &Buffers,
) -> Result<(), ConvertError> {
    let at = u64::try_from(block.offset()).unwrap_or(u64::MAX);
    let bad = |found: &str, expected: &str| {
        ConvertError::malformed(path, Place::Byte(at), found, expected)
    };
    let head = u64::try_from(block.metaDataLength())
        .ok()
        .filter(|head| *head >= 8);
    let body = u64::try_from(block.bodyLength()).ok();
    let (Some(head), Some(body)) = (head, body) else {
        return Err(bad("a block of negative length", "8 bytes or more"));
    };
    let stop = at.checked_add(head).and_then(|stop| stop.checked_add(body));
    if stop.is_none_or(|stop| stop > end) {
        return Err(bad(
            "a block that ends behind the footer's start",
            "one inside the file",
        ));
    }
    let bytes = read(path, file, at, head)?;
    let skip = if bytes.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = root_as_message(bytes.get(skip..).unwrap_or_default())
        .map_err(|error| bad(&error.to_string(), "a message of Arrow IPC"))?;
    let (batch, want) = if dictionary {
        let batch = message.header_as_dictionary_batch();
        (batch.as_ref().and_then(DictionaryBatch::data), None)
    } else {
        (message.header_as_record_batch(), Some(want))
    };
    let Some(batch) = batch else {
        return Err(bad("another message", "a record batch, or a dictionary"));
    };
    // Which column a dictionary is of is in another place; it is one of texts, and the larger need is that of the short offsets.
    let texts = Buffers(vec![Buffers::texts(false)]);
    fits(&batch, body, want.unwrap_or(&texts))
        .map_err(|found| bad(&found, "what the schema asks for, inside the block"))
}

/// Whether all buffers lie in the body, and hold the rows of their nodes.
fn fits(batch: &RecordBatch<'_>, body: u64, want: &Buffers) -> Result<(), String> {
    if batch.compression().is_some() {
        return Err("compressed buffers".to_owned());
    }
    let rows = u64::try_from(batch.length()).map_err(|_| format!("{} rows", batch.length()))?;
    let mut nodes = batch.nodes().into_iter().flatten();
    let mut buffers = batch.buffers().into_iter().flatten();
    for needs in &want.0 {
        let Some(node) = nodes.next() else {
            return Err("fewer columns".to_owned());
        };
        let counts = u64::try_from(node.length())
            .ok()
            .zip(u64::try_from(node.null_count()).ok());
        let Some((length, nulls)) = counts.filter(|(length, nulls)| nulls <= length) else {
            return Err(format!(
                "a column of {} rows, {} missing",
                node.length(),
                node.null_count()
            ));
        };
        for need in needs {
            let Some(buffer) = buffers.next() else {
                return Err("fewer buffers".to_owned());
            };
            let place = u64::try_from(buffer.offset())
                .ok()
                .zip(u64::try_from(buffer.length()).ok());
            let inside =
                place.filter(|(at, size)| at.checked_add(*size).is_some_and(|end| end <= body));
            let Some((_, size)) = inside else {
                return Err(format!(
                    "a buffer of {} bytes at {}",
                    buffer.length(),
                    buffer.offset()
                ));
            };
            let least = match need {
                Need::Validity if nulls > 0 => Some(length.div_ceil(8)),
                Need::Validity | Need::Bytes => Some(0),
                Need::Bits(bits) => length.checked_mul(*bits).map(|bits| bits.div_ceil(8)),
                Need::Offsets(_) if length == 0 => Some(0),
                Need::Offsets(size) => length
                    .checked_add(1)
                    .and_then(|count| count.checked_mul(*size)),
            };
            // Typed views of a buffer are made of whole elements.
            let unit = match need {
                Need::Bits(bits) => (bits / 8).max(1),
                Need::Offsets(size) => *size,
                Need::Validity | Need::Bytes => 1,
            };
            if least.is_none_or(|least| size < least) || !size.is_multiple_of(unit) {
                return Err(format!("a buffer of {size} bytes for {length} rows"));
            }
        }
    }
    let first = batch
        .nodes()
        .and_then(|nodes| nodes.iter().next().map(|node| node.length()));
    if first.is_some_and(|first| u64::try_from(first) != Ok(rows)) {
        return Err(format!("{rows} rows, and a column of others"));
    }
    Ok(())
}

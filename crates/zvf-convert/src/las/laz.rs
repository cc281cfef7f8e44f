//! Compressed points: chunks of laszip, several at a time.
//!
//! The crate `laz` trusts counts and lengths of the file when it allocates, so they are checked against the file's size first.

use std::collections::VecDeque;
use std::io::{Cursor, Read, Seek, SeekFrom};

use laz::laszip::ChunkTable;
use laz::record::{
    LayeredPointRecordDecompressor, RecordDecompressor, SequentialPointRecordDecompressor,
};
use laz::{DecompressionSelection, LazItem, LazItemType, LazVlr};
use zvf_codec::isolate::isolate;
use zvf_sys::FileAt;

use super::chunk::{MOST, PointChunk, bad};
use super::copc;
use super::header::LasHeader;
use super::part::FilePart;
use crate::error::{ConvertError, InFile};

/// Most chunks that are decompressed at the same time.
const AT_ONCE: usize = 8;

/// Reads the points of a file chunk by chunk: all chunks, or those that the COPC index lists for the part. In point formats 6 to 10, which
/// compress each field separately, only x, y and z are decompressed unless `all` is set; other fields are zeros.
pub(super) fn read(
    header: &LasHeader,
    record: &[u8],
    part: &FilePart,
    all: bool,
    take: &mut dyn FnMut(&[u8]) -> Result<(), ConvertError>,
) -> Result<(), ConvertError> {
    let path = &header.path;
    let vlr = description(header, record)?;
    let io = |error| ConvertError::io(path, error);
    let mut file = zvf_store::open_file(path).map_err(io)?;
    let chunks = match &header.copc {
        Some(info) if !part.is_whole() => {
            let file = FileAt::open(path).map_err(io)?;
            copc::chunks(header, info, part, &file)?
        }
        _ => table(header, &vlr, &mut file)?,
    };
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(AT_ONCE));
    let items = vlr.items();
    let wanted = match all {
        true => DecompressionSelection::all(),
        false => DecompressionSelection::base().decompress_z(),
    };
    std::thread::scope(|scope| {
        // The next chunks are decompressed while the points of one are passed on.
        let mut running = VecDeque::new();
        let mut chunks = chunks.iter();
        loop {
            while running.len() < threads
                && let Some(chunk) = chunks.next()
            {
                let mut bytes = Vec::new();
                file.seek(SeekFrom::Start(chunk.at)).map_err(io)?;
                let read = file.by_ref().take(chunk.bytes).read_to_end(&mut bytes);
                if read.map_err(io)? as u64 != chunk.bytes {
                    return Err(bad(path, chunk.at, "the end of the file", "a chunk"));
                }
                let work = move || decode(items, &bytes, chunk.points, header.length, wanted);
                running.push_back((chunk, scope.spawn(work)));
            }
            let Some((chunk, thread)) = running.pop_front() else {
                return Ok(());
            };
            let failed = |_| Err("a thread that failed".to_owned());
            let points = thread.join().unwrap_or_else(failed).map_err(|found| {
                let expected = format!("{} compressed points", chunk.points);
                bad(path, chunk.at, found, expected)
            })?;
            take(&points)?;
        }
    })
}

/// Parses the description of the compression; fails unless its parts make up a point.
fn description(header: &LasHeader, record: &[u8]) -> Result<LazVlr, ConvertError> {
    let path = &header.path;
    let wrong = |found: String, expected: String| {
        ConvertError::malformed(
            path,
            InFile::Whole,
            format!("a record of laszip with {found}"),
            expected,
        )
    };
    if let Some([compressor @ (0 | 1), 0]) = record.first_chunk::<2>() {
        let found = format!("compressor {compressor}");
        return Err(wrong(found, "chunks: compressor 2 or 3".to_owned()));
    }
    let read = isolate(|| LazVlr::read_from(record).map_err(|error| error.to_string()));
    let vlr = read
        .and_then(|read| read)
        .map_err(|error| wrong(error, "a description of compressed points".to_owned()))?;
    let items = vlr.items();
    let length: usize = items.iter().map(|item| usize::from(item.size())).sum();
    let fits = items.iter().all(|item| item.size() == size(item));
    if items.is_empty() || !fits || length != header.length {
        let found = format!("{} parts of {length} bytes", items.len());
        return Err(wrong(found, format!("points of {} bytes", header.length)));
    }
    Ok(vlr)
}

/// Bytes of a part of a point.
fn size(item: &LazItem) -> u16 {
    match item.item_type() {
        LazItemType::Byte(size) | LazItemType::Byte14(size) => size,
        LazItemType::Point10 => 20,
        LazItemType::GpsTime | LazItemType::RGBNIR14 => 8,
        LazItemType::RGB12 | LazItemType::RGB14 => 6,
        LazItemType::WavePacket13 | LazItemType::WavePacket14 => 29,
        LazItemType::Point14 => 30,
    }
}

/// The chunks in the chunk table of a file; fails if one is not between the first point and the table.
fn table(
    header: &LasHeader,
    vlr: &LazVlr,
    file: &mut std::fs::File,
) -> Result<Vec<PointChunk>, ConvertError> {
    let (path, first) = (&header.path, header.first);
    let io = |error| ConvertError::io(path, error);
    let mut number = |at: u64| -> Result<[u8; 8], ConvertError> {
        let mut bytes = [0; 8];
        file.seek(SeekFrom::Start(at)).map_err(io)?;
        let short = |_| bad(path, at, "the end of the file", "a table of chunks");
        file.read_exact(&mut bytes).map_err(short)?;
        Ok(bytes)
    };
    // Writers that cannot seek back write the position of the table at the end of the file.
    let stated = match u64::from_le_bytes(number(first)?) {
        at if at > first && at <= header.size => at,
        _ => u64::from_le_bytes(number(header.size.saturating_sub(8))?),
    };
    let start = first.saturating_add(8);
    if stated < start || stated > header.size {
        let found = format!("a table of chunks at byte {stated}");
        return Err(bad(path, first, found, "a table after the points"));
    }
    let [_, _, _, _, count @ ..] = number(stated)?;
    let count = u64::from(u32::from_le_bytes(count));
    // The first point of a chunk is not compressed, which bounds the number of chunks. Some writers end the table
    // with a chunk without points, even in a file without points.
    let most = ((stated - start) / header.length as u64).saturating_add(1);
    if count > most {
        let found = format!("{count} chunks");
        return Err(bad(
            path,
            stated,
            found,
            format!("at most {most} before the table"),
        ));
    }
    file.seek(SeekFrom::Start(first)).map_err(io)?;
    let read = isolate(|| {
        let table = ChunkTable::read_from(&mut *file, vlr);
        table.map_err(|error| error.to_string())
    });
    let table = read
        .and_then(|read| read)
        .map_err(|error| bad(path, stated, error, "a table of chunks"))?;
    let (mut at, mut left) = (start, header.points);
    let mut chunks = Vec::new();
    for (number, entry) in table.as_ref().iter().enumerate() {
        let points = match vlr.uses_variable_size_chunks() {
            true => entry.point_count,
            false => entry.point_count.min(left),
        };
        let end = at.checked_add(entry.byte_count);
        let length = points.checked_mul(header.length as u64);
        let (Some(end), Some(length)) = (end.filter(|end| *end <= stated), length) else {
            let found = format!("chunk {number} of {} bytes", entry.byte_count);
            return Err(bad(path, at, found, "one before the table of chunks"));
        };
        if points > left {
            let found = format!("{points} points in chunk {number}");
            return Err(bad(
                path,
                at,
                found,
                format!("at most {left}, as the header states"),
            ));
        }
        if length > MOST || entry.byte_count > MOST {
            return Err(ConvertError::limit(
                path,
                InFile::Byte(at),
                "bytes of a chunk",
                MOST,
            ));
        }
        if points > 0 {
            chunks.push(PointChunk {
                at,
                bytes: entry.byte_count,
                points,
            });
        }
        (at, left) = (end, left - points);
    }
    if left > 0 {
        let found = format!("{left} points fewer in chunks");
        let expected = format!("{}, as the header states", header.points);
        return Err(bad(path, stated, found, expected));
    }
    Ok(chunks)
}

/// Decompresses the points of a chunk, into the layout of an uncompressed file.
fn decode(
    items: &Vec<LazItem>,
    bytes: &[u8],
    points: u64,
    length: usize,
    wanted: DecompressionSelection,
) -> Result<Vec<u8>, String> {
    let is_layered = items.first().is_some_and(|item| item.version() > 2);
    if is_layered {
        layers(items, bytes, length)?;
    }
    isolate(|| {
        let count = usize::try_from(points).map_err(|error| error.to_string())?;
        let mut out = vec![0; count.saturating_mul(length)];
        let input = Cursor::new(bytes);
        let mut decoder: Box<dyn RecordDecompressor<Cursor<&[u8]>>> = match is_layered {
            true => Box::new(LayeredPointRecordDecompressor::new(input)),
            false => Box::new(SequentialPointRecordDecompressor::new(input)),
        };
        decoder
            .set_fields_from(items)
            .map_err(|error| error.to_string())?;
        decoder.set_selection(wanted);
        for point in out.chunks_exact_mut(length) {
            decoder
                .decompress_next(point)
                .map_err(|error| error.to_string())?;
        }
        Ok(out)
    })?
}

/// Checks that the layers, for which the decoder allocates memory, are not longer than their chunk.
fn layers(items: &[LazItem], bytes: &[u8], length: usize) -> Result<(), String> {
    let count: usize = items
        .iter()
        .map(|item| match item.item_type() {
            LazItemType::Point14 => 9,
            LazItemType::RGBNIR14 => 2,
            LazItemType::Byte14(count) => usize::from(count),
            _ => 1,
        })
        .sum();
    // The sizes follow the first point and the number of points.
    let sizes = bytes.get(length.saturating_add(4)..).unwrap_or_default();
    let (sizes, data) = sizes
        .split_at_checked(count.saturating_mul(4))
        .ok_or("the end of a chunk before the lengths of its layers")?;
    let sizes = sizes.as_chunks::<4>().0.iter();
    let sum: u64 = sizes.map(|size| u64::from(u32::from_le_bytes(*size))).sum();
    match sum <= data.len() as u64 {
        true => Ok(()),
        false => Err(format!(
            "layers of {sum} bytes in a chunk with {} left",
            data.len()
        )),
    }
}

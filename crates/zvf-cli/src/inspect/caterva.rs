//! Blosc2 frames with a Caterva or b2nd array (`docs/caterva.md`). Numbers before the chunks are big-endian MessagePack. The
//! verdict is that of `zvf-caterva`.

use zvf_caterva::{Entry, Frame, FrameHeader, Layout, Metalayers, SpecialKind};

use super::dump::{Dump, Walk};
use crate::error::fold;

/// Fields of the fixed header: marker bytes, bytes, name, meaning.
const HEADER: &[(u64, u64, &str, &str)] = &[
    (2, 8, "magic", "b2frame"),
    (1, 4, "header_len", "bytes with metalayers"),
    (1, 8, "frame_len", "bytes of the whole frame"),
    (
        1,
        1,
        "general_flags",
        "bits 0-3 version, 4-5 width of index entries, 6 chunks of different sizes, 7 blocks of different sizes",
    ),
    (0, 1, "frame_type", "0 contiguous, 1 sparse"),
    (
        0,
        1,
        "codec",
        "low four bits codec, high four bits level; chunks say their own",
    ),
    (0, 1, "other_flags", ""),
    (
        1,
        8,
        "nbytes",
        "uncompressed bytes of all chunks, padding included",
    ),
    (
        1,
        8,
        "cbytes",
        "bytes of the chunk area, or of all chunk files",
    ),
    (1, 4, "typesize", "bytes of an item"),
    (1, 4, "blocksize", "bytes of a block"),
    (1, 4, "chunksize", "uncompressed bytes of a chunk"),
    (1, 2, "threads", "of the writer"),
    (1, 2, "threads", "for readers"),
    (
        0,
        1,
        "has_vlmeta",
        "c3: the trailer holds variable-length metalayers",
    ),
    (2, 6, "filters", "slots 0 to 5; chunks say their own"),
    (0, 1, "compressor", ""),
    (0, 1, "compressor_meta", ""),
    (0, 6, "filter_metas", ""),
    (0, 1, "other_flags2", ""),
    (0, 1, "reserved", ""),
];

/// Takes a frame apart, then asks the reader.
pub(crate) fn walk(dump: &mut Dump, bytes: &[u8]) {
    let mut walk = Walk::new(dump, bytes);
    walk.section("frame header");
    for (markers, length, name, meaning) in HEADER {
        if *markers > 0 && walk.take(*markers, "marker").is_err() {
            break;
        }
        let Ok(field) = walk.take(*length, name) else {
            break;
        };
        walk.note(name, shown(field), *meaning);
    }
    let header = match FrameHeader::parse(bytes) {
        Ok(header) => header,
        Err(error) => {
            dump.fault(error.at(), error.to_string());
            return;
        }
    };
    let end = usize::try_from(header.header_len).unwrap_or(usize::MAX);
    match bytes.get(..end).map(Metalayers::of_header) {
        Some(Ok(layers)) => metalayers(dump, &layers),
        Some(Err(error)) => {
            dump.fault(error.at(), error.to_string());
            return;
        }
        None => {
            dump.fault(
                u64::try_from(bytes.len()).unwrap_or(u64::MAX),
                "the header is cut short",
            );
            return;
        }
    }
    if header.layout == Layout::Sparse {
        dump.conclude("the head of a sparse frame: chunks lie beside it, one a file");
        return;
    }
    match Frame::from_bytes(bytes.to_vec()) {
        Ok(frame) => {
            entries(dump, &frame);
            arrays(dump, frame);
        }
        Err(error) => {
            dump.fault(0, fold(&error));
        }
    }
}

/// A big-endian number; the bytes as text where there are eight letters or more numbers than one.
fn shown(field: &[u8]) -> String {
    match field.len() {
        1 | 2 | 4 | 8 if !field.starts_with(b"b2frame") => {
            let number = field
                .iter()
                .fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
            number.to_string()
        }
        8 => "b2frame".to_owned(),
        _ => field
            .iter()
            .map(u8::to_string)
            .collect::<Vec<_>>()
            .join(" "),
    }
}

fn metalayers(dump: &mut Dump, layers: &Metalayers<'_>) {
    dump.section("metalayers");
    for layer in layers.iter() {
        let name = String::from_utf8_lossy(layer.name).into_owned();
        dump.remark(&name, format!("{} bytes", layer.content.len()), "");
    }
    match zvf_caterva::find_nd(layers) {
        Ok(Some(nd)) => {
            dump.section("array");
            let all = |of: &dyn Fn(usize) -> u64| {
                (0..nd.rank())
                    .map(|k| of(k).to_string())
                    .collect::<Vec<_>>()
                    .join(" x ")
            };
            dump.remark("version", nd.version().to_string(), "of the metalayer");
            dump.remark("shape", all(&|k| nd.shape(k)), "");
            dump.remark("chunks", all(&|k| u64::from(nd.chunk(k))), "");
            dump.remark("blocks", all(&|k| u64::from(nd.block(k))), "");
        }
        Ok(None) => dump.conclude("no array: a plain list of chunks"),
        Err(error) => {
            dump.fault(error.at(), error.to_string());
        }
    }
}

fn entries(dump: &mut Dump, frame: &Frame) {
    let (count, rows) = (frame.header().chunk_count(), dump.rows as u64);
    dump.section(format!("chunk index: {count} chunks"));
    for chunk in 0..count.min(rows) {
        let (value, meaning) = match frame.entry(chunk) {
            Ok(Entry::At(at)) => (at.to_string(), "bytes behind the header"),
            Ok(Entry::Special(kind)) => (
                "special".to_owned(),
                match kind {
                    SpecialKind::Zeros => "every byte 0",
                    SpecialKind::Nan => "every item NaN",
                    SpecialKind::Uninit => "never written: read as zeros",
                    _ => "all items equal",
                },
            ),
            Ok(_) => ("another place".to_owned(), ""),
            Err(error) => {
                dump.fault(0, fold(&error));
                return;
            }
        };
        dump.remark(&format!("chunk {chunk}"), value, meaning);
    }
    let hidden = count.saturating_sub(rows);
    if hidden > 0 {
        dump.remark("…", format!("{hidden} more"), "not shown, see --rows");
    }
}

fn arrays(dump: &mut Dump, frame: Frame) {
    if dump.fault.is_some()
        || dump
            .conclusions
            .iter()
            .any(|one| one.starts_with("no array"))
    {
        return;
    }
    match frame.into_array() {
        Ok(array) => {
            let geometry = array.geometry();
            dump.conclude(format!(
                "an array of {} items of {} bytes ({:?}), {} chunks of {} blocks",
                geometry.shape.count().unwrap_or(u64::MAX),
                geometry.item,
                array.dtype().text(),
                geometry.chunk_count,
                geometry.block_count
            ));
        }
        Err(error) => {
            dump.fault(0, fold(&error));
        }
    }
}

//! Blosc2 frames with a Caterva or b2nd array (`docs/caterva.md`). Numbers before the chunks are big-endian MessagePack. Errors are detected by
//! `zvf-caterva`.

use zvf_caterva::layout::FrameHead;
use zvf_caterva::{Entry, Frame, FrameHeader, FrameLayout, Metalayers, SpecialKind};
use zvf_jobs::words::fold;

use super::dump::{Dump, Stopped, Walk};
use crate::output::table::joined;

/// Dumps a frame, then runs the reader's checks.
pub(crate) fn walk(walk: &mut Walk<'_, '_>) -> Result<(), Stopped> {
    let bytes = walk.rest();
    walk.dump.section("frame header");
    let _ = walk.structure::<FrameHead>(|_, _| {});
    let dump = &mut *walk.dump;
    let header = FrameHeader::parse(bytes);
    let header = header.map_err(|error| dump.fault(error.at(), error.to_string()))?;
    let end = usize::try_from(header.header_len).unwrap_or(usize::MAX);
    let Some(head) = bytes.get(..end) else {
        return Err(dump.fault(bytes.len() as u64, "the header is cut short"));
    };
    let layers = Metalayers::of_header(head);
    let layers = layers.map_err(|error| dump.fault(error.at(), error.to_string()))?;
    let is_array = metalayers(dump, &layers);
    if header.layout == FrameLayout::Sparse {
        dump.conclude("the header of a sparse frame: each chunk is a file beside it");
        return Ok(());
    }
    let frame = Frame::from_bytes(bytes.to_vec());
    let frame = frame.map_err(|error| dump.fault(0, fold(&error)))?;
    entries(dump, &frame)?;
    match is_array {
        true => array(dump, frame),
        false => Ok(()),
    }
}

/// Shows the metalayers; returns whether one of them describes an array.
fn metalayers(dump: &mut Dump, layers: &Metalayers<'_>) -> bool {
    dump.section("metalayers");
    for layer in layers.iter() {
        let name = String::from_utf8_lossy(layer.name);
        dump.remark(name, format_args!("{} bytes", layer.content.len()), "");
    }
    let nd = zvf_caterva::find_nd(layers);
    match &nd {
        Ok(Some(nd)) => {
            dump.section("array");
            let axes = 0..nd.rank();
            let shape = joined(axes.clone().map(|k| nd.shape(k)), " x ");
            let chunks = joined(axes.clone().map(|k| nd.chunk(k)), " x ");
            let blocks = joined(axes.map(|k| nd.block(k)), " x ");
            dump.remark("version", nd.version(), "of the metalayer");
            dump.remark("shape", shape, "");
            dump.remark("chunks", chunks, "");
            dump.remark("blocks", blocks, "");
        }
        Ok(None) => dump.conclude("no array: a plain list of chunks"),
        Err(error) => drop(dump.fault(error.at(), error.to_string())),
    }
    matches!(nd, Ok(Some(_)))
}

fn entries(dump: &mut Dump, frame: &Frame) -> Result<(), Stopped> {
    let (count, rows) = (frame.header().chunk_count(), dump.rows as u64);
    dump.section(format!("chunk index: {count} chunks"));
    for chunk in 0..count.min(rows) {
        let entry = frame.entry(chunk);
        let entry = entry.map_err(|error| dump.fault(0, fold(&error)))?;
        let (value, meaning) = match entry {
            Entry::At(at) => (at.to_string(), "byte offset after the header"),
            Entry::Special(SpecialKind::Zeros) => ("special".into(), "every byte 0"),
            Entry::Special(SpecialKind::Nan) => ("special".into(), "every item NaN"),
            Entry::Special(SpecialKind::Uninit) => {
                ("special".into(), "never written: read as zeros")
            }
            Entry::Special(_) => ("special".into(), "all items equal"),
            _ => ("unknown".into(), ""),
        };
        dump.remark(format_args!("chunk {chunk}"), value, meaning);
    }
    let hidden = count.saturating_sub(rows);
    if hidden > 0 {
        dump.remark("…", format_args!("{hidden} more"), "not shown, see --rows");
    }
    Ok(())
}

fn array(dump: &mut Dump, frame: Frame) -> Result<(), Stopped> {
    let array = frame.into_array();
    let array = array.map_err(|error| dump.fault(0, fold(&error)))?;
    let geometry = array.geometry();
    dump.conclude(format!(
        "an array of {} items of {} bytes ({:?}), {} chunks of {} blocks",
        geometry.shape.count().unwrap_or(u64::MAX),
        geometry.item,
        array.dtype().text(),
        geometry.chunk_count,
        geometry.block_count
    ));
    Ok(())
}

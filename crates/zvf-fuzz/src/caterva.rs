//! Blosc chunks, and Caterva and b2nd frames.

use zvf_blosc::{Chunk, Codecs, Header};
use zvf_caterva::{Array, Axis, Frame, FrameView, ReadOptions, Selection};

use crate::split::parameters;

/// Most decoded bytes of a chunk or a slice.
const CAP: usize = 1 << 16;

/// Parses a chunk, and decodes it as a whole and block by block. Parameter: the frame's item size.
///
/// # Panics
///
/// When a chunk that decodes whole does not decode to the same bytes block by block.
pub fn blosc_chunk(data: &[u8]) {
    let ([typesize], bytes) = parameters(data);
    let typesize = usize::from(typesize).max(1);
    let _ = Header::parse(bytes);
    let Ok(chunk) = Chunk::parse(bytes) else {
        return;
    };
    let mut codecs = Codecs::new();
    let Ok(whole) = chunk.decode_vec(typesize, CAP, &mut codecs) else {
        return;
    };
    let header = chunk.header();
    let Ok(pipeline) = header.pipeline(typesize) else {
        return;
    };
    let mut at = 0;
    let first = whole.get(..header.block_len(0)).unwrap_or_default();
    for block in 0..header.block_count() {
        let n = header.block_len(block);
        let (mut out, mut scratch) = (vec![0; n], vec![0; n]);
        chunk
            .decode_block(
                &pipeline,
                block,
                Some(first),
                &mut out,
                &mut scratch,
                &mut codecs,
            )
            .expect("a block of a chunk that decodes");
        assert_eq!(out, whole[at..at + n], "block {block}");
        at += n;
    }
    assert_eq!(at, whole.len());
}

/// Opens a frame, decodes its metalayers and first chunks, and reads a slice on one thread and on two.
///
/// Parameters: start, length and step of the slice, the same for every axis and reduced to fit it.
///
/// # Panics
///
/// When the view rejects a frame that the reader opens, or two reads of one slice differ.
pub fn caterva_frame(data: &[u8]) {
    let ([start, length, step], bytes) = parameters(data);
    let view = FrameView::parse(bytes);
    let Ok(frame) = Frame::from_bytes(bytes.to_vec()) else {
        return;
    };
    let view = view.expect("a frame that opens");
    assert_eq!(view.header(), frame.header());
    for layer in view.vlmetalayers().iter() {
        if let Ok(name) = std::str::from_utf8(layer.name) {
            let _ = frame.vlmeta(name, CAP);
        }
    }
    for chunk in 0..frame.header().chunk_count().min(3) {
        let _ = frame.chunk(chunk, CAP);
    }
    if let Ok(array) = frame.into_array() {
        slice(&array, [start, length, step].map(u64::from));
    }
}

fn slice(array: &Array, [start, length, step]: [u64; 3]) {
    let shape = array.geometry().shape;
    let axes: Vec<Axis> = shape
        .iter()
        .map(|n| {
            let first = start % (n.saturating_add(1));
            Axis::new(
                first,
                first.saturating_add(length % 8).min(*n),
                step % 4 + 1,
            )
        })
        .collect();
    let Ok(selection) = Selection::new(&axes, &shape) else {
        return;
    };
    let item = u64::try_from(array.geometry().item).unwrap_or(u64::MAX);
    let bytes = selection.count().and_then(|n| n.checked_mul(item));
    let Some(n) = bytes
        .and_then(|n| usize::try_from(n).ok())
        .filter(|n| *n <= CAP)
    else {
        return;
    };
    let read = |threads, whole_chunk| {
        let options = ReadOptions {
            threads,
            whole_chunk,
            ..ReadOptions::default()
        };
        let mut out = vec![0; n];
        array
            .read_into(&selection, &mut out, &options)
            .ok()
            .map(|()| out)
    };
    assert_eq!(read(1, 0), read(2, 1 << 16));
}

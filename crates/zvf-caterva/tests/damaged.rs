//! Every deliberately damaged sample: the error that its manifest expects, and what can still be
//! read.

use zvf_caterva::{Array, Axis, Error, ErrorClass, Frame, FrameView, Selection};

use crate::support::{folder, manifest};

const ROWS: [std::ops::Range<u64>; 2] = [0..3, 3..5];
const COLUMNS: [std::ops::Range<u64>; 2] = [0..4, 4..7];

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

/// The part of the array in one chunk, and its expected items: numbers from 1 in rows of 7.
fn chunk(number: usize) -> (Selection, Vec<u8>) {
    let (rows, columns) = (ROWS[number / 2].clone(), COLUMNS[number % 2].clone());
    let axes = [
        Axis::new(rows.start, rows.end, 1),
        Axis::new(columns.start, columns.end, 1),
    ];
    let items = rows.flat_map(|r| columns.clone().map(move |c| (r * 7 + c + 1) as i32));
    (
        Selection::new(&axes, &[5, 7]).unwrap(),
        items.flat_map(i32::to_le_bytes).collect(),
    )
}

/// All chunks except `bad` can be read; `bad` fails with this class and these words.
fn one_bad_chunk(name: &str, bad: usize, class: ErrorClass, words: &str) {
    for threads in [1, 2] {
        let array = Array::from_bytes(bytes(name)).unwrap();
        for number in 0..4 {
            let (selection, wanted) = chunk(number);
            let mut out = vec![0; wanted.len()];
            let options = zvf_caterva::ReadOptions {
                threads,
                ..Default::default()
            };
            let found = array.read_into(&selection, &mut out, &options);
            if number == bad {
                check(name, &found.unwrap_err(), class, words);
            } else {
                found.unwrap();
                assert_eq!(out, wanted, "{name}");
            }
        }
        check(name, &array.read_all().unwrap_err(), class, words);
    }
    // Reading from a file gives the same error as reading from memory.
    let array = Array::open(folder().join(name)).unwrap();
    check(name, &array.read_all().unwrap_err(), class, words);
}

fn check(name: &str, error: &Error, class: ErrorClass, words: &str) {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    assert_eq!(error.class(), class, "{name}: {text}");
    assert!(text.contains(words), "{name}: {text}");
}

fn refused(name: &str, class: ErrorClass, words: &str) {
    check(
        name,
        &Array::open(folder().join(name)).unwrap_err(),
        class,
        words,
    );
    check(
        name,
        &Array::from_bytes(bytes(name)).unwrap_err(),
        class,
        words,
    );
}

#[test]
fn every_damaged_sample_has_a_test() {
    let listed = manifest()["damaged"].as_array().unwrap().len();
    assert_eq!(listed, 12);
}

#[test]
fn x01_truncated() {
    refused(
        "x01_truncated.b2frame",
        ErrorClass::Truncated,
        "frame at byte 0: cut short, found 630 bytes, expected 639",
    );
}

#[test]
fn x02_bad_magic() {
    refused(
        "x02_bad_magic.b2frame",
        ErrorClass::Malformed,
        "frame magic",
    );
}

#[test]
fn x03_offset_past_data() {
    one_bad_chunk(
        "x03_offset_past_data.b2frame",
        2,
        ErrorClass::Malformed,
        "chunk 2: index entry",
    );
}

#[test]
fn x04_nd_array_count() {
    refused(
        "x04_nd_array_count.b2frame",
        ErrorClass::Malformed,
        "shape at byte 3: found 146, expected 147",
    );
}

#[test]
fn x05_zero_blockshape() {
    refused(
        "x05_zero_blockshape.b2frame",
        ErrorClass::Malformed,
        "block shape",
    );
}

#[test]
fn x06_bstart_past_chunk() {
    let name = "x06_bstart_past_chunk.b2frame";
    one_bad_chunk(
        name,
        2,
        ErrorClass::Malformed,
        "chunk 2, block 1: block start",
    );
    // The other block of that chunk, rows 3 and 4 of columns 0 and 1, can still be read.
    let array = Array::from_bytes(bytes(name)).unwrap();
    let axes = [Axis::new(3, 5, 1), Axis::new(0, 2, 1)];
    let found = array
        .read(&Selection::new(&axes, &[5, 7]).unwrap())
        .unwrap();
    let wanted: Vec<u8> = [22, 23, 29, 30i32]
        .into_iter()
        .flat_map(i32::to_le_bytes)
        .collect();
    assert_eq!(found, wanted);
}

#[test]
fn x07_negative_offset_garbage() {
    one_bad_chunk(
        "x07_negative_offset_garbage.b2frame",
        1,
        ErrorClass::Unsupported,
        "chunk 1: index entry",
    );
}

#[test]
fn x08_variable_length_blocks() {
    one_bad_chunk(
        "x08_variable_length_blocks.b2frame",
        2,
        ErrorClass::Unsupported,
        "chunk 2: ",
    );
}

#[test]
fn x09_chunk_nbytes() {
    one_bad_chunk(
        "x09_chunk_nbytes.b2frame",
        2,
        ErrorClass::Malformed,
        "chunk 2: chunk nbytes at byte 4",
    );
    let frame = Frame::from_bytes(bytes("x09_chunk_nbytes.b2frame")).unwrap();
    assert!(frame.chunk(2, usize::MAX).is_err());
}

#[test]
fn x10_bad_token() {
    let name = "x10_bad_token.b2frame";
    let array = Array::from_bytes(bytes(name)).unwrap();
    let error = array.read_all().unwrap_err();
    check(name, &error, ErrorClass::Malformed, "run token");
    let Error::Block { chunk: bad, .. } = error else {
        panic!("{error:?}")
    };
    one_bad_chunk(name, bad as usize, ErrorClass::Malformed, "run token");
}

#[test]
fn x11_unknown_codec() {
    let name = "x11_unknown_codec.b2frame";
    let array = Array::from_bytes(bytes(name)).unwrap();
    // Only block 1 of chunk 3 needs the codec.
    check(
        name,
        &array.read_all().unwrap_err(),
        ErrorClass::Unsupported,
        "chunk 3, block 1: codec format",
    );
    let axes = [Axis::new(3, 5, 1), Axis::new(4, 6, 1)];
    let found = array
        .read(&Selection::new(&axes, &[5, 7]).unwrap())
        .unwrap();
    let wanted: Vec<u8> = [26, 27, 33, 34i32]
        .into_iter()
        .flat_map(i32::to_le_bytes)
        .collect();
    assert_eq!(found, wanted);
    one_bad_chunk(name, 3, ErrorClass::Unsupported, "codec format");
}

#[test]
fn x12_header_len() {
    refused(
        "x12_header_len.b2frame",
        ErrorClass::Malformed,
        "header_len",
    );
}

#[test]
fn views_refuse_what_readers_refuse() {
    for name in ["x01_truncated", "x02_bad_magic", "x12_header_len"] {
        assert!(FrameView::parse(&bytes(&format!("{name}.b2frame"))).is_err());
    }
    for name in ["x04_nd_array_count", "x05_zero_blockshape"] {
        let bytes = bytes(&format!("{name}.b2frame"));
        assert!(FrameView::parse(&bytes).unwrap().nd().is_err());
    }
}

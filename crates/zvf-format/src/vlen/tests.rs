//! The examples of the format's pages byte for byte, every error, and round trips.

use std::vec::Vec;

use proptest::prelude::*;

use super::{VlenBuilder, VlenChunk, VlenDirectory};
use crate::manifest::Manifest;
use crate::strategies::byte_strings;
use crate::testing::{every_bit_flip, every_truncation, hex};

/// A vertices cell of three f32 positions (`spec/zvf-0.9.md` 4.2).
fn vertices_cell() -> Vec<u8> {
    hex("01 00 00 00  24 00 00 00
         00 00 80 3f  00 00 00 40  00 00 40 40
         00 00 80 40  00 00 a0 40  00 00 c0 40
         00 00 00 3f  00 00 80 3e  00 00 00 3e")
}

/// The manifests of three objects, the second of them empty (`spec/zvf-0.7.md` 20.4): 127 bytes.
fn manifests() -> Vec<u8> {
    hex("03000000
         46000000 02000000
           0000000000000000 0000000000000000 0000000000000000 00 0000000000000000
           0100000000000000 0000000000000000 0000000000000000 00 0000000000000000
         04000000 00000000
         25000000 01000000
           0000000000000000 0000000000000000 0000000000000000 00 0100000000000000")
}

#[test]
fn a_cell_is_a_chunk_of_one() {
    let bytes = vertices_cell();
    let cell = VlenChunk::parse_cell(&bytes).unwrap();
    assert_eq!(cell.len(), 36);
    let chunk = VlenChunk::parse(&bytes, 1).unwrap();
    assert_eq!(
        (chunk.len(), chunk.get(0), chunk.get(1)),
        (1, Some(cell), None)
    );
    assert_eq!(VlenBuilder::cell(cell).unwrap(), bytes);
    // A cell that holds an explicit empty element.
    assert_eq!(
        VlenChunk::parse_cell(&hex("0100000000000000")).unwrap(),
        b""
    );
}

#[test]
fn a_chunk_of_manifests() {
    let bytes = manifests();
    assert_eq!(bytes.len(), 127);
    let chunk = VlenChunk::parse(&bytes, 3).unwrap();
    let blocks: Vec<_> = chunk
        .iter()
        .map(|blob| Manifest::parse(blob, 3).unwrap().len())
        .collect();
    assert_eq!(blocks, [2, 0, 1]);
    let mut builder = VlenBuilder::new();
    for element in &chunk {
        builder.push(element).unwrap();
    }
    assert_eq!(builder.finish(), bytes);
    let mut elements = chunk.iter();
    assert_eq!(elements.at(), 4);
    elements.next();
    assert_eq!((elements.at(), elements.len()), (78, 2));
}

#[test]
fn an_edge_chunk_is_padded() {
    // The groups of `spec/zvf-0.8.md` 19.7: 0 and 3 have members, 1 and 2 are empty.
    let groups = hex(
        "04000000  10000000 0000000000000000 0200000000000000  00000000  00000000
        08000000 0100000000000000",
    );
    let chunk = VlenChunk::parse(&groups, 4).unwrap();
    assert_eq!(
        chunk.iter().map(<[u8]>::len).collect::<Vec<_>>(),
        [16, 0, 0, 8]
    );
    let mut builder = VlenBuilder::default();
    builder.push(b"x").unwrap();
    assert_eq!((builder.len(), builder.is_empty()), (1, false));
    assert_eq!(
        builder.clone().finish_padded(3).unwrap(),
        hex("03000000 01000000 78 00000000 00000000")
    );
    assert!(builder.finish_padded(0).is_err());
}

#[test]
fn the_count_must_be_that_of_the_array() {
    for expected in [0, 2, u64::from(u32::MAX) + 2, u64::MAX] {
        let error = VlenChunk::parse(&vertices_cell(), expected).unwrap_err();
        assert_eq!(
            (error.what(), error.at(), error.is_malformed()),
            ("vlen element count", 0, true)
        );
    }
    let error = VlenChunk::parse_cell(&manifests()).unwrap_err();
    assert_eq!(
        std::format!("{error}"),
        "vlen element count at byte 0: found 3, expected 1"
    );
}

#[test]
fn bytes_after_the_last_element_are_ignored() {
    let longer = [&vertices_cell()[..], &[1, 2]].concat();
    let chunk = VlenChunk::parse(&longer, 1).unwrap();
    assert_eq!((chunk.trailing(), chunk.iter().count()), (&[1, 2][..], 1));
    assert_eq!(VlenChunk::parse_cell(&longer).unwrap().len(), 36);
}

#[test]
fn every_truncation_names_what_is_cut() {
    every_truncation(&manifests(), |cut| {
        let error = VlenChunk::parse(cut, 3).unwrap_err();
        assert!(error.is_truncated());
        let expected = match cut.len() {
            0..4 => ("vlen element count", 0),
            4..16 => ("vlen elements", 4),
            16..78 => ("vlen element", 8),
            78..82 => ("vlen element length", 78),
            82..86 => ("vlen element", 82),
            86..90 => ("vlen element length", 86),
            _ => ("vlen element", 90),
        };
        assert_eq!((error.what(), error.at()), expected);
    });
}

#[test]
fn huge_counts_fail_at_once() {
    let blob = [&[0xFF; 4][..], &[0; 1000]].concat();
    assert!(
        VlenChunk::parse(&blob, u64::from(u32::MAX))
            .unwrap_err()
            .is_truncated()
    );
    let blob = [&hex("01000000 ffffffff")[..], &[0; 1000]].concat();
    assert!(VlenChunk::parse(&blob, 1).unwrap_err().is_truncated());
    assert!(VlenChunk::parse_cell(&blob).unwrap_err().is_truncated());
}

#[test]
fn the_directory_finds_elements_and_says_when_its_storage_is_short() {
    let bytes = manifests();
    let chunk = VlenChunk::parse(&bytes, 3).unwrap();
    assert!(
        VlenDirectory::build_in(&chunk, &mut [0; 2])
            .unwrap_err()
            .is_limit()
    );
    let mut storage = [9; 5];
    let directory = VlenDirectory::build_in(&chunk, &mut storage).unwrap();
    for i in 0..5 {
        assert_eq!(directory.get(&chunk, i), chunk.get(i));
    }
    // With another chunk: some bytes or nothing.
    let other = vertices_cell();
    let _ = (0..3)
        .map(|i| directory.get(&VlenChunk::parse(&other, 1).unwrap(), i))
        .collect::<Vec<_>>();
}

#[test]
fn every_bit_flip_is_a_value_or_an_error() {
    for (blob, count) in [(vertices_cell(), 1), (manifests(), 3)] {
        every_bit_flip(&blob, |blob| {
            let _ = VlenChunk::parse_cell(blob);
            if let Ok(chunk) = VlenChunk::parse(blob, count) {
                assert_eq!(chunk.iter().count() as u64, count);
            }
        });
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(given in byte_strings(), padding in 0_u32..4) {
        let mut builder = VlenBuilder::new();
        for element in &given {
            builder.push(element).unwrap();
        }
        let count = builder.len() + padding;
        let bytes = builder.finish_padded(count).unwrap();
        let chunk = VlenChunk::parse(&bytes, u64::from(count)).unwrap();
        let mut expected: Vec<&[u8]> = given.iter().map(Vec::as_slice).collect();
        expected.resize(count as usize, &[]);
        prop_assert_eq!(chunk.iter().collect::<Vec<_>>(), &expected[..]);
        prop_assert!(chunk.trailing().is_empty());
        let directory = VlenDirectory::build(&chunk);
        for (i, element) in (0..).zip(expected) {
            prop_assert_eq!(chunk.get(i), Some(element));
            prop_assert_eq!(directory.get(&chunk, i), Some(element));
        }
    }
}

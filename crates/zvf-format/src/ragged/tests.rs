//! The examples of the format's pages byte for byte, every error, and round trips.

use std::vec::Vec;

use proptest::prelude::*;

use super::{RaggedBlob, RaggedBuilder};
use crate::strategies::byte_strings;
use crate::testing::{every_bit_flip, every_truncation, hex};

/// Three records, one group each (`spec/zvf-0.8.md` 19.1): 104 bytes.
fn three_groups() -> Vec<u8> {
    hex(
        "0300000000000000  0000000000000000 1800000000000000 3000000000000000
         0000000000000000 0200000000000000 0000000000000000
         0100000000000000 0000000000000000 0100000000000000
         0100000000000000 0900000000000000 0500000000000000",
    )
}

#[test]
fn groups_end_where_the_next_begins() {
    let bytes = three_groups();
    let blob = RaggedBlob::parse(&bytes).unwrap();
    assert_eq!((blob.len(), blob.data_at(), blob.data().len()), (3, 32, 72));
    assert_eq!(blob.get(1), bytes.get(56..80));
    assert_eq!(blob.get(2), bytes.get(80..));
    assert_eq!(blob.get(3), None);
    let mut builder = RaggedBuilder::new();
    for group in blob.iter() {
        builder.push(group);
    }
    assert_eq!((builder.len(), builder.finish()), (3, bytes));
}

#[test]
fn fewer_than_eight_bytes_are_no_groups() {
    for length in 0..8 {
        assert!(RaggedBlob::parse(&[0xFF; 8][..length]).unwrap().is_empty());
    }
    assert_eq!(RaggedBuilder::new().finish(), [0; 8]);
    assert!(RaggedBlob::parse(&[0; 8]).unwrap().is_empty());
}

#[test]
fn every_truncation_names_what_is_cut() {
    every_truncation(&three_groups(), |cut| {
        match (cut.len(), RaggedBlob::parse(cut)) {
            (0..8, Ok(blob)) => assert!(blob.is_empty()),
            (8..32, Err(error)) => {
                assert_eq!(
                    (error.what(), error.at(), error.is_truncated()),
                    ("ragged offsets", 8, true)
                );
            }
            (32..56, Err(error)) => {
                assert_eq!(
                    (error.what(), error.at(), error.is_malformed()),
                    ("ragged offset", 16, true)
                );
            }
            (56..80, Err(error)) => assert_eq!((error.what(), error.at()), ("ragged offset", 24)),
            // The last group is open: only its rows can show that it is cut short.
            (80.., Ok(blob)) => assert_eq!(blob.len(), 3),
            (length, other) => panic!("cut at {length}: {other:?}"),
        }
    });
}

#[test]
fn offsets_are_checked() {
    let refused = |at: usize, value: i64| {
        let mut bytes = three_groups();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let error = RaggedBlob::parse(&bytes).unwrap_err();
        (error.what(), error.at(), error.is_malformed())
    };
    assert_eq!(refused(0, -1), ("ragged group count", 0, true));
    assert_eq!(refused(8, 8), ("ragged offset", 8, true));
    assert_eq!(refused(16, -8), ("ragged offset", 16, true));
    assert_eq!(refused(24, 16), ("ragged offset", 24, true));
    assert_eq!(refused(24, 73), ("ragged offset", 24, true));
    assert_eq!(refused(24, i64::MAX), ("ragged offset", 24, true));
    let error = RaggedBlob::parse(&hex("0000000000000000 01")).unwrap_err();
    assert_eq!(
        (error.what(), error.at()),
        ("ragged data without a group", 8)
    );
}

#[test]
fn huge_counts_fail_at_once() {
    for count in [i64::MAX, 1 << 61, u32::MAX.into(), 126] {
        let bytes = [&count.to_le_bytes()[..], &[0; 1000]].concat();
        let error = RaggedBlob::parse(&bytes).unwrap_err();
        assert!(error.is_truncated(), "{error}");
    }
}

#[test]
fn every_bit_flip_is_a_value_or_an_error() {
    every_bit_flip(&three_groups(), |bytes| {
        if let Ok(blob) = RaggedBlob::parse(bytes) {
            assert_eq!(
                blob.iter().map(<[u8]>::len).sum::<usize>(),
                blob.data().len()
            );
        }
    });
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(given in byte_strings()) {
        let mut builder = RaggedBuilder::new();
        given.iter().for_each(|group| builder.push(group));
        let bytes = builder.finish();
        let blob = RaggedBlob::parse(&bytes).unwrap();
        prop_assert_eq!(blob.iter().collect::<Vec<_>>(), given);
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(
        count in 0_i64..5, rest in prop::collection::vec(prop_oneof![4 => Just(0_u8), 1 => any::<u8>()], 0..80),
    ) {
        let bytes = [&count.to_le_bytes()[..], &rest].concat();
        if let Ok(blob) = RaggedBlob::parse(&bytes) {
            prop_assert_eq!(blob.iter().map(<[u8]>::len).sum::<usize>(), blob.data().len());
        }
    }
}

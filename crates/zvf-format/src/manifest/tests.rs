//! The examples of the format's pages byte for byte, every error, and round trips.

use std::vec::Vec;

use proptest::prelude::*;

use super::{FragmentRefs, Manifest, ManifestBuilder};
use crate::strategies::blocks;
use crate::testing::{every_bit_flip, every_truncation, hex};

/// The three modes in one manifest, 123 bytes (`spec/zvf-0.7.md` 20.4).
fn three_modes() -> Vec<u8> {
    hex("03000000
         000000000000000000000000000000000000000000000000 00 0500000000000000
         0100000000000000ffffffffffffffff0000000000000000 01 0200000000000000 0300000000000000
         010000000000000000000000000000000000000000000000 02 02000000 0700000000000000 0400000000000000")
}

fn refs(blob: &[u8], key_rank: usize) -> Vec<(Vec<i64>, i64)> {
    let manifest = Manifest::parse(blob, key_rank).unwrap();
    manifest
        .fragment_refs()
        .map(|(chunk, fragment)| {
            (
                chunk.iter().map(|component| component.get()).collect(),
                fragment,
            )
        })
        .collect()
}

#[test]
fn the_real_manifests_of_the_specification() {
    let line = hex(
        "02000000 | 0000000000000000 0000000000000000 00 0000000000000000
        0100000000000000 0000000000000000 00 0000000000000000",
    );
    assert_eq!(refs(&line, 2), [(std::vec![0, 0], 0), (std::vec![1, 0], 0)]);
    let negative = hex(
        "02000000 | feffffffffffffff ffffffffffffffff 00 0000000000000000
        ffffffffffffffff 0000000000000000 00 0000000000000000",
    );
    assert_eq!(
        refs(&negative, 2),
        [(std::vec![-2, -1], 0), (std::vec![-1, 0], 0)]
    );
    let mut builder = ManifestBuilder::new(2).unwrap();
    builder.push(&[-2, -1], 0).unwrap();
    builder.push(&[-1, 0], 0).unwrap();
    assert_eq!(builder.finish(), negative);
}

#[test]
fn all_three_modes_decode_and_encode() {
    let blob = three_modes();
    assert_eq!(blob.len(), 123);
    let manifest = Manifest::parse(&blob, 3).unwrap();
    assert_eq!(
        (
            manifest.len(),
            manifest.key_rank(),
            manifest.fragment_count()
        ),
        (3, 3, 6)
    );
    let blocks: Vec<_> = manifest.blocks().map(|block| block.fragments).collect();
    assert_eq!(
        blocks[..2],
        [
            FragmentRefs::One(5),
            FragmentRefs::Range { start: 2, count: 3 }
        ]
    );
    assert_eq!(blocks[2].iter().collect::<Vec<_>>(), [7, 4]);
    assert_eq!(
        blocks.iter().map(FragmentRefs::mode).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    let expected = [
        ([0, 0, 0], 5),
        ([1, -1, 0], 2),
        ([1, -1, 0], 3),
        ([1, -1, 0], 4),
        ([1, 0, 0], 7),
        ([1, 0, 0], 4),
    ];
    assert_eq!(
        refs(&blob, 3),
        expected.map(|(chunk, fragment)| (chunk.to_vec(), fragment))
    );

    let mut builder = ManifestBuilder::new(3).unwrap();
    builder.push_list(&[0, 0, 0], &[5]).unwrap();
    builder.push_list(&[1, -1, 0], &[2, 3, 4]).unwrap();
    builder.push_list(&[1, 0, 0], &[7, 4]).unwrap();
    assert_eq!(builder.finish(), blob);
}

#[test]
fn the_mode_follows_from_what_is_pushed() {
    let mut builder = ManifestBuilder::new(1).unwrap();
    builder.push_range(&[0], 7, 1).unwrap();
    builder.push_range(&[0], 7, 0).unwrap();
    builder.push_list(&[0], &[]).unwrap();
    builder.push_list(&[0], &[3, 4]).unwrap();
    builder.push_list(&[0], &[4, 3]).unwrap();
    let blob = builder.finish();
    let modes: Vec<_> = Manifest::parse(&blob, 1)
        .unwrap()
        .blocks()
        .map(|block| block.fragments.mode())
        .collect();
    assert_eq!(modes, [0, 1, 2]);
}

#[test]
fn empty_objects() {
    // Trap T31: a row that was never written has no bytes.
    let never_written = Manifest::parse(&[], 3).unwrap();
    assert!(never_written.is_empty() && never_written.fragment_refs().next().is_none());
    let empty = ManifestBuilder::new(3).unwrap().finish();
    assert_eq!(empty, [0; 4]);
    assert!(Manifest::parse(&empty, 3).unwrap().is_empty());
    // An empty list is a block without fragments.
    let nothing = hex("01000000 0500000000000000 02 00000000");
    assert_eq!(
        (
            Manifest::parse(&nothing, 1).unwrap().len(),
            refs(&nothing, 1).len()
        ),
        (1, 0)
    );
}

#[test]
fn bytes_are_consumed_exactly() {
    let longer = [&three_modes()[..], &[0]].concat();
    let error = Manifest::parse(&longer, 3).unwrap_err();
    assert_eq!(
        (error.what(), error.at(), error.is_malformed()),
        ("manifest length", 123, true)
    );
    assert!(
        Manifest::parse(&three_modes(), 2).is_err(),
        "the rank of the coordinates matters"
    );
    every_truncation(&three_modes(), |cut| {
        if !cut.is_empty() {
            let error = Manifest::parse(cut, 3).unwrap_err();
            assert!(error.is_truncated(), "{error}");
            // The first block takes bytes 4 to 36, the second 37 to 77.
            let expected = match cut.len() {
                0..4 => ("manifest block count", 0),
                4..91 => ("manifest blocks", 4),
                91..102 => return,
                102..103 => ("manifest block mode", 102),
                103..107 => ("manifest fragment list length", 103),
                _ => ("manifest fragment list", 107),
            };
            assert_eq!((error.what(), error.at()), expected, "cut at {}", cut.len());
        }
    });
}

#[test]
fn another_mode_is_refused() {
    let mut blob = three_modes();
    blob[28] = 3;
    let error = Manifest::parse(&blob, 3).unwrap_err();
    assert_eq!(
        (error.what(), error.at(), error.is_unsupported()),
        ("manifest block mode", 28, true)
    );
    assert_eq!(
        std::format!("{error}"),
        "manifest block mode at byte 28: not supported, found 3, expected mode 0, 1 or 2"
    );
}

#[test]
fn fragment_numbers_are_bounded() {
    let refused = |at: usize, value: i64| {
        let mut blob = three_modes();
        blob[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let error = Manifest::parse(&blob, 3).unwrap_err();
        assert!(error.is_malformed());
        (error.what(), error.at())
    };
    for value in [-1, i64::MIN, 0xFFFF_FFFF, i64::MAX] {
        assert_eq!(refused(29, value), ("manifest fragment", 29));
        assert_eq!(refused(115, value), ("manifest fragment list entry", 115));
    }
    assert_eq!(refused(62, -1), ("manifest fragment range start", 62));
    assert_eq!(refused(62, 1 << 32), ("manifest fragment range start", 62));
    assert_eq!(refused(70, -1), ("manifest fragment range count", 70));
    assert_eq!(
        refused(70, 0xFFFF_FFFE),
        ("manifest fragment range count", 70)
    );
}

#[test]
fn huge_counts_fail_at_once() {
    let blob = [&[0xFF; 4][..], &[0; 1000]].concat();
    assert!(Manifest::parse(&blob, 3).unwrap_err().is_truncated());
    let list = [
        &hex("01000000 0000000000000000 02 ffffffff")[..],
        &[0; 1000],
    ]
    .concat();
    let error = Manifest::parse(&list, 1).unwrap_err();
    assert_eq!((error.what(), error.at()), ("manifest fragment list", 17));
    for rank in [0, crate::keys::MAX_RANK + 1, usize::MAX] {
        assert!(Manifest::parse(&blob, rank).unwrap_err().is_limit());
        assert!(ManifestBuilder::new(rank).is_err());
    }
}

#[test]
fn references_are_checked_without_walking_them() {
    let most = FragmentRefs::Range {
        start: 0,
        count: 0xFFFF_FFFF,
    };
    assert_eq!(
        (most.check(4), most.check(u32::MAX), most.len()),
        (Some(4), None, 0xFFFF_FFFF)
    );
    assert_eq!(FragmentRefs::Range { start: 9, count: 0 }.check(4), None);
    assert_eq!(FragmentRefs::Range { start: 9, count: 2 }.check(4), Some(9));
    assert_eq!(
        (FragmentRefs::One(3).check(4), FragmentRefs::One(4).check(4)),
        (None, Some(4))
    );
    let blob = three_modes();
    let list = Manifest::parse(&blob, 3)
        .unwrap()
        .blocks()
        .nth(2)
        .unwrap()
        .fragments;
    assert_eq!(
        (list.check(8), list.check(7), list.check(5)),
        (None, Some(7), Some(7))
    );
}

#[test]
fn the_encoder_refuses_what_no_manifest_holds() {
    let mut builder = ManifestBuilder::new(2).unwrap();
    assert!(builder.push(&[0], 0).is_err());
    assert!(builder.push(&[0, 0], -1).is_err());
    assert!(builder.push(&[0, 0], 0xFFFF_FFFF).is_err());
    assert!(builder.push_range(&[0, 0], 0, -1).is_err());
    assert!(builder.push_range(&[0, 0], 0xFFFF_FFFE, 2).is_err());
    assert!(builder.push_range(&[0, 0], 1, i64::MAX).is_err());
    let error = builder.push_list(&[0, 0], &[1, 5, -2]).unwrap_err();
    assert_eq!((error.what(), error.item()), ("manifest fragment", 2));
    assert_eq!(builder.finish(), [0; 4]);
}

#[test]
fn every_bit_flip_is_a_value_or_an_error() {
    every_bit_flip(&three_modes(), |blob| {
        for rank in 1..4 {
            visit_everything(blob, rank);
        }
    });
}

fn visit_everything(blob: &[u8], rank: usize) {
    if let Ok(manifest) = Manifest::parse(blob, rank) {
        assert_eq!(manifest.blocks().count(), manifest.len() as usize);
        let walked = manifest.fragment_refs().take(10_000).count() as u64;
        assert_eq!(walked, manifest.fragment_count().min(10_000));
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(given in (1_usize..5).prop_flat_map(|rank| (Just(rank), blocks(rank)))) {
        let (rank, given) = given;
        let (mut shortest, mut singles) = (ManifestBuilder::new(rank).unwrap(), ManifestBuilder::new(rank).unwrap());
        for (chunk, fragments) in &given {
            shortest.push_list(chunk, fragments).unwrap();
            for &fragment in fragments {
                singles.push(chunk, fragment).unwrap();
            }
        }
        let expected: Vec<_> = given
            .iter()
            .flat_map(|(chunk, fragments)| fragments.iter().map(move |&fragment| (chunk.clone(), fragment)))
            .collect();
        let (shortest, singles) = (shortest.finish(), singles.finish());
        prop_assert_eq!(Manifest::parse(&shortest, rank).unwrap().len() as usize, given.len());
        prop_assert_eq!(&refs(&shortest, rank), &expected);
        prop_assert_eq!(&refs(&singles, rank), &expected);
        prop_assert_eq!(singles.len(), 4 + expected.len() * (8 * rank + 9));
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(
        count in 0_u32..6, rest in prop::collection::vec(prop_oneof![Just(0_u8), 0_u8..4, any::<u8>()], 0..120), rank in 1_usize..4,
    ) {
        let blob = [&count.to_le_bytes()[..], &rest].concat();
        visit_everything(&blob, rank);
    }
}

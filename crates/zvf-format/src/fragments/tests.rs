//! The examples of the format's pages byte for byte, every error, and round trips.

use std::vec::Vec;

use proptest::prelude::*;

use super::{Fragment, FragmentIndex, FragmentIndexBuilder, RankDirectory};
use crate::DecodeError;
use crate::strategies::{GivenFragment, fragments};
use crate::testing::{every_bit_flip, every_truncation, hex};

/// The worked example of the fragment-index page: 88 bytes.
fn worked_example() -> Vec<u8> {
    hex("47 46 56 5A  01 00  00 00  03 00 00 00  02 00 00 00
         05 00 00 00 00 00 00 00
         00 00 00 00 00 00 00 00  04 00 00 00 00 00 00 00
         14 00 00 00 00 00 00 00  08 00 00 00 00 00 00 00
         00 00 00 00  03 00 00 00
         0C 00 00 00 00 00 00 00  07 00 00 00 00 00 00 00  13 00 00 00 00 00 00 00")
}

/// The six fragments of `spec/zvf-0.9.md` 9.1: a promoted list, an empty list, an empty range.
fn six_fragments() -> Vec<u8> {
    hex("4746565a 0100 0000 06000000 04000000
         35 00000000000000
         0000000000000000 0200000000000000   0000000000000000 0200000000000000
         0100000000000000 0100000000000000   0000000000000000 0000000000000000
         00000000 02000000 02000000
         0100000000000000 0000000000000000")
}

fn encode(fragments: &[GivenFragment]) -> Vec<u8> {
    let mut builder = FragmentIndexBuilder::new();
    for fragment in fragments {
        match fragment {
            GivenFragment::Range(start, count) => builder.push_range(*start, *count).unwrap(),
            GivenFragment::Rows(rows) => builder.push_rows(rows).unwrap(),
        }
    }
    builder.finish()
}

fn decode(blob: &[u8]) -> Vec<Vec<i64>> {
    FragmentIndex::parse(blob)
        .unwrap()
        .iter()
        .map(|fragment| fragment.rows().collect())
        .collect()
}

/// The blob with `bytes` written over its bytes from `at` on.
fn with(blob: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut blob = blob.to_vec();
    blob[at..at + bytes.len()].copy_from_slice(bytes);
    blob
}

fn place(error: DecodeError) -> (&'static str, u64) {
    (error.what(), error.at())
}

#[test]
fn the_worked_example_decodes() {
    let blob = worked_example();
    assert_eq!(blob.len(), 88);
    let index = FragmentIndex::parse(&blob).unwrap();
    index.check(28).unwrap();
    assert_eq!(
        (index.len(), index.range_count(), index.list_count()),
        (3, 2, 1)
    );
    assert_eq!(
        [0, 1, 2, 3].map(|f| index.is_range(f)),
        [Some(true), Some(false), Some(true), None]
    );
    assert_eq!(index.range(0), Some((0, 4)));
    assert_eq!(index.range(1), None);
    assert_eq!(
        index.range(2),
        Some((20, 8)),
        "row 1 of the range table, not row 2"
    );
    assert_eq!(index.indices(1).unwrap().collect::<Vec<_>>(), [12, 7, 19]);
    assert_eq!(
        index.indices(0).unwrap().rev().collect::<Vec<_>>(),
        [3, 2, 1, 0]
    );
    assert_eq!(
        index.indices(1).unwrap().rev().collect::<Vec<_>>(),
        [19, 7, 12]
    );
    assert!(index.get(3).is_none() && index.indices(u32::MAX).is_none());
    assert_eq!(index.extent().unwrap(), 28);
    assert!(!index.tiles(28));
    let tables = index.table_offsets();
    assert_eq!(
        (
            tables.bitmap,
            tables.ranges,
            tables.offsets,
            tables.rows,
            tables.end
        ),
        (0x10, 0x18, 0x38, 0x40, 88)
    );
}

#[test]
fn the_worked_example_encodes() {
    let given = [
        GivenFragment::Range(0, 4),
        GivenFragment::Rows(std::vec![12, 7, 19]),
        GivenFragment::Range(20, 8),
    ];
    assert_eq!(encode(&given), worked_example());
}

#[test]
fn the_six_fragments_of_the_specification() {
    let rows = |rows: &[i64]| GivenFragment::Rows(rows.to_vec());
    let given = [
        GivenFragment::Range(0, 2),
        rows(&[1, 0]),
        rows(&[0, 1]),
        rows(&[]),
        rows(&[1]),
        GivenFragment::Range(0, 0),
    ];
    assert_eq!(encode(&given), six_fragments());
    let blob = six_fragments();
    let index = FragmentIndex::parse(&blob).unwrap();
    index.check(2).unwrap();
    assert_eq!(
        decode(&blob),
        [&[0, 1][..], &[1, 0], &[0, 1], &[], &[1], &[]]
    );
    assert!(
        matches!(index.get(3), Some(Fragment::List([]))),
        "an empty list stays a list"
    );
    assert_eq!(index.get(5), Some(Fragment::Range { start: 0, count: 0 }));
}

#[test]
fn the_examples_of_the_older_pages() {
    let given =
        [(0, 2), (2, 1), (3, 1), (4, 0)].map(|(start, count)| GivenFragment::Range(start, count));
    let bins = hex("4746565a 0100 0000 04000000 04000000  0f00000000000000
        0000000000000000 0200000000000000  0200000000000000 0100000000000000
        0300000000000000 0100000000000000  0400000000000000 0000000000000000  00000000");
    assert_eq!(encode(&given), bins);
    let index = FragmentIndex::parse(&bins).unwrap();
    assert!(index.tiles(4) && !index.tiles(5));

    let mixed = hex("4746565a 0100 0000 02000000 01000000 0100000000000000
        0000000000000000 0300000000000000 00000000 03000000
        0500000000000000 0100000000000000 0700000000000000");
    assert_eq!(
        encode(&[
            GivenFragment::Range(0, 3),
            GivenFragment::Rows(std::vec![5, 1, 7])
        ]),
        mixed
    );
    let empty = hex("4746565a 0100 0000 01000000 00000000 0000000000000000 00000000 00000000");
    assert_eq!(encode(&[GivenFragment::Rows(Vec::new())]), empty);
    let run = hex("4746565a 0100 0000 01000000 01000000 0100000000000000
        0200000000000000 0300000000000000 00000000");
    assert_eq!(encode(&[GivenFragment::Rows(std::vec![2, 3, 4])]), run);
    let nine = encode(&std::vec![GivenFragment::Range(0, 2); 9]);
    assert_eq!(nine.len(), 172);
    assert_eq!(nine[16..24], hex("ff01000000000000"));
}

#[test]
fn no_fragments_are_a_head_alone() {
    let blob = encode(&[]);
    assert_eq!(blob, hex("4746565a 0100 0000 00000000 00000000"));
    let index = FragmentIndex::parse(&blob).unwrap();
    index.check(0).unwrap();
    assert!(index.is_empty() && index.tiles(0) && !index.tiles(1));
    assert_eq!(
        (index.iter().count(), index.extent().unwrap(), index.get(0)),
        (0, 0, None)
    );
}

#[test]
fn padding_is_ignored_on_read_and_found_by_the_full_check() {
    for (at, byte) in [(16, 0x0D), (17, 0x01), (23, 0x80)] {
        let blob = with(&worked_example(), at, &[byte]);
        let index = FragmentIndex::parse(&blob).unwrap();
        index.check_rows(28).unwrap();
        assert_eq!(decode(&blob), decode(&worked_example()));
        let error = index.check(28).unwrap_err();
        assert_eq!(place(error), ("bitmap padding", at as u64));
        assert!(error.is_malformed());
    }
}

#[test]
fn bytes_after_the_end_are_ignored_on_read_and_found_by_the_full_check() {
    for blob in [worked_example(), encode(&[])] {
        let end = blob.len() as u64;
        let longer = [&blob[..], &[9]].concat();
        let index = FragmentIndex::parse(&longer).unwrap();
        index.check_rows(28).unwrap();
        assert_eq!(index.trailing(), [9]);
        assert_eq!(
            place(index.check(28).unwrap_err()),
            ("fragment index length", end)
        );
    }
}

#[test]
fn the_head_is_checked() {
    let blob = worked_example();
    let error = |at, bytes: &[u8]| FragmentIndex::parse(&with(&blob, at, bytes)).unwrap_err();
    let magic = error(0, b"ZVFG");
    assert_eq!(
        (place(magic), magic.is_malformed()),
        (("fragment index magic", 0), true)
    );
    let version = error(4, &[2, 0]);
    assert_eq!(
        (place(version), version.is_unsupported()),
        (("fragment index version", 4), true)
    );
    assert_eq!(
        std::format!("{version}"),
        "fragment index version at byte 4: not supported, found 2, expected 1"
    );
    let flags = error(6, &[0, 1]);
    assert_eq!(
        (place(flags), flags.is_unsupported()),
        (("fragment index flags", 6), true)
    );
    let ranges = error(12, &[4]);
    assert_eq!(
        (place(ranges), ranges.is_malformed()),
        (("range fragment count", 12), true)
    );
}

#[test]
fn a_popcount_that_disagrees_is_refused() {
    // The head states two ranges; the bitmap has three, then one.
    for bits in [0b111, 0b100] {
        let blob = with(&worked_example(), 16, &[bits]);
        let index = FragmentIndex::parse(&blob).unwrap();
        let error = index.verify().unwrap_err();
        assert_eq!(place(error), ("range fragment count", 12));
        assert!(!index.tiles(28));
        // Without verification, the iterator ends where the tables end, and never invents a
        // fragment.
        assert!(index.iter().count() <= 3);
    }
    let error = FragmentIndex::parse(&with(&worked_example(), 16, &[7]))
        .unwrap()
        .verify()
        .unwrap_err();
    assert_eq!(
        std::format!("{error}"),
        "range fragment count at byte 12: found 2, expected 3"
    );
}

#[test]
fn offsets_that_fall_are_refused() {
    let blob = six_fragments(); // offsets 0, 2, 2 at byte 88
    let falling = with(&blob, 92, &[3]);
    let index = FragmentIndex::parse(&falling).unwrap();
    assert_eq!(place(index.verify().unwrap_err()), ("explicit offset", 96));
    assert_eq!(index.get(1), None);
    let first = with(&blob, 88, &[1]);
    let error = FragmentIndex::parse(&first).unwrap().verify().unwrap_err();
    assert_eq!(
        (place(error), error.is_malformed()),
        (("first explicit offset", 88), true)
    );
}

#[test]
fn rows_outside_the_buffer_are_refused() {
    let blob = worked_example();
    let refused = |blob: &[u8], rows| {
        let index = FragmentIndex::parse(blob).unwrap();
        let error = index.check_rows(rows).unwrap_err();
        assert!(error.is_malformed());
        assert_eq!(index.check(rows), Err(error));
        place(error)
    };
    assert_eq!(refused(&blob, 27), ("range count", 0x30));
    assert_eq!(refused(&blob, 19), ("range start", 0x28));
    assert_eq!(
        refused(&with(&blob, 0x18, &[0xFF; 8]), 28),
        ("range start", 0x18)
    );
    assert_eq!(
        refused(&with(&blob, 0x20, &[0xFF; 8]), 28),
        ("range count", 0x20)
    );
    let far = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
    assert_eq!(
        refused(&with(&blob, 0x30, &far), u64::MAX),
        ("range count", 0x30)
    );
    assert_eq!(
        refused(&with(&blob, 0x48, &[0xFF; 8]), 28),
        ("explicit row", 0x48)
    );
    assert_eq!(
        refused(&with(&blob, 0x50, &[28]), 28),
        ("explicit row", 0x50)
    );
    assert_eq!(
        refused(&with(&blob, 0x50, &far), u64::MAX),
        ("explicit row", 0x50)
    );
}

#[test]
fn the_extent_refuses_what_has_none() {
    let blob = worked_example();
    let far = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
    for (at, bytes, what) in [
        (0x18, [0xFF; 8], "range start"),
        (0x20, [0xFF; 8], "range count"),
        (0x30, far, "range count"),
        (0x40, [0xFF; 8], "explicit row"),
        (0x40, far, "explicit row"),
    ] {
        let blob = with(&blob, at, &bytes);
        let error = FragmentIndex::parse(&blob).unwrap().extent().unwrap_err();
        assert_eq!(place(error), (what, at as u64));
    }
}

#[test]
fn every_truncation_names_the_table_that_is_cut() {
    let blob = worked_example();
    every_truncation(&blob, |cut| {
        let error = FragmentIndex::parse(cut).unwrap_err();
        assert!(error.is_truncated());
        let expected = match cut.len() {
            0..16 => ("fragment index head", 0),
            16..24 => ("range bitmap", 16),
            24..56 => ("range table", 24),
            56..64 => ("explicit offsets", 56),
            _ => ("explicit rows", 64),
        };
        assert_eq!(place(error), expected);
    });
    let error = FragmentIndex::parse(&blob[..30]).unwrap_err();
    assert_eq!(
        std::format!("{error}"),
        "range table at byte 24: cut short, found 6 bytes, expected 32"
    );
}

#[test]
fn every_bit_flip_is_a_value_or_an_error() {
    for blob in [worked_example(), six_fragments(), encode(&[])] {
        every_bit_flip(&blob, visit_everything);
        every_truncation(&blob, visit_everything);
    }
}

/// Calls everything that a reader can call on untrusted bytes.
fn visit_everything(bytes: &[u8]) {
    let Ok(index) = FragmentIndex::parse(bytes) else {
        return;
    };
    let _ = (
        index.extent(),
        index.tiles(28),
        index.check(28),
        index.trailing(),
        index.table_offsets(),
    );
    assert!(index.iter().count() <= index.len() as usize);
    let directory = RankDirectory::build(&index);
    for f in 0..index.len().min(200) {
        assert_eq!(directory.get(&index, f), index.get(f));
        let _ = index.indices(f).map(|rows| rows.take(100).count());
    }
    if index.verify().is_ok() {
        assert_eq!(index.iter().count(), index.len() as usize);
        assert!(
            (0..index.len())
                .zip(&index)
                .all(|(f, fragment)| index.get(f) == Some(fragment))
        );
    }
    if index.check_rows(28).is_ok() {
        assert!(
            index
                .iter()
                .all(|fragment| fragment.rows().all(|row| (0..28).contains(&row)))
        );
    }
}

#[test]
fn huge_counts_fail_at_once() {
    let head = |fragments: u32, ranges: u32| {
        let mut blob = hex("4746565a 0100 0000");
        blob.extend(fragments.to_le_bytes());
        blob.extend(ranges.to_le_bytes());
        blob.extend([0xFF; 64]);
        blob
    };
    for (fragments, ranges) in [
        (u32::MAX, 0),
        (u32::MAX, u32::MAX),
        (u32::MAX, 1),
        (512, 512),
        (64, 0),
    ] {
        assert!(
            FragmentIndex::parse(&head(fragments, ranges))
                .unwrap_err()
                .is_truncated()
        );
    }
    // A list that claims 2^32 - 1 rows, which do not exist.
    let mut blob = encode(&[GivenFragment::Rows(Vec::new())]);
    blob[28..32].fill(0xFF);
    assert_eq!(
        place(FragmentIndex::parse(&blob).unwrap_err()),
        ("explicit rows", 32)
    );
}

#[test]
fn the_directory_says_when_its_storage_is_short() {
    let blob = encode(&std::vec![GivenFragment::Range(0, 1); 65]);
    let index = FragmentIndex::parse(&blob).unwrap();
    assert_eq!(RankDirectory::words_needed(&index), 2);
    assert!(
        RankDirectory::build_in(&index, &mut [0])
            .unwrap_err()
            .is_limit()
    );
    let mut storage = [7; 3];
    let directory = RankDirectory::build_in(&index, &mut storage).unwrap();
    assert_eq!(directory.get(&index, 64), index.get(64));
    assert_eq!(directory.get(&index, 65), None);
}

#[test]
fn a_directory_of_another_index_does_no_harm() {
    let (small, large) = (
        encode(&[GivenFragment::Range(0, 1)]),
        encode(&std::vec![GivenFragment::Range(0, 1); 200]),
    );
    let (small, large) = (
        FragmentIndex::parse(&small).unwrap(),
        FragmentIndex::parse(&large).unwrap(),
    );
    let directory = RankDirectory::build(&small);
    assert_eq!(directory.get(&large, 199), None);
    let directory = RankDirectory::build(&large);
    assert_eq!(directory.get(&small, 1), None);
}

#[test]
fn the_encoder_refuses_what_no_index_holds() {
    let mut builder = FragmentIndexBuilder::new();
    builder.push_range(3, 2).unwrap();
    for (start, count) in [(-1, 1), (0, -1), (i64::MAX, 1)] {
        let error = builder.push_range(start, count).unwrap_err();
        assert_eq!(error.item(), 1);
    }
    let error = builder.push_rows(&[0, -7]).unwrap_err();
    assert_eq!((error.what(), error.item()), ("fragment row", 1));
    assert_eq!(builder.len(), 1);
    assert_eq!(decode(&builder.finish()), [[3, 4]]);
    // A range cannot end after the largest row number, so this row stays a list.
    builder.push_rows(&[i64::MAX]).unwrap();
    assert!(matches!(
        FragmentIndex::parse(&builder.finish()).unwrap().get(1),
        Some(Fragment::List([_]))
    ));
}

#[test]
fn an_index_is_rewritten_byte_for_byte() {
    // A list that is a run; only other tools write one.
    let blob = hex(
        "4746565a 0100 0000 01000000 00000000 0000000000000000 00000000 02000000
        0300000000000000 0400000000000000",
    );
    let mut builder = FragmentIndexBuilder::default();
    for fragment in &FragmentIndex::parse(&blob).unwrap() {
        builder.push_verbatim(fragment).unwrap();
    }
    assert_eq!(builder.finish(), blob);
    assert_ne!(encode(&[GivenFragment::Rows(std::vec![3, 4])]), blob);
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(given in fragments(), shift in 0_usize..8) {
        let blob = encode(&given);
        // A blob may begin at any address.
        let mut moved = std::vec![0; shift];
        moved.extend_from_slice(&blob);
        let index = FragmentIndex::parse(&moved[shift..]).unwrap();
        let extent = index.extent().unwrap();
        index.check(extent).unwrap();
        prop_assert!(extent == 0 || index.check_rows(extent - 1).is_err());
        let expected: Vec<Vec<i64>> = given.iter().map(GivenFragment::rows).collect();
        prop_assert_eq!(decode(&moved[shift..]), expected);
        let directory = RankDirectory::build(&index);
        prop_assert_eq!(index.iter().count(), given.len());
        for (f, fragment) in (0..).zip(&index) {
            prop_assert_eq!(index.get(f), Some(fragment));
            prop_assert_eq!(directory.get(&index, f), Some(fragment));
            prop_assert_eq!(index.is_range(f), Some(matches!(fragment, Fragment::Range { .. })));
            prop_assert_eq!(fragment.len(), fragment.rows().count() as u64);
            prop_assert!(fragment.rows().rev().eq(fragment.rows().collect::<Vec<_>>().into_iter().rev()));
        }
    }

    #[test]
    fn tiling_is_what_it_says(counts in prop::collection::vec(0_i64..5, 0..80), damage in any::<prop::sample::Index>()) {
        let mut builder = FragmentIndexBuilder::new();
        let mut next = 0;
        for &count in &counts {
            builder.push_range(next, count).unwrap();
            next += count;
        }
        let mut blob = builder.finish();
        let rows = next.unsigned_abs();
        prop_assert!(FragmentIndex::parse(&blob).unwrap().tiles(rows));
        prop_assert!(!FragmentIndex::parse(&blob).unwrap().tiles(rows + 1));
        if !counts.is_empty() {
            let table = FragmentIndex::parse(&blob).unwrap().table_offsets().ranges as usize;
            blob[table + 16 * damage.index(counts.len())] ^= 1;
            prop_assert!(!FragmentIndex::parse(&blob).unwrap().tiles(rows));
        }
    }

    #[test]
    fn any_bytes_behind_a_head_are_a_value_or_an_error(
        fragments in 0_u32..300, ranges in 0_u32..300, rest in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut blob = hex("4746565a 0100 0000");
        blob.extend(fragments.to_le_bytes());
        blob.extend(ranges.to_le_bytes());
        blob.extend(rest);
        visit_everything(&blob);
    }
}

//! Tests the placement of records, the meaning of codes, and the chunks of a record.

use std::vec::Vec;

use proptest::prelude::*;

use super::cells::restored;
use crate::dtype::{DType, DTypeKind};
use crate::links::{
    CellForm, Endpoint, LinkCell, anchor, canonical_order, duplicate_order, endpoint_chunks, lehmer,
};
use crate::strategies::{coordinate, permutation};

#[test]
fn all_orders_of_one_triangle() {
    let chunks = [[0, 0, 0], [1, 0, 0], [2, 0, 0]];
    let cases = [
        ([0, 1, 2], 0),
        ([0, 2, 1], 1),
        ([1, 0, 2], 2),
        ([1, 2, 0], 4),
        ([2, 0, 1], 3),
        ([2, 1, 0], 5),
    ];
    for (input, code) in cases {
        let endpoints = input.map(|corner: usize| Endpoint {
            chunk: &chunks[corner],
            row: 100 + corner as i64,
        });
        let mut s = [0; 3];
        canonical_order(&endpoints, &mut s).unwrap();
        assert_eq!(lehmer::encode(&s), Some(code), "{input:?}");
        let mut placed = [0; 3];
        lehmer::apply(&s, &endpoints.map(|endpoint| endpoint.row), &mut placed).unwrap();
        assert_eq!(placed, [100, 101, 102]);
        let mut back = [0; 3];
        lehmer::restore(&s, &placed, &mut back).unwrap();
        assert_eq!(back, endpoints.map(|endpoint| endpoint.row));
    }
}

#[test]
fn a_quad_with_ties() {
    // b:0 a:3 a:1 b:1 (`spec/zvf-0.8.md` 19.5).
    let (a, b) = ([0, 0, 0], [1, 0, 0]);
    let endpoints =
        [(&b, 0), (&a, 3), (&a, 1), (&b, 1)].map(|(chunk, row)| Endpoint { chunk, row });
    let mut s = [0; 4];
    canonical_order(&endpoints, &mut s).unwrap();
    assert_eq!((s, lehmer::encode(&s)), ([2, 1, 0, 3], Some(14)));
}

#[test]
fn the_placements_of_the_worked_example() {
    let (a, b, c) = ([0, 0, 0], [1, 0, 0], [0, 1, 0]);
    let record = |x: (&'static [i64; 3], i64), y: (&'static [i64; 3], i64)| {
        [x, y].map(|(chunk, row)| Endpoint { chunk, row })
    };
    let order = |record: &[Endpoint<'_>]| {
        let mut s = [9; 2];
        canonical_order(record, &mut s).unwrap();
        s
    };
    const A: [i64; 3] = [0, 0, 0];
    const B: [i64; 3] = [1, 0, 0];
    const C: [i64; 3] = [0, 1, 0];
    assert_eq!((a, b, c), (A, B, C));
    let records = [
        record((&B, 0), (&A, 1)),
        record((&A, 0), (&B, 0)),
        record((&A, 0), (&A, 1)),
        record((&C, 0), (&B, 0)),
    ];
    assert_eq!(
        records.each_ref().map(|record| order(record)),
        [[1, 0], [0, 1], [0, 1], [0, 1]]
    );
    // Inside one chunk the order is kept, regardless of the rows.
    assert_eq!(order(&record((&A, 7), (&A, 3))), [0, 1]);
    // As `duplicate`, they have seven rows.
    let mut copies = Vec::new();
    for record in &records {
        duplicate_order(record, |s| copies.push([s[0], s[1]])).unwrap();
    }
    assert_eq!(
        copies,
        [[1, 0], [0, 1], [0, 1], [1, 0], [0, 1], [0, 1], [1, 0]]
    );
    // A face with two corners in one chunk has two copies, led by the smaller corner.
    let face = [(&B, 4), (&A, 9), (&A, 2)].map(|(chunk, row)| Endpoint { chunk, row });
    let mut copies = Vec::new();
    duplicate_order(&face, |s| copies.push(s.to_vec())).unwrap();
    assert_eq!(copies, [[2, 0, 1], [0, 1, 2]]);
}

#[test]
fn placement_has_limits() {
    let endpoints = [Endpoint {
        chunk: &[0],
        row: 0,
    }; 9];
    assert!(
        canonical_order(&endpoints, &mut [0; 9])
            .unwrap_err()
            .is_limit()
    );
    assert!(duplicate_order(&endpoints, |_| ()).unwrap_err().is_limit());
    assert!(
        canonical_order(&endpoints[..2], &mut [0; 3])
            .unwrap_err()
            .is_malformed()
    );
    let form = CellForm {
        link_width: 9,
        has_perm: true,
        ragged: true,
        dtype: DType::I64,
    };
    assert!(LinkCell::parse(&[], form).unwrap_err().is_limit());
    // Without a permutation, any width is allowed.
    let polygon = CellForm {
        link_width: 30,
        has_perm: false,
        ragged: false,
        dtype: DType::little(DTypeKind::U8),
    };
    let corners: Vec<u8> = (0..30).collect();
    assert_eq!(restored(&corners, polygon), [(0..30).collect::<Vec<i64>>()]);
}

#[test]
fn the_anchor_rounds_down() {
    let mut out = [0; 3];
    anchor(&[-3, 5, 0], &[1, 2, 1], &[2, 4, 1], &mut out).unwrap();
    assert_eq!(out, [-2, 2, 0]);
    assert!(
        anchor(&[i64::MAX], &[2], &[1], &mut [0])
            .unwrap_err()
            .is_limit()
    );
    let error = anchor(&[1, 1], &[1, 1], &[1, 0], &mut [0; 2]).unwrap_err();
    assert_eq!(
        (error.what(), error.at(), error.is_malformed()),
        ("level chunk factor", 1, true)
    );
    assert!(anchor(&[1, 1], &[1], &[1, 1], &mut [0; 2]).is_err());
    anchor(&[i64::MIN], &[1], &[1], &mut [0]).unwrap();
}

#[test]
fn endpoint_chunks_are_source_and_anchor_plus_offset() {
    let mut out = [0; 6];
    endpoint_chunks(&[4, 1], &[2, 0], &[1, 0, 0, -1], &mut out).unwrap();
    assert_eq!(out, [4, 1, 3, 0, 2, -1]);
    assert!(
        endpoint_chunks(&[0, 0], &[0, 0], &[1], &mut out)
            .unwrap_err()
            .is_malformed()
    );
    assert!(
        endpoint_chunks(&[0, 0], &[0], &[1, 0], &mut out)
            .unwrap_err()
            .is_malformed()
    );
    assert!(
        endpoint_chunks(&[], &[], &[], &mut out)
            .unwrap_err()
            .is_malformed()
    );
    assert!(
        endpoint_chunks(&[0, 0], &[0, 0], &[1, 0], &mut out[..3])
            .unwrap_err()
            .is_limit()
    );
    assert!(
        endpoint_chunks(&[0], &[i64::MAX], &[1], &mut out)
            .unwrap_err()
            .is_limit()
    );
}

#[test]
fn the_tables_of_codes() {
    let three = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for (code, s) in (0..).zip(three) {
        assert_eq!(lehmer::encode(&s), Some(code));
    }
    let four = "0123 0132 0213 0231 0312 0321 1023 1032 1203 1230 1302 1320 2013 2031 2103 2130 2301 2310 3012 3021 3102 3120 3201 3210";
    for (code, text) in (0..).zip(four.split(' ')) {
        let s: Vec<u8> = text.bytes().map(|digit| digit - b'0').collect();
        assert_eq!(lehmer::encode(&s), Some(code));
        let mut out = [0; 4];
        lehmer::decode(i64::from(code), &mut out).unwrap();
        assert_eq!(out[..], s[..]);
    }
}

#[test]
fn every_code_of_every_width_is_the_rank_of_its_permutation() {
    for width in 0..=lehmer::MAX_WIDTH {
        let count = lehmer::code_count(width).unwrap();
        let mut before: Option<Vec<u8>> = None;
        for code in 0..count {
            let mut s = std::vec![0; width];
            lehmer::decode(i64::from(code), &mut s).unwrap();
            assert_eq!(lehmer::encode(&s), Some(code));
            assert!(
                before.is_none_or(|before| before < s),
                "lexicographic order"
            );
            before = Some(s);
        }
        for code in [i64::from(count), -1, i64::MAX, i64::MIN, 1 << 32] {
            let mut s = std::vec![7; width];
            let error = lehmer::decode(code, &mut s).unwrap_err();
            assert_eq!(
                (error.what(), error.is_malformed()),
                ("link permutation code", true)
            );
            assert_eq!(s, std::vec![7; width], "unchanged");
            assert_eq!(lehmer::code_index(code, width), None);
        }
    }
    assert!(lehmer::decode(0, &mut [0; 9]).unwrap_err().is_limit());
    assert_eq!(lehmer::code_index(0, 9), None);
}

#[test]
fn what_is_no_permutation_has_no_code() {
    for s in [
        &[0, 0][..],
        &[1, 2],
        &[0, 2],
        &[255, 0],
        &[0, 1, 2, 3, 4, 5, 6, 7, 8],
    ] {
        assert_eq!(lehmer::encode(s), None);
    }
    assert!(
        lehmer::restore(&[0, 5], &[1, 2], &mut [0; 2])
            .unwrap_err()
            .is_malformed()
    );
    assert!(
        lehmer::apply(&[0, 5], &[1, 2], &mut [0; 2])
            .unwrap_err()
            .is_malformed()
    );
    assert!(
        lehmer::restore(&[0, 1], &[1], &mut [0; 2])
            .unwrap_err()
            .is_malformed()
    );
    assert!(
        lehmer::apply(&[0, 1], &[1, 2], &mut [0; 3])
            .unwrap_err()
            .is_malformed()
    );
}

proptest! {
    #[test]
    fn permutations_are_undone(s in permutation(0..9)) {
        let code = lehmer::encode(&s).unwrap();
        let mut decoded = std::vec![0; s.len()];
        lehmer::decode(i64::from(code), &mut decoded).unwrap();
        prop_assert_eq!(&decoded, &s);
        let original: Vec<u32> = (100..).take(s.len()).collect();
        let (mut placed, mut back) = (original.clone(), original.clone());
        lehmer::apply(&s, &original, &mut placed).unwrap();
        lehmer::restore(&s, &placed, &mut back).unwrap();
        prop_assert_eq!(back, original);
    }

    #[test]
    fn canonical_placement_sorts_and_is_undone(
        records in (1_usize..6).prop_flat_map(|width| prop::collection::vec((coordinate(2), 0_i64..3), width)),
    ) {
        let endpoints: Vec<_> = records.iter().map(|(chunk, row)| Endpoint { chunk, row: *row }).collect();
        let mut s = std::vec![0; endpoints.len()];
        canonical_order(&endpoints, &mut s).unwrap();
        prop_assert!(lehmer::encode(&s).is_some());
        let placed: Vec<_> = s.iter().map(|&i| endpoints[usize::from(i)]).collect();
        let inside = endpoints.iter().all(|endpoint| endpoint.chunk == endpoints[0].chunk);
        prop_assert!(inside || placed.windows(2).all(|pair| pair[0].canonical_cmp(&pair[1]).is_le()));
        let mut leads = Vec::new();
        duplicate_order(&endpoints, |s| {
            assert!(lehmer::encode(s).is_some());
            leads.push(endpoints[usize::from(s[0])].chunk);
        }).unwrap();
        prop_assert!(leads.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

//! Cells: flat and ragged, with and without a permutation, of every integer type.

use std::vec::Vec;

use proptest::prelude::*;

use crate::dtype::{DType, DTypeKind};
use crate::links::legacy::FlatRecords;
use crate::links::{CellForm, LinkCell, LinkCellBuilder, LinkRecord, LinkRows, lehmer};
use crate::strategies::{integer, integers, permutation};
use crate::testing::{every_bit_flip, every_truncation, hex};

/// A graph's edges inside a chunk: (1,0) (0,1) (1,1), flat.
fn inside() -> Vec<u8> {
    [1_i64, 0, 0, 1, 1, 1]
        .iter()
        .flat_map(|row| row.to_le_bytes())
        .collect()
}

/// Three edges between chunk a and chunk b, with their permutations (`spec/zvf-0.8.md` 19.1).
fn across() -> Vec<u8> {
    hex(
        "0300000000000000  0000000000000000 1800000000000000 3000000000000000
         0000000000000000 0200000000000000 0000000000000000
         0100000000000000 0000000000000000 0100000000000000
         0100000000000000 0900000000000000 0500000000000000",
    )
}

fn across_form() -> CellForm {
    CellForm::derive(2, 0, &[1, 0, 0], false, false, DType::I64)
}

pub(super) fn restored(bytes: &[u8], form: CellForm) -> Vec<Vec<i64>> {
    let cell = LinkCell::parse(bytes, form).unwrap();
    cell.check().unwrap();
    let record = |record: LinkRecord<'_>| {
        let mut rows = std::vec![0; form.link_width];
        record.restore(&mut rows).unwrap();
        rows
    };
    cell.iter().map(record).collect()
}

#[test]
fn the_form_follows_from_policy_and_offsets() {
    let form = |delta, offsets: &[i64], directed, duplicate| {
        let form = CellForm::derive(2, delta, offsets, directed, duplicate, DType::I64);
        (form.ragged, form.has_perm)
    };
    assert_eq!(form(0, &[0, 0, 0], false, false), (false, false));
    assert_eq!(form(0, &[0, 0, 0], false, true), (false, false));
    assert_eq!(form(0, &[1, 0, 0], false, false), (true, true));
    assert_eq!(form(0, &[1, 0, 0], true, false), (true, false));
    assert_eq!(form(0, &[1, 0, 0], true, true), (true, true));
    assert_eq!(form(-1, &[0, 0, 0], true, false), (true, false));
    assert_eq!(form(1, &[1, 0, 0], false, false), (true, false));
    let single = CellForm::derive(1, 0, &[], false, false, DType::I64);
    assert_eq!((single.ragged, single.row_width()), (false, 1));
}

#[test]
fn the_real_cells_of_the_specification() {
    let flat = CellForm::derive(2, 0, &[0, 0, 0], false, false, DType::I64);
    assert_eq!(restored(&inside(), flat), [[1, 0], [0, 1], [1, 1]]);
    // A line: one record with permutation 0.
    let line = hex("0100000000000000 | 0000000000000000 |
        0000000000000000 0100000000000000 0000000000000000");
    assert_eq!(restored(&line, across_form()), [[1, 0]]);
    // Triangles; the second group was appended later.
    let faces = hex("0200000000000000 | 0000000000000000 1800000000000000 |
        000000000000000000000000000000000000000000000000  010000000000000001000000000000000000000000000000");
    let cell = LinkCell::parse(&faces, across_form()).unwrap();
    let rows = cell.rows();
    assert_eq!(
        (rows.len(), rows.group_count(), rows.group(1), rows.group(2)),
        (2, 2, Some(1..2), None)
    );
    assert_eq!(restored(&faces, across_form()), [[0, 0], [0, 1]]);
    // Single references.
    let single = CellForm::derive(1, 0, &[], false, false, DType::I64);
    assert_eq!(
        restored(&hex("0000000000000000 0100000000000000"), single),
        [[0], [1]]
    );
}

#[test]
fn four_edges_under_every_policy() {
    // The application gave a:2 b:0, b:1 a:0, b:5 a:9; the cell is that of a and b.
    assert_eq!(restored(&across(), across_form()), [[2, 0], [1, 0], [5, 9]]);
    let mut builder = LinkCellBuilder::new(across_form());
    for (s, placed) in [([0, 1], [2, 0]), ([1, 0], [0, 1]), ([1, 0], [9, 5])] {
        builder.push(&s, &placed).unwrap();
        builder.end_group();
    }
    assert_eq!((builder.len(), builder.finish()), (3, across()));
    // In 0.8, the directed cell of b and a begins with a code of 0.
    let directed = hex("0200000000000000  0000000000000000 1800000000000000
        0000000000000000 0100000000000000 0000000000000000
        0000000000000000 0500000000000000 0900000000000000");
    assert_eq!(restored(&directed, across_form()), [[1, 0], [5, 9]]);
}

#[test]
fn a_mesh_across_three_chunks() {
    let form = CellForm::derive(3, 0, &[0, 1, 0, 1, 0, 0], false, false, DType::I64);
    let cell = hex("0200000000000000  0000000000000000 2000000000000000
        0000000000000000 0100000000000000 0000000000000000 0000000000000000
        0400000000000000 0100000000000000 0000000000000000 0000000000000000");
    let parsed = LinkCell::parse(&cell, form).unwrap();
    // The third face was given as b:0 c:0 a:1.
    assert_eq!(restored(&cell, form), [[1, 0, 0], [0, 0, 1]]);
    let mut s = [0; 3];
    parsed.record(1).unwrap().placement(&mut s).unwrap();
    assert_eq!(
        (
            s,
            parsed.record(1).unwrap().placed(0),
            parsed.record(1).unwrap().placed(3)
        ),
        ([2, 0, 1], Some(1), None)
    );
    assert!(parsed.record(2).is_none());
}

#[test]
fn lengths_must_be_whole_rows() {
    let error = LinkRows::flat(&inside()[..40], 2, DType::I64).unwrap_err();
    assert_eq!(
        (error.what(), error.at(), error.is_malformed()),
        ("link cell length", 0, true)
    );
    assert_eq!(
        std::format!("{error}"),
        "link cell length at byte 0: found 40, expected 32"
    );
    every_truncation(&inside(), |cut| match LinkRows::flat(cut, 2, DType::I64) {
        Ok(rows) => assert_eq!(rows.len() * 16, cut.len()),
        Err(error) => assert!(error.is_malformed()),
    });
    // A cut inside the open last group, and one between rows of another group.
    let error = LinkRows::ragged(&across()[..100], 3, DType::I64).unwrap_err();
    assert_eq!((error.what(), error.at()), ("link group length", 80));
    let mut uneven = across();
    uneven[16] = 0x20;
    let error = LinkRows::ragged(&uneven, 3, DType::I64).unwrap_err();
    assert_eq!((error.what(), error.at()), ("link group length", 32));
    let none = LinkRows::flat(&[], 0, DType::I64).unwrap_err();
    assert!(none.is_malformed(), "{none}");
    for width in [1 << 30, usize::MAX] {
        assert!(
            LinkRows::flat(&[], width, DType::I64)
                .unwrap_err()
                .is_limit()
        );
        assert!(
            LinkRows::ragged(&[], width, DType::I64)
                .unwrap_err()
                .is_limit()
        );
    }
    assert!(LinkRows::ragged(&[], 2, DType::I64).unwrap().is_empty());
    assert!(LinkRows::flat(&[], 2, DType::I64).unwrap().is_empty());
}

#[test]
fn codes_and_rows_are_checked() {
    let mut code = across();
    code[56] = 2;
    let cell = LinkCell::parse(&code, across_form()).unwrap();
    let error = cell.check().unwrap_err();
    assert_eq!((error.what(), error.at()), ("link permutation code", 56));
    assert!(cell.record(1).unwrap().restore(&mut [0; 2]).is_err());
    assert!(cell.record(1).unwrap().placement(&mut [0; 2]).is_err());
    let mut row = across();
    row[88..96].fill(0xFF);
    let cell = LinkCell::parse(&row, across_form()).unwrap();
    assert_eq!(
        (
            cell.check().unwrap_err().what(),
            cell.check().unwrap_err().at()
        ),
        ("link row", 88)
    );
    assert!(
        cell.record(2)
            .unwrap()
            .restore(&mut [0; 2])
            .unwrap_err()
            .is_malformed()
    );
    assert!(cell.record(0).unwrap().restore(&mut [0; 3]).is_err());
    assert!(cell.record(0).unwrap().placement(&mut [0; 1]).is_err());
}

#[test]
fn every_integer_type_reads_its_bytes() {
    for (text, bytes, value) in [
        ("int8", "fe", -2),
        ("uint8", "fe", 254),
        ("int16", "feff", -2),
        (">i2", "fffe", -2),
        ("uint16", "0102", 0x0201),
        (">u2", "0102", 0x0102),
        ("int32", "01020304", 0x0403_0201),
        (">i4", "01020304", 0x0102_0304),
        ("uint32", "ffffffff", 0xFFFF_FFFF),
        (">u4", "80000000", 0x8000_0000),
        ("int64", "0102030405060708", 0x0807_0605_0403_0201),
        (">i8", "fffffffffffffffe", -2),
        ("uint64", "0100000000000000", 1),
        (">u8", "ffffffffffffffff", -1),
    ] {
        let dtype = DType::parse(text).unwrap();
        let bytes = hex(bytes);
        assert_eq!(
            (dtype.integer_at(&bytes, 0), dtype.size()),
            (Some(value), bytes.len()),
            "{text}"
        );
        assert_eq!(dtype.integer_at(&bytes, 1), None);
        let rows = LinkRows::flat(&bytes, 1, dtype).unwrap();
        assert_eq!(rows.row(0).unwrap().get(0), Some(value));
        let mut out = [0];
        assert_eq!((rows.copy_to(&mut out), out), (Ok(1), [value]));
    }
    for text in ["float32", "bool", "<U5", "datetime64[ns]"] {
        let dtype = DType::parse(text).unwrap();
        assert!(dtype.integer_at(&[0; 32], 0).is_none());
        assert!(LinkRows::flat(&[], 1, dtype).unwrap_err().is_unsupported());
        assert!(
            LinkRows::ragged(&[], 1, dtype)
                .unwrap_err()
                .is_unsupported()
        );
        let form = CellForm::derive(1, 0, &[], false, false, dtype);
        let error = LinkCellBuilder::new(form).push(&[0], &[0]).unwrap_err();
        assert_eq!(error.what(), "link column width");
    }
}

#[test]
fn rows_can_be_taken_at_once() {
    let bytes = across();
    let rows = LinkRows::ragged(&bytes, 3, DType::I64).unwrap();
    assert_eq!(
        (rows.width(), rows.dtype(), rows.len(), rows.iter().len()),
        (3, DType::I64, 3, 3)
    );
    assert_eq!(rows.as_i64s().unwrap().len(), 9);
    let mut out = [0; 10];
    assert_eq!(rows.copy_to(&mut out), Ok(9));
    assert_eq!(out[..9], [0, 2, 0, 1, 0, 1, 1, 9, 5]);
    assert!(rows.copy_to(&mut out[..8]).unwrap_err().is_limit());
    let walked: Vec<i64> = rows.into_iter().flat_map(|row| row.iter()).collect();
    assert_eq!(walked[..], out[..9]);
    let row = rows.row(0).unwrap();
    assert_eq!(
        (row.len(), row.is_empty(), row.get(3), row.get(usize::MAX)),
        (3, false, None, None)
    );
    assert!(rows.row(3).is_none() && rows.row(usize::MAX).is_none());
    assert_eq!(
        LinkRows::flat(&inside(), 2, DType::I64).unwrap().group(0),
        Some(0..3)
    );
    assert_eq!(
        LinkRows::flat(&inside(), 2, DType::little(DTypeKind::I16))
            .unwrap()
            .as_i64s(),
        None
    );
}

#[test]
fn the_encoder_refuses_what_no_cell_holds() {
    let mut builder = LinkCellBuilder::new(CellForm {
        dtype: DType::little(DTypeKind::U8),
        ..across_form()
    });
    assert!(builder.push(&[0, 1], &[0, 256]).is_err());
    assert!(builder.push(&[0, 1], &[0, -1]).is_err());
    assert!(builder.push(&[0, 0], &[0, 1]).is_err());
    assert!(builder.push(&[0], &[0, 1]).is_err());
    assert!(builder.push(&[0, 1], &[0]).is_err());
    assert!(builder.is_empty());
    let flat = CellForm::derive(2, 0, &[0], false, false, DType::I64);
    assert!(
        LinkCellBuilder::new(flat).push(&[1, 0], &[0, 1]).is_err(),
        "no column for the code"
    );
    // The code 5039 does not fit in a byte.
    let wide = CellForm {
        link_width: 7,
        has_perm: true,
        ragged: true,
        dtype: DType::little(DTypeKind::I8),
    };
    assert!(
        LinkCellBuilder::new(wide)
            .push(&[6, 5, 4, 3, 2, 1, 0], &[0; 7])
            .is_err()
    );
    assert_eq!(LinkCellBuilder::new(across_form()).finish(), [0; 8]);
}

#[test]
fn every_bit_flip_is_a_value_or_an_error() {
    for bytes in [inside(), across()] {
        every_bit_flip(&bytes, visit_everything);
        every_truncation(&bytes, visit_everything);
    }
}

fn visit_everything(bytes: &[u8]) {
    for dtype in integers() {
        for (link_width, has_perm, ragged) in [
            (2, false, false),
            (2, true, true),
            (3, false, true),
            (1, true, true),
        ] {
            let Ok(cell) = LinkCell::parse(
                bytes,
                CellForm {
                    link_width,
                    has_perm,
                    ragged,
                    dtype,
                },
            ) else {
                continue;
            };
            let mut rows = [0; 3];
            let rows = &mut rows[..link_width];
            assert_eq!(cell.iter().count(), cell.len());
            assert_eq!(
                cell.check().is_ok(),
                cell.iter().all(|record| record.restore(rows).is_ok())
            );
            let groups =
                (0..cell.rows().group_count()).map(|g| cell.rows().group(g).unwrap().len());
            assert_eq!(groups.sum::<usize>(), cell.len());
        }
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        dtype in integer(), ragged in any::<bool>(),
        records in (1_u8..5).prop_flat_map(|width| prop::collection::vec(
            (permutation(width..width + 1), prop::collection::vec(0_i64..128, usize::from(width)), any::<bool>()), 1..12)),
    ) {
        let form = CellForm { link_width: records[0].0.len(), has_perm: true, ragged, dtype };
        let mut builder = LinkCellBuilder::new(form);
        for (s, original, ends) in &records {
            let mut placed = original.clone();
            lehmer::apply(s, original, &mut placed).unwrap();
            builder.push(s, &placed).unwrap();
            if *ends {
                builder.end_group();
            }
        }
        let bytes = builder.finish();
        let expected: Vec<Vec<i64>> = records.iter().map(|(_, original, _)| original.clone()).collect();
        prop_assert_eq!(restored(&bytes, form), expected);
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(bytes in prop::collection::vec(prop_oneof![4 => Just(0_u8), 1 => any::<u8>()], 0..120)) {
        visit_everything(&bytes);
        let _ = FlatRecords::parse(&bytes, 2, 1);
    }
}

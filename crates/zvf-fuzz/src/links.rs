//! Link cells and the permutation code.

use zvf_format::dtype::DType;
use zvf_format::links::{
    CellForm, LinkCell, LinkCellBuilder, anchor, endpoint_chunks, lehmer as code,
};

use crate::split::parameters;

/// Element types of link cells; all integers are read.
const TYPES: &[&str] = &[
    "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", ">i8", ">i4", ">i2",
    ">u8", ">u4", ">u2",
];

/// Parses a link cell of any form, restores every record, and computes anchors and endpoint chunks of the same bytes.
///
/// Parameters: width, element type, form (bit 0 permutation, bit 1 ragged).
///
/// # Panics
///
/// When restored and placed endpoints do not hold the same rows, or a rewritten cell decodes to something else.
pub fn link_cell(data: &[u8]) {
    let ([width, kind, options], bytes) = parameters(data);
    let dtype = DType::parse(TYPES[usize::from(kind) % TYPES.len()]).expect("a known type");
    let form = CellForm {
        link_width: usize::from(width % 10),
        has_perm: options & 1 != 0,
        ragged: options & 2 != 0,
        dtype,
    };
    let Ok(cell) = LinkCell::parse(bytes, form) else {
        return;
    };
    let sound = cell.check().is_ok();
    let mut builder = LinkCellBuilder::new(form);
    let mut restored = vec![0; form.link_width];
    let mut placement = vec![0; form.link_width];
    let mut written = true;
    for (i, record) in cell.iter().enumerate() {
        let places = record.placement(&mut placement).is_ok();
        assert!(
            places || record.restore(&mut restored).is_err(),
            "record {i} is restored without its permutation"
        );
        assert!(
            !sound || record.restore(&mut restored).is_ok(),
            "record {i} of a checked cell"
        );
        if !sound {
            continue;
        }
        let mut placed: Vec<i64> = (0..form.link_width)
            .filter_map(|k| record.placed(k))
            .collect();
        written &= builder.push(&placement, &placed).is_ok();
        let mut sorted = restored.clone();
        sorted.sort_unstable();
        placed.sort_unstable();
        assert_eq!(placed, sorted, "restoring loses no row");
    }
    if sound && written && !form.ragged {
        assert_eq!(builder.finish(), bytes, "a flat cell has one form");
    }
    geometry(bytes);
}

/// Computes anchors and endpoint chunks of arbitrary numbers: an overflow must be an error.
fn geometry(bytes: &[u8]) {
    let numbers: Vec<i64> = bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|field| i64::from_le_bytes(*field))
        .take(12)
        .collect();
    let [source, from, to, offsets] =
        [0, 1, 2, 3].map(|k| numbers.get(3 * k..3 * k + 3).unwrap_or_default());
    let mut found = [0; 3];
    if anchor(source, from, to, &mut found).is_ok() && source.len() == 3 {
        let mut chunks = [0; 6];
        if endpoint_chunks(source, &found, offsets, &mut chunks).is_ok() {
            assert_eq!(&chunks[..3], source);
        }
    }
}

/// Decodes a permutation code and encodes it again; encodes arbitrary bytes. Parameter: width.
///
/// # Panics
///
/// When a decoded code is encoded as another one, or an encoded permutation decodes to another one.
pub fn lehmer(data: &[u8]) {
    let ([width], bytes) = parameters(data);
    let mut permutation = vec![0; usize::from(width % 12)];
    if let Some(field) = bytes.first_chunk() {
        let number = i64::from_le_bytes(*field);
        for wanted in [number, number % 50_000] {
            if code::decode(wanted, &mut permutation).is_ok() {
                let again = code::encode(&permutation).expect("a decoded permutation is one");
                assert_eq!(i64::from(again), wanted);
            }
        }
    }
    let arbitrary: Vec<u8> = bytes
        .iter()
        .take(permutation.len())
        .map(|byte| byte % 12)
        .collect();
    if let Some(found) = code::encode(&arbitrary) {
        let mut again = vec![0; arbitrary.len()];
        code::decode(i64::from(found), &mut again).expect("an encoded permutation decodes");
        assert_eq!(again, arbitrary);
    }
}

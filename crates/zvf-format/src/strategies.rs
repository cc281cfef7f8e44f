//! Generators for property tests: valid contents of every blob, small but with all edge cases.

use std::ops::Range;
use std::string::String;
use std::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::dtype::{ByteOrder, DType, DTypeKind, TimeUnit};

/// A fragment as passed to the encoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GivenFragment {
    Range(i64, i64),
    Rows(Vec<i64>),
}

impl GivenFragment {
    pub(crate) fn rows(&self) -> Vec<i64> {
        match self {
            Self::Range(start, count) => (*start..*start + *count).collect(),
            Self::Rows(rows) => rows.clone(),
        }
    }
}

/// Rows of a buffer; mostly small, so that they repeat and overlap.
fn row() -> impl Strategy<Value = i64> {
    prop_oneof![8 => 0_i64..40, 1 => 0_i64..(1 << 40)]
}

fn fragment() -> impl Strategy<Value = GivenFragment> {
    prop_oneof![
        3 => (row(), 0_i64..20).prop_map(|(start, count)| GivenFragment::Range(start, count)),
        2 => vec(row(), 0..6).prop_map(GivenFragment::Rows),
        1 => (row(), 1_i64..6).prop_map(|(start, n)| GivenFragment::Rows((start..start + n).collect())),
    ]
}

/// Fragments of one chunk: a few, or about as many as fill one or two bitmap words.
pub(crate) fn fragments() -> impl Strategy<Value = Vec<GivenFragment>> {
    prop_oneof![
        vec(fragment(), 0..12),
        vec(fragment(), 60..70),
        vec(fragment(), 125..135)
    ]
}

/// One component of a chunk coordinate.
fn component() -> impl Strategy<Value = i64> {
    prop_oneof![6 => -12_i64..13, 1 => Just(i64::MIN), 1 => Just(i64::MAX), 1 => any::<i64>()]
}

/// A chunk coordinate of the given rank.
pub(crate) fn coordinate(
    rank: impl Into<proptest::collection::SizeRange>,
) -> impl Strategy<Value = Vec<i64>> {
    vec(component(), rank)
}

/// Blocks of a manifest: chunk and fragments, at least one each.
pub(crate) fn blocks(key_rank: usize) -> impl Strategy<Value = Vec<(Vec<i64>, Vec<i64>)>> {
    let number = prop_oneof![8 => 0_i64..9, 1 => 0_i64..0xFFFF_FFFF];
    let run = (0_i64..9, 1_i64..5).prop_map(|(start, n)| (start..start + n).collect::<Vec<_>>());
    let fragments = prop_oneof![vec(number, 1..5), run];
    vec((coordinate(key_rank), fragments), 0..8)
}

/// Byte strings, some of which are empty.
pub(crate) fn byte_strings() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(any::<u8>(), 0..10), 0..12)
}

/// A permutation of `0..L` for an L in `widths`.
pub(crate) fn permutation(widths: Range<u8>) -> impl Strategy<Value = Vec<u8>> {
    widths.prop_flat_map(|width| Just((0..width).collect::<Vec<u8>>()).prop_shuffle())
}

/// Every integer type of a link cell.
pub(crate) fn integers() -> [DType; 14] {
    [
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", ">i2", ">i4",
        ">i8", ">u2", ">u4", ">u8",
    ]
    .map(|name| DType::parse(name).unwrap())
}

/// Any integer type of a link cell.
pub(crate) fn integer() -> impl Strategy<Value = DType> {
    prop::sample::select(integers().to_vec())
}

/// Any type that has a name.
pub(crate) fn dtype() -> impl Strategy<Value = DType> {
    let unit = prop::sample::select(std::vec![
        TimeUnit::Generic,
        TimeUnit::Year,
        TimeUnit::Month,
        TimeUnit::Week,
        TimeUnit::Day,
        TimeUnit::Hour,
        TimeUnit::Minute,
        TimeUnit::Second,
        TimeUnit::Millisecond,
        TimeUnit::Microsecond,
        TimeUnit::Nanosecond,
        TimeUnit::Picosecond,
        TimeUnit::Femtosecond,
        TimeUnit::Attosecond,
    ]);
    let plain = prop::sample::select(std::vec![
        DTypeKind::Bool,
        DTypeKind::I8,
        DTypeKind::I16,
        DTypeKind::I32,
        DTypeKind::I64,
        DTypeKind::U8,
        DTypeKind::U16,
        DTypeKind::U32,
        DTypeKind::U64,
        DTypeKind::F16,
        DTypeKind::F32,
        DTypeKind::F64,
        DTypeKind::C64,
        DTypeKind::C128,
        DTypeKind::Object,
    ]);
    let kind = prop_oneof![
        4 => plain,
        1 => (1_u32..1 << 20).prop_map(|chars| DTypeKind::Utf32 { chars }),
        1 => (1_u32..1 << 20).prop_map(|len| DTypeKind::Bytes { len }),
        1 => unit.clone().prop_map(|unit| DTypeKind::Datetime { unit }),
        1 => unit.prop_map(|unit| DTypeKind::Timedelta { unit }),
    ];
    (kind, any::<bool>()).prop_map(|(kind, big)| {
        let ordered = DType::little(kind).number_size() > 1 && kind != DTypeKind::Object;
        let order = if big && ordered {
            ByteOrder::Big
        } else {
            ByteOrder::Little
        };
        DType { kind, order }
    })
}

/// Text that resembles a key, a delta or a segment.
pub(crate) fn nearly_key() -> impl Strategy<Value = String> {
    "[-+._0-9selfx]{0,24}"
}

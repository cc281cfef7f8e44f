//! Filters against bytes.

use std::sync::Arc;

use serde_json::Value;
use zvf_store::format::dtype::DType;

use super::Filter;
use super::bind::{BoundFilter, OperandType, Truths};
use super::eval::{Fault, Operand};
use crate::QueryError;

fn bound(
    text: &str,
    dtype: &str,
    categories: Option<Vec<Value>>,
) -> Result<BoundFilter, QueryError> {
    let filter = Filter::parse(text)?;
    BoundFilter::bind(&filter, &|name| {
        let fill_code = categories.is_some().then_some(-1);
        let categories = categories.clone().map(Arc::new);
        let dtype = DType::parse(dtype).map_err(|_| QueryError::misuse("no dtype"))?;
        Ok((
            usize::from(name == "b"),
            OperandType {
                dtype,
                categories,
                fill_code,
            },
        ))
    })
}

fn truths(text: &str, dtype: &str, bytes: &[u8], rows: usize) -> Truths {
    let width = bytes.len() / rows / DType::parse(dtype).unwrap().size();
    bound(text, dtype, None)
        .unwrap()
        .eval(rows, &[Operand::Rows { bytes, width }, Operand::Missing])
        .unwrap()
}

#[test]
fn floats_are_compared_in_their_own_type() {
    let bytes: Vec<u8> = [0.3_f32, 0.5, f32::NAN]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    assert_eq!(truths("a == 0.3", "float32", &bytes, 3), [2, 0, 0]);
    assert_eq!(truths("a > 0.3", "float32", &bytes, 3), [0, 2, 0]);
    assert_eq!(truths("a != 0.3", "float32", &bytes, 3), [0, 2, 2]);
    assert_eq!(truths("not a > 0.3", "float32", &bytes, 3), [2, 0, 2]);
}

#[test]
fn nan_is_found_and_is_not_null() {
    let bytes: Vec<u8> = [0.5_f32, f32::NAN, -f32::NAN, f32::INFINITY]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    assert_eq!(truths("a is nan", "float32", &bytes, 4), [0, 2, 2, 0]);
    assert_eq!(truths("a is not nan", "float32", &bytes, 4), [2, 0, 0, 2]);
    assert_eq!(truths("a is null", "float32", &bytes, 4), [0; 4]);
    assert_eq!(truths("b is nan", "float32", &bytes, 4), [1; 4]);
    assert_eq!(
        truths("a between 0.5 and inf", "float32", &bytes, 4),
        [2, 0, 0, 2]
    );
    assert_eq!(
        truths("a not between 0.6 and inf", "float32", &bytes, 4),
        [2, 2, 2, 0]
    );
    let remarks =
        |text: &str, dtype: &str, categories| bound(text, dtype, categories).unwrap().remarks;
    assert!(remarks("a is null", "float64", None)[0].contains("`a is nan`"));
    assert!(remarks("a is nan and a > 1", "float64", None).is_empty());
    assert!(remarks("a is null", "int32", None).is_empty());
    assert!(bound("a is nan", "int32", None).is_err());
    let words = || Some(vec!["ground".into(), "water".into()]);
    assert!(bound("a is nan", "int8", words()).is_err());
    assert!(remarks("a in ('water', 'ground')", "int8", words()).is_empty());
    assert_eq!(
        remarks("a == 'Ground' or a is null", "int8", words()),
        ["attribute \"a\" has no category 'Ground': there are 'ground', 'water'"]
    );
}

#[test]
fn integers_are_exact_and_big_endian_is_read() {
    let bytes: Vec<u8> = [u64::MAX, u64::MAX - 1]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    assert_eq!(
        truths("a == 18446744073709551615", "uint64", &bytes, 2),
        [2, 0]
    );
    let mut reversed = 258_i32.to_le_bytes();
    reversed.reverse();
    assert_eq!(truths("a == 258", ">i4", &reversed, 1), [2]);
    assert_eq!(truths("a > 257.5", ">i4", &reversed, 1), [2]);
}

#[test]
fn a_missing_value_is_unknown() {
    let bytes = [1_u8, 0];
    assert_eq!(truths("a == 1 or b == 1", "uint8", &bytes, 2), [2, 1]);
    assert_eq!(truths("a == 1 and b == 1", "uint8", &bytes, 2), [1, 0]);
    assert_eq!(truths("not b == 1", "uint8", &bytes, 2), [1, 1]);
    assert_eq!(truths("b is null", "uint8", &bytes, 2), [2, 2]);
}

#[test]
fn categories_are_compared_by_value() {
    let filter = bound(
        "a in ('x', 'z')",
        "int8",
        Some(vec!["x".into(), "y".into()]),
    )
    .unwrap();
    let eval = |bytes: &[u8]| filter.eval(bytes.len(), &[Operand::Rows { bytes, width: 1 }]);
    assert_eq!(eval(&[0, 1, 0xff]).unwrap(), [2, 0, 1]);
    assert!(matches!(eval(&[2]), Err(Fault::Malformed { .. })));
    assert!(bound("a == 3", "int8", Some(vec!["x".into()])).is_err());
    assert!(filter.rules_out(&[Operand::Code(1)]) && !filter.rules_out(&[Operand::Code(0)]));
    assert!(!filter.rules_out(&[Operand::Unread]));
}

#[test]
fn channels_are_named_where_there_are_several() {
    let bytes: Vec<u8> = [1_i16, 2, 3, 4]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    assert_eq!(truths("a[1] == 4", "int16", &bytes, 2), [0, 2]);
    let filter = bound("a == 4", "int16", None).unwrap();
    assert!(matches!(
        filter.eval(
            2,
            &[Operand::Rows {
                bytes: &bytes,
                width: 2
            }]
        ),
        Err(Fault::Misuse(_))
    ));
}

#[test]
fn texts_are_compared_without_padding() {
    let bytes: Vec<u8> = ['a', '\0', 'a', 'b']
        .iter()
        .flat_map(|c| u32::from(*c).to_le_bytes())
        .collect();
    assert_eq!(truths("a == 'a'", "<U2", &bytes, 2), [2, 0]);
    assert_eq!(truths("a > 'a'", "|S2", b"a\0ab", 2), [0, 2]);
    assert!(bound("a > 1", "<U2", None).is_err());
}

//! Tests of filters on stored values.

use std::sync::Arc;

use serde_json::Value;
use zvf_store::format::dtype::DType;

use super::Filter;
use super::bind::{BoundFilter, Node};
use super::operand::{Fault, Operand, OperandType, Truths};
use crate::QueryError;

fn bound(
    text: &str,
    dtype: &str,
    categories: Option<Vec<Value>>,
) -> Result<BoundFilter, QueryError> {
    let filter = Filter::parse(text)?;
    BoundFilter::bind(&filter.condition, &|name| {
        let fill_code = categories.is_some().then_some(-1);
        let categories = categories.clone().map(Arc::new);
        let dtype = DType::parse(dtype).map_err(|_| QueryError::misuse("no dtype"))?;
        Ok((
            usize::from(name == "b"),
            OperandType {
                dtype,
                categories,
                fill_code,
                axis: None,
                is_decoded: false,
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
fn integers_are_not_rounded_to_compare_them_with_floats() {
    let bytes: Vec<u8> = [9_007_199_254_740_992_i64, 9_007_199_254_740_993]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    for (text, found) in [
        ("a == 9007199254740992.0", [2, 0]),
        ("a != 9007199254740992.0", [0, 2]),
        ("a > 9007199254740992.0", [0, 2]),
        ("a <= 9007199254740992.0", [2, 0]),
        ("a in (9007199254740992.0, 1.5)", [2, 0]),
        ("a between 1.5 and 9007199254740992.0", [2, 0]),
        ("a + 0 == 9007199254740992.0", [2, 0]),
        ("9007199254740992.0 < a", [0, 2]),
        ("a < inf", [2, 2]),
    ] {
        assert_eq!(truths(text, "int64", &bytes, 2), found, "{text}");
    }
    let bytes = u64::MAX.to_le_bytes();
    assert_eq!(
        truths("a < 18446744073709551616.0", "uint64", &bytes, 1),
        [2]
    );
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

/// u64::MAX squared fits 128 bits without a sign, but not with one.
#[test]
fn integers_beyond_128_bits_are_errors() {
    let bytes: Vec<u8> = [u64::MAX, 3].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(truths("a * (a / 2) > 9", "uint64", &bytes, 2), [2, 0]);
    assert_eq!(truths("a * (a + 0.0) > 9", "uint64", &bytes, 2), [2, 0]);
    let filter = bound("a * a % 1000 == 225", "uint64", None).unwrap();
    let rows = |bytes| filter.eval(1, &[Operand::Rows { bytes, width: 1 }]);
    assert_eq!(rows(&bytes[8..]).unwrap(), [0]);
    assert!(matches!(rows(&bytes[..8]), Err(Fault::Misuse(_))));
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

#[test]
fn computed_values_have_three_truths() {
    let bytes: Vec<u8> = [1_i16, 2, 3, 4, -5, 6]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    for (text, expected) in [
        ("a[0] < a[1]", [2, 2, 2]),
        ("a[0] + a[1] == 7", [0, 2, 0]),
        ("a[0] / 2 > 1", [0, 2, 0]),
        ("a[0] % 2 == 1 or a[0] < 0", [2, 2, 2]),
        ("abs(a[0]) > 4", [0, 0, 2]),
        ("min(a[0], a[1], 3) == 3", [0, 2, 0]),
        ("max(a[0], a[1]) in (2, a[1] + 0)", [2, 2, 2]),
        ("-a[0] between 4 and 5", [0, 0, 2]),
        ("sqrt(a[0]) is nan", [0, 0, 2]),
        ("sqrt(a[0]) == 1", [2, 0, 0]),
        ("a[0] + b > 1", [1, 1, 1]),
        ("not a[0] + b > 1", [1, 1, 1]),
        ("a[0] + b is null", [2, 2, 2]),
        ("a[0] % 0 is null", [2, 2, 2]),
        ("3 < a[1]", [0, 2, 2]),
    ] {
        assert_eq!(truths(text, "int16", &bytes, 3), expected, "{text}");
    }
    assert_eq!(truths("a like 'a_'", "|S2", b"a\0ab", 2), [0, 2]);
    assert_eq!(truths("a not like '%b'", "|S2", b"a\0ab", 2), [2, 0]);
    let words = bound(
        "a like '%t%'",
        "int8",
        Some(vec!["water".into(), "ice".into()]),
    )
    .unwrap();
    let eval = |bytes: &[u8]| words.eval(bytes.len(), &[Operand::Rows { bytes, width: 1 }]);
    assert_eq!(eval(&[0, 1, 0xff]).unwrap(), [2, 0, 1]);
    assert!(words.rules_out(&[Operand::Code(1)]));
    let equal = bound("a == b", "int8", Some(vec!["x".into(), "y".into()])).unwrap();
    assert_eq!(
        equal
            .eval(
                2,
                &[
                    Operand::Rows {
                        bytes: &[0, 1],
                        width: 1
                    },
                    Operand::Code(1)
                ]
            )
            .unwrap(),
        [0, 2]
    );
    for wrong in [
        "a + 'x' > 1",
        "a < 'x'",
        "abs(a like 'x') > 1",
        "a + 1 like 'x'",
        "a + 1 == true + 1",
    ] {
        assert!(bound(wrong, "int8", None).is_err(), "{wrong}");
    }
}

#[test]
fn times_are_compared_with_dates() {
    let bytes: Vec<u8> = [0_i64, 1_717_158_601, i64::MIN]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    let time = "datetime64[s]";
    assert_eq!(truths("a >= '2024-05-31'", time, &bytes, 3), [0, 2, 1]);
    assert_eq!(truths("'1970-01-01' == a", time, &bytes, 3), [2, 0, 1]);
    assert_eq!(truths("a in ('1970-01-01', 3)", time, &bytes, 3), [2, 0, 1]);
    assert!(bound("a > 'soon'", time, None).is_err());
}

#[test]
fn lists_find_what_single_comparisons_find() {
    let floats: Vec<u8> = [0.3_f32, 0.1, 2.0, f32::NAN, -0.0, 16_777_216.0]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    let ints: Vec<u8> = [1_i64, 2, 3, 9_007_199_254_740_993]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    let texts = b"b\0\0aabca\0".to_vec();
    let cases: [(&str, &str, &Vec<u8>, &[u8]); 6] = [
        ("2, 0.3, 7.5, 0", "float32", &floats, &[2, 0, 2, 0, 2, 0]),
        // Rounded to the type of the values.
        ("16777217, -3", "float32", &floats, &[0, 0, 0, 0, 0, 2]),
        (
            "3, 1.0, 2.5, 9007199254740992.0",
            "int64",
            &ints,
            &[2, 0, 2, 0],
        ),
        (
            "9007199254740993, 9007199254740992, 2",
            "int64",
            &ints,
            &[0, 2, 0, 2],
        ),
        ("'c', 'b', 'aa', 'b'", "|S3", &texts, &[2, 0, 0]),
        ("'c', 'aab', 'b'", "|S3", &texts, &[2, 2, 0]),
    ];
    for (list, dtype, bytes, found) in cases {
        let rows = found.len();
        let truth = |text: &str| truths(text, dtype, bytes, rows);
        assert_eq!(truth(&format!("a in ({list})")), found, "{list}");
        let negated: Vec<u8> = found.iter().map(|truth| 2 - truth).collect();
        assert_eq!(truth(&format!("a not in ({list})")), negated, "{list}");
        let single: Vec<String> = list.split(", ").map(|one| format!("a == {one}")).collect();
        assert_eq!(truth(&single.join(" or ")), found, "{list}");
        if dtype != "|S3" {
            // Values that are computed.
            let whole: Vec<u8> = truth(&single.join(" or ").replace('a', "a + 0"));
            assert_eq!(truth(&format!("a + 0 in ({list})")), whole, "{list}");
        }
        assert_eq!(truth(&format!("b in ({list})")), vec![1; rows], "{list}");
    }
    let even: Vec<String> = (0..500).rev().map(|n| (2 * n).to_string()).collect();
    let found = truths(&format!("a in ({})", even.join(",")), "int64", &ints, 4);
    assert_eq!(found, [0, 2, 0, 0]);
}

/// Equalities of one attribute are one test, whatever stands between them.
#[test]
fn equalities_are_joined() {
    let ints: Vec<u8> = (0..5_i64).flat_map(|v| v.to_le_bytes()).collect();
    let text = "a == 1 or b == 7 or 4 = a or a in (2, 9) or a > 10 or b == 8";
    assert_eq!(truths(text, "int64", &ints, 5), [1, 2, 2, 1, 2]);
    let filter = bound("a == 1 or 4 = a or a in (2, 9)", "int64", None).unwrap();
    assert!(matches!(filter.root, Node::Leaf(_)), "{:?}", filter.root);
    let many: Vec<String> = (0..20_000).map(|n| format!("a == {}", 3 * n + 1)).collect();
    assert_eq!(
        truths(&many.join(" or "), "int64", &ints, 5),
        [0, 2, 0, 0, 2]
    );
}

#[test]
fn lists_of_texts_find_categories() {
    let words = || Some(vec!["ground".into(), "water".into(), 3.into()]);
    let filter = bound("a in ('fire', 'water', 3)", "int32", words()).unwrap();
    let codes: Vec<u8> = [0_i32, 1, 2, -1]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    let operands = [Operand::Rows {
        bytes: &codes,
        width: 1,
    }];
    assert_eq!(filter.eval(4, &operands).unwrap(), [0, 2, 2, 1]);
    let [remark] = &filter.remarks[..] else {
        panic!("{:?}", filter.remarks);
    };
    assert!(remark.contains("no category 'fire': "), "{remark}");
    assert!(bound("a in (true)", "int32", words()).is_err());
}

#[test]
fn errors_have_a_mark_under_the_place() {
    let error = Filter::parse("fa > 0.5 and\tmd >> 2").unwrap_err();
    let lines: Vec<String> = error.to_string().lines().map(str::to_owned).collect();
    assert_eq!(
        lines,
        [
            "where, at byte 17: expected a name, a number, a 'text', true or false, found `>`",
            "  fa > 0.5 and md >> 2",
            "                   ^",
        ]
    );
    let long = format!("{} > 1x{}", "a".repeat(500), " or b > 1".repeat(100));
    let error = Filter::parse(&long).unwrap_err().to_string();
    assert!(error.lines().all(|line| line.len() < 120), "{error}");
}

#[test]
fn axes_are_limited_by_parts_that_must_hold() {
    let ranges = |text: &str| {
        let axis = |name: &str| ["x", "y"].iter().position(|axis| *axis == name);
        Filter::parse(text)
            .unwrap()
            .ranges(2, &axis, &|number| number)
    };
    let all = (f64::NEG_INFINITY, f64::INFINITY);
    let wide = |low: f64, high: f64| (low.next_down(), high.next_up());
    assert_eq!(
        ranges("x > 1 and (y < 5 and 3 >= x)"),
        Some(vec![wide(1.0, 3.0), (all.0, 5.0_f64.next_up())])
    );
    assert_eq!(ranges("x in (4, 2, 3)"), Some(vec![wide(2.0, 4.0), all]));
    assert_eq!(
        ranges("y between -1 and 2 and z > 1"),
        Some(vec![all, wide(-1.0, 2.0)])
    );
    for none in [
        "x > 1 or y < 2",
        "not x > 1",
        "x != 1",
        "x > y",
        "x + 1 > 2",
        "x[0] > 1",
        "z > 1",
    ] {
        assert_eq!(ranges(none), None, "{none}");
    }
}

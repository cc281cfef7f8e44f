//! Tests the grammar: accepted and refused texts, and that formatting inverts parsing.

use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::strategies::{coordinate, nearly_key};

fn key(text: &str) -> Option<Vec<i64>> {
    let mut out = [0; 8];
    parse_key(text, &mut out)
        .ok()
        .map(|rank| out[..rank].to_vec())
}

fn offsets(text: &str, key_rank: usize, link_width: usize) -> Option<Vec<i64>> {
    let mut out = [0; 12];
    parse_offsets(text, key_rank, link_width, &mut out)
        .ok()
        .map(|count| out[..count].to_vec())
}

#[test]
fn keys() {
    assert_eq!(key("-1.0.12"), Some(std::vec![-1, 0, 12]));
    assert_eq!(key("7"), Some(std::vec![7]));
    assert_eq!(
        key("-9223372036854775808.9223372036854775807"),
        Some(std::vec![i64::MIN, i64::MAX])
    );
    for text in [
        "",
        ".",
        "1.",
        ".1",
        "1..2",
        "+1",
        "01",
        "-0",
        "-",
        "1.-",
        "1,2",
        "1 ",
        " 1",
        "1.0x",
        "１",
        "00",
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999999",
        "0x1",
        "1_2",
    ] {
        assert_eq!(key(text), None, "{text}");
    }
}

#[test]
fn errors_say_where() {
    let error = parse_key("1.x", &mut [0; 3]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "chunk key at byte 2: found `x`, expected a digit"
    );
    let error = parse_key("1.", &mut [0; 3]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "chunk key at byte 2: found the end, expected a digit"
    );
    let error = parse_key("1.2.3", &mut [0; 2]).unwrap_err();
    assert!(error.is_limit());
    assert_eq!(
        error.to_string(),
        "chunk key rank at byte 4: too many, found 3, expected at most 2"
    );
    let error = parse_offsets("1.0.0", 3, 2, &mut [0; 3]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "link offsets at byte 0: found `1`, expected `0`, `+` or `-`"
    );
    let error = parse_delta("+1\u{7}").unwrap_err();
    assert_eq!(
        error.to_string(),
        "level delta at byte 2: found byte 0x07, expected the end"
    );
}

#[test]
fn cell_keys() {
    let mut out = [0; 6];
    parse_cell_key("0.0.0.1.0.0", 3, 2, &mut out).unwrap();
    assert_eq!(out, [0, 0, 0, 1, 0, 0]);
    let mut out = [0; 4];
    parse_cell_key("-1.2.0.-1", 2, 2, &mut out).unwrap();
    assert_eq!(out, [-1, 2, 0, -1]);
    assert!(
        parse_cell_key("0.0.0", 2, 2, &mut out)
            .unwrap_err()
            .is_malformed()
    );
    assert!(
        parse_cell_key("0.0.0.0.0", 2, 2, &mut out)
            .unwrap_err()
            .is_limit()
    );
}

#[test]
fn deltas() {
    let read = |text: &str| parse_delta(text).ok();
    assert_eq!(
        [read("0"), read("+1"), read("-12"), read("+01")],
        [Some(0), Some(1), Some(-12), Some(1)]
    );
    assert_eq!(
        [read("-2147483648"), read("+2147483648")],
        [Some(i32::MIN), None]
    );
    for text in [
        "",
        "1",
        "+",
        "-",
        "00",
        "+1 ",
        "--1",
        "+1.0",
        "self",
        "+99999999999999999999",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
    assert_eq!(
        [0, 1, -2].map(|delta| format_delta(delta).to_string()),
        ["0", "+1", "-2"]
    );
}

#[test]
fn offset_segments() {
    assert_eq!(offsets("0.0.0", 3, 2), Some(std::vec![0, 0, 0]));
    assert_eq!(offsets("0.0.+1", 3, 2), Some(std::vec![0, 0, 1]));
    assert_eq!(
        offsets("+1.0.0_+1.+1.0", 3, 3),
        Some(std::vec![1, 0, 0, 1, 1, 0])
    );
    assert_eq!(
        offsets("+01.-02", 2, 2),
        Some(std::vec![1, -2]),
        "redundant text is read"
    );
    assert_eq!(offsets("self", 3, 1), Some(std::vec![]));
    for (text, key_rank, link_width) in [
        ("1.0.0", 3, 2),
        ("0.0", 3, 2),
        ("0.0.0.0", 3, 2),
        ("0.0.0", 3, 3),
        ("0.0.0_0.0.0", 3, 2),
        ("0.0.0_", 3, 2),
        ("0.0.0-0.0.0", 3, 3),
        ("self", 3, 2),
        ("0.0.0", 3, 1),
        ("", 3, 1),
        ("", 3, 2),
        ("0", 0, 2),
        ("self", 3, 0),
        ("00.0", 2, 2),
        ("+.0", 2, 2),
    ] {
        assert_eq!(
            offsets(text, key_rank, link_width),
            None,
            "{text} {key_rank} {link_width}"
        );
    }
    assert!(
        parse_offsets("+1.0_0.0", 2, 3, &mut [0; 3])
            .unwrap_err()
            .is_limit()
    );
    assert!(
        parse_offsets("+1", 1, usize::MAX, &mut [0; 3])
            .unwrap_err()
            .is_malformed()
    );
    // A rank of 0 is invalid, but the text is still finite.
    assert_eq!(format_offsets(&[1, -1], 0).to_string(), "+1_-1");
}

#[test]
fn level_names() {
    assert_eq!(
        [
            parse_level("0"),
            parse_level("10"),
            parse_level("4294967295")
        ],
        [Some(0), Some(10), Some(u32::MAX)]
    );
    for text in [
        "",
        "-1",
        "+1",
        "01",
        "00",
        "1 ",
        " 1",
        "1.0",
        "4294967296",
        "zarr.json",
        "0x1",
        "１",
    ] {
        assert_eq!(parse_level(text), None, "{text}");
    }
}

#[test]
fn the_order_of_text_is_not_the_order_of_numbers() {
    // The example of `spec/zvf-0.9.md` section 1.
    let sorted = [[-1, 0], [0, 0], [1, 0], [10, 0], [2, 0]];
    assert!(
        sorted
            .windows(2)
            .all(|pair| cmp_ascii(&pair[0], &pair[1]).is_lt())
    );
    assert!(cmp_ascii(&[1], &[1, 0]).is_lt());
    assert!(
        cmp_ascii(&[1, 5], &[12]).is_lt(),
        "a dot is below every digit"
    );
    assert!(cmp_ascii(&[-1], &[-10]).is_lt());
    assert!(cmp_ascii(&[-2, -1], &[-2, -1]).is_eq());
}

proptest! {
    #[test]
    fn keys_round_trip(coordinate in coordinate(1..6)) {
        let text = format_key(&coordinate).to_string();
        let joined: Vec<String> = coordinate.iter().map(ToString::to_string).collect();
        prop_assert_eq!(&text, &joined.join("."));
        prop_assert_eq!(key(&text), Some(coordinate));
    }

    #[test]
    fn offsets_round_trip(
        (key_rank, values) in (1_usize..5, 1_usize..4).prop_flat_map(|(rank, others)| (Just(rank), coordinate(rank * others))),
    ) {
        let text = format_offsets(&values, key_rank).to_string();
        prop_assert_eq!(offsets(&text, key_rank, values.len() / key_rank + 1), Some(values));
    }

    #[test]
    fn deltas_round_trip(delta in any::<i32>()) {
        prop_assert_eq!(parse_delta(&format_delta(delta).to_string()).unwrap(), delta);
    }

    #[test]
    fn levels_round_trip(level in any::<u32>()) {
        prop_assert_eq!(parse_level(&level.to_string()), Some(level));
    }

    #[test]
    fn the_order_is_that_of_the_text(a in coordinate(1..4), b in coordinate(1..4), share in any::<bool>()) {
        let mut b = b;
        if share {
            b[0] = a[0];
        }
        prop_assert_eq!(cmp_ascii(&a, &b), format_key(&a).to_string().cmp(&format_key(&b).to_string()));
    }

    #[test]
    fn what_is_read_is_what_would_be_written(text in nearly_key()) {
        if let Some(read) = key(&text) {
            prop_assert_eq!(format_key(&read).to_string(), text.clone());
        }
        if let Some(level) = parse_level(&text) {
            prop_assert_eq!(level.to_string(), text.clone());
        }
        let _ = (parse_delta(&text), offsets(&text, 2, 2), offsets(&text, 1, 3));
    }

    #[test]
    fn any_text_is_a_value_or_an_error(text in any::<String>()) {
        let _ = (key(&text), parse_level(&text), parse_delta(&text), offsets(&text, 2, 2));
    }
}

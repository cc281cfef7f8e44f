//! Parsers of the parts of keys and paths: chunk keys, deltas, offset segments, level names.
//!
//! Only rules use these functions. Decoders use functions of `zvf-format`, which do not allocate.

/// Decimal digits without a redundant zero.
fn digits(text: &str) -> Option<&str> {
    let ok = !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'));
    ok.then_some(text)
}

/// One component of a chunk key: `0`, `12`, `-3`.
fn key_part(text: &str) -> Option<i64> {
    match text.strip_prefix('-') {
        Some("0") => None,
        Some(rest) => digits(rest).and_then(|_| text.parse().ok()),
        None => digits(text).and_then(|text| text.parse().ok()),
    }
}

/// Parses a chunk key such as `-1.0.12` into `out`; `false` if it is not one.
pub(crate) fn chunk_key(text: &str, out: &mut Vec<i64>) -> bool {
    out.clear();
    text.split('.')
        .all(|part| key_part(part).map(|part| out.push(part)).is_some())
}

/// Parses a number with a required sign: `0`, `+1`, `-2`.
fn signed(text: &str) -> Option<i64> {
    match text.as_bytes().first()? {
        b'+' | b'-' => digits(text.get(1..)?)
            .filter(|rest| *rest != "0")
            .and_then(|_| text.parse().ok()),
        _ => (text == "0").then_some(0),
    }
}

/// Parses the name of a link family: the levels that it spans.
pub(crate) fn delta(text: &str) -> Option<i32> {
    signed(text).and_then(|delta| i32::try_from(delta).ok())
}

/// Parses an offsets segment such as `+1.0.0_+1.+1.0`: one list of components for each offset; `self` has none.
pub(crate) fn offsets(text: &str) -> Option<Vec<Vec<i64>>> {
    if text == "self" {
        return Some(Vec::new());
    }
    text.split('_')
        .map(|offset| offset.split('.').map(signed).collect())
        .collect()
}

/// Parses a level's group name: `0|[1-9][0-9]*`.
pub(crate) fn level(text: &str) -> Option<u32> {
    digits(text)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let mut out = Vec::new();
        assert!(chunk_key("-1.0.12", &mut out));
        assert_eq!(out, [-1, 0, 12]);
        assert!(chunk_key("-9223372036854775808", &mut out));
        for bad in [
            "",
            ".",
            "1.",
            "+1",
            "-0",
            "01",
            "1..2",
            "a",
            "1.-",
            "9223372036854775808",
            "1 ",
        ] {
            assert!(!chunk_key(bad, &mut out), "{bad}");
        }
    }

    #[test]
    fn families_and_segments() {
        assert_eq!(delta("+1"), Some(1));
        assert_eq!(delta("-12"), Some(-12));
        assert_eq!(delta("0"), Some(0));
        for bad in ["1", "+0", "-0", "+01", "", "+", "+2147483648"] {
            assert_eq!(delta(bad), None, "{bad}");
        }
        assert_eq!(
            offsets("+1.0.0_+1.+1.0"),
            Some(vec![vec![1, 0, 0], vec![1, 1, 0]])
        );
        assert_eq!(offsets("self"), Some(vec![]));
        for bad in ["", "1.0.0", "0.0_", "_0", "0..0", "+01.0"] {
            assert_eq!(offsets(bad), None, "{bad}");
        }
    }

    #[test]
    fn t33_level_names_are_strict() {
        assert_eq!(level("0"), Some(0));
        assert_eq!(level("12"), Some(12));
        for bad in ["-1", "01", "", "+1", "1.0", "4294967296"] {
            assert_eq!(level(bad), None, "{bad}");
        }
    }
}

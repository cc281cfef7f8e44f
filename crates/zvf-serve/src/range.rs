//! The header `Range`, for single ranges of bytes.

use std::ops::Range;

/// The requested part of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestedRange {
    /// The whole object: no range, several ranges, another unit, or an invalid header. HTTP allows servers to ignore these.
    Whole,
    /// These bytes.
    Part(Range<u64>),
    /// A range that has no byte of the object.
    Nothing,
}

/// The range of an object of `size` bytes that a header names. Source: RFC 9110, section 14.
pub(crate) fn wanted(header: Option<&str>, size: u64) -> RequestedRange {
    let one = header
        .and_then(|text| text.trim().strip_prefix("bytes="))
        .filter(|list| !list.contains(','))
        .and_then(|range| range.trim().split_once('-'));
    let Some((first, last)) = one else {
        return RequestedRange::Whole;
    };
    match (position(first), position(last)) {
        // The last `length` bytes.
        (Position::None, Position::At(length)) => match length.min(size) {
            0 => RequestedRange::Nothing,
            length => RequestedRange::Part(size.saturating_sub(length)..size),
        },
        (Position::At(first), last @ (Position::At(_) | Position::None)) => {
            let end = match last {
                Position::At(last) if last < first => return RequestedRange::Whole,
                Position::At(last) => last.saturating_add(1).min(size),
                _ => size,
            };
            match first < end {
                true => RequestedRange::Part(first..end),
                false => RequestedRange::Nothing,
            }
        }
        _ => RequestedRange::Whole,
    }
}

enum Position {
    None,
    At(u64),
    Wrong,
}

/// A number of digits; one that exceeds 64 bits is beyond the end of every object.
fn position(text: &str) -> Position {
    match text {
        "" => Position::None,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Position::At(digits.parse().unwrap_or(u64::MAX))
        }
        _ => Position::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_ranges_are_cut_at_the_end() {
        let of = |text: &str| wanted(Some(text), 100);
        assert_eq!(of("bytes=0-0"), RequestedRange::Part(0..1));
        assert_eq!(of("bytes=10-19"), RequestedRange::Part(10..20));
        assert_eq!(of("bytes=90-"), RequestedRange::Part(90..100));
        assert_eq!(of("bytes=90-1000"), RequestedRange::Part(90..100));
        assert_eq!(of("bytes=-7"), RequestedRange::Part(93..100));
        assert_eq!(of("bytes=-1000"), RequestedRange::Part(0..100));
        assert_eq!(
            of("bytes=5-99999999999999999999999999"),
            RequestedRange::Part(5..100)
        );
    }

    #[test]
    fn ranges_behind_the_end_hold_nothing() {
        for text in [
            "bytes=100-",
            "bytes=100-200",
            "bytes=-0",
            "bytes=99999999999999999999999-",
        ] {
            assert_eq!(wanted(Some(text), 100), RequestedRange::Nothing, "{text}");
        }
        assert_eq!(wanted(Some("bytes=0-0"), 0), RequestedRange::Nothing);
        assert_eq!(wanted(Some("bytes=-5"), 0), RequestedRange::Nothing);
    }

    #[test]
    fn what_is_no_single_range_is_ignored() {
        for text in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=a-b",
            "bytes=-5-7",
            "bytes=5--7",
            "bytes=9-5",
            "bytes=0-1,3-4",
            "items=0-1",
            "bytes=+1-2",
            "bytes= 1 - 2",
        ] {
            assert_eq!(wanted(Some(text), 100), RequestedRange::Whole, "{text}");
        }
        assert_eq!(wanted(None, 100), RequestedRange::Whole);
    }
}

//! Parses text into numbers.

use super::number::{Text, put, wrong_count};
use crate::error::DecodeError;

/// Parses a chunk key, `-1.0.12`, into the front of `out`; returns its rank.
///
/// Accepts only the text that [`format_key`](super::format_key) writes: no plus sign, no leading
/// zeros, no `-0`. So every chunk has exactly one key.
///
/// # Shape
/// K numbers, one for each axis of the key, in axis order.
///
/// # Cost
/// O(text), no allocation.
///
/// # Errors
/// Malformed for text that is not a key; limit if `out` is too short.
///
/// # Panics
/// Never.
///
/// # Examples
///
/// ```
/// let mut out = [0; 4];
/// let rank = zvf_format::keys::parse_key("-1.0.12", &mut out)?;
/// assert_eq!(out[..rank], [-1, 0, 12]);
/// # Ok::<(), zvf_format::DecodeError>(())
/// ```
pub fn parse_key(text: &str, out: &mut [i64]) -> Result<usize, DecodeError> {
    let mut reader = Text::new(text);
    let mut rank = 0;
    loop {
        let at = reader.at();
        let component = reader.plain("chunk key")?;
        put(out, &mut rank, component, "chunk key rank", at)?;
        if reader.is_at_end() {
            return Ok(rank);
        }
        reader.expect(b'.', "chunk key", "a digit, `.` or the end")?;
    }
}

/// Parses the key of a cross-chunk cell of 0.8: the chunk keys of all endpoints, joined by dots.
///
/// # Shape
/// Fills the first `link_width * key_rank` numbers of `out`, endpoint by endpoint, in the order
/// in which they are stored (`spec/zvf-0.8.md` 9.1).
///
/// # Errors
/// As [`parse_key`]; malformed if the number of components differs.
///
/// # Panics
/// Never.
pub fn parse_cell_key(
    text: &str,
    key_rank: usize,
    link_width: usize,
    out: &mut [i64],
) -> Result<(), DecodeError> {
    let found = parse_key(text, out)?;
    let expected = key_rank.saturating_mul(link_width);
    if found != expected {
        return Err(wrong_count("cell key rank", text.len(), found, expected));
    }
    Ok(())
}

/// Parses a delta: `0`, `+n` or `-n`, the levels that a link family spans.
///
/// Leading zeros after the sign are read, as in the reference (13.1), but never written.
///
/// # Errors
/// Malformed for any other text, and for numbers beyond 32 bits.
///
/// # Panics
/// Never.
///
/// # Examples
///
/// ```
/// use zvf_format::keys::parse_delta;
///
/// assert_eq!(parse_delta("-1")?, -1);
/// assert!(parse_delta("1").is_err()); // no sign
/// # Ok::<(), zvf_format::DecodeError>(())
/// ```
pub fn parse_delta(text: &str) -> Result<i32, DecodeError> {
    let mut reader = Text::new(text);
    let delta = reader.signed("level delta")?;
    reader.end("level delta")?;
    i32::try_from(delta).map_err(|_| {
        DecodeError::text(
            "level delta",
            0,
            text.bytes().next(),
            "a number of at most 32 bits",
        )
    })
}

/// Parses the offsets segment of a link array, `+1.0.0_0.-1.0` or `self`; returns the number of
/// values written to `out`.
///
/// # Shape
/// `(link_width - 1) * key_rank` numbers: for each endpoint after the first, its chunk minus the
/// anchor of the source chunk. No numbers for `self`, the only segment of width 1.
///
/// # Cost
/// O(text), no allocation.
///
/// # Errors
/// Malformed for unsigned numbers other than `0`, a wrong number of offsets or components, and
/// `self` with another width than 1; limit if `out` is too short.
///
/// # Panics
/// Never.
///
/// # Examples
///
/// ```
/// let mut out = [0; 6];
/// let count = zvf_format::keys::parse_offsets("+1.0.0_0.-1.0", 3, 3, &mut out)?;
/// assert_eq!(out[..count], [1, 0, 0, 0, -1, 0]);
/// # Ok::<(), zvf_format::DecodeError>(())
/// ```
pub fn parse_offsets(
    segment: &str,
    key_rank: usize,
    link_width: usize,
    out: &mut [i64],
) -> Result<usize, DecodeError> {
    let Some(offsets) = link_width.checked_sub(1) else {
        return Err(wrong_count("link width", 0, 0, 1));
    };
    if offsets == 0 || segment == "self" {
        if segment != "self" {
            let first = segment.bytes().next();
            return Err(DecodeError::text(
                "link offsets",
                0,
                first,
                "`self` for links of width 1",
            ));
        }
        if offsets != 0 {
            return Err(wrong_count("link offsets count", 0, 0, offsets));
        }
        return Ok(0);
    }
    if key_rank == 0 {
        return Err(wrong_count("chunk key rank", 0, 0, 1));
    }
    let mut reader = Text::new(segment);
    let mut used = 0;
    for k in 0..offsets {
        if k > 0 {
            reader.expect(b'_', "link offsets", "`_` before the next offset")?;
        }
        for axis in 0..key_rank {
            if axis > 0 {
                reader.expect(b'.', "link offsets", "`.` before the next component")?;
            }
            let at = reader.at();
            let component = reader.signed("link offsets")?;
            put(out, &mut used, component, "link offsets count", at)?;
        }
    }
    reader.end("link offsets")?;
    Ok(used)
}

/// Parses the name of a level group: `0`, or digits that do not begin with 0, within 32 bits.
/// `None` for any other name, which is not a level (section 3).
///
/// # Examples
///
/// ```
/// use zvf_format::keys::parse_level;
///
/// assert_eq!(parse_level("10"), Some(10));
/// assert_eq!(parse_level("01"), None);
/// assert_eq!(parse_level("-1"), None);
/// ```
#[must_use]
pub fn parse_level(text: &str) -> Option<u32> {
    let mut reader = Text::new(text);
    let level = reader.digits(false, true, "level name").ok()?;
    reader.end("level name").ok()?;
    u32::try_from(level).ok()
}

//! Formats chunk keys, deltas and link offsets as text, and compares keys without formatting them
//! whole.

use core::cmp::Ordering;
use core::fmt;

use super::number::{LONGEST, decimal, write_signed};

/// The chunk key of a coordinate: `-1.0.12`.
///
/// # Cost
/// None until it is displayed; no allocation then.
///
/// # Examples
///
/// ```
/// assert_eq!(zvf_format::keys::format_key(&[-1, 0, 12]).to_string(), "-1.0.12");
/// ```
#[must_use]
pub fn format_key(coordinate: &[i64]) -> KeyText<'_> {
    KeyText(coordinate)
}

/// A chunk key as text: what [`format_key`] returns.
#[derive(Debug, Clone, Copy)]
pub struct KeyText<'a>(&'a [i64]);

impl fmt::Display for KeyText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        let mut buffer = [0; LONGEST];
        for (axis, &component) in self.0.iter().enumerate() {
            if axis > 0 {
                f.write_char('.')?;
            }
            // Digits and a sign are always valid UTF-8.
            f.write_str(core::str::from_utf8(decimal(component, &mut buffer)).unwrap_or_default())?;
        }
        Ok(())
    }
}

/// The path segment of a delta: `0`, `+1`, `-2`.
///
/// # Examples
///
/// ```
/// assert_eq!(zvf_format::keys::format_delta(1).to_string(), "+1");
/// ```
#[must_use]
pub fn format_delta(delta: i32) -> DeltaText {
    DeltaText(delta)
}

/// A delta as text: what [`format_delta`] returns.
#[derive(Debug, Clone, Copy)]
pub struct DeltaText(i32);

impl fmt::Display for DeltaText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_signed(f, i64::from(self.0))
    }
}

/// The offsets segment of a link array: `+1.0.0_0.-1.0`, or `self` if there are no offsets.
///
/// # Shape
/// `offsets` holds `(L - 1) * key_rank` numbers, offset by offset.
///
/// # Examples
///
/// ```
/// use zvf_format::keys::format_offsets;
///
/// assert_eq!(format_offsets(&[1, 0, 0, -1], 2).to_string(), "+1.0_0.-1");
/// assert_eq!(format_offsets(&[], 2).to_string(), "self");
/// ```
#[must_use]
pub fn format_offsets(offsets: &[i64], key_rank: usize) -> OffsetsText<'_> {
    OffsetsText {
        offsets,
        key_rank: key_rank.max(1),
    }
}

/// Link offsets as text: what [`format_offsets`] returns.
#[derive(Debug, Clone, Copy)]
pub struct OffsetsText<'a> {
    offsets: &'a [i64],
    key_rank: usize,
}

impl fmt::Display for OffsetsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.offsets.is_empty() {
            return f.write_str("self");
        }
        for (place, &component) in self.offsets.iter().enumerate() {
            if place > 0 {
                f.write_str(if place % self.key_rank == 0 { "_" } else { "." })?;
            }
            write_signed(f, component)?;
        }
        Ok(())
    }
}

/// Compares two coordinates by the text of their keys, byte for byte: the order of presence lists
/// and of link numbering (13.5). It differs from the order of the numbers: `10.0` is before `2.0`.
///
/// # Cost
/// No allocation; numbers are formatted on the stack, and only where the coordinates differ.
///
/// # Examples
///
/// ```
/// use core::cmp::Ordering;
/// use zvf_format::keys::cmp_ascii;
///
/// assert_eq!(cmp_ascii(&[10, 0], &[2, 0]), Ordering::Less);
/// assert_eq!(cmp_ascii(&[-1, 0], &[0, 0]), Ordering::Less);
/// ```
#[must_use]
pub fn cmp_ascii(a: &[i64], b: &[i64]) -> Ordering {
    let (mut left, mut right) = ([0; LONGEST], [0; LONGEST]);
    for (&x, &y) in a.iter().zip(b) {
        if x == y {
            continue;
        }
        let (x, y) = (decimal(x, &mut left), decimal(y, &mut right));
        let shared = x.len().min(y.len());
        let order = x.get(..shared).cmp(&y.get(..shared));
        if order != Ordering::Equal {
            return order;
        }
        // One text is a prefix of the other. After the shorter one comes a dot, which sorts before
        // every digit, or the end of the key.
        return x.len().cmp(&y.len());
    }
    a.len().cmp(&b.len())
}

//! The lengths of the inner chunks of a shard as a short text, for documents. With them, a reader requests inner chunks together with the index,
//! which proves their positions.
//!
//! The text lists the inner chunks in the order in which writers of this workspace store them: [along the curve](curve), back to back from byte 0. A
//! number is written in base 64 (`A-Z a-z 0-9 - _`), five bits in each character, the lowest first; the sixth bit states that more follow. The number
//! 0 is followed by the number of consecutive absent inner chunks. Absent chunks at the end are left out.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Most inner chunks in a shard whose lengths are written or read.
pub const MOST: u64 = 1 << 16;

/// The place of an inner chunk along the Morton curve, axis 0 the fastest (0.9 §4.4), from its index in the shard. The lowest 24 bits of each
/// component count.
#[must_use]
pub fn curve(index: &[u64]) -> u128 {
    let bits = (0..24_u32).flat_map(|bit| index.iter().map(move |at| (at, bit)));
    bits.rev().fold(0, |place, (at, bit)| {
        (place << 1) | u128::from((at >> bit) & 1)
    })
}

/// The inner chunks of a shard of this shape in the order of the curve, by their numbers in the index (C order). `None` if there are more than
/// [`MOST`].
///
/// # Cost
/// Sorts all inner chunks.
#[must_use]
pub fn stored_order(shape: &[u64]) -> Option<Vec<usize>> {
    let count = shape.iter().try_fold(1_u64, |all, n| all.checked_mul(*n));
    let count = usize::try_from(count.filter(|count| *count <= MOST)?).ok()?;
    let mut order = Vec::with_capacity(count);
    let mut index = vec![0_u64; shape.len()];
    for place in 0..count {
        order.push((curve(&index), place));
        for (at, extent) in index.iter_mut().zip(shape).rev() {
            *at += 1;
            if *at < *extent {
                break;
            }
            *at = 0;
        }
    }
    order.sort_unstable();
    Some(order.into_iter().map(|(_, place)| place).collect())
}

/// The text for the lengths of inner chunks, which are in the order of the curve; 0 is an absent one.
#[must_use]
pub fn to_text(lengths: impl IntoIterator<Item = u64>) -> String {
    let mut text = String::new();
    let mut absent = 0;
    for length in lengths {
        if length == 0 {
            absent += 1;
            continue;
        }
        if absent > 0 {
            push(&mut text, 0);
            push(&mut text, absent);
            absent = 0;
        }
        push(&mut text, length);
    }
    text
}

fn push(text: &mut String, mut number: u64) {
    loop {
        let more = u8::from(number > 31) << 5;
        let digit = number.to_le_bytes()[0] & 31 | more;
        text.extend(
            DIGITS
                .get(usize::from(digit))
                .map(|digit| char::from(*digit)),
        );
        number >>= 5;
        if more == 0 {
            return;
        }
    }
}

/// The bytes that hold each inner chunk of a shard of this shape, by number in the index, if the lengths in a [text](to_text) are right. Empty for
/// absent chunks.
///
/// `None` for an invalid text, or more than [`MOST`] inner chunks.
#[must_use]
pub fn ranges(text: &str, shape: &[u64]) -> Option<Vec<Range<u64>>> {
    let order = stored_order(shape)?;
    let mut ranges = vec![0..0; order.len()];
    let mut numbers = LengthDigits(text.as_bytes().iter());
    let mut places = order.iter();
    let mut end = 0_u64;
    while let Some(length) = numbers.next()? {
        if length == 0 {
            let absent = usize::try_from(numbers.next()??).ok()?;
            places.nth(absent.checked_sub(1)?)?;
            continue;
        }
        let start = end;
        end = end.checked_add(length)?;
        *ranges.get_mut(*places.next()?)? = start..end;
    }
    Some(ranges)
}

struct LengthDigits<'t>(core::slice::Iter<'t, u8>);

impl LengthDigits<'_> {
    /// The next number, or `Some(None)` at the end; `None` for an invalid number.
    fn next(&mut self) -> Option<Option<u64>> {
        let (mut number, mut shift) = (0_u64, 0_u32);
        for digit in self.0.by_ref() {
            let digit = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'-' => 62,
                b'_' => 63,
                _ => return None,
            };
            if shift > 55 {
                return None;
            }
            number |= u64::from(digit & 31) << shift;
            if digit < 32 {
                return Some(Some(number));
            }
            shift += 5;
        }
        (shift == 0).then_some(None)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::{curve, ranges, stored_order, to_text};

    #[test]
    fn the_curve_turns_along_axis_0_first() {
        let order: Vec<u128> = [[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [0, 2]]
            .iter()
            .map(|index| curve(index))
            .collect();
        assert_eq!(order, [0, 1, 2, 3, 4, 8]);
        assert_eq!(stored_order(&[2, 2]).unwrap(), [0, 2, 1, 3]);
        assert_eq!(stored_order(&[3, 1, 2]).unwrap(), [0, 2, 1, 3, 4, 5]);
        assert_eq!(stored_order(&[0, 7]).unwrap(), []);
        assert_eq!(stored_order(&[1 << 8, (1 << 8) + 1]), None);
        assert_eq!(stored_order(&[u64::MAX, u64::MAX]), None);
    }

    #[test]
    fn lengths_come_back_as_ranges() {
        // In the order of the curve: places 0, 2, 1, 3.
        let text = to_text([0, 5, 1 << 40, 31]);
        assert_eq!(text, "ABFggggggggBf");
        let found = ranges(&text, &[2, 2]).unwrap();
        assert_eq!(
            found,
            [0..0, 5..5 + (1 << 40), 0..5, 5 + (1 << 40)..36 + (1 << 40)]
        );
        assert_eq!(to_text([0, 0]), "");
        assert_eq!(ranges("", &[2]).unwrap(), [0..0, 0..0]);
        assert_eq!(to_text([7, 0, 0, 32, 0]), "HACgB");
    }

    #[test]
    fn what_is_no_text_of_lengths_is_none() {
        // Not a digit; a number that ends early; no count; a count of 0; more inner chunks than the shard has; a number beyond 60 bits.
        for wrong in [
            "H!",
            "Hg",
            "A",
            "AA",
            "HHHHH",
            "AF",
            "AAA",
            "HHHAC",
            "ggggggggggggggA",
        ] {
            assert_eq!(ranges(wrong, &[2, 2]), None, "{wrong}");
        }
        let most = to_text([u64::MAX >> 4]);
        assert!(ranges(&most, &[1]).is_some());
        let sum = [most.as_str(); 17].concat();
        assert_eq!(ranges(&sum, &[17]), None);
    }
}

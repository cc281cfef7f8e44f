//! Decimal numbers, parsed from and formatted as text without allocation.

use core::fmt;

use crate::error::{DecodeError, Expected};
use crate::int::wide;

/// Longest text of an i64: a sign and 19 digits.
pub(super) const LONGEST: usize = 20;

/// A reader of one text, with its position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl<'t> Text<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            bytes: text.as_bytes(),
            at: 0,
        }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Skips `byte`, or fails if it is missing.
    #[inline]
    pub(super) fn expect(
        &mut self,
        byte: u8,
        what: &'static str,
        expected: &'static str,
    ) -> Result<(), DecodeError> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(DecodeError::text(what, self.at, self.peek(), expected))
    }

    /// Takes at least one digit; the caller has taken the sign. With `plain`, leading zeros and `-0`
    /// are not allowed.
    #[inline]
    pub(super) fn digits(
        &mut self,
        negative: bool,
        plain: bool,
        what: &'static str,
    ) -> Result<i64, DecodeError> {
        let start = self.at;
        // The sum is negative, because i64 has one more negative than positive number.
        let mut value = 0_i64;
        while let Some(byte @ b'0'..=b'9') = self.peek() {
            let digit = i64::from(byte - b'0');
            let Some(next) = value
                .checked_mul(10)
                .and_then(|tens| tens.checked_sub(digit))
            else {
                return Err(self.too_large(start, what));
            };
            value = next;
            self.at += 1;
        }
        if self.at == start {
            return Err(DecodeError::text(what, start, self.peek(), "a digit"));
        }
        if plain && self.at > start + 1 && self.bytes.get(start) == Some(&b'0') {
            return Err(DecodeError::text(
                what,
                start,
                Some(b'0'),
                "a number without leading zeros",
            ));
        }
        if negative {
            if plain && value == 0 {
                return Err(DecodeError::text(
                    what,
                    start,
                    Some(b'0'),
                    "a digit from 1 to 9 after the sign",
                ));
            }
            return Ok(value);
        }
        value
            .checked_neg()
            .ok_or_else(|| self.too_large(start, what))
    }

    #[cold]
    fn too_large(&self, start: usize, what: &'static str) -> DecodeError {
        DecodeError::text(
            what,
            start,
            self.bytes.get(start).copied(),
            "a number that fits in 64 bits",
        )
    }

    /// Takes a component of a chunk key: `0`, or digits after an optional minus.
    #[inline]
    pub(super) fn plain(&mut self, what: &'static str) -> Result<i64, DecodeError> {
        let negative = self.peek() == Some(b'-');
        if negative {
            self.at += 1;
        }
        self.digits(negative, true, what)
    }

    /// Takes a component of a delta or an offset: `0`, or digits after a required sign.
    #[inline]
    pub(super) fn signed(&mut self, what: &'static str) -> Result<i64, DecodeError> {
        match self.peek() {
            Some(sign @ (b'+' | b'-')) => {
                self.at += 1;
                self.digits(sign == b'-', false, what)
            }
            Some(b'0') => {
                self.at += 1;
                Ok(0)
            }
            found => Err(DecodeError::text(what, self.at, found, "`0`, `+` or `-`")),
        }
    }

    /// Fails if anything follows.
    pub(super) fn end(&self, what: &'static str) -> Result<(), DecodeError> {
        if self.is_at_end() {
            return Ok(());
        }
        Err(DecodeError::text(what, self.at, self.peek(), "the end"))
    }
}

/// Puts `value` at `out[*used]`, or fails if `out` is too short.
#[inline]
pub(super) fn put(
    out: &mut [i64],
    used: &mut usize,
    value: i64,
    what: &'static str,
    at: usize,
) -> Result<(), DecodeError> {
    let room = out.len();
    let Some(slot) = out.get_mut(*used) else {
        return Err(DecodeError::limit(
            what,
            wide(at),
            wide(*used) + 1,
            wide(room),
        ));
    };
    *slot = value;
    *used += 1;
    Ok(())
}

/// The error for a wrong number of components in a text.
#[cold]
pub(super) fn wrong_count(
    what: &'static str,
    at: usize,
    found: usize,
    expected: usize,
) -> DecodeError {
    use crate::int::signed;
    DecodeError::malformed(
        what,
        wide(at),
        signed(found),
        Expected::Exactly(signed(expected)),
    )
}

/// The decimal text of `value`, written to the end of `buffer`.
#[inline]
pub(super) fn decimal(value: i64, buffer: &mut [u8; LONGEST]) -> &[u8] {
    let mut left = value.unsigned_abs();
    let mut at = LONGEST;
    for slot in buffer.iter_mut().rev() {
        at -= 1;
        *slot = b'0' + low_digit(left);
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if value < 0
        && let Some(slot) = at.checked_sub(1).and_then(|before| buffer.get_mut(before))
    {
        *slot = b'-';
        at -= 1;
    }
    buffer.get(at..).unwrap_or_default()
}

#[inline]
fn low_digit(value: u64) -> u8 {
    (value % 10).to_le_bytes()[0]
}

/// `0`, `+n` or `-n`.
pub(super) fn write_signed(f: &mut fmt::Formatter<'_>, value: i64) -> fmt::Result {
    if value > 0 {
        write!(f, "+{value}")
    } else {
        write!(f, "{value}")
    }
}

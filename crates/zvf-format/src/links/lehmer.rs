//! The permutation code of a link row: Lehmer code, the lexicographic rank of a permutation.
//!
//! `spec/zvf-0.9.md` section 13.3, `spec/zvf-0.8.md` section 9.2. A placement s lists, for each
//! stored endpoint, its number in the application's order:
//!
//! ```text
//! code = sum over i of d_i * (L-1-i)!     d_i = how many unused values are smaller than s_i
//!
//! L = 3    0: 0 1 2    1: 0 2 1    2: 1 0 2    3: 1 2 0    4: 2 0 1    5: 2 1 0
//! ```

use crate::error::{DecodeError, Expected};
use crate::int::{signed, wide};

/// The largest link width for which this module has permutation codes: 8! = 40320 permutations.
pub const MAX_WIDTH: usize = 8;

/// `FACTORIALS[n]` = n!
const FACTORIALS: [u32; MAX_WIDTH + 1] = [1, 1, 2, 6, 24, 120, 720, 5040, 40320];

/// The code of a permutation of `0..L`; `None` if `perm` is not a permutation, or L is above
/// [`MAX_WIDTH`].
///
/// # Examples
///
/// ```
/// assert_eq!(zvf_format::links::lehmer::encode(&[2, 0, 1]), Some(4));
/// ```
#[must_use]
pub fn encode(perm: &[u8]) -> Option<u32> {
    if perm.len() > MAX_WIDTH || !is_permutation(perm) {
        return None;
    }
    let mut code = 0;
    for (i, &value) in perm.iter().enumerate() {
        let smaller_before = perm
            .get(..i)?
            .iter()
            .filter(|&&earlier| earlier < value)
            .count();
        let digit = u32::from(value) - crate::int::low32(smaller_before);
        code += digit * FACTORIALS.get(perm.len() - 1 - i)?;
    }
    Some(code)
}

/// Writes the permutation of `0..L` with code `code` into `out`, whose length is L.
///
/// # Errors
/// Malformed if the code is negative or not below L!; limit if L is above [`MAX_WIDTH`]. `out` is
/// then unchanged. The position in the error is 0, because only the caller knows the row.
///
/// # Panics
/// Never.
///
/// # Examples
///
/// ```
/// let mut s = [0; 3];
/// zvf_format::links::lehmer::decode(4, &mut s)?;
/// assert_eq!(s, [2, 0, 1]);
/// # Ok::<(), zvf_format::DecodeError>(())
/// ```
#[inline]
pub fn decode(code: i64, out: &mut [u8]) -> Result<(), DecodeError> {
    let width = out.len();
    let Some(&count) = FACTORIALS.get(width) else {
        return Err(DecodeError::limit(
            "link width",
            0,
            wide(width),
            wide(MAX_WIDTH),
        ));
    };
    let mut left = match u32::try_from(code) {
        Ok(code) if code < count => code,
        _ => {
            let expected = if code < 0 {
                Expected::AtLeast(0)
            } else {
                Expected::AtMost(i64::from(count) - 1)
            };
            return Err(DecodeError::malformed(
                "link permutation code",
                0,
                code,
                expected,
            ));
        }
    };
    // Value v is unused if bit v is set.
    let mut unused = u16::MAX;
    for (i, slot) in out.iter_mut().enumerate() {
        let weight = FACTORIALS.get(width - 1 - i).copied().unwrap_or(1);
        let (mut digit, rest) = (left / weight, left % weight);
        left = rest;
        let mut candidates = unused;
        while digit > 0 {
            candidates &= candidates - 1;
            digit -= 1;
        }
        let value = candidates.trailing_zeros();
        unused &= !(1 << value);
        *slot = value.to_le_bytes()[0];
    }
    Ok(())
}

/// Puts stored endpoints back into application order: `out[s[i]] = placed[i]`.
///
/// # Errors
/// Malformed if the lengths differ or `s` contains an invalid index; `out` is then unspecified. The
/// position is the index in `s`.
///
/// # Panics
/// Never.
///
/// # Examples
///
/// ```
/// let mut rows = [0; 3];
/// zvf_format::links::lehmer::restore(&[2, 0, 1], &["a", "b", "c"].map(str::len), &mut rows)?;
/// let mut order = [' '; 3];
/// zvf_format::links::lehmer::restore(&[2, 0, 1], &['a', 'b', 'c'], &mut order)?;
/// assert_eq!(order, ['b', 'c', 'a']);
/// # Ok::<(), zvf_format::DecodeError>(())
/// ```
#[inline]
pub fn restore<T: Copy>(s: &[u8], placed: &[T], out: &mut [T]) -> Result<(), DecodeError> {
    same_width(s.len(), placed.len(), out.len())?;
    for (i, (&place, &value)) in s.iter().zip(placed).enumerate() {
        match out.get_mut(usize::from(place)) {
            Some(slot) => *slot = value,
            None => return Err(bad_place(i, place, s.len())),
        }
    }
    Ok(())
}

/// Puts application endpoints into stored order: `out[i] = original[s[i]]`. The inverse of
/// [`restore`].
///
/// # Errors
/// As [`restore`].
///
/// # Panics
/// Never.
#[inline]
pub fn apply<T: Copy>(s: &[u8], original: &[T], out: &mut [T]) -> Result<(), DecodeError> {
    same_width(s.len(), original.len(), out.len())?;
    for (i, (&place, slot)) in s.iter().zip(out).enumerate() {
        match original.get(usize::from(place)) {
            Some(&value) => *slot = value,
            None => return Err(bad_place(i, place, s.len())),
        }
    }
    Ok(())
}

fn is_permutation(perm: &[u8]) -> bool {
    let mut seen = 0_u32;
    for &value in perm {
        if usize::from(value) >= perm.len() || seen & (1 << value) != 0 {
            return false;
        }
        seen |= 1 << value;
    }
    true
}

#[inline]
fn same_width(s: usize, a: usize, b: usize) -> Result<(), DecodeError> {
    for found in [a, b] {
        if found != s {
            let expected = Expected::Exactly(signed(s));
            return Err(DecodeError::malformed(
                "link width",
                0,
                signed(found),
                expected,
            ));
        }
    }
    Ok(())
}

#[cold]
fn bad_place(i: usize, place: u8, width: usize) -> DecodeError {
    let expected = Expected::AtMost(signed(width).saturating_sub(1));
    DecodeError::malformed("link permutation", wide(i), i64::from(place), expected)
}

/// L!, the number of codes of links of width L; `None` above [`MAX_WIDTH`].
#[must_use]
pub fn code_count(width: usize) -> Option<u32> {
    FACTORIALS.get(width).copied()
}

const _: () = assert!(
    MAX_WIDTH <= 16,
    "`decode` keeps the unused values in 16 bits"
);

/// The code of a link row as an index into a table of [`code_count`] entries; `None` if the code is
/// invalid, or the width is above [`MAX_WIDTH`].
#[must_use]
pub fn code_index(code: i64, width: usize) -> Option<usize> {
    let index = usize::try_from(code).ok()?;
    (wide(index) < u64::from(code_count(width)?)).then_some(index)
}

//! Splits bytes that the writer itself made, such as records from a temporary file. A mismatch is reported as a bug, never as a missing row or a
//! default value.

use std::slice::ChunksExact;

use zerocopy::FromBytes;

use crate::WriteError;
use crate::error::{OrBug, internal};

/// Splits bytes into records of `size` bytes.
///
/// # Errors
/// As [`check_records`].
#[track_caller]
pub fn records(bytes: &[u8], size: usize) -> Result<ChunksExact<'_, u8>, WriteError> {
    check_records(bytes, size)?;
    Ok(bytes.chunks_exact(size))
}

/// Splits bytes into values of one type.
///
/// # Errors
/// Bug: bytes that are not a whole number of values, or values without bytes.
#[track_caller]
pub fn typed<T: FromBytes>(
    bytes: &[u8],
) -> Result<impl Iterator<Item = Result<T, WriteError>>, WriteError> {
    let values = records(bytes, size_of::<T>())?.map(T::read_from_bytes);
    Ok(values.map(|value| value.ok().or_bug("a record of another size")))
}

/// Checks that bytes are a whole number of records.
///
/// # Errors
/// Bug: they are not, or `size` is 0.
#[track_caller]
pub fn check_records(bytes: &[u8], size: usize) -> Result<(), WriteError> {
    if size == 0 || !bytes.len().is_multiple_of(size) {
        return Err(WriteError::bug(format!(
            "{} bytes, expected records of {size}",
            bytes.len()
        )));
    }
    Ok(())
}

/// Takes the first `length` bytes.
///
/// # Errors
/// Bug: there are fewer.
#[track_caller]
pub fn take<'b>(rest: &mut &'b [u8], length: usize) -> Result<&'b [u8], WriteError> {
    let (first, others) = rest.split_at_checked(length).or_bug(format_args!(
        "{} bytes of a record are left, expected {length}",
        rest.len()
    ))?;
    *rest = others;
    Ok(first)
}

/// Takes the first `N` bytes.
///
/// # Errors
/// Bug: there are fewer.
#[track_caller]
pub fn take_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], WriteError> {
    let (first, others) = rest.split_first_chunk::<N>().or_bug(format_args!(
        "{} bytes of a record are left, expected {N}",
        rest.len()
    ))?;
    *rest = others;
    Ok(*first)
}

/// Takes a value after its presence flag; `None` if the flag marks it as absent.
///
/// # Errors
/// Bug: there are fewer bytes, or the flag is neither 0 nor 1.
#[track_caller]
pub fn take_flagged<'b>(rest: &mut &'b [u8], size: usize) -> Result<Option<&'b [u8]>, WriteError> {
    let [flag] = take_array(rest)?;
    let value = take(rest, size)?;
    internal!(flag <= 1, "a value with flag {flag}");
    Ok((flag == 1).then_some(value))
}

/// Appends a value of `size` bytes after its presence flag, as [`take_flagged`] reads it. An absent value is zeros.
pub fn put_flagged(out: &mut Vec<u8>, value: Option<&[u8]>, size: usize) {
    out.push(u8::from(value.is_some()));
    match value {
        Some(value) => out.extend_from_slice(value),
        None => out.resize(out.len() + size, 0),
    }
}

/// Takes the placement of a link of `width` ends, and the rows of the ends.
///
/// # Errors
/// Bug: there are fewer bytes.
#[track_caller]
pub(crate) fn take_link<'b>(
    rest: &mut &'b [u8],
    width: usize,
) -> Result<(&'b [u8], Vec<i64>), WriteError> {
    let placement = take(rest, width)?;
    let rows = take(rest, width * 4)?.as_chunks::<4>().0.iter();
    let rows = rows.map(|row| i64::from(u32::from_le_bytes(*row)));
    Ok((placement, rows.collect()))
}

/// Row `row` of a column with `width` values per row; `None` beyond the end of the column.
pub fn row_of<T>(column: &[T], row: usize, width: usize) -> Option<&[T]> {
    column.get(row.checked_mul(width)?..)?.get(..width)
}

#[cfg(test)]
mod tests {
    use zerocopy::IntoBytes;

    use super::{put_flagged, records, row_of, take, take_array, take_flagged, take_link, typed};
    use crate::WriteError;

    fn is_bug<T: std::fmt::Debug>(found: &Result<T, WriteError>) -> bool {
        matches!(found, Err(WriteError::Bug { file, .. }) if file.ends_with("record.rs"))
    }

    #[test]
    fn records_have_no_rest() {
        let all: Vec<&[u8]> = records(b"abcdef", 3).unwrap().collect();
        assert_eq!(all, [b"abc", b"def"]);
        assert_eq!(records(b"", 3).unwrap().len(), 0);
        for (bytes, size) in [(&b"abcde"[..], 3), (b"ab", 3), (b"ab", 0)] {
            assert!(is_bug(&records(bytes, size)));
        }
    }

    #[test]
    fn values_have_no_rest() {
        let numbers = [1_u32, 2, 3];
        let bytes = numbers.as_bytes();
        let all: Result<Vec<u32>, _> = typed(bytes).unwrap().collect();
        assert_eq!(all.unwrap(), numbers);
        assert!(is_bug(&typed::<u64>(bytes).map(|_| ())));
    }

    #[test]
    fn what_is_cut_short_is_a_bug() {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&[1, 0]);
        bytes.extend_from_slice(&[7_u32.to_le_bytes(), u32::MAX.to_le_bytes()].concat());
        put_flagged(&mut bytes, Some(b"xyz"), 3);
        put_flagged(&mut bytes, None, 2);
        let parse = |mut rest: &[u8]| {
            let (placement, rows) = take_link(&mut rest, 2)?;
            let values = (take_flagged(&mut rest, 3)?, take_flagged(&mut rest, 2)?);
            Ok((
                placement.to_vec(),
                rows,
                values.0.map(<[u8]>::to_vec),
                values.1.is_none(),
            ))
        };
        let whole = (
            vec![1, 0],
            vec![7, i64::from(u32::MAX)],
            Some(b"xyz".to_vec()),
            true,
        );
        assert_eq!(parse(&bytes).unwrap(), whole);
        for cut in 0..bytes.len() {
            assert!(is_bug(&parse(&bytes[..cut])), "{cut}");
        }
        assert!(is_bug(&take_flagged(&mut &[2, 0][..], 1)));
        assert!(is_bug(&take(&mut &b"ab"[..], 3)));
        assert!(is_bug(&take_array::<3>(&mut &b"ab"[..])));
    }

    #[test]
    fn rows_of_columns() {
        assert_eq!(row_of(b"aabbcc", 1, 2), Some(&b"bb"[..]));
        assert_eq!(row_of(b"aabbc", 2, 2), None);
        assert_eq!(row_of(b"aa", usize::MAX, 2), None);
        // Rows without values are empty, whatever their row number.
        assert_eq!(row_of::<u8>(&[], 5, 0), Some(&[][..]));
    }
}

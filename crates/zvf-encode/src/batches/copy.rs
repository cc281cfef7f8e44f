//! Copies columns into records and back. The width is a constant inside the loops, so that a value is copied by one or two moves instead of a call.

use crate::WriteError;
use crate::error::internal;
use crate::records::record::row_of;
use std::collections::HashMap;

/// Calls a generic function with the width as a constant, for the widths that positions and attributes mostly have; for other widths evaluates the last
/// expression.
macro_rules! by_width {
    ($width:expr, $name:ident($($argument:expr),*), $other:expr) => {
        match $width {
            1 => $name::<1>($($argument),*),
            2 => $name::<2>($($argument),*),
            4 => $name::<4>($($argument),*),
            6 => $name::<6>($($argument),*),
            8 => $name::<8>($($argument),*),
            12 => $name::<12>($($argument),*),
            16 => $name::<16>($($argument),*),
            24 => $name::<24>($($argument),*),
            32 => $name::<32>($($argument),*),
            _ => $other,
        }
    };
}

/// Puts a column into records of `record` bytes each, `at` bytes into them: record `i` gets row `order[i]`.
///
/// # Errors
/// Bug: a row that the column does not have, or records that are too small.
pub(crate) fn scatter(
    out: &mut [u8],
    record: usize,
    at: usize,
    column: &[u8],
    width: usize,
    order: &[u32],
) -> Result<(), WriteError> {
    fn fixed<const W: usize>(
        out: &mut [u8],
        record: usize,
        at: usize,
        column: &[u8],
        order: &[u32],
    ) {
        let (values, _) = column.as_chunks::<W>();
        for (into, &row) in out.chunks_exact_mut(record).zip(order) {
            let into = into.get_mut(at..).and_then(|rest| rest.first_chunk_mut());
            if let (Some(into), Some(value)) = (into, values.get(row as usize)) {
                *into = *value;
            }
        }
    }
    if width == 0 || order.is_empty() {
        return Ok(());
    }
    // Checked once, so that every copy below succeeds.
    let last = order.iter().fold(0, |last, &row| last.max(row)) as usize;
    internal!(
        at + width <= record && out.len() == order.len() * record && last < column.len() / width,
        "values of {width} bytes at {at}, records of {record}, row {last} of {} bytes",
        column.len()
    );
    by_width!(
        width,
        fixed(out, record, at, column, order),
        for (into, &row) in out.chunks_exact_mut(record).zip(order) {
            let into = into.get_mut(at..at + width);
            if let (Some(into), Some(value)) = (into, row_of(column, row as usize, width)) {
                into.copy_from_slice(value);
            }
        }
    );
    Ok(())
}

/// Collects a column from records of `record` bytes each, `at` bytes into them, in the given order.
///
/// # Errors
/// Bug: a record does not exist.
pub(crate) fn gather(
    records: &[u8],
    record: usize,
    at: usize,
    width: usize,
    order: impl ExactSizeIterator<Item = usize>,
) -> Result<Vec<u8>, WriteError> {
    fn fixed<const W: usize>(
        records: &[u8],
        record: usize,
        at: usize,
        order: impl Iterator<Item = usize>,
        out: &mut Vec<u8>,
    ) {
        for row in order {
            let start = row * record + at;
            if let Some(value) = records
                .get(start..)
                .and_then(|rest| rest.first_chunk::<W>())
            {
                out.extend_from_slice(value);
            }
        }
    }
    let length = order.len() * width;
    let mut out = Vec::with_capacity(length);
    by_width!(
        width,
        fixed(records, record, at, order, &mut out),
        for row in order {
            let start = row * record + at;
            if let Some(value) = records.get(start..start + width) {
                out.extend_from_slice(value);
            }
        }
    );
    internal!(
        out.len() == length,
        "{} of {length} bytes are in {} bytes of records",
        out.len(),
        records.len()
    );
    Ok(out)
}

/// Groups items by value: values in the order of their first occurrence, the items of each value in their own order.
pub(crate) fn together<'v, T: Copy>(
    items: &mut [T],
    value: impl Fn(&T) -> Result<&'v [u8], WriteError>,
) -> Result<(), WriteError> {
    let mut firsts: HashMap<&[u8], usize> = HashMap::new();
    let mut ranked: Vec<(usize, T)> = Vec::with_capacity(items.len());
    for item in &*items {
        let next = firsts.len();
        ranked.push((*firsts.entry(value(item)?).or_insert(next), *item));
    }
    if ranked.is_sorted_by_key(|(rank, _)| *rank) {
        return Ok(());
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    items
        .iter_mut()
        .zip(ranked)
        .for_each(|(slot, (_, item))| *slot = item);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{gather, scatter, together};
    use crate::WriteError;

    #[test]
    fn what_is_scattered_is_gathered() {
        let order = [3_u32, 0, 2, 1];
        for width in [0_usize, 1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 33] {
            let column: Vec<u8> = (0..4 * width).map(|i| i as u8).collect();
            let record = width + 5;
            let mut records = vec![0xee; 4 * record];
            scatter(&mut records, record, 3, &column, width, &order).unwrap();
            for (i, &row) in order.iter().enumerate() {
                let found = &records[i * record..][..record];
                let row = row as usize;
                assert_eq!(&found[3..3 + width], &column[row * width..][..width]);
                assert_eq!((found[0], found[record - 1]), (0xee, 0xee));
            }
            // Record 1 holds row 0, 3 row 1, 2 row 2, 0 row 3.
            let back = gather(&records, record, 3, width, [1, 3, 2, 0].into_iter()).unwrap();
            assert_eq!(back, column);
        }
    }

    #[test]
    fn no_row_is_left_out() {
        for width in [4_usize, 5] {
            let (column, mut records) = (vec![1; 3 * width], vec![0; 20]);
            for (order, at) in [(&[0, 3][..], 0), (&[0, 1], 11 - width), (&[0], 0)] {
                let done = scatter(&mut records, 10, at, &column, width, order);
                assert!(
                    matches!(done, Err(WriteError::Bug { .. })),
                    "{order:?} at {at}"
                );
            }
            assert_eq!(records, [0; 20]);
            let gathered = gather(&records, 10, 0, width, [0, 2].into_iter());
            assert!(matches!(gathered, Err(WriteError::Bug { .. })));
        }
    }

    #[test]
    fn items_of_a_value_come_together_in_their_order() {
        let mut items: Vec<(u32, &[u8])> = vec![
            (0, b"b"),
            (1, b"a"),
            (2, b"b"),
            (3, b"c"),
            (4, b"a"),
            (5, b"b"),
        ];
        together(&mut items, |(_, value)| Ok(value)).unwrap();
        let order: Vec<u32> = items.iter().map(|(at, _)| *at).collect();
        assert_eq!(order, [0, 2, 5, 1, 4, 3]);
    }
}

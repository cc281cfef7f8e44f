//! Copies the selected rows of a cell.

use arrow_buffer::MutableBuffer;
use zvf_store::RowValues;

use crate::error::QueryError;
use zvf_store::format::int;

/// The rows of a chunk that are in the answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kept {
    /// All rows of a buffer with this number of rows.
    All(u32),
    /// These rows, ascending, each once.
    Rows(Vec<u32>),
}

impl Kept {
    /// How many rows are kept.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::All(rows) => int::index(*rows),
            Self::Rows(rows) => rows.len(),
        }
    }

    /// The kept rows in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let (all, some) = match self {
            Self::All(rows) => (0..*rows, &[][..]),
            Self::Rows(rows) => (0..0, rows.as_slice()),
        };
        all.chain(some.iter().copied())
    }

    /// The index of a row among the kept ones.
    pub(crate) fn rank(&self, row: u32) -> Option<u32> {
        match self {
            Self::All(rows) => (row < *rows).then_some(row),
            Self::Rows(rows) => rows
                .binary_search(&row)
                .ok()
                .and_then(|row| u32::try_from(row).ok()),
        }
    }

    /// The number of kept rows in `start .. start + count`.
    pub(crate) fn count_in(&self, start: u32, count: u32) -> u32 {
        let end = start.saturating_add(count);
        match self {
            Self::All(rows) => end.min(*rows).saturating_sub(start),
            Self::Rows(rows) => {
                let below = |bound: u32| rows.partition_point(|row| *row < bound);
                u32::try_from(below(end) - below(start)).unwrap_or(u32::MAX)
            }
        }
    }

    /// Drops all but the first `count` rows.
    pub(crate) fn truncate(&mut self, count: usize) {
        match self {
            Self::All(rows) if int::index(*rows) > count => {
                *self = Self::Rows((0..u32::try_from(count).unwrap_or(u32::MAX)).collect());
            }
            Self::All(_) => {}
            Self::Rows(rows) => rows.truncate(count),
        }
    }
}

/// Rows of a chunk, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows<'a> {
    Range { start: u32, count: u32 },
    List(&'a [u32]),
}

impl<'a> Rows<'a> {
    /// How many rows there are.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Range { count, .. } => int::index(count),
            Self::List(rows) => rows.len(),
        }
    }

    /// First and last row; `None` without rows.
    pub(crate) fn ends(self) -> Option<(u32, u32)> {
        match self {
            Self::Range { start, count } => Some((start, start + count.checked_sub(1)?)),
            Self::List(rows) => Some((*rows.first()?, *rows.last()?)),
        }
    }

    /// The row at a position.
    pub(crate) fn get(self, position: u32) -> Option<u32> {
        match self {
            Self::Range { start, count } => (position < count).then(|| start + position),
            Self::List(rows) => rows.get(int::index(position)).copied(),
        }
    }

    /// The rows in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = u32> + 'a {
        let (range, list): (_, &[u32]) = match self {
            Self::Range { start, count } => (start..start.saturating_add(count), &[]),
            Self::List(rows) => (0..0, rows),
        };
        range.chain(list.iter().copied())
    }

    /// The number of kept rows; repeated rows of a list count once.
    pub(crate) fn kept(self, kept: &Kept) -> u64 {
        match self {
            Self::Range { start, count } => u64::from(kept.count_in(start, count)),
            Self::List(rows) => {
                let mut hit: Vec<u32> = rows
                    .iter()
                    .copied()
                    .filter(|row| kept.rank(*row).is_some())
                    .collect();
                hit.sort_unstable();
                hit.dedup();
                int::wide(hit.len())
            }
        }
    }
}

impl<'a> From<&'a Kept> for Rows<'a> {
    fn from(kept: &'a Kept) -> Self {
        match kept {
            Kept::All(count) => Self::Range {
                start: 0,
                count: *count,
            },
            Kept::Rows(rows) => Self::List(rows),
        }
    }
}

/// Appends rows.
///
/// # Errors
///
/// Bug: a row without a value; callers check this before.
pub(crate) fn gather(
    values: &RowValues,
    pick: Rows<'_>,
    out: &mut MutableBuffer,
) -> Result<(), QueryError> {
    let outside = |row: u32| {
        let (row_bytes, bytes) = (values.row_bytes(), values.bytes().len());
        QueryError::bug(format!(
            "row {row} of {row_bytes} bytes in a cell of {bytes} bytes"
        ))
    };
    match pick {
        Rows::Range { start, count } => {
            let end = start.checked_add(count);
            let range = end.and_then(|end| values.range(start..end));
            let last = start.saturating_add(count.saturating_sub(1));
            out.extend_from_slice(range.ok_or_else(|| outside(last))?);
            Ok(())
        }
        Rows::List(rows) if values.is_picked() => rows.iter().try_for_each(|row| {
            out.extend_from_slice(values.row(*row).ok_or_else(|| outside(*row))?);
            Ok(())
        }),
        Rows::List(rows) => {
            gather_rows(values.bytes(), values.row_bytes(), rows, out).map_err(outside)
        }
    }
}

/// Appends the listed rows; returns the first that is past the end of the cell.
fn gather_rows(
    cell: &[u8],
    row_bytes: usize,
    rows: &[u32],
    out: &mut MutableBuffer,
) -> Result<(), u32> {
    out.reserve(rows.len().saturating_mul(row_bytes));
    match row_bytes {
        1 => fixed::<1>(cell, rows, out),
        2 => fixed::<2>(cell, rows, out),
        4 => fixed::<4>(cell, rows, out),
        8 => fixed::<8>(cell, rows, out),
        12 => fixed::<12>(cell, rows, out),
        16 => fixed::<16>(cell, rows, out),
        24 => fixed::<24>(cell, rows, out),
        _ => rows.iter().try_for_each(|row| {
            let first = int::index(*row).checked_mul(row_bytes);
            let bytes = first.and_then(|first| cell.get(first..first.checked_add(row_bytes)?));
            out.extend_from_slice(bytes.ok_or(*row)?);
            Ok(())
        }),
    }
}

/// [`gather_rows`] for rows of `N` bytes, whose copies compile to moves.
fn fixed<const N: usize>(cell: &[u8], rows: &[u32], out: &mut MutableBuffer) -> Result<(), u32> {
    let (items, _) = cell.as_chunks::<N>();
    let before = out.len();
    out.resize(before + rows.len() * N, 0);
    let (_, added) = out.as_slice_mut().split_at_mut(before);
    let (into, _) = added.as_chunks_mut::<N>();
    for (into, row) in into.iter_mut().zip(rows) {
        *into = *items.get(int::index(*row)).ok_or(*row)?;
    }
    Ok(())
}

/// Reverses the bytes of every element, for big-endian cells or machines.
pub(crate) fn swap(bytes: &mut [u8], size: usize) {
    match size {
        2 => bytes
            .as_chunks_mut::<2>()
            .0
            .iter_mut()
            .for_each(|item| item.reverse()),
        4 => bytes
            .as_chunks_mut::<4>()
            .0
            .iter_mut()
            .for_each(|item| item.reverse()),
        8 => bytes
            .as_chunks_mut::<8>()
            .0
            .iter_mut()
            .for_each(|item| item.reverse()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_size_are_copied() {
        for size in 1..=26 {
            let cell: Vec<u8> = (0..5)
                .flat_map(|row| std::iter::repeat_n(row, size))
                .collect();
            let cell = RowValues::new(size, cell.into());
            let mut out = MutableBuffer::new(0);
            gather(&cell, Rows::List(&[0, 3, 4]), &mut out).unwrap();
            gather(&cell, (&Kept::All(2)).into(), &mut out).unwrap();
            let expected: Vec<u8> = [0, 3, 4, 0, 1]
                .iter()
                .flat_map(|row| std::iter::repeat_n(*row, size))
                .collect();
            assert_eq!(out.as_slice(), expected, "{size}");
            let outside = [
                Rows::List(&[0, 5]),
                Rows::Range { start: 4, count: 2 },
                Rows::Range {
                    start: u32::MAX,
                    count: u32::MAX,
                },
            ];
            for rows in outside {
                let error = gather(&cell, rows, &mut out).unwrap_err();
                assert!(
                    matches!(error, QueryError::Bug { .. }),
                    "{size} {rows:?}: {error}"
                );
            }
        }
    }

    #[test]
    fn ranks_and_counts_agree() {
        let some = Kept::Rows(vec![1, 4, 5, 9]);
        assert_eq!((some.rank(4), some.rank(3)), (Some(1), None));
        assert_eq!(
            (
                some.count_in(0, 5),
                some.count_in(5, 100),
                some.count_in(6, 3)
            ),
            (2, 2, 0)
        );
        let all = Kept::All(10);
        assert_eq!((all.rank(9), all.rank(10)), (Some(9), None));
        assert_eq!((all.count_in(8, 5), all.count_in(12, 5)), (2, 0));
        let mut cut = all.clone();
        cut.truncate(3);
        assert_eq!(cut, Kept::Rows(vec![0, 1, 2]));
        assert_eq!(cut.iter().collect::<Vec<_>>(), [0, 1, 2]);
    }
}

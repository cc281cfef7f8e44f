//! Numbers that a fragment or a block stores as a range or as a list.

use zerocopy::byteorder::little_endian::I64;

/// The numbers of a range or of a list, in order.
#[derive(Debug, Clone)]
pub(crate) enum NumberIter<'a> {
    Range { next: i64, end: i64 },
    List(core::slice::Iter<'a, I64>),
}

impl<'a> NumberIter<'a> {
    /// `count` numbers from `start` on. A range that would exceed the largest number ends there.
    #[inline]
    pub(crate) fn range(start: i64, count: i64) -> Self {
        Self::Range {
            next: start,
            end: start.saturating_add(count.max(0)),
        }
    }

    #[inline]
    pub(crate) fn list(numbers: &'a [I64]) -> Self {
        Self::List(numbers.iter())
    }
}

impl Iterator for NumberIter<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        match self {
            Self::Range { next, end } => {
                if *next >= *end {
                    return None;
                }
                let number = *next;
                *next += 1;
                Some(number)
            }
            Self::List(numbers) => numbers.next().map(|number| number.get()),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Range { next, end } => {
                let left = usize::try_from(end.saturating_sub(*next).max(0));
                (left.unwrap_or(usize::MAX), left.ok())
            }
            Self::List(numbers) => numbers.size_hint(),
        }
    }
}

impl DoubleEndedIterator for NumberIter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<i64> {
        match self {
            Self::Range { next, end } => {
                if *next >= *end {
                    return None;
                }
                *end -= 1;
                Some(*end)
            }
            Self::List(numbers) => numbers.next_back().map(|number| number.get()),
        }
    }
}

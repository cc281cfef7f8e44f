//! The fragments of one chunk, checked and in a compact form: eight bytes for each fragment, and four more for each row of a list.

use std::ops::Range;
use std::sync::Arc;

use zvf_store::format::DecodeError;
use zvf_store::{CheckedFragment, CheckedFragments, RowSet};

use crate::columns::gather::{Kept, Rows};
use zvf_store::format::int;

/// The fragments of one chunk. Every row is inside the chunk's buffer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fragments {
    stored: Arc<CheckedFragments>,
}

impl From<Arc<CheckedFragments>> for Fragments {
    fn from(stored: Arc<CheckedFragments>) -> Self {
        Self { stored }
    }
}

impl<'a> From<CheckedFragment<'a>> for Rows<'a> {
    fn from(fragment: CheckedFragment<'a>) -> Self {
        match fragment {
            CheckedFragment::Range { start, count } => Self::Range { start, count },
            CheckedFragment::List(rows) => Self::List(rows),
        }
    }
}

impl Fragments {
    /// Whether all fragments together cover exactly a half, a quarter or an eighth of a chunk's rows, which indicates that the declared type of
    /// elements is too short.
    pub(crate) fn are_short(&self, rows: u32) -> bool {
        let extent = self.stored.extent();
        let times = |n: u32| extent.checked_mul(n) == Some(rows);
        self.stored.are_ranges() && extent > 0 && (times(2) || times(4) || times(8))
    }

    /// Reads a fragment index over a buffer of `rows` rows.
    ///
    /// # Errors
    ///
    /// A damaged blob, a row outside the buffer.
    pub(crate) fn decode(blob: &[u8], rows: u32) -> Result<Self, DecodeError> {
        Ok(Arc::new(CheckedFragments::decode(blob, Some(rows))?).into())
    }

    /// Number of fragments.
    pub(crate) fn len(&self) -> usize {
        int::index(self.stored.len())
    }

    /// Whether the fragments are rising ranges, so that none shares a row with another.
    pub(crate) fn disjoint(&self) -> bool {
        self.stored.are_disjoint()
    }

    /// The rows of one fragment.
    pub(crate) fn get(&self, fragment: u32) -> Option<Rows<'_>> {
        Some(self.stored.get(fragment)?.into())
    }

    /// All fragments in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Rows<'_>)> {
        (0_u32..).zip(self.stored.iter().map(Rows::from))
    }

    /// The rows of some fragments, each given by its first number and a count, and the rows in `more`. Missing fragments have no rows.
    pub(crate) fn rows_of(&self, fragments: &[(u32, u32)], more: Range<u32>) -> RowSet {
        let mut ranges = vec![more];
        for (first, count) in fragments {
            let numbers = *first..first.saturating_add(*count);
            for rows in numbers.map_while(|number| self.get(number)) {
                match rows {
                    Rows::Range { start, count } => ranges.push(start..start.saturating_add(count)),
                    Rows::List(rows) => {
                        ranges.extend(rows.iter().map(|row| *row..row.saturating_add(1)));
                    }
                }
            }
        }
        RowSet::new(ranges)
    }

    /// For every kept row the lowest fragment that contains it, or `u32::MAX`.
    pub(crate) fn of_rows(&self, rows: u32, kept: &Kept) -> Vec<u32> {
        let mut of = vec![u32::MAX; int::index(rows)];
        for (fragment, rows) in self.iter() {
            for row in rows.iter() {
                if let Some(of) = of.get_mut(int::index(row)) {
                    *of = (*of).min(fragment);
                }
            }
        }
        match kept {
            Kept::All(_) => of,
            Kept::Rows(rows) => rows
                .iter()
                .map(|row| of.get(int::index(*row)).copied().unwrap_or(u32::MAX))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zvf_store::format::fragments::FragmentIndexBuilder;

    fn of(
        build: impl FnOnce(&mut FragmentIndexBuilder),
        rows: u32,
    ) -> Result<Fragments, DecodeError> {
        let mut builder = FragmentIndexBuilder::new();
        build(&mut builder);
        Fragments::decode(&builder.finish(), rows)
    }

    #[test]
    fn ranges_and_lists_are_decoded() {
        let found = of(
            |builder| {
                builder.push_range(0, 2).unwrap();
                builder.push_rows(&[4, 2, 2]).unwrap();
                builder.push_range(3, 0).unwrap();
                builder.push_range(2, 3).unwrap();
            },
            5,
        )
        .unwrap();
        assert_eq!(found.len(), 4);
        assert!(!found.disjoint());
        assert_eq!(found.get(1), Some(Rows::List(&[4, 2, 2])));
        assert_eq!(found.get(1).unwrap().ends(), Some((4, 2)));
        assert_eq!(found.get(2).unwrap().ends(), None);
        assert_eq!(found.get(4), None);
        assert_eq!(found.of_rows(6, &Kept::All(6)), [0, 0, 1, 3, 1, u32::MAX]);
        assert_eq!(found.of_rows(6, &Kept::Rows(vec![3, 5])), [3, u32::MAX]);
        assert_eq!(found.get(1).unwrap().kept(&Kept::Rows(vec![2])), 1);
    }

    #[test]
    fn rows_outside_the_buffer_are_refused() {
        assert!(of(|builder| builder.push_range(3, 3).unwrap(), 5).is_err());
        assert!(of(|builder| builder.push_rows(&[5]).unwrap(), 5).is_err());
        assert!(
            of(|builder| builder.push_range(3, 2).unwrap(), 5)
                .unwrap()
                .disjoint()
        );
        assert!(Fragments::decode(&[1, 2, 3], 5).is_err());
    }
}

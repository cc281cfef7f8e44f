//! The fragments of one chunk, checked and compact.

use std::hash::{Hash, Hasher};

use zvf_format::DecodeError;
use zvf_format::fragments::{Fragment, FragmentIndex};
use zvf_format::int::index;

/// The rows of one fragment. All are inside the chunk, if its number of rows was known when the fragments were decoded.
#[derive(Debug, Clone, Copy)]
pub enum CheckedFragment<'f> {
    /// Consecutive rows.
    Range {
        /// The first row.
        start: u32,
        /// Number of rows.
        count: u32,
    },
    /// Rows in any order, possibly repeated.
    List(&'f [u32]),
}

impl<'f> CheckedFragment<'f> {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Range { count, .. } => index(*count),
            Self::List(rows) => rows.len(),
        }
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first and the last row, in order; `None` if there are no rows.
    #[must_use]
    pub fn ends(&self) -> Option<(u32, u32)> {
        match self {
            Self::Range { start, count } => {
                let last = start.checked_add(count.checked_sub(1)?)?;
                Some((*start, last))
            }
            Self::List(rows) => Some((*rows.first()?, *rows.last()?)),
        }
    }

    /// The rows, in order.
    pub fn rows(self) -> impl Iterator<Item = u32> + 'f {
        let (range, list): (_, &[u32]) = match self {
            // The end was checked against a number of rows in 32 bits.
            Self::Range { start, count } => (start..start.saturating_add(count), &[]),
            Self::List(rows) => (0..0, rows),
        };
        range.chain(list.iter().copied())
    }
}

/// Compares the rows in order; a range and a list with the same rows are equal.
impl PartialEq for CheckedFragment<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Range { start, count },
                Self::Range {
                    start: from,
                    count: rows,
                },
            ) => count == rows && (start == from || *count == 0),
            _ => self.len() == other.len() && self.rows().eq(other.rows()),
        }
    }
}

impl Eq for CheckedFragment<'_> {}

impl Hash for CheckedFragment<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let first = self.ends().map(|(first, _)| first);
        (first, self.len()).hash(state);
        // A list of consecutive rows is equal to a range, so it must have the same hash.
        let mut next = first;
        let mut follows = |row: &u32| {
            let follows = next == Some(*row);
            next = row.checked_add(1);
            follows
        };
        if let Self::List(rows) = self
            && !rows.iter().all(&mut follows)
        {
            rows.hash(state);
        }
    }
}

/// A defect of a fragment index.
#[derive(Debug, Clone, Copy)]
pub enum FragmentFault {
    /// The blob is damaged.
    Index(DecodeError),
    /// A fragment has a row outside the chunk.
    Rows {
        /// The number of fragments.
        fragments: u32,
        /// The number of rows of the chunk.
        rows: u32,
        /// The first such row.
        error: DecodeError,
    },
}

impl FragmentFault {
    /// The error, with its position in the blob.
    #[must_use]
    pub fn error(self) -> DecodeError {
        let (Self::Index(error) | Self::Rows { error, .. }) = self;
        error
    }
}

/// The sizes of a fragment index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexSizes {
    /// One more than the largest row of all fragments.
    pub(crate) extent: u64,
    /// Number of fragments.
    pub(crate) fragments: u32,
    /// Bytes after the last table.
    pub(crate) trailing: usize,
}

/// The fragments of one chunk. Each takes eight bytes, however many rows a range has; lists also take four bytes for each row.
#[derive(Debug, Clone, Default)]
pub struct CheckedFragments {
    /// Start and count: of rows, or of entries in `rows` if the fragment is a list.
    spans: Vec<(u32, u32)>,
    /// For each fragment, whether it is a list; empty if none is.
    lists: Vec<bool>,
    rows: Vec<u32>,
    extent: u32,
    disjoint: bool,
}

/// Compares the rows of the fragments.
impl PartialEq for CheckedFragments {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for CheckedFragments {}

impl CheckedFragments {
    /// One fragment with all rows; no fragment if the chunk has no rows.
    pub(super) fn whole(rows: u32) -> Self {
        Self {
            spans: (rows > 0).then_some((0, rows)).into_iter().collect(),
            extent: rows,
            disjoint: true,
            ..Self::default()
        }
    }

    /// Decodes the fragment index of a chunk with `rows` rows, or with as many rows as the fragments cover.
    ///
    /// # Errors
    /// Malformed: a damaged blob, a row outside the chunk.
    pub fn decode(blob: &[u8], rows: Option<u32>) -> Result<Self, DecodeError> {
        let found = Self::read(blob, rows, false).map_err(FragmentFault::error)?;
        Ok(found.0)
    }

    /// Like [`decode`](Self::decode), for reports: distinguishes a damaged blob from rows outside the chunk, and also returns a violation that
    /// readers tolerate and writers must avoid, such as padding that is not zero.
    ///
    /// # Errors
    /// See [`FragmentFault`].
    pub fn examine(blob: &[u8], rows: u32) -> Result<(Self, Option<DecodeError>), FragmentFault> {
        Self::read(blob, Some(rows), true)
    }

    /// Decodes a fragment index; with `odd`, also looks for a violation that readers tolerate.
    pub(super) fn read(
        blob: &[u8],
        rows: Option<u32>,
        odd: bool,
    ) -> Result<(Self, Option<DecodeError>), FragmentFault> {
        let stored = FragmentIndex::parse(blob).map_err(FragmentFault::Index)?;
        let (fragments, rows) = (stored.len(), rows.unwrap_or(u32::MAX));
        // The check of rows verifies the tables first.
        let checked = stored.check_rows(u64::from(rows));
        checked.map_err(|error| match stored.verify() {
            Err(error) => FragmentFault::Index(error),
            Ok(()) => FragmentFault::Rows {
                fragments,
                rows,
                error,
            },
        })?;
        let check = || stored.check(u64::from(rows)).err();
        let odd = odd.then(check).flatten();
        Ok((Self::of(&stored), odd))
    }

    /// One more than the largest row in a fragment index, without a check against the chunk; 0 without rows.
    ///
    /// # Errors
    /// Malformed: a damaged blob, a row below 0.
    pub fn extent_of(blob: &[u8]) -> Result<u64, DecodeError> {
        Ok(Self::sizes(blob)?.extent)
    }

    /// The sizes of a fragment index, without reading its fragments.
    ///
    /// # Errors
    /// As [`extent_of`](Self::extent_of).
    pub(crate) fn sizes(blob: &[u8]) -> Result<IndexSizes, DecodeError> {
        let stored = FragmentIndex::parse(blob)?;
        Ok(IndexSizes {
            extent: stored.extent()?,
            fragments: stored.len(),
            trailing: stored.trailing().len(),
        })
    }

    /// The fragments of a checked index, in which all rows fit in 32 bits.
    fn of(stored: &FragmentIndex<'_>) -> Self {
        let mut found = Self {
            spans: Vec::with_capacity(index(stored.len())),
            disjoint: true,
            ..Self::default()
        };
        let mut next = 0;
        // All rows were checked to fit, and the number of entries is limited by the size of a blob, 8 bytes each.
        let narrow = |row: i64| u32::try_from(row).unwrap_or(u32::MAX);
        let count = |rows: usize| u32::try_from(rows).unwrap_or(u32::MAX);
        for fragment in stored {
            match fragment {
                Fragment::Range { start, count } => {
                    let (start, count) = (narrow(start), narrow(count));
                    let end = start.saturating_add(count);
                    found.disjoint &= count == 0 || start >= next;
                    next = next.max(end);
                    found.extent = found.extent.max(end);
                    found.spans.push((start, count));
                }
                Fragment::List(list) => {
                    found.disjoint &= list.is_empty();
                    found.lists.resize(index(stored.len()), false);
                    if let Some(flag) = found.lists.get_mut(found.spans.len()) {
                        *flag = true;
                    }
                    found
                        .spans
                        .push((count(found.rows.len()), count(list.len())));
                    for row in list {
                        let row = narrow(row.get());
                        found.extent = found.extent.max(row.saturating_add(1));
                        found.rows.push(row);
                    }
                }
            }
        }
        found
    }

    /// Whether all fragments are ranges.
    #[must_use]
    pub fn are_ranges(&self) -> bool {
        self.lists.is_empty()
    }

    /// Whether the fragments are rising ranges, so that no two fragments share a row; fragments without rows are ignored.
    #[must_use]
    pub fn are_disjoint(&self) -> bool {
        self.disjoint
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.spans.as_slice())
            + size_of_val(self.lists.as_slice())
            + size_of_val(self.rows.as_slice())
    }

    /// Number of fragments.
    #[must_use]
    pub fn len(&self) -> u32 {
        // The count in a blob has 32 bits.
        u32::try_from(self.spans.len()).unwrap_or(u32::MAX)
    }

    /// Whether there are no fragments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// A fragment; `None` past the last one.
    #[must_use]
    pub fn get(&self, fragment: u32) -> Option<CheckedFragment<'_>> {
        let &(start, count) = self.spans.get(index(fragment))?;
        if self.lists.get(index(fragment)) == Some(&true) {
            let rows = self.rows.get(index(start)..)?.get(..index(count))?;
            return Some(CheckedFragment::List(rows));
        }
        Some(CheckedFragment::Range { start, count })
    }

    /// All fragments in order.
    pub fn iter(&self) -> impl Iterator<Item = CheckedFragment<'_>> {
        (0..self.len()).filter_map(|fragment| self.get(fragment))
    }

    /// One more than the largest row of all fragments; 0 without rows.
    #[must_use]
    pub fn extent(&self) -> u32 {
        self.extent
    }

    /// Whether the fragments are consecutive ranges that cover each of `rows` rows once.
    #[must_use]
    pub fn tile(&self, rows: u32) -> bool {
        let mut next = 0;
        self.lists.is_empty()
            && self.spans.iter().all(|(start, count)| {
                let follows = *start == next;
                next = start.saturating_add(*count);
                follows
            })
            && next == rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zvf_format::EncodeError;
    use zvf_format::fragments::FragmentIndexBuilder;

    fn of(
        build: impl FnOnce(&mut FragmentIndexBuilder),
        rows: Option<u32>,
    ) -> Result<CheckedFragments, DecodeError> {
        let mut builder = FragmentIndexBuilder::new();
        build(&mut builder);
        CheckedFragments::decode(&builder.finish(), rows)
    }

    #[test]
    fn ranges_and_lists_are_read() {
        let found = of(
            |builder| {
                builder.push_range(0, 2).unwrap();
                builder.push_rows(&[4, 2, 2]).unwrap();
                builder.push_range(3, 0).unwrap();
                builder.push_range(2, 3).unwrap();
            },
            Some(5),
        )
        .unwrap();
        let rows: Vec<Vec<u32>> = found.iter().map(|one| one.rows().collect()).collect();
        assert_eq!(rows, [vec![0, 1], vec![4, 2, 2], vec![], vec![2, 3, 4]]);
        assert_eq!(found.get(1), Some(CheckedFragment::List(&[4, 2, 2])));
        assert_eq!(found.get(1).unwrap().ends(), Some((4, 2)));
        assert_eq!(found.get(2).unwrap().ends(), None);
        assert_eq!((found.len(), found.get(4), found.extent()), (4, None, 5));
        let hash = |fragment: CheckedFragment<'_>| {
            let mut hasher = std::hash::DefaultHasher::new();
            fragment.hash(&mut hasher);
            hasher.finish()
        };
        let range = CheckedFragment::Range { start: 2, count: 3 };
        let lists = [&[2, 3, 4][..], &[2, 4, 3], &[2, 3]].map(CheckedFragment::List);
        assert_eq!((lists[0], hash(lists[0])), (range, hash(range)));
        assert!(lists[1..].iter().all(|list| hash(*list) != hash(range)));
        assert!(!found.tile(5));
    }

    #[test]
    fn ranges_tile_if_each_follows_the_one_before() {
        let tile = |ranges: &[(i64, i64)], rows| {
            let build = |builder: &mut FragmentIndexBuilder| {
                for (start, count) in ranges {
                    builder.push_range(*start, *count).unwrap();
                }
            };
            of(build, None).unwrap().tile(rows)
        };
        assert!(tile(&[(0, 2), (2, 0), (2, 3)], 5));
        assert!(!tile(&[(0, 2), (2, 3)], 6));
        assert!(!tile(&[(2, 3), (0, 2)], 5));
        assert!(!tile(&[(0, 2), (1, 4)], 5));
        assert!(tile(&[], 0));
        assert!(CheckedFragments::whole(3).tile(3));
    }

    #[test]
    fn rising_ranges_are_disjoint() {
        type Build = fn(&mut FragmentIndexBuilder) -> Result<(), EncodeError>;
        let cases: [(Build, bool); 6] = [
            (|one| one.push_range(0, 2).and(one.push_range(2, 3)), true),
            (|one| one.push_range(0, 2).and(one.push_range(3, 1)), true),
            (|one| one.push_range(2, 3).and(one.push_range(0, 0)), true),
            (|one| one.push_range(0, 3).and(one.push_range(2, 3)), false),
            (|one| one.push_range(2, 3).and(one.push_range(0, 2)), false),
            (
                |one| one.push_range(0, 2).and(one.push_rows(&[4, 3])),
                false,
            ),
        ];
        for (number, (build, disjoint)) in cases.into_iter().enumerate() {
            let found = of(|builder| build(builder).unwrap(), Some(5)).unwrap();
            assert_eq!(found.are_disjoint(), disjoint, "case {number}");
        }
        let whole = CheckedFragments::whole(3);
        assert_eq!(
            (whole.len(), whole.extent(), whole.are_disjoint()),
            (1, 3, true)
        );
        assert_eq!(CheckedFragments::whole(0).len(), 0);
    }

    #[test]
    fn rows_outside_the_chunk_are_refused() {
        assert!(of(|builder| builder.push_range(3, 3).unwrap(), Some(5)).is_err());
        assert!(of(|builder| builder.push_rows(&[5]).unwrap(), Some(5)).is_err());
        assert!(of(|builder| builder.push_range(3, 2).unwrap(), Some(5)).is_ok());
        assert!(CheckedFragments::decode(&[1, 2, 3], Some(5)).is_err());
    }
}

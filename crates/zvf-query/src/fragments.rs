//! The fragments of one chunk, checked and compact: eight bytes a fragment, regardless of the chunk's rows.

use zvf_store::format::DecodeError;
use zvf_store::format::fragments::{Fragment as Stored, FragmentIndex};

use crate::columns::gather::{Kept, Rows};
use crate::int;

/// The fragments of one chunk. Every row lies inside the chunk's buffer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fragments {
    /// Start and count: of rows, or of entries in `rows` where `lists` is set.
    spans: Vec<(u32, u32)>,
    /// Which fragments are lists; empty when none is.
    lists: Vec<bool>,
    rows: Vec<u32>,
    disjoint: bool,
    /// The row behind the last one of a range.
    extent: u32,
}

impl Fragments {
    /// Whether all fragments together reach over a half, a quarter or an eighth of a chunk's rows: what comes of a type of
    /// elements that is too short.
    pub(crate) fn are_short(&self, rows: u32) -> bool {
        let times = |n: u32| self.extent.checked_mul(n) == Some(rows);
        self.lists.is_empty() && self.extent > 0 && (times(2) || times(4) || times(8))
    }

    /// Reads a fragment index over a buffer of `rows` rows.
    ///
    /// # Errors
    ///
    /// What a reader must refuse: a damaged blob, a row outside the buffer.
    pub(crate) fn decode(blob: &[u8], rows: u32) -> Result<Self, DecodeError> {
        let index = FragmentIndex::parse(blob)?;
        index.check_rows(u64::from(rows))?;
        let mut found = Self {
            spans: Vec::with_capacity(int::index(index.len())),
            disjoint: true,
            ..Self::default()
        };
        let mut next = 0_u32;
        for fragment in &index {
            // The check above has shown that every number fits; no buffer has a row of the number that is used otherwise.
            let row = |row: i64| u32::try_from(row).unwrap_or(u32::MAX);
            match fragment {
                Stored::Range { start, count } => {
                    let (start, count) = (row(start), row(count));
                    found.disjoint &= count == 0 || start >= next;
                    next = next.max(start.saturating_add(count));
                    found.spans.push((start, count));
                }
                Stored::List(list) => {
                    if found.lists.is_empty() {
                        found.lists.resize(int::index(index.len()), false);
                    }
                    if let Some(flag) = found.lists.get_mut(found.spans.len()) {
                        *flag = true;
                    }
                    let start = u32::try_from(found.rows.len()).unwrap_or(u32::MAX);
                    found
                        .rows
                        .extend(list.iter().map(|stored| row(stored.get())));
                    found.disjoint &= list.is_empty();
                    found
                        .spans
                        .push((start, u32::try_from(list.len()).unwrap_or(u32::MAX)));
                }
            }
        }
        found.extent = next;
        Ok(found)
    }

    /// Number of fragments.
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether the fragments are rising ranges, so that none shares a row with another.
    pub(crate) fn disjoint(&self) -> bool {
        self.disjoint
    }

    /// The rows of one fragment.
    pub(crate) fn get(&self, fragment: u32) -> Option<Rows<'_>> {
        let (start, count) = *self.spans.get(int::index(fragment))?;
        if self
            .lists
            .get(int::index(fragment))
            .copied()
            .unwrap_or(false)
        {
            let start = int::index(start);
            return Some(Rows::List(
                self.rows
                    .get(start..start.checked_add(int::index(count))?)?,
            ));
        }
        Some(Rows::Range { start, count })
    }

    /// All fragments in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Rows<'_>)> {
        (0_u32..).map_while(|fragment| Some((fragment, self.get(fragment)?)))
    }

    /// For every kept row the lowest fragment that contains it; `u32::MAX` where none does.
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
    fn ranges_and_lists_come_back() {
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

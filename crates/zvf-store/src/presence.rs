//! The cells of an array that have content.

use std::cmp::Ordering;

use zvf_format::keys::parse_key;

/// The cells of an array that have content, by absolute chunk coordinate, in lex order.
///
/// # Shape
/// `len()` coordinates of `rank()` components, flat, sorted component by component, without duplicates.
///
/// # Cost
/// Memory: eight bytes per component; while keys are sorted, eight more bytes per cell. Look-ups are binary searches; a search in a box skips ranges of
/// the list that have no members.
///
/// Source: specification 0.9, section 7.4.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Presence {
    rank: usize,
    flat: Vec<i64>,
    problems: Vec<String>,
    listed: bool,
}

/// Most problems that are described; the others are counted.
const DESCRIBED: usize = 20;

impl Presence {
    /// Builds the sorted form from the keys of a `nonempty_chunks` list.
    ///
    /// Keys that cannot be parsed, are outside the grid `origin .. origin + shape`, or occur twice are
    /// left out and described in [`problems`](Self::problems).
    pub fn from_keys<'k>(
        keys: impl Iterator<Item = &'k str>,
        origin: &[i64],
        shape: &[u64],
    ) -> Self {
        Self::parsed(keys, shape.len(), false, |one| in_grid(one, origin, shape))
    }

    /// Like [`from_keys`](Self::from_keys), from the names of a listing, without a grid to compare with.
    pub(crate) fn from_names<'k>(keys: impl Iterator<Item = &'k str>, rank: usize) -> Self {
        Self::parsed(keys, rank, true, |_| true)
    }

    /// Like [`from_keys`](Self::from_keys), for a list without a grid.
    pub(crate) fn from_known_names<'k>(keys: impl Iterator<Item = &'k str>, rank: usize) -> Self {
        Self::parsed(keys, rank, false, |_| true)
    }

    fn parsed<'k>(
        keys: impl Iterator<Item = &'k str>,
        rank: usize,
        listed: bool,
        inside: impl Fn(&[i64]) -> bool,
    ) -> Self {
        let mut flat = Vec::with_capacity(keys.size_hint().0.saturating_mul(rank));
        let mut problems = PresenceProblems::default();
        let mut one = vec![0i64; rank];
        for key in keys {
            match parse_key(key, &mut one) {
                Ok(n) if n == rank => {
                    if inside(&one) {
                        flat.extend_from_slice(&one);
                    } else {
                        problems.add(|| format!("key {key:?} lies outside the grid"));
                    }
                }
                Ok(n) => {
                    problems.add(|| format!("key {key:?} has {n} components, expected {rank}"))
                }
                Err(error) => problems.add(|| format!("key {key:?} cannot be read: {error}")),
            }
        }
        Self::from_flat(rank, flat, problems, listed)
    }

    /// Builds the sorted form from coordinates that a listing found.
    pub(crate) fn from_listing(rank: usize, flat: Vec<i64>) -> Self {
        Self::from_flat(rank, flat, PresenceProblems::default(), true)
    }

    /// Builds the sorted form from coordinates that are known to have content.
    pub(crate) fn from_known(rank: usize, flat: Vec<i64>) -> Self {
        Self::from_flat(rank, flat, PresenceProblems::default(), false)
    }

    /// Adds the problems of the keys that the coordinates come from.
    pub(crate) fn with_problems(mut self, problems: &[String]) -> Self {
        self.problems.extend_from_slice(problems);
        self
    }

    fn from_flat(
        rank: usize,
        flat: Vec<i64>,
        mut problems: PresenceProblems,
        listed: bool,
    ) -> Self {
        let flat = match rank {
            0 => Vec::new(),
            1 => sorted::<1>(flat, &mut problems),
            2 => sorted::<2>(flat, &mut problems),
            3 => sorted::<3>(flat, &mut problems),
            4 => sorted::<4>(flat, &mut problems),
            5 => sorted::<5>(flat, &mut problems),
            _ => sorted_any(rank, flat, &mut problems),
        };
        Self {
            rank,
            flat,
            problems: problems.finish(),
            listed,
        }
    }

    /// Number of cells with content.
    pub fn len(&self) -> usize {
        self.flat.len().checked_div(self.rank).unwrap_or(0)
    }

    /// Whether no cell has content.
    pub fn is_empty(&self) -> bool {
        self.flat.is_empty()
    }

    /// Components of a coordinate.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The `i`-th coordinate in lex order.
    pub fn get(&self, i: usize) -> Option<&[i64]> {
        let start = i.checked_mul(self.rank)?;
        self.flat
            .get(start..start.checked_add(self.rank)?)
            .filter(|c| !c.is_empty())
    }

    /// Whether the cell at `coord` has content. Binary search.
    pub fn contains(&self, coord: &[i64]) -> bool {
        self.position(coord).is_some()
    }

    /// The position of `coord` in lex order, if it has content. Binary search.
    pub fn position(&self, coord: &[i64]) -> Option<usize> {
        if coord.len() != self.rank {
            return None;
        }
        let at = self.lower_bound(0, coord);
        (self.get(at) == Some(coord)).then_some(at)
    }

    /// All coordinates in lex order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[i64]> + Clone + '_ {
        self.flat.chunks_exact(self.rank.max(1))
    }

    /// The coordinates with `lo <= c <= hi` on every component, in lex order.
    ///
    /// # Cost
    /// Ranges of the list without members are skipped by binary search. The box itself is never enumerated, so its corners may be at the limits of
    /// `i64`.
    pub fn in_box<'p>(&'p self, lo: &'p [i64], hi: &'p [i64]) -> InBox<'p> {
        let legal = lo.len() == self.rank
            && hi.len() == self.rank
            && lo.iter().zip(hi).all(|(l, h)| l <= h);
        let at = if legal {
            self.lower_bound(0, lo)
        } else {
            self.len()
        };
        InBox {
            presence: self,
            lo,
            hi,
            at,
            seek: Vec::new(),
        }
    }

    /// Smallest and largest component on each axis; `None` when no cell has content.
    pub fn extent(&self) -> Option<(Vec<i64>, Vec<i64>)> {
        let mut all = self.iter();
        let first = all.next()?;
        let (mut lo, mut hi) = (first.to_vec(), first.to_vec());
        for coord in all {
            for ((l, h), c) in lo.iter_mut().zip(&mut hi).zip(coord) {
                *l = (*l).min(*c);
                *h = (*h).max(*c);
            }
        }
        Some((lo, hi))
    }

    /// The problems of the list: keys outside the grid, duplicates, strings that are not keys.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Whether the array had no presence list, so that its objects were listed instead.
    pub fn is_listed(&self) -> bool {
        self.listed
    }

    /// The first index at or after `from` whose coordinate is not below `coord`.
    fn lower_bound(&self, from: usize, coord: &[i64]) -> usize {
        // Gallop first: the target is usually near.
        let len = self.len();
        let below = |i: usize| self.get(i).is_some_and(|c| c < coord);
        if !below(from) {
            return from;
        }
        let (mut lo, mut step) = (from, 1usize);
        let mut hi = loop {
            let probe = lo.saturating_add(step).min(len);
            if probe >= len || !below(probe) {
                break probe;
            }
            lo = probe;
            step = step.saturating_mul(2);
        };
        while hi - lo > 1 {
            let middle = lo + (hi - lo) / 2;
            if below(middle) {
                lo = middle;
            } else {
                hi = middle;
            }
        }
        hi
    }
}

/// Iterator over the members of a box, see [`Presence::in_box`].
#[derive(Debug, Clone)]
pub struct InBox<'p> {
    presence: &'p Presence,
    lo: &'p [i64],
    hi: &'p [i64],
    at: usize,
    seek: Vec<i64>,
}

impl<'p> Iterator for InBox<'p> {
    type Item = &'p [i64];

    fn next(&mut self) -> Option<&'p [i64]> {
        loop {
            let coord = self.presence.get(self.at)?;
            let outside = coord
                .iter()
                .zip(self.lo.iter().zip(self.hi))
                .position(|(c, (l, h))| c < l || c > h);
            let Some(axis) = outside else {
                self.at += 1;
                return Some(coord);
            };
            // The next possible member: this prefix followed by the box's low corner, or the next prefix.
            self.seek.clear();
            self.seek.extend_from_slice(self.lo);
            let below = coord.get(axis)? < self.lo.get(axis)?;
            let mut keep = axis;
            let mut next = None;
            while !below && next.is_none() {
                // No number follows the largest one: then the axis before it advances.
                keep = keep.checked_sub(1)?;
                next = coord.get(keep)?.checked_add(1);
            }
            self.seek
                .get_mut(..keep)?
                .copy_from_slice(coord.get(..keep)?);
            if let Some(next) = next {
                *self.seek.get_mut(keep)? = next;
            }
            self.at = self.presence.lower_bound(self.at + 1, &self.seek);
        }
    }
}

/// Whether `coord - origin` is in `0 .. shape` on every axis.
pub(crate) fn in_grid(coord: &[i64], origin: &[i64], shape: &[u64]) -> bool {
    coord.len() == shape.len()
        && coord.iter().zip(shape).enumerate().all(|(axis, (c, n))| {
            c.checked_sub(origin.get(axis).copied().unwrap_or(0))
                .and_then(|i| u64::try_from(i).ok())
                .is_some_and(|i| i < *n)
        })
}

#[derive(Default)]
struct PresenceProblems {
    list: Vec<String>,
    more: usize,
}

impl PresenceProblems {
    #[cold]
    fn add(&mut self, what: impl FnOnce() -> String) {
        if self.list.len() < DESCRIBED {
            self.list.push(what());
        } else {
            self.more += 1;
        }
    }

    fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.list.push(format!("and {} more", self.more));
        }
        self.list
    }
}

fn sorted<const N: usize>(flat: Vec<i64>, problems: &mut PresenceProblems) -> Vec<i64> {
    let (rows, _) = flat.as_chunks::<N>();
    if rows.is_sorted_by(|a, b| a.cmp(b) == Ordering::Less) {
        return flat;
    }
    let before = rows.len();
    let rows = match PackedCoords::of(rows) {
        Some(packing) => {
            let mut packed: Vec<u64> = rows.iter().map(|row| packing.pack(row)).collect();
            // A stable sort uses the long runs that the ASCII order of keys leaves.
            packed.sort();
            packed.dedup();
            packed.iter().map(|one| packing.unpack(*one)).collect()
        }
        None => {
            let mut rows = rows.to_vec();
            rows.sort();
            rows.dedup();
            rows
        }
    };
    if rows.len() < before {
        problems.add(|| format!("{} keys are there more than once", before - rows.len()));
    }
    rows.into_flattened()
}

/// Coordinates as single numbers in the same order: the C-order index in the box around all of them.
struct PackedCoords<const N: usize> {
    low: [i64; N],
    /// Cells of the box along each axis.
    extent: [u64; N],
}

impl<const N: usize> PackedCoords<N> {
    /// `None` if 64 bits cannot count the cells of the box, or if there are no rows.
    fn of(rows: &[[i64; N]]) -> Option<Self> {
        let (mut low, mut high) = (*rows.first()?, *rows.first()?);
        for row in rows {
            for ((low, high), one) in low.iter_mut().zip(&mut high).zip(row) {
                *low = (*low).min(*one);
                *high = (*high).max(*one);
            }
        }
        let mut extent = [0; N];
        let mut cells = 1_u64;
        for ((extent, low), high) in extent.iter_mut().zip(&low).zip(&high) {
            *extent = high.abs_diff(*low).checked_add(1)?;
            cells = cells.checked_mul(*extent)?;
        }
        Some(Self { low, extent })
    }

    /// The number of a row of the box. Nothing overflows: 64 bits can count the cells of the box.
    fn pack(&self, row: &[i64; N]) -> u64 {
        let axes = row.iter().zip(&self.low).zip(&self.extent);
        axes.fold(0, |packed: u64, ((one, low), extent)| {
            packed
                .wrapping_mul(*extent)
                .wrapping_add(one.abs_diff(*low))
        })
    }

    fn unpack(&self, mut packed: u64) -> [i64; N] {
        let mut row = self.low;
        for (one, extent) in row.iter_mut().zip(&self.extent).rev() {
            *one = one.wrapping_add_unsigned(packed % extent);
            packed /= extent;
        }
        row
    }
}

fn sorted_any(rank: usize, flat: Vec<i64>, problems: &mut PresenceProblems) -> Vec<i64> {
    let mut rows: Vec<&[i64]> = flat.chunks_exact(rank).collect();
    rows.sort();
    let before = rows.len();
    rows.dedup();
    if rows.len() < before {
        problems.add(|| format!("{} keys are there more than once", before - rows.len()));
    }
    rows.concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Presence;

    fn of(keys: &[&str], origin: &[i64], shape: &[u64]) -> Presence {
        Presence::from_keys(keys.iter().copied(), origin, shape)
    }

    #[test]
    fn keys_become_numeric_order() {
        let p = of(&["-1.0", "0.1", "10.0", "2.0"], &[-1, 0], &[20, 2]);
        let all: Vec<&[i64]> = p.iter().collect();
        assert_eq!(all, [&[-1, 0][..], &[0, 1], &[2, 0], &[10, 0]]);
        assert!(p.contains(&[2, 0]) && !p.contains(&[2, 1]) && !p.contains(&[2]));
        assert!(p.problems().is_empty());
        assert_eq!(p.extent(), Some((vec![-1, 0], vec![10, 1])));
    }

    #[test]
    fn bad_keys_are_problems_and_not_members() {
        let p = of(&["0.0", "0.0", "5.0", "x", "1"], &[0, 0], &[2, 2]);
        assert_eq!(p.len(), 1);
        assert_eq!(p.problems().len(), 4, "{:?}", p.problems());
    }

    #[test]
    fn a_box_at_the_end_of_numbers_has_all_members() {
        let high = i64::MAX;
        let keys = [
            format!("0.{high}.5"),
            "1.0.0".to_owned(),
            format!("1.{high}.4"),
        ];
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let p = of(&keys, &[0, 0, 0], &[u64::MAX; 3]);
        let corners = [[0, 0, 0], [1, high, 3]];
        let found: Vec<_> = p.in_box(&corners[0], &corners[1]).collect();
        assert_eq!(found, [[1, 0, 0]]);
    }

    #[test]
    fn coordinates_at_the_ends_of_their_type_are_sorted() {
        let (low, high) = (i64::MIN, i64::MAX);
        let keys = [
            format!("{high}.0"),
            format!("0.{high}"),
            format!("{low}.{high}"),
            format!("{low}.{low}"),
            "0.-1".to_owned(),
        ];
        let p = Presence::from_known_names(keys.iter().map(String::as_str), 2);
        let all: Vec<&[i64]> = p.iter().collect();
        assert_eq!(
            all,
            [
                &[low, low][..],
                &[low, high],
                &[0, -1],
                &[0, high],
                &[high, 0]
            ]
        );
        let near = [
            "9223372036854775807.3",
            "9223372036854775806.-2",
            "9223372036854775806.-3",
        ];
        let p = Presence::from_known_names(near.into_iter(), 2);
        let all: Vec<&[i64]> = p.iter().collect();
        assert_eq!(all, [&[high - 1, -3][..], &[high - 1, -2], &[high, 3]]);
    }

    #[test]
    fn a_box_of_any_size_is_fine() {
        let p = of(&["-1.0", "0.1", "10.0", "2.0"], &[-1, 0], &[20, 2]);
        assert_eq!(p.in_box(&[i64::MIN; 2], &[i64::MAX; 2]).count(), 4);
        assert_eq!(p.in_box(&[1; 2], &[0; 2]).count(), 0);
        assert_eq!(p.in_box(&[1; 3], &[5; 3]).count(), 0);
    }

    proptest! {
        #[test]
        fn a_box_gives_what_a_scan_gives(
            cells in proptest::collection::btree_set([-5i64..6, -3..4, -2..3], 0..200),
            lo in [-7i64..7, -7..7, -7..7],
            size in [-1i64..9, -1..9, -1..9],
        ) {
            // Stores have keys in ASCII order.
            let mut keys: Vec<String> = cells.iter().map(|[x, y, z]| format!("{x}.{y}.{z}")).collect();
            keys.sort();
            let p = Presence::from_keys(keys.iter().map(String::as_str), &[-5, -3, -2], &[11, 7, 5]);
            prop_assert_eq!(p.len(), cells.len());
            prop_assert!(p.iter().zip(&cells).all(|(a, b)| a == b));
            let hi = [0, 1, 2].map(|a| lo[a] + size[a]);
            let expected: Vec<&[i64]> =
                p.iter().filter(|c| (0..3).all(|a| lo[a] <= c[a] && c[a] <= hi[a])).collect();
            let found: Vec<&[i64]> = p.in_box(&lo, &hi).collect();
            prop_assert_eq!(found, expected);
        }
    }
}

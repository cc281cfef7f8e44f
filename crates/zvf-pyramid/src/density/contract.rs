//! Graphs, skeletons and meshes: merges the vertices of a bin into one.

use std::collections::HashSet;
use std::hash::Hash;

use rustc_hash::FxHashMap;
use zvf_meta::{Kind, Metric};

use super::off_middle;
use crate::bin::{Bin, bin_of};
use zvf_encode::WriteError;
use zvf_encode::error::{OrBug, narrow};
use zvf_format::int::index;

/// Disjoint sets of vertex numbers; the smallest member identifies its set.
#[derive(Debug)]
struct Sets(Vec<u32>);

impl Sets {
    fn new(count: usize) -> Result<Self, WriteError> {
        Ok(Self((0..narrow("vertices", count)?).collect()))
    }

    fn name(&mut self, mut member: u32) -> Result<u32, WriteError> {
        loop {
            let above = self.above(member)?;
            if above == member {
                return Ok(member);
            }
            let over = self.above(above)?;
            *self.slot(member)? = over;
            member = over;
        }
    }

    fn above(&self, member: u32) -> Result<u32, WriteError> {
        let above = self.0.get(index(member)).copied();
        above.or_bug(format_args!("no member {member}"))
    }

    fn slot(&mut self, member: u32) -> Result<&mut u32, WriteError> {
        let slot = self.0.get_mut(index(member));
        slot.or_bug(format_args!("no member {member}"))
    }

    fn join(&mut self, a: u32, b: u32) -> Result<(), WriteError> {
        let (a, b) = (self.name(a)?, self.name(b)?);
        *self.slot(a.max(b))? = a.min(b);
        Ok(())
    }
}

/// Vertices that may be merged.
#[derive(Debug)]
pub(super) struct ContractedBins<F> {
    pub(super) metric: Metric,
    /// The bin of each vertex.
    pub(super) all: Vec<Bin>,
    /// The object of each vertex.
    pub(super) owner: Vec<u32>,
    /// The position of each vertex.
    pub(super) position: F,
}

impl<'p, F: Fn(u32) -> &'p [f64]> ContractedBins<F> {
    /// The vertices with their bins of this size.
    ///
    /// # Errors
    /// Positions outside every bin.
    pub(super) fn new(
        owner: Vec<u32>,
        position: F,
        (bins, metric): (&[f64], Metric),
    ) -> Result<Self, WriteError> {
        let places = 0..narrow("vertices", owner.len())?;
        let all = places.map(|place| bin_of(position(place), bins));
        Ok(Self {
            metric,
            all: all.collect::<Result<_, _>>()?,
            owner,
            position,
        })
    }

    /// Whether two vertices are in one object and one bin.
    fn same(&self, a: u32, b: u32) -> bool {
        self.all.get(index(a)) == self.all.get(index(b))
            && self.owner.get(index(a)) == self.owner.get(index(b))
    }

    fn places(&self) -> impl Iterator<Item = u32> {
        (0_u32..).zip(&self.all).map(|(place, _)| place)
    }

    /// The representative of each vertex: the vertex of its set with the smallest measure, or the first of these.
    fn choose(
        &self,
        sets: &mut Sets,
        measure: impl Fn(u32, u32) -> Result<(bool, f64), WriteError>,
    ) -> Result<Vec<u32>, WriteError> {
        let mut best: FxHashMap<u32, ((bool, f64), u32)> = FxHashMap::default();
        for place in self.places() {
            let set = sets.name(place)?;
            let found = measure(set, place)?;
            let slot = best.entry(set).or_insert((found, place));
            if found.partial_cmp(&slot.0) == Some(std::cmp::Ordering::Less) {
                *slot = (found, place);
            }
        }
        let kept = |place| {
            let (_, kept) = best.get(&sets.name(place)?).or_bug("a set of no member")?;
            Ok(*kept)
        };
        self.places().map(kept).collect()
    }

    /// The square of the largest distance of a vertex from its representative.
    pub(super) fn moved(&self, representatives: &[u32]) -> f64 {
        let pairs = self.places().zip(representatives);
        pairs.fold(0.0, |most, (place, &kept)| {
            let (from, to) = ((self.position)(place), (self.position)(kept));
            self.metric.square(from, to).max(most)
        })
    }

    /// Graphs: merges vertices of one object and one bin that are connected inside the bin. Among the ends and forks, or
    /// else among all vertices, the one nearest to the middle of the bin is the representative. Vertices without links that share an object and a
    /// bin are merged, too. All other merged vertices are connected, so that a tree stays a tree.
    ///
    /// `degree` has the number of neighbours of each vertex. `links` must include all links inside bins; others are ignored.
    pub(super) fn connected(
        &self,
        degree: &[u32],
        links: impl Iterator<Item = [u32; 2]>,
        bins: &[f64],
    ) -> Result<Vec<u32>, WriteError> {
        let mut sets = Sets::new(self.all.len())?;
        for [a, b] in links {
            if self.same(a, b) {
                sets.join(a, b)?;
            }
        }
        let mut alone: FxHashMap<(u32, Bin), u32> = FxHashMap::default();
        for (place, ((&count, &owner), &bin)) in
            (0_u32..).zip(degree.iter().zip(&self.owner).zip(&self.all))
        {
            if count == 0 {
                let first = *alone.entry((owner, bin)).or_insert(place);
                sets.join(first, place)?;
            }
        }
        self.choose(&mut sets, |_, place| {
            let degree = degree.get(index(place)).zip(self.all.get(index(place)));
            let (degree, bin) = degree.or_bug(format_args!("no member {place}"))?;
            let position = (self.position)(place);
            Ok((*degree == 2, off_middle(self.metric, position, bin, bins)))
        })
    }

    /// Meshes: merges the vertices of one object and one bin into the one nearest to their mean. Bins are the same in all chunks, so that faces in
    /// different chunks stay connected.
    pub(super) fn clustered(&self, dims: usize) -> Result<Vec<u32>, WriteError> {
        let mut sets = Sets::new(self.all.len())?;
        let mut first: FxHashMap<(u32, Bin), u32> = FxHashMap::default();
        let mut means: FxHashMap<u32, (Vec<f64>, f64)> = FxHashMap::default();
        for (place, (&owner, &bin)) in (0_u32..).zip(self.owner.iter().zip(&self.all)) {
            let set = *first.entry((owner, bin)).or_insert(place);
            sets.join(set, place)?;
            let (sum, count) = means.entry(set).or_insert_with(|| (vec![0.0; dims], 0.0));
            for (sum, value) in sum.iter_mut().zip((self.position)(place)) {
                *sum += value;
            }
            *count += 1.0;
        }
        for (sum, count) in means.values_mut() {
            sum.iter_mut().for_each(|sum| *sum /= *count);
        }
        self.choose(&mut sets, |set, place| {
            let (mean, _) = means.get(&set).or_bug("a set without a mean")?;
            Ok((false, self.metric.square((self.position)(place), mean)))
        })
    }
}

/// A link after its ends were replaced by representatives.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ContractedLink {
    pub(super) ends: Vec<u32>,
    /// Links with the same key are merged.
    pub(super) key: Vec<u32>,
}

/// How links change when their ends are replaced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Joining {
    pub(super) kind: Kind,
    pub(super) width: usize,
    pub(super) directed: bool,
}

impl Joining {
    /// A link between these ends; `None` for a link from a vertex to itself, a face with fewer than three corners, or a face that touches itself.
    pub(super) fn link(self, ends: Vec<u32>) -> Option<ContractedLink> {
        if self.kind == Kind::Mesh {
            let ends = without_repeats(ends, self.width)?;
            let key = turned(&ends);
            return Some(ContractedLink { ends, key });
        }
        let [a, b] = *ends.as_slice() else {
            return None;
        };
        let [low, high] = [a.min(b), a.max(b)];
        let key = if self.directed { [a, b] } else { [low, high] };
        (a != b).then(|| ContractedLink {
            ends,
            key: key.to_vec(),
        })
    }
}

/// Merges equal neighbouring corners of a face; `None` if fewer than three are left, or the face touches itself. If the width is larger than the
/// number of corners, the last corner is repeated.
fn without_repeats(mut corners: Vec<u32>, width: usize) -> Option<Vec<u32>> {
    corners.dedup();
    while corners.len() > 1 && corners.first() == corners.last() {
        corners.pop();
    }
    let distinct: HashSet<u32> = corners.iter().copied().collect();
    if corners.len() < 3 || distinct.len() != corners.len() {
        return None;
    }
    let last = corners.last().copied()?;
    corners.resize(width, last);
    Some(corners)
}

/// The corners of a face, starting at the smallest one, so that equal faces are detected; their direction is kept.
fn turned<T: Ord + Copy + Hash>(face: &[T]) -> Vec<T> {
    let mut corners = face.to_vec();
    corners.dedup();
    let first = (0..corners.len()).min_by_key(|&at| corners.get(at).copied());
    // A face without corners is unchanged.
    corners.rotate_left(first.unwrap_or(0));
    corners
}

#[cfg(test)]
mod tests {
    use super::{Sets, turned, without_repeats};
    use zvf_encode::WriteError;

    #[test]
    fn degenerate_faces_lose_corners_or_are_removed() {
        assert_eq!(without_repeats(vec![1, 2, 3], 3), Some(vec![1, 2, 3]));
        assert_eq!(without_repeats(vec![1, 1, 3], 3), None);
        assert_eq!(without_repeats(vec![3, 1, 3], 3), None);
        assert_eq!(without_repeats(vec![5, 5, 6, 7], 4), Some(vec![5, 6, 7, 7]));
        assert_eq!(without_repeats(vec![5, 6, 7, 5], 4), Some(vec![5, 6, 7, 7]));
        assert_eq!(without_repeats(vec![5, 6, 5, 7], 4), None);
        // A face that already was degenerate.
        assert_eq!(without_repeats(vec![5, 6, 7, 7], 4), Some(vec![5, 6, 7, 7]));
    }

    #[test]
    fn equal_faces_have_equal_keys_wherever_they_begin() {
        assert_eq!(turned(&[3, 1, 2]), turned(&[1, 2, 3]));
        assert_ne!(turned(&[3, 2, 1]), turned(&[1, 2, 3]));
        assert_eq!(turned(&[7, 5, 6, 6]), turned(&[5, 6, 7, 7]));
    }

    #[test]
    fn sets_join() {
        let mut sets = Sets::new(6).unwrap();
        sets.join(4, 2).unwrap();
        sets.join(5, 4).unwrap();
        sets.join(0, 1).unwrap();
        let names: Vec<u32> = (0..6).map(|member| sets.name(member).unwrap()).collect();
        assert_eq!(names, [0, 0, 2, 3, 2, 2]);
        // A number that is not a member cannot be joined.
        assert!(matches!(sets.join(2, 6), Err(WriteError::Bug { .. })));
    }
}

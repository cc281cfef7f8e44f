//! Graphs, skeletons and meshes: vertices of a bin become one.

use std::collections::HashSet;
use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use super::thin::off_middle;
use super::{Geometry, Kept, State, owners, square};
use crate::WriteError;
use crate::int::{index, narrow};
use crate::pyramid::bins::{Bin, bin_of};

/// Sets of places; the smallest member names its set.
#[derive(Debug)]
struct Sets(Vec<u32>);

impl Sets {
    fn new(count: usize) -> Result<Self, WriteError> {
        Ok(Self((0..narrow("vertices", count)?).collect()))
    }

    fn name(&mut self, mut member: u32) -> u32 {
        loop {
            let above = self.0.get(index(member)).copied().unwrap_or(member);
            if above == member {
                return member;
            }
            let over = self.0.get(index(above)).copied().unwrap_or(above);
            if let Some(slot) = self.0.get_mut(index(member)) {
                *slot = over;
            }
            member = over;
        }
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.name(a), self.name(b));
        if let Some(slot) = self.0.get_mut(index(a.max(b))) {
            *slot = a.min(b);
        }
    }
}

/// The bins of all places.
fn bins_of(geometry: Geometry<'_>, state: &State, bins: &[f64]) -> Result<Vec<Bin>, WriteError> {
    let rows = state.rows.iter();
    rows.map(|&row| bin_of(geometry.position(row), bins))
        .collect()
}

/// The place that stands for each set: the one with the smallest measure, of equal ones the first.
fn choose(
    sets: &mut Sets,
    count: usize,
    measure: impl Fn(u32, u32) -> (bool, f64),
) -> FxHashMap<u32, u32> {
    let mut best: FxHashMap<u32, ((bool, f64), u32)> = FxHashMap::default();
    for place in 0..u32::try_from(count).unwrap_or(u32::MAX) {
        let set = sets.name(place);
        let found = measure(set, place);
        let slot = best.entry(set).or_insert((found, place));
        if found.partial_cmp(&slot.0) == Some(std::cmp::Ordering::Less) {
            *slot = (found, place);
        }
    }
    best.into_iter()
        .map(|(set, (_, place))| (set, place))
        .collect()
}

/// Contracts graphs and skeletons: vertices of one object and one bin that are connected inside it become one, which is an
/// end or a fork where there is one, else the one nearest to the middle of the bin. Vertices without links that share a bin
/// become one as well. What is contracted is connected, so that a tree stays a tree.
pub(super) fn graph(
    geometry: Geometry<'_>,
    state: &State,
    bins: &[f64],
) -> Result<State, WriteError> {
    let all = bins_of(geometry, state, bins)?;
    let owner = owners(state);
    let same = |a: u32, b: u32| {
        all.get(index(a)) == all.get(index(b)) && owner.get(index(a)) == owner.get(index(b))
    };
    let mut sets = Sets::new(state.rows.len())?;
    let mut degree = vec![0_u32; state.rows.len()];
    for &[a, b] in state.links.as_chunks::<2>().0 {
        for end in [a, b] {
            if let Some(count) = degree.get_mut(index(end)) {
                *count = count.saturating_add(u32::from(a != b));
            }
        }
        if same(a, b) {
            sets.join(a, b);
        }
    }
    let mut alone: FxHashMap<(u32, Bin), u32> = FxHashMap::default();
    for (place, ((&count, &owner), &bin)) in (0_u32..).zip(degree.iter().zip(&owner).zip(&all)) {
        if count == 0 {
            let first = *alone.entry((owner, bin)).or_insert(place);
            sets.join(first, place);
        }
    }
    let position = |place: u32| {
        let row = state.rows.get(index(place)).copied().unwrap_or(u32::MAX);
        geometry.position(row)
    };
    let chosen = choose(&mut sets, state.rows.len(), |_, place| {
        let plain = degree.get(index(place)) == Some(&2);
        let far = all
            .get(index(place))
            .map_or(0.0, |bin| off_middle(position(place), bin, bins));
        (plain, far)
    });
    let mut moved = 0.0_f64;
    let mut stays = vec![false; state.rows.len()];
    let mut stand_ins = Vec::with_capacity(state.rows.len());
    for place in 0..narrow("vertices", state.rows.len())? {
        let kept = chosen.get(&sets.name(place)).copied().unwrap_or(place);
        stand_ins.push(kept);
        moved = moved.max(square(position(place), position(kept)));
        if let Some(flag) = stays.get_mut(index(kept)) {
            *flag = true;
        }
    }
    let (mut links, mut links_of, mut seen) = (Vec::new(), Vec::new(), FxHashSet::default());
    for (&[a, b], &of) in state.links.as_chunks::<2>().0.iter().zip(&state.links_of) {
        let ends = [a, b].map(|end| stand_ins.get(index(end)).copied().unwrap_or(end));
        let pair = if geometry.directed || ends[0] <= ends[1] {
            ends
        } else {
            [ends[1], ends[0]]
        };
        if ends[0] != ends[1] && seen.insert(pair) {
            links.extend_from_slice(&ends);
            links_of.push(of);
        }
    }
    let kept = Kept {
        stays,
        stand_ins,
        links,
        links_of,
        moved: moved.sqrt(),
    };
    kept.apply(state)
}

/// Decimates meshes: vertices of one object and one bin become the one nearest to their mean. Bins are the same everywhere,
/// so that faces of two chunks that met still meet. Faces that lost their area are gone, and vertices that no face is left
/// of; an object that would lose everything keeps one vertex.
pub(super) fn mesh(
    geometry: Geometry<'_>,
    state: &State,
    bins: &[f64],
) -> Result<State, WriteError> {
    let all = bins_of(geometry, state, bins)?;
    let owner = owners(state);
    let mut sets = Sets::new(state.rows.len())?;
    let mut first: FxHashMap<(u32, Bin), u32> = FxHashMap::default();
    let mut means: FxHashMap<u32, (Vec<f64>, f64)> = FxHashMap::default();
    let position = |place: u32| {
        let row = state.rows.get(index(place)).copied().unwrap_or(u32::MAX);
        geometry.position(row)
    };
    for (place, (&owner, &bin)) in (0_u32..).zip(owner.iter().zip(&all)) {
        let set = *first.entry((owner, bin)).or_insert(place);
        sets.join(set, place);
        let (sum, count) = means
            .entry(set)
            .or_insert_with(|| (vec![0.0; geometry.dims], 0.0));
        for (sum, value) in sum.iter_mut().zip(position(place)) {
            *sum += value;
        }
        *count += 1.0;
    }
    for (sum, count) in means.values_mut() {
        sum.iter_mut().for_each(|sum| *sum /= *count);
    }
    let chosen = choose(&mut sets, state.rows.len(), |set, place| {
        (
            false,
            means
                .get(&set)
                .map_or(0.0, |(mean, _)| square(position(place), mean)),
        )
    });
    let mut moved = 0.0_f64;
    let mut stand_ins = Vec::with_capacity(state.rows.len());
    for place in 0..narrow("vertices", state.rows.len())? {
        let kept = chosen.get(&sets.name(place)).copied().unwrap_or(place);
        stand_ins.push(kept);
        moved = moved.max(square(position(place), position(kept)));
    }
    let mut stays = vec![false; state.rows.len()];
    let (mut links, mut links_of, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for (face, &of) in state
        .links
        .chunks_exact(geometry.width.max(1))
        .zip(&state.links_of)
    {
        let corners = face
            .iter()
            .map(|&end| stand_ins.get(index(end)).copied().unwrap_or(end));
        let Some(face) = without_repeats(corners.collect(), geometry.width) else {
            continue;
        };
        if seen.insert(turned(&face)) {
            for &end in &face {
                if let Some(flag) = stays.get_mut(index(end)) {
                    *flag = true;
                }
            }
            links.extend_from_slice(&face);
            links_of.push(of);
        }
    }
    let mut start = 0_usize;
    for &(_, count) in &state.runs {
        let end = start.saturating_add(count);
        let lost = stays
            .get(start..end)
            .is_some_and(|here| !here.contains(&true));
        let kept = stand_ins.get(start).copied().filter(|_| lost && count > 0);
        if let Some(flag) = kept.and_then(|kept| stays.get_mut(index(kept))) {
            *flag = true;
        }
        start = end;
    }
    let kept = Kept {
        stays,
        stand_ins,
        links,
        links_of,
        moved: moved.sqrt(),
    };
    kept.apply(state)
}

/// A face whose neighbouring equal corners are one; `None` where fewer than three are left, or it touches itself. Faces of
/// more than three corners repeat their last one where they have fewer.
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

/// A face from its smallest corner on, so that the same face is found again; its direction is kept.
fn turned<T: Ord + Copy + Hash>(face: &[T]) -> Vec<T> {
    let mut corners = face.to_vec();
    corners.dedup();
    let first = (0..corners.len()).min_by_key(|&at| corners.get(at).copied());
    corners.rotate_left(first.unwrap_or(0));
    corners
}

#[cfg(test)]
mod tests {
    use super::{Sets, turned, without_repeats};

    #[test]
    fn faces_lose_corners_before_they_go() {
        assert_eq!(without_repeats(vec![1, 2, 3], 3), Some(vec![1, 2, 3]));
        assert_eq!(without_repeats(vec![1, 1, 3], 3), None);
        assert_eq!(without_repeats(vec![3, 1, 3], 3), None);
        assert_eq!(without_repeats(vec![5, 5, 6, 7], 4), Some(vec![5, 6, 7, 7]));
        assert_eq!(without_repeats(vec![5, 6, 7, 5], 4), Some(vec![5, 6, 7, 7]));
        assert_eq!(without_repeats(vec![5, 6, 5, 7], 4), None);
        // A face that was degenerate before.
        assert_eq!(without_repeats(vec![5, 6, 7, 7], 4), Some(vec![5, 6, 7, 7]));
    }

    #[test]
    fn the_same_face_is_known_wherever_it_begins() {
        assert_eq!(turned(&[3, 1, 2]), turned(&[1, 2, 3]));
        assert_ne!(turned(&[3, 2, 1]), turned(&[1, 2, 3]));
        assert_eq!(turned(&[7, 5, 6, 6]), turned(&[5, 6, 7, 7]));
    }

    #[test]
    fn sets_join() {
        let mut sets = Sets::new(6).unwrap();
        sets.join(4, 2);
        sets.join(5, 4);
        sets.join(0, 1);
        let names: Vec<u32> = (0..6).map(|member| sets.name(member)).collect();
        assert_eq!(names, [0, 0, 2, 3, 2, 2]);
    }
}

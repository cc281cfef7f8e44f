//! Branches of skeletons and graphs.

use std::ops::Range;

use zvf_store::format::int;

use crate::QueryError;
use crate::error::OrBug;

/// The index of a row in an object.
fn place(rows: &Range<usize>, row: usize) -> Result<usize, QueryError> {
    let place = rows.contains(&row).then(|| row - rows.start);
    place.or_bug("a link between two objects")
}

/// The number of neighbours of each vertex. A vertex is not its own neighbour, and several links between two vertices make them neighbours once.
pub(super) fn degrees(rows: Range<usize>, links: &[usize]) -> Result<Vec<u32>, QueryError> {
    let (pairs, _) = links.as_chunks::<2>();
    let pairs = pairs.iter().filter(|[a, b]| a != b);
    let mut pairs: Vec<[usize; 2]> = pairs.map(|[a, b]| [*a.min(b), *a.max(b)]).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut degrees = vec![0_u32; rows.len()];
    for row in pairs.as_flattened() {
        let degree = degrees.get_mut(place(&rows, *row)?);
        *degree.or_bug("a row of no object")? += 1;
    }
    Ok(degrees)
}

/// The number of vertices with a degree that satisfies a condition.
pub(super) fn count(degrees: &[u32], of: impl Fn(u32) -> bool) -> u64 {
    int::wide(degrees.iter().filter(|degree| of(**degree)).count())
}

/// The Strahler order of a skeleton; the highest one of several trees. A tip has order 1; other vertices have the highest order of their children,
/// or one more if two children have it. `None` if a vertex has two parents or is its own ancestor. Links are pairs of child and parent.
pub(super) fn strahler(rows: Range<usize>, links: &[usize]) -> Result<Option<u64>, QueryError> {
    let mut parents: Vec<Option<usize>> = vec![None; rows.len()];
    let mut children = vec![0_u32; rows.len()];
    for pair in links.chunks_exact(2) {
        let [child, parent] = *pair else { continue };
        let (child, parent) = (place(&rows, child)?, place(&rows, parent)?);
        let old = parents.get_mut(child).or_bug("a row of no object")?;
        match old.replace(parent) {
            None => *children.get_mut(parent).or_bug("a row of no object")? += 1,
            Some(old) if old != parent => return Ok(None),
            Some(_) => {}
        }
    }
    // The highest order of the completed children, and whether two children have it.
    let mut orders = vec![(0_u64, false); rows.len()];
    let mut ready: Vec<usize> = children
        .iter()
        .enumerate()
        .filter(|(_, count)| **count == 0)
        .map(|(place, _)| place)
        .collect();
    let (mut highest, mut done) = (0, 0);
    while let Some(vertex) = ready.pop() {
        done += 1;
        let (order, twice) = orders.get(vertex).copied().or_bug("a row of no object")?;
        let own = if order == 0 {
            1
        } else {
            order + u64::from(twice)
        };
        highest = highest.max(own);
        let Some(parent) = parents.get(vertex).copied().flatten() else {
            continue;
        };
        let found = orders.get_mut(parent).or_bug("a row of no object")?;
        *found = match own.cmp(&found.0) {
            std::cmp::Ordering::Less => *found,
            std::cmp::Ordering::Equal => (own, true),
            std::cmp::Ordering::Greater => (own, false),
        };
        let left = children.get_mut(parent).or_bug("a row of no object")?;
        *left = left
            .checked_sub(1)
            .or_bug("more children than were counted")?;
        if *left == 0 {
            ready.push(parent);
        }
    }
    Ok((done == rows.len()).then_some(highest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_tips_and_orders() {
        // 0 - 1 - 2 - 3, 2 - 4, 1 - 5: two tips meet at 2, a lower order joins at 1.
        let links = [11, 10, 12, 11, 13, 12, 14, 12, 15, 11];
        let degrees = degrees(10..16, &links).unwrap();
        assert_eq!(degrees, [1, 3, 3, 1, 1, 1]);
        assert_eq!(
            (count(&degrees, |n| n > 2), count(&degrees, |n| n == 1)),
            (2, 4)
        );
        assert_eq!(strahler(10..16, &links).unwrap(), Some(2));
        assert_eq!(strahler(0..1, &[]).unwrap(), Some(1));
        // A cycle, and two parents.
        assert_eq!(strahler(0..3, &[0, 1, 1, 2, 2, 0]).unwrap(), None);
        assert_eq!(strahler(0..3, &[0, 1, 0, 2]).unwrap(), None);
        assert!(strahler(0..2, &[0, 2]).is_err());
    }

    #[test]
    fn several_links_between_two_vertices_count_once() {
        let counts = |links: &[usize]| {
            let degrees = degrees(0..3, links).unwrap();
            (count(&degrees, |n| n > 2), count(&degrees, |n| n == 1))
        };
        assert_eq!(counts(&[0, 1, 1, 0, 1, 2, 2, 1]), (0, 2), "both directions");
        assert_eq!(counts(&[0, 1, 1, 2, 1, 2, 0, 1]), (0, 2), "repeated");
        assert_eq!(counts(&[0, 1, 1, 2, 0, 0]), (0, 2), "a link to itself");
        assert_eq!(strahler(0..3, &[0, 1, 2, 1, 0, 1]).unwrap(), Some(2));
    }
}

//! Skeletons are trees: one parent per vertex, and no loops.

use zvf_meta::LinksConvention;

use crate::check::Check;
use crate::finding::{Findings, Place};
use crate::level::LevelState;
use zvf_format::int::index;

/// The maximum number of vertices of a level that is checked for trees.
const MOST: u64 = 1 << 29;

/// The stored edges of a level.
pub(crate) struct LevelEdges {
    /// Child and parent, by their numbers among all rows of the level.
    edges: Vec<(u32, u32)>,
    /// Vertices with a stored edge to a parent: one bit each.
    children: Vec<u64>,
    /// Vertices with a second stored edge to a parent.
    twice: Vec<u32>,
    /// Whether further edges are implied by the order of rows.
    implied: bool,
}

impl LevelEdges {
    /// An empty set of stored edges. `None` if the level has more than [`MOST`] vertices, or if a fragment has an explicit list of rows: such levels are
    /// not checked.
    pub(crate) fn new(state: &LevelState, vertices: u64) -> Option<Self> {
        if vertices > MOST || state.lists {
            return None;
        }
        let root = state.level.store().root();
        Some(Self {
            edges: Vec::new(),
            children: vec![0; usize::try_from(vertices.div_ceil(64)).ok()?],
            twice: Vec::new(),
            // As in queries: only `explicit` disables implied edges, even in stores with no convention or an unknown one.
            implied: !root
                .links_convention()
                .is_ok_and(|one| one == LinksConvention::Explicit),
        })
    }

    /// Adds a stored edge.
    pub(crate) fn add(&mut self, child: u64, parent: u64) {
        let (Ok(child), Ok(parent)) = (u32::try_from(child), u32::try_from(parent)) else {
            return;
        };
        if let Some(word) = self.children.get_mut(index(child) / 64) {
            if *word >> (child % 64) & 1 == 1 {
                self.twice.push(child);
            }
            *word |= 1 << (child % 64);
        }
        self.edges.push((child, parent));
    }

    fn is_child(&self, row: u32) -> bool {
        let word = self.children.get(index(row) / 64);
        word.is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Reports second parents and loops. If edges are implied, a stored edge replaces the implied one of its child (0.9 §14.3).
    /// Otherwise edges have no direction, and a vertex may be the child of several vertices.
    pub(crate) fn finish(
        mut self,
        findings: &mut Findings,
        state: &LevelState,
        bases: &[u64],
        vertices: u64,
    ) {
        let place = |at: u32| {
            let at = u64::from(at);
            let slot = bases.partition_point(|&base| base <= at).saturating_sub(1);
            let row = at.saturating_sub(bases.get(slot).copied().unwrap_or(0));
            let chunk = state.chunks.get(slot).map_or(&[][..], |one| one.as_slice());
            Place::at(state.path("vertices")).chunk(chunk).row(row)
        };
        if self.implied {
            for child in std::mem::take(&mut self.twice) {
                findings.add(
                    Check::TreeParent,
                    place(child),
                    "a second stored parent",
                    "one",
                );
            }
        }
        let mut parts = ConnectedParts::new(vertices);
        if self.implied {
            for (slot, &base) in bases.iter().enumerate() {
                for fragment in 0..state.fragments_of(slot).unwrap_or(0) {
                    let Some((first, last)) = state.ends_of(slot, fragment) else {
                        continue;
                    };
                    for row in first.saturating_add(1)..=last {
                        let at = base.saturating_add(u64::from(row));
                        let child = u32::try_from(at).unwrap_or(u32::MAX);
                        if !self.is_child(child) {
                            // Each row occurs once, so these edges cannot form a loop.
                            parts.join(child, child.saturating_sub(1));
                        }
                    }
                }
            }
        }
        for (child, parent) in self.edges {
            if !parts.join(child, parent) {
                let found = format!(
                    "an edge to {}, to which other edges already connect it",
                    place(parent)
                );
                findings.add(Check::TreeLoop, place(child), found, "no loop");
            }
        }
    }
}

/// Sets of connected vertices (union-find); the root of a set is its smallest vertex.
struct ConnectedParts(Vec<u32>);

impl ConnectedParts {
    fn new(vertices: u64) -> Self {
        Self((0..u32::try_from(vertices).unwrap_or(0)).collect())
    }

    /// The root of a vertex's set. Halves the path to it.
    fn top(&mut self, vertex: u32) -> u32 {
        let mut at = vertex;
        while let Some(next) = self.0.get(index(at)).copied()
            && next != at
        {
            let over = self.0.get(index(next)).copied().unwrap_or(next);
            if let Some(place) = self.0.get_mut(index(at)) {
                *place = over;
            }
            at = over;
        }
        at
    }

    /// Connects two vertices; `false` if they are already connected.
    fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.top(a), self.top(b));
        if a == b {
            return false;
        }
        // The rows of chains are in order, so paths to the smallest vertex stay short.
        let (low, high) = (a.min(b), a.max(b));
        if let Some(place) = self.0.get_mut(index(high)) {
            *place = low;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_found_however_it_is_closed() {
        let mut parts = ConnectedParts::new(5);
        for (a, b) in [(1, 0), (2, 1), (4, 3), (3, 2)] {
            assert!(parts.join(a, b));
        }
        assert!(!parts.join(4, 0) && !parts.join(2, 2));
    }
}

//! Lines that continue in another chunk: each step between chunks is also stored as a link (0.9 §14.2).
//!
//! Steps and links are compared as multisets: as sums of hashes of their ends. That detects any difference without locating it; the counts show which
//! side has more.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};
use zvf_meta::Kind;

use crate::check::{Check, Depth};
use crate::finding::{Findings, Place};
use crate::level::LevelState;
use crate::options::ValidateOptions;

/// Hash of a value; only comparable within one process.
pub(crate) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Whether the links of a kind refer to the same row numbers as its fragments. The released writer of lines numbers rows before sorting them, in
/// 0.9.2 as in 0.7 (0.7 §12.3); for lines only the chunks are compared.
pub(crate) fn has_rows(kind: Kind) -> bool {
    kind != Kind::Line
}

/// The steps of all objects of a level from chunk to chunk.
pub(crate) struct Chains {
    last: Option<(usize, u32)>,
    rows: bool,
    steps: StepMultiset,
}

/// Steps as a multiset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StepMultiset {
    pub(crate) sum: u64,
    pub(crate) count: u64,
}

impl StepMultiset {
    pub(crate) fn add(&mut self, hash: u64) {
        self.sum = self.sum.wrapping_add(hash);
        self.count = self.count.saturating_add(1);
    }

    pub(crate) fn join(&mut self, other: Self) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.count = self.count.saturating_add(other.count);
    }
}

impl Chains {
    /// `None` if the links of the level are not steps from one vertex of a line to the next.
    pub(crate) fn new(options: &ValidateOptions, state: &LevelState) -> Option<Self> {
        let store = state.level.store();
        let chain = store.kind().is_chain() && store.root().zarr_vectors.geometry_types.len() == 1;
        // Readers derive these links, so they are compared only if the store declares that they are stored.
        let stated = store.root().zarr_vectors.cross_chunk_strategy.as_deref();
        let stated = matches!(stated, Some("explicit_links" | "both"));
        // Before 0.9 the rows of such links were not reliable (0.7 §12.3).
        let grid = state.level.vertices().grid_doc().is_some();
        // If an array could not be listed, some links are not found.
        let found = state.level.refused().iter().all(|one| one.delta.is_none());
        (chain
            && grid
            && found
            && stated
            && options.depth >= Depth::Conformance
            && state.number() == 0
            && state.is_known()
            && options.wants_array(&state.path("links/0")))
        .then_some(Self {
            last: None,
            rows: has_rows(store.kind()),
            steps: StepMultiset::default(),
        })
    }

    /// Begins another object.
    pub(crate) fn begin(&mut self) {
        self.last = None;
    }

    /// Adds the next fragment of the object.
    pub(crate) fn add(&mut self, state: &LevelState, slot: usize, fragment: u32) {
        let Some((first, last)) = state.ends_of(slot, fragment) else {
            return;
        };
        if let Some(before) = self.last.filter(|(other, _)| *other != slot) {
            self.steps.add(if self.rows {
                step(before, (slot, first))
            } else {
                step((before.0, 0), (slot, 0))
            });
        }
        self.last = Some((slot, last));
    }

    /// Compares the steps with `found`, the multiset of the links of the level.
    pub(crate) fn compare(&self, findings: &mut Findings, state: &LevelState, found: StepMultiset) {
        if found != self.steps {
            let what = format!(
                "{} links, not one for each of {} steps between chunks",
                found.count, self.steps.count
            );
            let place = Place::at(state.path("links/0"));
            let expected =
                "a link for each step, from the last vertex in one chunk to the first in the next";
            findings.add(Check::ChainLink, place, what, expected);
        }
    }
}

/// The hash of a step: chunk and row of the first vertex, chunk and row of the second.
pub(crate) fn step(from: (usize, u32), to: (usize, u32)) -> u64 {
    hash(&(from, to))
}

//! One level of a store and of its copy.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::source::Source;

/// One level of both stores.
pub(super) struct Pair {
    pub(super) old: Source,
    pub(super) new: Source,
    pub(super) number: u32,
}

impl Pair {
    pub(super) fn place(&self, what: impl std::fmt::Display) -> String {
        format!("level {}, {what}", self.number)
    }
}

pub(super) fn hash(part: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    hasher.finish()
}

//! Numbers that are drawn by a seed.

use std::hash::{DefaultHasher, Hash, Hasher};

/// A source of numbers, the same for the same seeds.
#[derive(Debug, Clone)]
pub struct Draw(u64);

impl Draw {
    /// A source for these seeds.
    #[must_use]
    pub fn new(seeds: &[u64]) -> Self {
        let mut hasher = DefaultHasher::new();
        seeds.hash(&mut hasher);
        Self(hasher.finish() | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end.max(1)
    }

    /// One of some.
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let count = u64::try_from(of.len()).unwrap_or(u64::MAX);
        of.get(usize::try_from(self.below(count)).unwrap_or(0))
    }
}

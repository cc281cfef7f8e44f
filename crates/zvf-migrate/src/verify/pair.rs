//! One level of a store and of its copy.

use super::stored::Stored;

/// One level of both stores.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) old: Stored,
    pub(super) new: Stored,
    pub(super) number: u32,
    /// Whether chunks, and fragments that are bins, have the same shapes: the copy then keeps both as they are.
    pub(super) same_chunks: bool,
    /// Whether those of this level have, regardless of what other levels do.
    pub(super) same_shapes: bool,
}

impl Pair {
    /// A place in the level, for messages.
    pub(super) fn place(&self, what: impl std::fmt::Display) -> String {
        format!("level {}, {what}", self.number)
    }
}

//! What to read: pure functions from metadata to numbered chunks. Nothing here fetches.

pub(crate) mod bbox;
pub(crate) mod candidates;
pub(crate) mod chunks;

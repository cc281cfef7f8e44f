//! Plans reads: pure functions from metadata to numbered chunks, without I/O.

pub(crate) mod bbox;
pub(crate) mod candidates;
pub(crate) mod chunks;

//! SWC: trees of nodes with types and radii.

pub(crate) mod read;
pub(crate) mod write;

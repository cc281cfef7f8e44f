//! PLY: elements of properties.

pub(crate) mod read;
pub(crate) mod write;

//! TCK: MRtrix streamlines.

pub(crate) mod read;
pub(crate) mod write;

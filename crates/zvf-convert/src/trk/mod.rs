//! TRK: TrackVis streamlines.

pub(crate) mod read;
pub(crate) mod write;

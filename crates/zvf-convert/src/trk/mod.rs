//! TRK: TrackVis streamlines.

mod layout;
mod points;
pub(crate) mod read;
pub(crate) mod write;

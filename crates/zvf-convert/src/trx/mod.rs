//! TRX: streamlines as arrays in an archive.

pub(crate) mod read;
pub(crate) mod write;

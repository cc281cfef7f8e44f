//! TRX: streamlines as arrays in an archive.

mod layout;
pub(crate) mod read;
pub(crate) mod write;

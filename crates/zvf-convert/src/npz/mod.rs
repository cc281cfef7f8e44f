//! NPZ: NumPy arrays in an archive.

pub(crate) mod read;
pub(crate) mod write;

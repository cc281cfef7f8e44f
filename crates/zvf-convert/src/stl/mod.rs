//! STL: triangles, binary or text.

pub(crate) mod read;
pub(crate) mod write;

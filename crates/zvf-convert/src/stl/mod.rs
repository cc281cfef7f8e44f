//! STL: triangles, binary or text.

mod layout;
pub(crate) mod read;
pub(crate) mod write;

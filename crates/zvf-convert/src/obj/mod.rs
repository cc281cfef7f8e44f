//! OBJ: vertices with colours, faces of triangles or quads, edges.

pub(crate) mod read;
pub(crate) mod write;

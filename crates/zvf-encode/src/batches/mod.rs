//! From batches of vertices to the records of chunks.

pub(crate) mod batch;
pub(crate) mod block;
pub(crate) mod categories;
pub(crate) mod chunk_by;
pub(crate) mod copy;
pub(crate) mod layout;
pub(crate) mod prepare;
pub(crate) mod route;
pub(crate) mod walk;

pub use batch::{Batch, Groups, ObjectTable, Owners};
pub use categories::{Categories, Dictionary};
pub use chunk_by::{Keys, Split, Unkeyed};
pub use layout::{Layout, row_bytes, row_size};
pub use prepare::{Corners, grow, include};
pub use route::Router;

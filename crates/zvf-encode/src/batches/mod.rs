//! Converts batches of vertices to the records of chunks.
//!
//! A [`Router`] checks batches and appends a record for each vertex to the bucket of its chunk; [`VertexLayout`] locates the
//! parts of a record. Categories get codes while batches arrive ([`Categories`]) and final codes at the end
//! ([`Dictionary`]). If an attribute splits chunks, [`SplitKeys`] numbers its values.

pub(crate) mod batch;
pub(crate) mod block;
pub(crate) mod categories;
pub(crate) mod chunk_by;
pub(crate) mod copy;
pub(crate) mod layout;
pub(crate) mod prepare;
pub(crate) mod route;
pub(crate) mod walk;

pub use batch::{Batch, Groups, Numbering, ObjectTable, Owners};
pub use categories::{Categories, Dictionary};
pub use chunk_by::{ChunkSplit, SplitKeys, Unkeyed};
pub use layout::{VertexLayout, row_bytes, row_size};
pub use prepare::{Corners, grow, include};
pub use route::Router;

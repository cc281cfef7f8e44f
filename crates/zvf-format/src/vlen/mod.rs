//! The `vlen-bytes` framing of variable-length arrays.
//!
//! `spec/zvf-0.9.md` section 4.2. Every chunk of such an array, once decompressed, is
//!
//! ```text
//! ┌───────┐  n times:
//! │ u32 n │  ┌────────────┬────────────────┐
//! └───────┘  │ u32 length │ length bytes   │
//!            └────────────┴────────────────┘
//! ```
//!
//! Chunk-grid arrays have one element a chunk: [`VlenChunk::parse_cell`] takes it out. The arrays
//! of rank 1 (`object_index/manifests`, `groups`) have many, and an edge chunk is padded with empty
//! elements to the full length: the count is always that of the chunk shape, and a chunk that says
//! otherwise is refused.
//!
//! Elements are walked in order at a constant step. [`VlenChunk::get`] walks too; a
//! [`VlenDirectory`] of their starts costs one walk and answers in O(1).

mod directory;
mod parse;
#[cfg(feature = "alloc")]
#[cfg(test)]
mod tests;
#[cfg(feature = "alloc")]
mod write;

pub use directory::VlenDirectory;
pub use parse::{ElementHead, VlenChunk, VlenHead, VlenIter};
#[cfg(feature = "alloc")]
pub use write::VlenBuilder;

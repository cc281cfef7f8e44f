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
//! Chunk-grid arrays have one element in each chunk: [`VlenChunk::parse_cell`] returns it. Arrays of
//! rank 1 (`object_index/manifests`, `groups`) have many. Their edge chunks are padded with empty
//! elements to the full length, so the count always equals the size of the chunk shape; a chunk with
//! another count is refused.
//!
//! Elements are iterated in order, at constant cost per step. [`VlenChunk::get`] iterates from the
//! start. A [`VlenDirectory`] of element starts costs one iteration and finds elements in O(1).

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

//! Ragged blobs: groups of bytes after a table of byte offsets.
//!
//! `spec/zvf-0.9.md` section 13.4 (every link cell that is not flat), `spec/zvf-0.8.md` section 9.4
//! and `spec/zvf-0.7.md` section 1.1.
//!
//! ```text
//! ┌───────┬────────────────┬──────────────────────────────────┐
//! │ i64 G │ G x i64 offset │ data: group 0, group 1, …        │
//! └───────┴────────────────┴──────────────────────────────────┘
//!                          0 ── offsets count bytes from here; a group ends where the next begins,
//!                               the last one at the end of the blob
//! ```
//!
//! A blob is validated when it is opened; iteration cannot fail.

mod parse;
#[cfg(feature = "alloc")]
#[cfg(test)]
mod tests;
#[cfg(feature = "alloc")]
mod write;

pub use parse::{GroupIter, RaggedBlob, RaggedHead};
#[cfg(feature = "alloc")]
pub use write::RaggedBuilder;

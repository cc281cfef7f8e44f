//! Ragged blobs: groups of bytes behind a table of byte offsets.
//!
//! `spec/zvf-0.9.md` section 13.4, `spec/zvf-0.7.md` sections 1.1, 10.2 and 10.4.

mod parse;
#[cfg(all(test, feature = "alloc"))]
mod tests;
#[cfg(feature = "alloc")]
mod write;

pub use parse::{GroupIter, RaggedBlob, SplitBlob};
#[cfg(feature = "alloc")]
pub use write::RaggedBuilder;

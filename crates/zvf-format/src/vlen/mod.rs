//! The `vlen-bytes` framing of variable-length arrays.
//!
//! `spec/zvf-0.9.md` section 4.2.

mod directory;
mod parse;
#[cfg(all(test, feature = "alloc"))]
mod tests;
#[cfg(feature = "alloc")]
mod write;

pub use directory::VlenDirectory;
pub use parse::{VlenChunk, VlenIter};
#[cfg(feature = "alloc")]
pub use write::VlenBuilder;

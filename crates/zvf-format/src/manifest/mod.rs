//! Object manifests: which fragments of which chunks make up one object, in order.
//!
//! `spec/zvf-0.9.md` section 11.3, `spec/zvf-0.8.md` and `spec/zvf-0.7.md` section 10.1.

mod parse;
#[cfg(all(test, feature = "alloc"))]
mod tests;
#[cfg(feature = "alloc")]
mod write;

pub use parse::{Block, Blocks, FragmentNumbers, FragmentRefIter, FragmentRefs, Manifest};
#[cfg(feature = "alloc")]
pub use write::ManifestBuilder;

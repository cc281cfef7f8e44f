//! Object manifests: the fragments of one object, in order, by chunk.
//!
//! `spec/zvf-0.9.md` section 11.3, `spec/zvf-0.8.md` and `spec/zvf-0.7.md` section 10.1: the same
//! bytes in every version. One blob is one element of `object_index/manifests`.
//!
//! ```text
//! ┌───────┐  B times:
//! │ u32 B │  ┌──────────────────┬─────────┬──────────────────────────────────────────┐
//! └───────┘  │ K x i64 chunk    │ u8 mode │ 0: i64 fragment                          │
//!            │ absolute         │         │ 1: i64 start, i64 count                  │
//!            └──────────────────┴─────────┤ 2: u32 n, n x i64 fragment               │
//!                                         └──────────────────────────────────────────┘
//! ```
//!
//! Nothing is aligned, and no bytes follow the last block. K is a property of the store (`sid_ndim`), not
//! of the blob. An object without vertices is `00 00 00 00`. A row that was never written has no bytes,
//! and is read as an object without vertices (trap T31).
//!
//! [`Manifest::parse`] validates everything that can be validated without the chunks, so that
//! iteration cannot fail. Whether a fragment exists can only be checked with its chunk's index:
//! [`FragmentRefs::check`], which costs O(1) for a range of any length.

mod layout;
mod parse;
#[cfg(feature = "alloc")]
#[cfg(test)]
mod tests;
#[cfg(feature = "alloc")]
mod write;

pub use layout::{BlockMode, FragmentList, FragmentRun, ManifestHead, OneFragment};
pub use parse::{Block, Blocks, FragmentNumbers, FragmentRefIter, FragmentRefs, Manifest};
#[cfg(feature = "alloc")]
pub use write::ManifestBuilder;

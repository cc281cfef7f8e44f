//! What needs `unsafe`: every other crate of this workspace forbids it.
//!
//! | feature | brings |
//! |---|---|
//! | `mmap` | [`Map`]: read-only memory maps of whole files |
//! | `allocator` | [`allocator`]: mimalloc, for programs that make it their allocator, configured to return freed memory soon |
//! | `dynamic-tls` | the same for a library that a running process loads |
//!
//! Nothing is on by default, so that a crate that maps files links no allocator.
//!
//! **Invariant:** one `unsafe` block in each module, with its condition on the function that has it.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "allocator")]
pub mod allocator;
#[cfg(feature = "mmap")]
mod map;

#[cfg(feature = "mmap")]
pub use map::Map;

/// Compiles the example of the README.
#[cfg(all(doctest, feature = "mmap"))]
#[doc = include_str!("../README.md")]
mod readme {}

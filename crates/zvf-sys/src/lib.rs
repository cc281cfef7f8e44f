//! The interface of this workspace to the operating system: files by position, memory maps, the allocator, threads.
//!
//! [`ReadAt`] reads a file at positions. It is implemented for local files ([`FileAt`]), [`Memory`], `Map` (feature `mmap`) and remote
//! objects (`ObjectFile` of `zvf-io`). [`in_parallel`] distributes jobs among threads.
//!
//! | feature | adds |
//! |---|---|
//! | `mmap` | [`Map`]: read-only memory maps of whole files |
//! | `allocator` | [`allocator`]: mimalloc, for programs that make it their allocator, configured to return freed memory soon |
//! | `dynamic-tls` | `allocator` for a library that a running process loads |
//!
//! No feature is on by default, so that crates that only read files do not link an allocator.
//!
//! **Invariant:** of the published crates only this one uses `unsafe`: one block in each module of the first two features. Its condition is documented
//! on the function. All other crates below `crates/` forbid `unsafe`; the Python package has it in one module, `python/src/border.rs`.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "allocator")]
pub mod allocator;
#[cfg(feature = "mmap")]
mod map;
mod parallel;
mod read_at;
pub mod regular_file;

#[cfg(feature = "mmap")]
pub use map::Map;
pub use parallel::in_parallel;
pub use read_at::{FileAt, Memory, ReadAt, ReadFolder, RequestCost};
pub use regular_file::open_file;

/// Compiles the example of the README.
#[cfg(all(doctest, feature = "mmap"))]
#[doc = include_str!("../README.md")]
mod readme {}

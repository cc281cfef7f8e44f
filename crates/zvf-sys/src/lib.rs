//! Files by position, memory maps, the allocator, and threads: what the crates of this workspace use of the operating system.
//!
//! [`ReadAt`] reads a file at positions, wherever it is stored: [`FileAt`] on the local disk, [`Memory`], `Map` (feature `mmap`), and objects of servers
//! (`ObjectFile` of `zvf-io`). [`in_parallel`] distributes jobs among threads.
//!
//! | feature | brings |
//! |---|---|
//! | `mmap` | [`Map`]: read-only memory maps of whole files |
//! | `allocator` | [`allocator`]: mimalloc, for programs that make it their allocator, configured to return freed memory soon |
//! | `dynamic-tls` | the same for a library that a running process loads |
//!
//! No feature is on by default, so that a crate that reads files links no allocator.
//!
//! **Invariant:** `unsafe` only here, and only in the modules of the first two features: one block each, with its condition on the
//! function that has it. Every other crate of this workspace forbids it.
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

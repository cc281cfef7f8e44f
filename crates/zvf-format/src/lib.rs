//! Zero-copy codecs for every blob of the Zarr Vectors Format (ZVF): no std, no heap, no panics.
//!
//! The main views are [`fragments::FragmentIndex`] (the rows of each fragment of a chunk), [`manifest::Manifest`] (the fragments of an object),
//! and the views in [`links`].
//!
//! A ZVF store keeps points, lines, streamlines, graphs, skeletons and meshes in chunks on Zarr v3. This crate decodes and encodes the *bytes* of
//! one cell, after it was fetched and decompressed, and the *grammar* of the names that address cells. It does not read files, JSON or compressed
//! data. It covers all format versions since 0.6, which share these bytes.
//!
//! # Layout of a store
//!
//! ```text
//! <store>/0/vertices             N x D numbers, no header            dtype
//!          /vertex_fragments     ZVFG: the rows of each fragment     fragments ──┐
//!          /object_index/        B x (chunk, mode, fragments)        manifest ───┘ refers to them
//!          /links/0/0.0.0        M x L rows of the same chunk        links, flat
//!          /links/0/+1.0.0       groups of (perm, rows)              links, in a ragged blob
//!                 │   └ offsets of the other endpoints' chunks       keys
//!                 └ levels spanned                                   keys
//! every cell, inside its Zarr chunk: u32 n, n x (u32 length, bytes)  vlen
//! ```
//!
//! | module | bytes of | page |
//! |---|---|---|
//! | [`fragments`] | the fragment index of a chunk | `spec/zvf-0.9.md` 9 |
//! | [`manifest`] | the manifest of an object | 11.3 |
//! | [`ragged`] | groups after a table of offsets | 13.4 |
//! | [`vlen`] | the `vlen-bytes` framing of cells | 4.2 |
//! | [`shard`] | the index at the end of a shard | 4.4 |
//! | `shard_lengths` | the order of the inner chunks of a shard, and their lengths as a text for documents | 4.4 |
//! | [`links`] | edges and faces, and their placement | 13 |
//! | [`keys`] | chunk keys, deltas, offset segments, level names | 1, 3, 13.1 |
//! | [`dtype`] | names of element types | 8.2 |
//!
//! Fixed structures are declared by [`mod@layout`], with tables of their fields for programs that print bytes.
//!
//! # One read
//!
//! The worked example of the fragment-index page: 88 bytes, a range, a list and a range.
//!
//! ```
//! use zvf_format::fragments::{Fragment, FragmentIndex};
//!
//! #[rustfmt::skip]
//! let blob = [
//!     0x47, 0x46, 0x56, 0x5A, 1, 0, 0, 0,             // magic, version 1, flags 0
//!     3, 0, 0, 0, 2, 0, 0, 0,                         // F = 3 fragments, R = 2 ranges
//!     0b101, 0, 0, 0, 0, 0, 0, 0,                     // bitmap: 0 and 2 are ranges
//!     0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, // rows 0 .. 4
//!     20, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, // rows 20 .. 28
//!     0, 0, 0, 0, 3, 0, 0, 0,                         // the only list is 0 .. 3 of:
//!     12, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 19, 0, 0, 0, 0, 0, 0, 0,
//! ];
//! let index = FragmentIndex::parse(&blob)?; // O(1): bounds of every table
//! index.check_rows(28)?;                    // O(n): the contents of the tables, against 28 rows
//!
//! assert_eq!(index.range(2), Some((20, 8)));
//! assert_eq!(index.indices(1).ok_or("three fragments")?.collect::<Vec<_>>(), [12, 7, 19]);
//! let sizes: Vec<u64> = index.iter().map(|fragment| fragment.len()).collect();
//! assert_eq!(sizes, [4, 3, 8]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # One write
//!
//! ```
//! # #[cfg(feature = "alloc")] {
//! use zvf_format::manifest::{Manifest, ManifestBuilder};
//!
//! let mut object = ManifestBuilder::new(3)?;    // coordinates of three numbers
//! object.push(&[0, 0, 0], 1)?;                  // fragment 1 of chunk 0.0.0
//! object.push_list(&[1, 0, 0], &[4, 5, 6])?;    // a run: stored as a range
//! let blob = object.finish();
//! assert_eq!(Manifest::parse(&blob, 3)?.fragment_count(), 4);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Parse, then check
//!
//! *Parse* is cheap and makes every later access safe. *Check* is linear and verifies the rest. Parsing without checking is never unsound: a view
//! of damaged bytes returns `None` or ends early, and nothing in this crate panics on input. Counts in the bytes are not trusted: every loop is
//! bounded by the available bytes, and no memory is reserved before they are seen.
//!
//! A [`DecodeError`] is a small `Copy` value that names the field and its byte, and has one of
//! four classes: truncated, malformed, unsupported, or over a limit.
//!
//! # Features
//!
//! | feature | adds | for |
//! |---|---|---|
//! | none | every view, without a heap | firmware, viewers, WebAssembly |
//! | `alloc` (default) | encoders, owned directories | writers, tests |
//! | `std` | `From<DecodeError>` for `std::io::Error` | programs |
//!
//! The only dependency is zerocopy. Views return unaligned little-endian numbers ([`I64`], [`U32`]), because cells are stored at odd offsets
//! inside larger chunks. `get` reads such a number on every machine, regardless of its byte order.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod cursor;
pub mod dtype;
mod error;
pub mod fragments;
pub mod int;
pub mod keys;
pub mod layout;
pub mod links;
pub mod manifest;
mod number_iter;
pub mod ragged;
pub mod shard;
#[cfg(feature = "alloc")]
pub mod shard_lengths;
#[cfg(feature = "alloc")]
#[cfg(test)]
mod strategies;
#[cfg(feature = "alloc")]
#[cfg(test)]
mod testing;
pub mod vlen;

pub use error::{DecodeError, EncodeError};
/// The unaligned little-endian numbers that views return; `get` reads the value.
pub use zerocopy::byteorder::little_endian::{I64, U32, U64};

/// Compiles the example of the README.
#[cfg(all(doctest, feature = "alloc"))]
#[doc = include_str!("../README.md")]
mod readme {}

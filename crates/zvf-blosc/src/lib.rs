//! Blosc and Blosc2 chunks: views, decoding block by block, filters and codecs. The core needs no std and no heap.
//!
//! [`Chunk`] is a view of one chunk, [`Encoder`] writes one (feature `alloc`), [`DecodeError`] names the invalid field and its byte.
//!
//! A *chunk* is a compressed buffer: a header of 16 (Blosc1) or 32 bytes (Blosc2), a table of block starts, and blocks that can be decoded
//! one at a time. Arrays in Caterva and b2nd frames are lists of such chunks, and numcodecs' `blosc` codec writes single ones. This crate
//! handles one chunk, not frames, files or arrays. It follows `spec/caterva-b2nd.md` 7; where that page and upstream notes disagree, it
//! follows the actual bytes.
//!
//! # A chunk
//!
//! ```text
//! | header 16 or 32 | block starts 4 x n | dictionary? | streams of block 2 | of block 0 | of block 1 |
//!                                                       └ in any order; a block is one stream, or `typesize` of them
//! ```
//!
//! | body | content | [`Body`] |
//! |---|---|---|
//! | special | every item equal: zeros, NaN, one value, never written | [`Special`] |
//! | empty | no bytes | |
//! | stored | the plain bytes | |
//! | compressed | [`BlockTable`], [`stream::Streams`], then the [`Pipeline`] of filters | |
//!
//! # Reading one block
//!
//! ```
//! use zvf_blosc::{Chunk, Codecs};
//!
//! #[rustfmt::skip]
//! let bytes = [
//!     5, 1, 0x35, 4, 16, 0, 0, 0, 8, 0, 0, 0, 54, 0, 0, 0, // lz4, unsplit; 16 bytes in blocks of 8; 54 stored
//!     0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,      // shuffle in slot 5
//!     44, 0, 0, 0, 40, 0, 0, 0,                            // block 1 is stored before block 0
//!     0, 0, 0, 0,                                          // block 1: zeros
//!     8, 0, 0, 0, 7, 9, 1, 0, 0, 0,                        // block 0 is cut short
//! ];
//! let chunk = Chunk::parse(&bytes)?;
//! let pipeline = chunk.header().pipeline(4)?;
//! let (mut out, mut scratch) = ([1; 8], [0; 8]);
//! chunk.decode_block(&pipeline, 1, None, &mut out, &mut scratch, &mut Codecs::new())?;
//! assert_eq!(out, [0; 8]);
//! let error = chunk
//!     .decode_block(&pipeline, 0, None, &mut out, &mut scratch, &mut Codecs::new())
//!     .unwrap_err();
//! assert_eq!(error.to_string(), "stream at byte 48: cut short, found 6 bytes, expected 8");
//! # Ok::<(), zvf_blosc::DecodeError>(())
//! ```
//!
//! To fetch only ranges, parse [`Header`] and [`BlockTable`] from a prefix, and pass the bytes of single blocks to
//! [`stream::decode_block`]. [`Chunk::decode_vec`] decodes a whole chunk, also of Blosc1, up to a size limit.
//!
//! # Hostile bytes
//!
//! Nothing panics, and every loop is bounded by the available bytes. Decoding allocates only the state of codecs,
//! and in `decode_vec` (at most the caller's limit) and `decode_first` (its result and three blocks). Both first reject a compressed
//! chunk whose stated size exceeds what its stored bytes can produce. A [`DecodeError`] names field, position, found and
//! expected value, and has a [`Class`]. The format has no checksum: a flipped bit in stored bytes or literals is not detected.
//!
//! # Features
//!
//! | feature | adds | code |
//! |---|---|---|
//! | none | views, filters, special, stored and BloscLZ chunks, other codecs through [`Expand`] | own |
//! | `alloc` | [`Chunk::decode_vec`], [`Encoder`] | own |
//! | `lz4`, `snappy`, `zlib` | those codecs | Rust |
//! | `lz4-c` | LZ4 decoded two to three times as fast for long matches | C |
//! | `zstd` | Zstandard, decoding and encoding | C |
//! | `ruzstd` | Zstandard, decoding, if `zstd` is off | Rust |
//! | `pure` | all of them without C | |
//!
//! The default is `std`, `lz4`, `lz4-c`, `snappy`, `zlib` and `zstd`.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

// The only conversions by `as` here are `u32 as usize` and `usize as u64`, which lose nothing.
#[cfg(target_pointer_width = "16")]
compile_error!("chunks do not fit a 16-bit address space");
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod blosclz;
#[cfg(feature = "alloc")]
mod blosclz_pack;
mod chunk;
mod codec;
#[cfg(feature = "alloc")]
mod encode;
mod error;
pub mod filters;
mod header;
#[cfg(all(feature = "ruzstd", not(feature = "zstd")))]
mod pure_zstd;
mod special;
pub mod stream;

pub use chunk::{BlockTable, Chunk};
pub use codec::{Codec, Codecs, Expand, StreamError};
#[cfg(feature = "alloc")]
pub use encode::{
    ChunkBody, EncodeError, Encoder, FirstFilter, Generation, LastFilter, Packers, Settings,
};
pub use error::{Class, DecodeError, Expected};
pub use filters::Pipeline;
pub use header::{Body, Header, LONG, MOST, SHORT, SpecialKind};
pub use special::Special;

/// Compiles the example of the README.
#[cfg(all(doctest, feature = "alloc"))]
#[doc = include_str!("../README.md")]
mod readme {}

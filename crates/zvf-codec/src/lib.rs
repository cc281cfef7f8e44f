//! Bytes-to-bytes codecs of Zarr arrays, in both directions.
//!
//! [`Chain`] decodes the chunks of an array by its list of codecs, within a limit on the decoded size. `Compression` encodes them (feature `encode`),
//! and [`RangeDecoder`] decodes parts of a chunk. Zstandard, gzip, bzip2 and CRC-32C are implemented by maintained crates, Blosc by `zvf-blosc`,
//! Fletcher-32 by this crate, and all other codecs by `zarrs`, called through [`isolate`](mod@isolate).
//!
//! ```
//! # #[cfg(feature = "encode")]
//! # fn main() -> Result<(), zvf_codec::CodecError> {
//! use zvf_codec::{Chain, Compression, Data};
//!
//! let compression: Compression = "zstd".parse()?;
//! let chunk = compression.encode(vec![7; 10_000])?;
//! assert!(chunk.len() < 100);
//! let chain = Chain::new(&compression.codecs()).map_err(zvf_codec::CodecError::Unsupported)?;
//! assert_eq!(chain.decode(Data::Borrowed(&chunk), 1 << 20)?.as_slice(), vec![7; 10_000]);
//! // The caller limits the decoded size of a chunk before it is decoded.
//! assert!(chain.decode(Data::Borrowed(&chunk), 1000).is_err());
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "encode"))]
//! # fn main() {}
//! ```
//!
//! # Features
//!
//! `zstd`, `gzip`, `blosc` (default): codecs. `pure`: the same without C code, for reading. `zarrs`: codecs that only the `zarrs` crate has.
//! `encode`: `Compression`.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "blosc-frames")]
mod blosc;
#[cfg(feature = "zarrs")]
mod bz2;
mod chain;
#[cfg(feature = "encode")]
mod choice;
#[cfg(feature = "encode")]
mod compression;
mod data;
mod error;
mod fletcher32;
#[cfg(feature = "zarrs")]
mod foreign;
#[cfg(feature = "encode")]
mod frames;
#[cfg(feature = "gzip")]
mod gzip;
pub mod isolate;
#[cfg(all(feature = "encode", feature = "zarrs"))]
mod pipeline;
#[cfg(any(test, all(feature = "pure", not(feature = "zstd"))))]
mod pure_zstd;
mod ranges;
mod stored;
#[cfg(feature = "encode")]
mod text;
#[cfg(feature = "zarrs")]
mod zarrs_blosc;
#[cfg(feature = "zstd")]
mod zstd;

pub use chain::Chain;
#[cfg(feature = "encode")]
pub use choice::CodecSample;
#[cfg(feature = "encode")]
pub use compression::Compression;
pub use data::Data;
pub use error::{CodecError, names};
#[cfg(feature = "encode")]
pub use frames::{BloscFrames, BloscLibrary};
pub use ranges::RangeDecoder;
pub use stored::{ReadStored, StoredBytes};
#[cfg(feature = "zarrs")]
pub use zarrs_blosc::register_blosc;

/// Compiles the example of the README.
#[cfg(all(doctest, feature = "encode"))]
#[doc = include_str!("../README.md")]
mod readme {}

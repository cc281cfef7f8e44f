//! Zero-copy codecs for every blob of the Zarr Vectors Format (ZVF), without std and without heap.
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
mod int;
pub mod keys;
pub mod links;
pub mod manifest;
pub mod ragged;
#[cfg(all(test, feature = "alloc"))]
mod strategies;
#[cfg(all(test, feature = "alloc"))]
mod testing;
pub mod vlen;

pub use error::{DecodeError, EncodeError};
/// The unaligned little-endian numbers that views hand out; `get` reads one.
pub use zerocopy::byteorder::little_endian::{I64, U32, U64};

//! Caterva and b2nd arrays.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

pub mod dtype;
mod entry;
mod geometry;
mod header;
mod int;
mod marked;
mod meta;
mod nd;
#[cfg(feature = "std")]
mod read;
mod view;
#[cfg(feature = "std")]
mod write;

pub use entry::Entry;
pub use geometry::Geometry;
pub use header::{FrameHeader, HEADER, Layout, MAGIC, TRAILER, TrailerTail};
pub use meta::{MOST_FIXED, MOST_VARIABLE, Metalayer, Metalayers};
pub use nd::{NdKind, NdMeta};
#[cfg(feature = "object_store")]
pub use read::ObjectArray;
#[cfg(feature = "std")]
pub use read::{Array, Counts, Error, ErrorClass, FileAt, Frame, ReadAt, ReadOptions};
pub use view::{FrameView, find_nd};
#[cfg(feature = "std")]
pub use write::{ChunkRegion, WriteOptions, Writer};
pub use zvf_blosc::{Class, DecodeError, Special, SpecialKind};
#[cfg(feature = "std")]
pub use zvf_blosc::{Codec, EncodeError, FirstFilter, LastFilter};
pub use zvf_grid::{Axis, Dims, GridError, Selection};

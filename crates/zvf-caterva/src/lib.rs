//! Caterva and b2nd arrays in Blosc2 frames: views without std or heap, readers that decode only the needed blocks, and
//! a writer.
//!
//! `Array` reads slices of a file, `Writer` creates a file (both with `std`), [`FrameView`] is a view of a frame in memory.
//!
//! An array is cut into equal *chunks*, every chunk into equal *blocks*. A chunk is one compressed buffer; a block is the smallest
//! unit that can be decompressed. Reading a plane of a volume therefore decodes the blocks that it intersects, not the chunks. The
//! bytes follow `spec/caterva-b2nd.md`; single chunks are decoded by [`zvf_blosc`].
//!
//! ```text
//! header 87 | metalayers: b2nd or caterva, others | chunks ... | index | trailer: variable-length metalayers
//!                         └ shape, chunks, blocks, dtype          └ position of every chunk, or the value of all its items
//! ```
//!
//! | part | view | section of `spec/caterva-b2nd.md` |
//! |---|---|---|
//! | header | [`FrameHeader`] | 3.1 |
//! | metalayers of header and trailer | [`Metalayers`], [`TrailerTail`] | 3.2, 3.5 |
//! | n-d metalayer | [`NdMeta`], with any of 0 to 16 dimensions | 5 |
//! | index entries | [`Entry`] | 3.4 |
//! | all of them, of a frame in memory | [`FrameView`] | 3 |
//! | shapes, and the grid that they define | [`Geometry`] | 6 |
//! | item types | [`dtype::Dtype`] | 5.3 |
//!
//! # One write, one read
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use zvf_caterva::{Array, Axis, Selection, WriteOptions, Writer};
//!
//! let items: Vec<u8> = (0..40 * 50).map(|i| (i % 7) as u8).collect();
//! let options = WriteOptions::new(1, &[16, 16], &[8, 4]).with_dtype("|u1");
//! let mut writer = Writer::in_memory(&[40, 50], options)?; // or `create`, for a file
//! writer.write_all(&items)?;
//! let frame = writer.finish()?.unwrap_or_default();
//!
//! let array = Array::from_bytes(frame)?; // or `open`, for a file or the folder of a sparse frame
//! let column = Selection::new(&[Axis::new(0, 40, 2), Axis::at(9)], &array.geometry().shape)?;
//! let found = array.read(&column)?; // C order, items as stored
//! assert_eq!(found[3], items[6 * 50 + 9]);
//! assert_eq!(array.counts().blocks, 5); // of 96: chunks are cut into blocks of 8 x 4
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Cost of reading
//!
//! Opening takes at most three reads: the first 4 KiB, the whole header if it is longer, and everything from the index on. For each chunk
//! that a slice intersects, the block table is read (and cached), then each run of needed blocks. Small chunks are read whole, and so is a
//! chunk of a remote frame if more than half of its blocks are needed. Chunks that the index marks as special are filled in without being
//! read. [`Array::counts`] and [`ReadOptions::observer`] report what a read did. Threads work on slabs of the result; a single thread reads
//! and decodes in the caller's thread.
//!
//! # Hostile bytes
//!
//! Nothing panics, and no size is used before the bytes that it describes are known to exist: a repeated-value index of 40 bytes
//! describes any number of chunks and stays 40 bytes. A damaged chunk does not prevent reading the others
//! ([`Error::Chunk`], [`Error::Block`]). The format has no checksum.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | none | views: no std, no heap |
//! | `std` (default) | files, sparse folders, memory, any `ReadAt`; slices; the writer |
//! | `lz4`, `zlib`, `zstd`, `lz4-c` (default), `ruzstd` | codecs, as in [`zvf_blosc`] |
//! | `pure` | `std` and every codec without C code |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

pub mod dtype;
mod entry;
mod geometry;
mod header;
pub mod layout;
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
pub use header::{FrameHeader, FrameLayout, HEADER, MAGIC, MAGIC_AT, TRAILER, TrailerTail};
pub use meta::{MOST_FIXED, MOST_VARIABLE, Metalayer, Metalayers};
pub use nd::{NdKind, NdMeta};
#[cfg(feature = "std")]
pub use read::{Array, Error, ErrorClass, Frame, ReadCounts, ReadOptions};
pub use view::{FrameView, find_nd};
#[cfg(feature = "std")]
pub use write::{ChunkRegion, WriteOptions, Writer};
pub use zvf_blosc::{Class, DecodeError, Special, SpecialKind};
#[cfg(feature = "std")]
pub use zvf_blosc::{Codec, EncodeError, FirstFilter, LastFilter};
pub use zvf_grid::{Axis, Dims, GridError, Selection};
#[cfg(feature = "std")]
pub use zvf_sys::{ReadAt, ReadFolder};

/// Compiles the example of the README.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
mod readme {}

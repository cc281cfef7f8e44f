//! TET: one file with named arrays that are divided into tiles, and an index that is used without being copied.
//!
//! [`Tet`] is a view of a file, `TetFile` reads and `TetWriter` writes one (feature `std`).
//!
//! ```text
//! superblock 32 | directory: names, types, shapes | index: 104 bytes a tile | payloads | footer: JSON, tail 16
//! ```
//!
//! The crate has two halves. The first needs neither `std` nor a heap: [`Tet`] is a view of the front of a file that
//! makes every check of the format and reports violations as [`TetError`]. The second half needs `std`. It reads
//! selections of any rank and stride ([`TetFile`]) from memory, files, memory maps, and remote objects (with `zvf-io`);
//! it verifies ([`verify`]) and writes ([`TetWriter`]). `docs/tet.md` describes the format.
//!
//! # Inspect a file without a heap
//!
//! ```
//! use zvf_tet::{Profile, Tet};
//!
//! let bytes = include_bytes!("../../../testdata/tet/f32_1d_edge_raw.tet");
//! let (tet, proof) = Tet::open_in(bytes, Profile::Strict, &mut [])?;
//! let record = tet.record("x").ok_or("no x")?;
//! assert_eq!(&record.shape()[..], &[10]);
//! assert!(proof.canonical && proof.packed);
//!
//! // The tile with elements 8 and 9: its row in the index is computed, without a search.
//! let (row, entry) = tet.find(0, 0, &record.grid()?, &[2]).ok_or("no tile")?;
//! assert_eq!((row, entry.payload_offset.get(), entry.raw_byte_len.get()), (2, 456, 8));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Write, then read every second element
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use zvf_tet::{Axis, DType, DatasetSpec, TetFile, TetWriter, TileCodec, WriteOptions};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("a.tet");
//! let spec = DatasetSpec::new("fa", DType::U16, &[3, 4], &[2, 4]).with_codec(TileCodec::Zstd);
//! let mut writer = TetWriter::create(&path, vec![spec], WriteOptions::default())?;
//! let values: Vec<u8> = (0_u16..12).flat_map(u16::to_le_bytes).collect();
//! writer.write_array(&values)?;
//! writer.finish()?;
//!
//! let file = TetFile::open(&path)?;
//! let fa = file.dataset("fa")?;
//! let wanted = fa.select(&[Axis::new(0, 3, 2), Axis::all(4)])?;
//! let (bytes, stats) = file.read(fa, &wanted)?;
//! assert_eq!(bytes, [&values[..8], &values[16..]].concat());
//! assert_eq!(stats.tiles, 2);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! | feature | adds | for |
//! |---|---|---|
//! | none | views and checks, without a heap | firmware, viewers |
//! | `alloc` | [`Tet::open`] | the same with a heap |
//! | `std` (default) | files: read, verify, write | programs |
//! | `mmap` | `TetFile::map` | local files that do not change |
//!
//! # Trust
//!
//! Every number of a file is untrusted: lengths are checked before memory is allocated, decoders are bounded by the length
//! of the tile, zone maps and secondary indexes are never used, and nothing panics. NaN is data like any other.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod check;
mod dtype;
mod error;
mod footer;
mod json;
pub mod layout;
mod record;
mod view;

pub use check::Proof;
pub use dtype::DType;
pub use error::{Class, Expected, FieldOwner, Profile, TetError, Warning, Warnings};
pub use footer::{FooterPlace, FooterRefs};
pub use json::Spill;
pub use layout::{IndexEntry, TileCodec};
pub use record::{DatasetGeometry, Record, Records};
pub use view::{Tet, head_len};
/// Selections of arrays, of `zvf-grid`.
pub use zvf_grid::{Axis, Dims, GridError, Selection};
#[cfg(feature = "std")]
pub use zvf_sys::ReadAt;

#[cfg(feature = "std")]
mod files;
#[cfg(feature = "std")]
pub use files::*;

/// Compiles the example of the README.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
mod readme {}

//! Dense volumes that accompany vector data: an FA map along streamlines, a label volume under synapses.
//!
//! [`Volume`] is one view over four containers: datasets of TET files (`zvf-tet`); Caterva and b2nd arrays in Blosc2 frames (`zvf-caterva`);
//! Zarr arrays, single or as levels of an OME-Zarr image (by the crate `zarrs`, on the storage of `zvf-store`); and image files (NIfTI and
//! MGH). All are read from the local disk, buckets and web servers, by boxes and strides, and only the tiles, blocks or chunks that a selection
//! intersects are fetched. Compressed image files are decompressed as a whole, once; files on servers that do not support ranges are read as a
//! whole.
//!
//! # Addresses
//!
//! `FILE[#NAME]`: a path or URL; `#NAME` selects one of several datasets or levels by name, `#@N` by number. Without it, the only volume is
//! selected, or the first level of an image.
//!
//! # Coordinates
//!
//! Images state the positions of their elements ([`AxisInfo::place`], from OME-Zarr `coordinateTransformations`). Image files state an affine
//! ([`VolumeInfo::affine`]). TET and Caterva state neither. Index `i` of an axis is the centre of a voxel.
//!
//! # Cost
//!
//! Opening reads the front (and end) of a file, or the documents of an image. A read fetches the bytes of the intersected chunks. Memory is
//! bounded by the result and the chunks that are being read, and the decompressed copy of a compressed image file (at most 64 MiB, else a
//! temporary file).
//!
//! # Example
//!
//! ```
//! use zvf_store::blocking::Runtime;
//! use zvf_store::IoOptions;
//! use zvf_volume::{AxisRanges, Volume};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tet/f64_2d_edge_zstd.tet");
//! Runtime::new()?.wait(async {
//!     let volume = Volume::open(file, &IoOptions::new()).await?;
//!     assert_eq!(volume.info().element.text, "<f8");
//!     // As NumPy writes it: the first row, every second column.
//!     let range = AxisRanges::parse("0, ::2", &volume.info().shape)?;
//!     let (bytes, counts) = volume.read(&range.selection).await?;
//!     assert_eq!(bytes.len() as u64, range.selection.count().unwrap_or(0) * 8);
//!     assert!(counts.chunks >= 1);
//!     Ok(())
//! })
//! # }
//! ```

mod address;
mod affine;
mod blocking;
mod convert;
mod counts;
mod element;
mod error;
mod image;
mod image_file;
mod info;
mod labels;
mod npy;
mod open;
mod placement;
mod range;
mod sample;
mod volume;

pub use address::{VolumeAddress, VolumePick};
pub use affine::affine_of_axes;
pub use convert::{ConvertOptions, Converted, convert};
pub use counts::Counts;
pub use element::Element;
pub use error::VolumeError;
pub use info::{AxisInfo, VolumeFormat, VolumeInfo};
pub use npy::npy_header;
pub use placement::VolumePlacement;
pub use range::AxisRanges;
pub use sample::{AxisUse, Interpolation, Sampled, Sampler};
pub use volume::Volume;
pub use zvf_grid::{Axis, Dims, Selection};
pub use zvf_meta::{Affine, StatedAffine};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

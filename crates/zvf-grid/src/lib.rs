//! Rectangular, strided selections of arrays in C order, the cells of a regular grid that they intersect, and the copies
//! between a cell and a result.
//!
//! A [`Selection`] describes the wanted elements, [`Cells`] iterates over the cells that it intersects, and [`Merge`] decides when two byte
//! ranges become one request.
//!
//! TET tiles, Caterva chunks and their blocks, and the chunks of a Zarr image have the same structure: an array is cut into equal boxes. To read some
//! elements, a reader must compute which boxes to fetch, and where to copy their elements. Boxes that are stored near each other are fetched together
//! ([`Merge`]). This crate does only that arithmetic: it is independent of file formats, does no I/O, never allocates and needs neither `std` nor
//! `alloc`.
//!
//! # Terms
//!
//! * *Axis 0* is the slowest, the last axis the fastest (C order, row-major).
//! * A [`Selection`] takes, on every axis, the indices `start, start + step, …` below `stop` ([`Axis`]). Its *result* is a dense C-order array
//!   of these elements.
//! * A *cell* is one box of the grid: a tile, a chunk or a block. Cells start at multiples of the cell's shape; the last cell of an axis may
//!   extend beyond the array. The format decides how such a cell is stored (clipped, padded), so the shape of the buffer is an argument of
//!   [`copy`].
//!
//! # Cost
//!
//! Cost is proportional to the intersected cells, not to the grid. [`Selection::cells`] of one column in a grid of 2⁶⁰ cells takes time
//! proportional to the cells of that column; cells that a step skips are not visited. [`copy`] copies contiguous tails with one `memcpy` each,
//! and single elements of 1, 2, 4, 8 and 16 bytes without a call per element.
//!
//! # Limits
//!
//! At most [`MAX_RANK`] axes. Numbers are `u64` and may come from a file: every product and sum is checked, and an overflow is a [`GridError`].
//! Nothing panics.
//!
//! # Example
//!
//! Read rows 1 to 3, every second column, of a 5 × 7 array that is stored in clipped tiles of 3 × 4.
//!
//! ```
//! use zvf_grid::{Axis, Dims, Selection, copy};
//!
//! # fn main() -> Result<(), zvf_grid::GridError> {
//! let shape = [5, 7];
//! let tile = [3, 4];
//! let wanted = Selection::new(&[Axis::new(1, 4, 1), Axis::new(0, 7, 2)], &shape)?;
//! assert_eq!(&wanted.shape()[..], &[3, 4]);
//!
//! let mut result = vec![0u8; 12];
//! for cell in wanted.cells(&tile)? {
//!     // The stored tile: bytes with the values row * 10 + column.
//!     let extent = Dims::clipped(&cell.coord(), &tile, &shape)?;
//!     let stored: Vec<u8> = (0..extent[0])
//!         .flat_map(|r| (0..extent[1]).map(move |c| (r, c)))
//!         .map(|(r, c)| ((cell.coord()[0] * 3 + r) * 10 + cell.coord()[1] * 4 + c) as u8)
//!         .collect();
//!     copy(1, &stored, &extent, &mut result, &wanted.shape(), cell.runs())?;
//! }
//! assert_eq!(result, [10, 12, 14, 16, 20, 22, 24, 26, 30, 32, 34, 36]);
//! # Ok(())
//! # }
//! ```

#![no_std]
#![forbid(unsafe_code)]

mod cells;
mod copy;
mod dims;
mod error;
pub mod int;
mod merge;
mod select;
mod slabs;

pub use cells::{AxisPart, AxisParts, CellPart, Cells};
pub use copy::{Run, copy, fill};
pub use dims::Dims;
pub use error::GridError;
pub use merge::{Merge, MergedRanges};
pub use select::{Axis, Selection};
pub use slabs::Slabs;

/// Most axes of an array: b2nd allows 16, TET 8, Zarr any number (images do not have more than 16).
pub const MAX_RANK: usize = 16;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

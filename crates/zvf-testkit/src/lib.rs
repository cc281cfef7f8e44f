//! Test support: the bundled stores and what went into them.
//!
//! `testdata/zvf` holds small stores of every generation of the format, real and made, one folder a generation. Each archive
//! carries the store, the questions to ask of it ([`Case`]) and the input that the store was made from ([`Truth`]). Tests
//! compare what we read with that input, never with what another program reads.
//!
//! ```
//! # fn main() -> anyhow::Result<()> {
//! let store = zvf_testkit::unpack("real_skeleton")?;
//! assert!(store.path().join("zarr.json").is_file());
//! let truth = zvf_testkit::truth("real_skeleton")?;
//! assert_eq!(truth.positions.shape, [4465, 3]);
//! # Ok(())
//! # }
//! ```
//!
//! Stores reorder rows, so compare by content: sets of positions with their attributes, edges as pairs of
//! positions, faces as cyclic triples, lines and streamlines in order.
//!
//! With the feature `faults` there are backends that fail, wait, lie and change under the reader: `faults`.

mod archive;
mod case;
#[cfg(feature = "faults")]
pub mod faults;
mod npy;
mod npz;
#[cfg(feature = "arrow")]
pub mod text;
mod truth;
mod web;

pub use archive::{
    TempStore, all_cases, cases, files, refused_cases, testdata, unpack, unpack_into, unpacked,
};
pub use case::{BoxQuery, Case, case};
pub use npy::{Column, Values};
pub use truth::{Truth, truth};
pub use web::StoppingServer;

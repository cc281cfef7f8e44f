//! Test support: the bundled stores and their expected contents.
//!
//! `testdata/zvf` holds small stores of every generation of the format, real and made, one folder for each generation. Each archive
//! has the store, the queries to run on it ([`Case`]) and the input from which the store was made ([`Truth`]). Tests
//! compare results with that input, never with the results of another program.
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
//! With the feature `faults` there are backends that fail, delay, return wrong data and change under the reader: `faults`.

mod archive;
mod case;
#[cfg(feature = "faults")]
pub mod faults;
mod npy;
mod npz;
pub mod sample;
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

//! A store that is made from a file has the contents of the file: it is compared with the input text.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod broken;
mod defaults;
mod export;
mod frames;
mod imported;
mod las;
mod las_out;
mod linked;
mod mesh_regions;
mod meshes;
mod odd_files;
#[cfg(feature = "parquet")]
mod parquet;
mod parse;
mod precomputed;
mod records;
mod skeletons;
mod streamlines;
mod support;
mod tables;
mod trx;

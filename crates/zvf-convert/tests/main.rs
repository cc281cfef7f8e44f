//! What stands in a file comes out of the store made from it: compared with the text that went in.

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

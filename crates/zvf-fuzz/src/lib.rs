//! Fuzz targets: one function for each decoder.
//!
//! A target takes any bytes. It reads the parameters of a decoder from the first bytes, decodes the rest, visits all
//! decoded values, and asserts that views agree with each other and that a decoded value, encoded again, decodes to
//! the same value. A target that returns has passed.
//!
//! `cargo xtask fuzz` runs them under a fuzzer; the functions are here and not in the fuzzer's own workspace, so that plain
//! `cargo test` replays the corpus in `testdata/fuzz`, crashes included.
#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a violated invariant must stop the fuzzer"
)]

mod caterva;
mod cells;
mod documents;
mod fragments;
mod image;
mod import;
mod keys;
mod links;
mod manifest;
mod older;
mod split;
mod store;
mod tet;
mod validation;

pub use caterva::{blosc_chunk, caterva_frame};
pub use cells::{array_document, codec_ranges, codecs, shard};
pub use documents::document;
pub use fragments::fragment_index;
pub use image::image_file;
pub use import::import_file;
pub use keys::{dtype, keys};
pub use links::{lehmer, link_cell};
pub use manifest::{manifest, ragged, vlen};
pub use older::{
    blobs, cross_cells, dense_manifests, flat_records, masked_table, padded, split_groups,
    split_manifests,
};
pub use tet::{tet_file, tet_writer};
pub use validation::broken_store;

/// A target's function.
pub type Target = fn(&[u8]);

/// Every target with its name; the name is also its corpus folder and its fuzzer binary.
pub const TARGETS: &[(&str, Target)] = &[
    ("array_document", array_document),
    ("blobs", blobs),
    ("blosc_chunk", blosc_chunk),
    ("broken_store", broken_store),
    ("caterva_frame", caterva_frame),
    ("codec_ranges", codec_ranges),
    ("codecs", codecs),
    ("cross_cells", cross_cells),
    ("dense_manifests", dense_manifests),
    ("document", document),
    ("dtype", dtype),
    ("flat_records", flat_records),
    ("fragment_index", fragment_index),
    ("image_file", image_file),
    ("import_file", import_file),
    ("keys", keys),
    ("lehmer", lehmer),
    ("link_cell", link_cell),
    ("manifest", manifest),
    ("masked_table", masked_table),
    ("padded", padded),
    ("ragged", ragged),
    ("shard", shard),
    ("split_groups", split_groups),
    ("split_manifests", split_manifests),
    ("tet_file", tet_file),
    ("tet_writer", tet_writer),
    ("vlen", vlen),
];

/// The names of the targets that open a whole store, or a file, for every input.
pub const STORES: &[&str] = &[
    "array_document",
    "blobs",
    "broken_store",
    "cross_cells",
    "dense_manifests",
    "flat_records",
    "image_file",
    "import_file",
    "masked_table",
    "padded",
    "shard",
    "split_groups",
    "split_manifests",
    "tet_file",
    "tet_writer",
];

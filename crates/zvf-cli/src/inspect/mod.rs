//! `zvf inspect`: one blob taken apart, every field with its offset, bytes, name, value and meaning.
//!
//! The decoders of `zvf-format` stop at the first wrong byte and hand out views without offsets. A dump that teaches must
//! show what lies *before* the damage, so the walkers here read the declared structures one by one and print the tables of
//! their fields; they know which structure comes next, and no bytes. What is damage, and where, the decoders say: a walker
//! runs under their verdict ([`dump::Walk::judged`]). Tests take every fixture blob apart whole, cut short at every byte and
//! with bits flipped.

pub(crate) mod blobs;
#[cfg(feature = "volumes")]
pub(crate) mod caterva;
pub(crate) mod dump;
pub(crate) mod fragments;
pub(crate) mod guess;
pub(crate) mod json;
pub(crate) mod known;
pub(crate) mod links;
pub(crate) mod locate;
pub(crate) mod manifest;
pub(crate) mod place;
pub(crate) mod ragged;
pub(crate) mod render;
pub(crate) mod rows;
pub(crate) mod shard;
pub(crate) mod tables;
#[cfg(feature = "volumes")]
pub(crate) mod tet;
pub(crate) mod vlen;

#[cfg(test)]
mod tests;

use crate::args::BlobArg;
use dump::{Dump, Walk};
use zvf_format::dtype::DType;

/// What is known about a blob besides its bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Context {
    /// Components of a chunk key.
    pub(crate) key_rank: Option<usize>,
    /// Columns of a row, without a permutation column.
    pub(crate) width: Option<usize>,
    /// Element type of rows.
    pub(crate) dtype: Option<DType>,
    /// Whether link rows begin with a permutation column.
    pub(crate) perm: Option<bool>,
    /// Names of the columns: axes, channels.
    pub(crate) columns: Vec<String>,
    /// Values that dictionary codes stand for.
    pub(crate) categories: Vec<String>,
    /// The chunk that the blob belongs to.
    pub(crate) chunk: Option<Vec<i64>>,
    /// Where the endpoints of a link row lie, in stored order: `chunk 0.0.0`, `chunk 1.0.0 of level 1`.
    pub(crate) endpoints: Vec<String>,
    /// Levels of the first and of the other endpoints, where they differ.
    pub(crate) levels: Option<(i64, i64)>,
    /// Byte offsets of the rows of a blob, from the table beside it.
    pub(crate) offsets: Vec<u64>,
    /// Elements of a vlen chunk, when its array says so.
    pub(crate) elements: Option<u64>,
    /// The element of a vlen chunk or the entry of a shard that is asked for.
    pub(crate) element: Option<u64>,
    /// Rows before the one that is asked for.
    pub(crate) first_row: u64,
    /// Rows of this chunk that the array has; the others are padding.
    pub(crate) real_rows: Option<u64>,
    /// Entries of a shard's index.
    pub(crate) entries: Option<u64>,
}

/// Takes `bytes` apart as a blob of the given kind. Everything read ends in `dump`, damage too.
///
/// # Panics
///
/// Never, regardless of the bytes.
pub(crate) fn take_apart(dump: &mut Dump, bytes: &[u8], blob: BlobArg, context: &Context) {
    match blob {
        BlobArg::FragmentIndex => fragments::walk(dump, bytes),
        BlobArg::Manifest => manifest::walk(dump, bytes, context),
        BlobArg::Links => links::walk(dump, bytes, context, false),
        BlobArg::RaggedLinks => links::walk(dump, bytes, context, true),
        BlobArg::Ragged => ragged::walk(dump, bytes),
        // What is inside is taken apart by callers that know it.
        BlobArg::Vlen => drop(vlen::walk(dump, bytes, context)),
        BlobArg::Shard => drop(shard::walk(dump, bytes, context)),
        BlobArg::Vertices | BlobArg::Attribute => {
            let _ = rows::rows(&mut Walk::new(dump, bytes), blob, context);
        }
        BlobArg::Group => drop(rows::group(&mut Walk::new(dump, bytes), context)),
        BlobArg::Records => drop(tables::records(&mut Walk::new(dump, bytes), context)),
        BlobArg::Manifests => drop(tables::manifests(&mut Walk::new(dump, bytes), context)),
        BlobArg::Offsets => drop(tables::offsets(&mut Walk::new(dump, bytes), context)),
        BlobArg::Mask => drop(tables::mask(&mut Walk::new(dump, bytes), context)),
        BlobArg::Names => drop(tables::names(&mut Walk::new(dump, bytes))),
        // The index of packed chunks stands in their document.
        BlobArg::Packed => dump.conclude(format!("{} bytes of packed chunks", bytes.len())),
        BlobArg::Json => json::walk(dump, bytes),
        #[cfg(feature = "volumes")]
        BlobArg::Tet => tet::walk(dump, bytes),
        #[cfg(feature = "volumes")]
        BlobArg::Caterva => caterva::walk(dump, bytes),
    }
}

/// A chunk key.
pub(crate) fn key(chunk: &[i64]) -> String {
    chunk
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(".")
}

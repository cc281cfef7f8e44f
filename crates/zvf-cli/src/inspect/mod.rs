//! `zvf inspect`: dumps one blob, every field with its offset, bytes, name, value and meaning.
//!
//! The decoders of `zvf-format` stop at the first wrong byte and return views without offsets. A useful dump must show the fields *before* the
//! damage. So the functions here read the declared structures one by one and print the tables of their fields; they only determine which structure
//! is next. The decoders determine whether and where a blob is damaged ([`dump::Walk::judged`]). Tests dump every fixture blob complete, truncated
//! at every byte, and with flipped bits.

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
use place::Known;

/// Takes `bytes` apart as a blob of the given kind. Everything read ends in `dump`, damage too.
///
/// # Panics
///
/// Never, regardless of the bytes.
pub(crate) fn take_apart(dump: &mut Dump, bytes: &[u8], blob: BlobArg, known: &Known) {
    match blob {
        BlobArg::FragmentIndex => fragments::walk(dump, bytes),
        BlobArg::Manifest => manifest::walk(dump, bytes, known),
        BlobArg::Links => links::walk(dump, bytes, known, false),
        BlobArg::RaggedLinks => links::walk(dump, bytes, known, true),
        BlobArg::Ragged => ragged::walk(dump, bytes),
        // What is inside is taken apart by callers that know it.
        BlobArg::Vlen => drop(vlen::walk(dump, bytes, known)),
        BlobArg::Shard => drop(shard::walk(dump, bytes, known)),
        BlobArg::Vertices | BlobArg::Attribute => {
            let _ = rows::rows(&mut Walk::new(dump, bytes), blob, known);
        }
        BlobArg::Group => drop(rows::group(&mut Walk::new(dump, bytes), known)),
        BlobArg::Records => drop(tables::records(&mut Walk::new(dump, bytes), known)),
        BlobArg::Manifests => drop(tables::manifests(&mut Walk::new(dump, bytes), known)),
        BlobArg::Offsets => drop(tables::offsets(&mut Walk::new(dump, bytes), known)),
        BlobArg::Mask => drop(tables::mask(&mut Walk::new(dump, bytes), known)),
        BlobArg::Names => drop(tables::names(&mut Walk::new(dump, bytes))),
        // The index of packed chunks is in their document.
        BlobArg::Packed => dump.conclude(format!("{} bytes of packed chunks", bytes.len())),
        BlobArg::Json => json::walk(dump, bytes),
        #[cfg(feature = "volumes")]
        BlobArg::Tet => tet::walk(dump, bytes),
        #[cfg(feature = "volumes")]
        BlobArg::Caterva => caterva::walk(dump, bytes),
    }
}

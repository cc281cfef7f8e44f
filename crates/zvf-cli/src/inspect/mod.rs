//! `zvf inspect`: dumps one blob, every field with its offset, bytes, name, value and meaning.
//!
//! The decoders of `zvf-format` stop at the first wrong byte and return views without offsets. A useful dump must show the fields *before* the
//! damage. So the functions here read the declared structures one by one and print the tables of their fields; they only determine which structure
//! is next. The decoders determine whether and where a blob is damaged ([`dump::Walk::judge`]). Tests dump every fixture blob complete, truncated
//! at every byte, and with flipped bits.

#[cfg(feature = "volumes")]
pub(crate) mod caterva;
pub(crate) mod containers;
pub(crate) mod dump;
pub(crate) mod fragments;
pub(crate) mod guess;
pub(crate) mod json;
pub(crate) mod links;
pub(crate) mod manifest;
pub(crate) mod ragged;
pub(crate) mod render;
pub(crate) mod rows;
#[cfg(feature = "volumes")]
pub(crate) mod tet;

#[cfg(test)]
mod tests;

use crate::args::BlobArg;
use dump::{Dump, Walk};
use zvf_store::CellFacts;

/// Dumps `bytes` as a blob of the given kind: records all fields, and damage, in `dump`. Returns the requested element of a container.
///
/// # Panics
///
/// Never, regardless of the bytes.
pub(crate) fn take_apart<'a>(
    dump: &mut Dump,
    bytes: &'a [u8],
    blob: BlobArg,
    known: &CellFacts,
) -> Option<&'a [u8]> {
    let mut taken = Walk::new(dump, bytes);
    let walk = &mut taken;
    // The dump records why a walk stopped.
    let _ = match blob {
        BlobArg::FragmentIndex => fragments::walk(walk),
        BlobArg::Manifest => manifest::walk(walk, known),
        BlobArg::Links => links::walk(walk, known, false),
        BlobArg::RaggedLinks => links::walk(walk, known, true),
        BlobArg::Ragged => ragged::walk(walk),
        BlobArg::Vlen => containers::vlen(walk, known),
        BlobArg::Shard => containers::shard(walk, known),
        BlobArg::Vertices => rows::rows(walk, known, true),
        BlobArg::Attribute => rows::rows(walk, known, false),
        BlobArg::Group => rows::group(walk, known),
        BlobArg::Records => links::records(walk, known),
        BlobArg::Manifests => manifest::concatenated(walk, known),
        BlobArg::Offsets => rows::offsets(walk, known),
        BlobArg::Mask => rows::mask(walk, known),
        BlobArg::Names => rows::names(walk),
        BlobArg::Packed => containers::packed(walk, known),
        BlobArg::Json => json::walk(walk),
        #[cfg(feature = "volumes")]
        BlobArg::Tet => tet::walk(walk),
        #[cfg(feature = "volumes")]
        BlobArg::Caterva => caterva::walk(walk),
    };
    taken.finish()
}

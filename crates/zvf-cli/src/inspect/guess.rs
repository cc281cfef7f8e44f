//! Recognises a file by its magic or its structure.

use zvf_format::fragments::MAGIC_BYTES;
use zvf_format::ragged::RaggedBlob;
use zvf_format::vlen::VlenChunk;

use super::containers;
use super::manifest;
use crate::args::BlobArg;

/// The name of the Zarr codec whose magic a compressed file begins with.
pub(crate) fn compression(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("zstd"),
        [0x1f, 0x8b, 0x08, ..] => Some("gzip"),
        _ => None,
    }
}

/// The kind of blob that the bytes look like. Magic decides first, then structures that account for every byte.
pub(crate) fn guess(bytes: &[u8]) -> Option<BlobArg> {
    #[cfg(feature = "volumes")]
    let behind = bytes.get(zvf_caterva::MAGIC_AT..).unwrap_or_default();
    Some(match bytes {
        _ if bytes.starts_with(&MAGIC_BYTES) => BlobArg::FragmentIndex,
        #[cfg(feature = "volumes")]
        _ if bytes.starts_with(&zvf_tet::layout::MAGIC) => BlobArg::Tet,
        #[cfg(feature = "volumes")]
        _ if behind.starts_with(zvf_caterva::MAGIC) => BlobArg::Caterva,
        _ if bytes.trim_ascii_start().starts_with(b"{") => BlobArg::Json,
        _ if is_vlen(bytes) => BlobArg::Vlen,
        _ if manifest::guess_rank(bytes).is_some() => BlobArg::Manifest,
        _ if bytes.len() > 20 && containers::guess_entries(bytes).is_some() => BlobArg::Shard,
        _ if is_ragged(bytes) => BlobArg::Ragged,
        _ => return None,
    })
}

fn is_ragged(bytes: &[u8]) -> bool {
    bytes.len() >= 16 && RaggedBlob::parse(bytes).is_ok_and(|blob| !blob.is_empty())
}

/// Whether the bytes are a count of at least one and that many elements, without trailing bytes.
fn is_vlen(bytes: &[u8]) -> bool {
    VlenChunk::count(bytes).is_some_and(|count| {
        let chunk = VlenChunk::parse(bytes, count);
        count > 0 && chunk.is_ok_and(|chunk| chunk.trailing().is_empty())
    })
}

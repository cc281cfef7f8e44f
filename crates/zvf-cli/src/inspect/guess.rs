//! Recognises a file by its magic or its structure.

use zvf_format::fragments::MAGIC_BYTES;
use zvf_format::ragged::RaggedBlob;
use zvf_format::vlen::VlenChunk;

use super::containers;
use super::manifest;
use crate::args::BlobArg;

/// The name of the Zarr codec whose magic a compressed file begins with.
pub(crate) fn compression(bytes: &[u8]) -> Option<&'static str> {
    let magics: [(&[u8], _); 2] = [
        (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
        (&[0x1f, 0x8b, 0x08], "gzip"),
    ];
    let mut found = magics.iter().filter(|(magic, _)| bytes.starts_with(magic));
    found.next().map(|(_, codec)| *codec)
}

/// The kind of blob that the bytes look like. Magic decides first, then structures that account for every byte.
pub(crate) fn guess(bytes: &[u8]) -> Option<BlobArg> {
    if bytes.starts_with(&MAGIC_BYTES) {
        return Some(BlobArg::FragmentIndex);
    }
    #[cfg(feature = "volumes")]
    if bytes.starts_with(&zvf_tet::layout::MAGIC) {
        return Some(BlobArg::Tet);
    }
    #[cfg(feature = "volumes")]
    if bytes
        .get(zvf_caterva::MAGIC_AT..)
        .is_some_and(|bytes| bytes.starts_with(zvf_caterva::MAGIC))
    {
        return Some(BlobArg::Caterva);
    }
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
        return Some(BlobArg::Json);
    }
    if is_vlen(bytes) {
        return Some(BlobArg::Vlen);
    }
    if manifest::guess_rank(bytes).is_some() {
        return Some(BlobArg::Manifest);
    }
    if bytes.len() > 20 && containers::guess_entries(bytes).is_some() {
        return Some(BlobArg::Shard);
    }
    if bytes.len() >= 16 && RaggedBlob::parse(bytes).is_ok_and(|blob| !blob.is_empty()) {
        return Some(BlobArg::Ragged);
    }
    None
}

/// Whether the bytes are a count of at least one and just as many elements.
fn is_vlen(bytes: &[u8]) -> bool {
    VlenChunk::count(bytes).is_some_and(|count| {
        let chunk = VlenChunk::parse(bytes, count);
        count > 0 && chunk.is_ok_and(|chunk| chunk.trailing().is_empty())
    })
}

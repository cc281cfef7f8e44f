//! What a file is, by its magic or its structure.

use zvf_format::ragged::RaggedBlob;

use super::manifest;
use super::shard;
use crate::args::BlobArg;

/// A compressed file, by its magic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    /// A Zstandard frame.
    Zstd,
    /// A gzip member.
    Gzip,
}

impl Compression {
    /// The name of the Zarr codec.
    pub(crate) fn codec(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }
}

/// The compression whose magic the bytes begin with.
pub(crate) fn compression(bytes: &[u8]) -> Option<Compression> {
    if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Some(Compression::Zstd)
    } else if bytes.starts_with(&[0x1f, 0x8b, 0x08]) {
        Some(Compression::Gzip)
    } else {
        None
    }
}

/// The kind of blob that the bytes look like. Magic decides first, then structures that account for every byte.
pub(crate) fn guess(bytes: &[u8]) -> Option<BlobArg> {
    if bytes.starts_with(b"GFVZ") {
        return Some(BlobArg::FragmentIndex);
    }
    #[cfg(feature = "volumes")]
    if bytes.starts_with(b"TETR") {
        return Some(BlobArg::Tet);
    }
    #[cfg(feature = "volumes")]
    if bytes.get(2..10) == Some(zvf_caterva::MAGIC.as_slice()) {
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
    if bytes.len() > 20 && shard::guess_entries(bytes).is_some() {
        return Some(BlobArg::Shard);
    }
    if bytes.len() >= 16 && RaggedBlob::parse(bytes).is_ok_and(|blob| !blob.is_empty()) {
        return Some(BlobArg::Ragged);
    }
    None
}

/// Whether the bytes are a count of at least one and just as many elements.
fn is_vlen(bytes: &[u8]) -> bool {
    let Some((n, mut rest)) = bytes.split_first_chunk::<4>() else {
        return false;
    };
    let n = u32::from_le_bytes(*n);
    for _ in 0..n {
        let Some((length, after)) = rest.split_first_chunk::<4>() else {
            return false;
        };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let Some((_, after)) = after.split_at_checked(length) else {
            return false;
        };
        rest = after;
    }
    n > 0 && rest.is_empty()
}

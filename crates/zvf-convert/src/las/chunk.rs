//! Chunks of compressed points in a file.

use std::path::Path;

use crate::error::{ConvertError, InFile};

/// The largest size of a chunk in bytes, compressed or not.
pub(super) const MOST: u64 = 256 << 20;

/// One chunk of points.
pub(super) struct PointChunk {
    /// Position of its first byte in the file.
    pub(super) at: u64,
    pub(super) bytes: u64,
    #[cfg_attr(
        not(feature = "laz"),
        expect(dead_code, reason = "chunks are copied, not decoded")
    )]
    pub(super) points: u64,
}

/// The error for a damaged file.
pub(super) fn bad(
    path: &Path,
    at: u64,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> ConvertError {
    ConvertError::malformed(path, InFile::Byte(at), found, expected)
}

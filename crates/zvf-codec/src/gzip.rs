//! gzip members, and streams of zlib.

use flate2::read::{MultiGzDecoder, ZlibDecoder};

use crate::CodecError;
use crate::data::{read_bounded, read_first};

/// Decompresses one member, or several in a row.
pub(crate) fn decode(data: &[u8], limit: u64) -> Result<Vec<u8>, CodecError> {
    let hint = data.len().saturating_mul(2);
    read_bounded("gzip", MultiGzDecoder::new(data), hint, limit)
}

/// Decompresses one stream of zlib.
pub(crate) fn decode_zlib(data: &[u8], limit: u64) -> Result<Vec<u8>, CodecError> {
    let hint = data.len().saturating_mul(2);
    read_bounded("zlib", ZlibDecoder::new(data), hint, limit)
}

/// The first `keep` of `whole` bytes of one member, or several in a row; all of them are decompressed.
pub(crate) fn decode_first(data: &[u8], keep: usize, whole: u64) -> Result<Vec<u8>, CodecError> {
    read_first("gzip", MultiGzDecoder::new(data), keep, whole)
}

/// As [`decode_first`], of one stream of zlib.
pub(crate) fn decode_zlib_first(
    data: &[u8],
    keep: usize,
    whole: u64,
) -> Result<Vec<u8>, CodecError> {
    read_first("zlib", ZlibDecoder::new(data), keep, whole)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{decode, decode_zlib};
    use crate::CodecError;

    #[test]
    fn members_are_read_and_bombs_refused() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&vec![3u8; 100_000]).unwrap();
        let bytes = encoder.finish().unwrap();
        assert_eq!(decode(&bytes, 1 << 20).unwrap(), vec![3u8; 100_000]);
        let error = decode(&bytes, 1000).unwrap_err();
        assert!(matches!(error, CodecError::Limit { .. }));
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end], 1 << 20).is_err());
        }
    }

    #[test]
    fn streams_of_zlib_are_read_and_bombs_refused() {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&vec![3u8; 100_000]).unwrap();
        let bytes = encoder.finish().unwrap();
        assert_eq!(decode_zlib(&bytes, 1 << 20).unwrap(), vec![3u8; 100_000]);
        let error = decode_zlib(&bytes, 1000).unwrap_err();
        assert!(matches!(error, CodecError::Limit { .. }));
        for end in 0..bytes.len() {
            assert!(decode_zlib(&bytes[..end], 1 << 20).is_err());
        }
    }
}

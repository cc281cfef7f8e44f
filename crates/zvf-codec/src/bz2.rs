//! Streams of bzip2.

use bzip2::read::MultiBzDecoder;

use crate::CodecError;
use crate::data::{read_bounded, read_first};

/// Decompresses one stream, or several in a row.
pub(crate) fn decode(data: &[u8], limit: u64) -> Result<Vec<u8>, CodecError> {
    let hint = data.len().saturating_mul(2);
    read_bounded("bz2", MultiBzDecoder::new(data), hint, limit)
}

/// The first `keep` of `whole` bytes; all of them are decompressed.
pub(crate) fn decode_first(data: &[u8], keep: usize, whole: u64) -> Result<Vec<u8>, CodecError> {
    read_first("bz2", MultiBzDecoder::new(data), keep, whole)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const CAP: u64 = 1 << 20;

    fn encoded(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn streams_are_read_and_bombs_refused() {
        let text: Vec<u8> = (0..5000_u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let bytes = encoded(&text);
        assert_eq!(decode(&bytes, CAP).unwrap(), text);
        assert_eq!(
            decode(&[&bytes[..], &bytes].concat(), CAP).unwrap(),
            [&text[..], &text].concat()
        );
        let bomb = encoded(&vec![0; 8 << 20]);
        assert!(bomb.len() < 1000);
        let error = decode(&bomb, CAP).unwrap_err();
        assert!(matches!(error, CodecError::Limit { .. }));
        for end in 1..bytes.len() {
            assert!(decode(&bytes[..end], CAP).is_err(), "{end}");
        }
    }

    #[test]
    fn flips_never_panic() {
        let bytes = encoded(b"the quick brown fox jumps over the lazy dog");
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(&bad, CAP);
        }
    }
}

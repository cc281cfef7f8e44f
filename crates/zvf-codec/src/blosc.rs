//! Blosc-1 frames, as numcodecs writes them: one chunk of `zvf-blosc` a cell, with a short header.

use zvf_blosc::{Chunk, Class, Codecs, SHORT};

use crate::error::{CodecError, check};

/// The version that every Blosc-1 library writes; Blosc2 has higher ones.
const VERSION: u8 = 2;

/// Decompresses one frame.
pub(crate) fn decode(frame: &[u8], limit: u64) -> Result<Vec<u8>, CodecError> {
    let bad = |what: String| CodecError::malformed(format!("blosc: {what}"));
    // What is too large is said to be that, whatever else is wrong with it.
    if let Some(claimed) = frame.get(4..8).and_then(<[u8]>::first_chunk) {
        check(u64::from(u32::from_le_bytes(*claimed)), limit)?;
    }
    let chunk = Chunk::parse(frame).map_err(|error| bad(error.to_string()))?;
    let header = chunk.header();
    if header.version() != VERSION || header.len() != SHORT {
        let found = header.version();
        return Err(bad(format!(
            "format version {found} found, expected {VERSION}"
        )));
    }
    if header.cbytes() != frame.len() {
        let (found, expected) = (frame.len(), header.cbytes());
        return Err(bad(format!("{found} bytes found, expected {expected}")));
    }
    chunk
        .decode_vec(header.typesize(), header.nbytes(), &mut Codecs::new())
        .map_err(|error| match error.class() {
            Class::Unsupported => CodecError::Unsupported(format!("blosc: {error}")),
            // The limit has let it pass: more is claimed than the frame can stand for.
            _ => bad(error.to_string()),
        })
}

#[cfg(test)]
mod tests {
    use super::decode;
    use crate::CodecError;

    const CAP: u64 = 1 << 20;

    #[test]
    fn plain_copies_are_read() {
        let mut frame = vec![2, 1, 0x02, 4, 5, 0, 0, 0, 5, 0, 0, 0, 21, 0, 0, 0];
        frame.extend(b"hello");
        assert_eq!(decode(&frame, CAP).unwrap(), b"hello");
        for end in 0..frame.len() {
            assert!(decode(&frame[..end], CAP).is_err());
        }
    }

    #[test]
    fn claims_are_checked_against_the_limit_and_the_frame() {
        let mut frame = vec![
            2, 1, 0x90, 4, 255, 255, 255, 127, 0, 1, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert!(matches!(decode(&frame, CAP), Err(CodecError::Limit { .. })));
        frame[4..8].copy_from_slice(&[0, 0, 8, 0]);
        assert!(matches!(decode(&frame, CAP), Err(CodecError::Malformed(_))));
    }
}

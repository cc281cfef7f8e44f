//! Zstandard frames.

use std::cell::RefCell;

use ::zstd::bulk::Decompressor;
use ::zstd::zstd_safe;

use crate::data::{read_bounded, read_first};
use crate::error::{CodecError, check};

thread_local! {
    /// Cached, because creating a decompressor costs more than decompressing a small cell.
    static CONTEXT: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// The largest decoded size of a block, and the smallest stored size.
const BLOCK_OUT: u64 = 128 << 10;
const BLOCK_IN: u64 = 4;

/// Decompresses one frame, or several in a row.
pub(crate) fn decode(data: &[u8], limit: u64) -> Result<Vec<u8>, CodecError> {
    let size = zstd_safe::get_frame_content_size(data)
        .map_err(|_| CodecError::malformed("zstd: the frame header is damaged"))?;
    let single = zstd_safe::find_frame_compressed_size(data).is_ok_and(|n| n == data.len());
    let Some(size) = size.filter(|_| single) else {
        return stream(data, limit);
    };
    check(size, limit)?;
    let found = u64::try_from(data.len()).unwrap_or(u64::MAX);
    let most = (found / BLOCK_IN)
        .saturating_add(1)
        .saturating_mul(BLOCK_OUT);
    if size > most {
        return Err(CodecError::malformed(format!(
            "zstd: the frame header states {size} decoded bytes, but {found} encoded bytes decode to at most {most}"
        )));
    }
    let size = usize::try_from(size).map_err(|_| CodecError::Limit { bytes: size })?;
    CONTEXT.with_borrow_mut(|context| {
        let context = match context {
            Some(context) => context,
            None => context.insert(Decompressor::new()?),
        };
        let mut bytes = Vec::with_capacity(size);
        match context.decompress_to_buffer(data, &mut bytes) {
            Ok(n) if n == size => Ok(bytes),
            Ok(n) => Err(CodecError::malformed(format!(
                "zstd: {n} bytes found, expected {size}"
            ))),
            Err(error) => Err(CodecError::malformed(format!("zstd: {error}"))),
        }
    })
}

/// Frames of unknown size, or several of them: bounded streaming.
fn stream(data: &[u8], limit: u64) -> Result<Vec<u8>, CodecError> {
    let decoder = ::zstd::stream::read::Decoder::with_buffer(data)?;
    read_bounded("zstd", decoder, data.len().saturating_mul(2), limit)
}

/// The first `keep` of `whole` decompressed bytes; all of them are decompressed.
pub(crate) fn decode_first(data: &[u8], keep: usize, whole: u64) -> Result<Vec<u8>, CodecError> {
    let decoder = ::zstd::stream::read::Decoder::with_buffer(data)?;
    read_first("zstd", decoder, keep, whole)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::decode;
    use crate::CodecError;

    const CAP: u64 = 1 << 20;

    #[test]
    fn known_unknown_and_several_frames_are_read() {
        let text = vec![7u8; 10_000];
        let known = zstd::bulk::compress(&text, 3).unwrap();
        assert_eq!(decode(&known, CAP).unwrap(), text);
        let mut unknown = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        unknown.write_all(&text).unwrap();
        let unknown = unknown.finish().unwrap();
        assert!(matches!(
            zstd::zstd_safe::get_frame_content_size(&unknown),
            Ok(None)
        ));
        assert_eq!(decode(&unknown, CAP).unwrap(), text);
        let both = [known.clone(), known].concat();
        assert_eq!(decode(&both, CAP).unwrap().len(), 20_000);
    }

    #[test]
    fn bombs_are_over_the_limit_before_they_are_unpacked() {
        let bomb = zstd::bulk::compress(&vec![0u8; 4 << 20], 3).unwrap();
        assert!(bomb.len() < 1000);
        assert!(matches!(decode(&bomb, CAP), Err(CodecError::Limit { .. })));
        let mut unknown = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        unknown.write_all(&vec![0u8; 4 << 20]).unwrap();
        let unknown = unknown.finish().unwrap();
        assert!(matches!(
            decode(&unknown, CAP),
            Err(CodecError::Limit { .. })
        ));
    }

    #[test]
    fn truncations_and_flips_never_panic() {
        let text: Vec<u8> = (0..2000u32).flat_map(|i| (i * i).to_le_bytes()).collect();
        let frame = zstd::bulk::compress(&text, 3).unwrap();
        for end in 0..frame.len() {
            assert!(decode(&frame[..end], CAP).is_err());
        }
        for bit in 0..frame.len() * 8 {
            let mut bad = frame.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(&bad, CAP);
        }
    }
}

//! Zstandard frames without C code, for targets without a C compiler.

use std::io::{self, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::data::{read_bounded, read_first};
use crate::error::{CodecError, check};
use crate::stored::wide;

/// The largest window that every frame may request; levels up to 19 use it. The decoder allocates the window.
const WINDOW: u64 = 8 << 20;

/// The largest decoded size of a block, and the smallest stored size, in bytes.
const BLOCK_OUT: u64 = 128 << 10;
const BLOCK_IN: u64 = 4;

/// Decompresses one frame, or several in a row.
pub(crate) fn decode(data: &[u8], limit: u64) -> Result<Vec<u8>, CodecError> {
    let frames = Frames::new(data, limit)?;
    check(frames.decoder.content_size(), limit)?;
    read_bounded("zstd", frames, data.len().saturating_mul(2), limit)
}

/// The first `keep` of `whole` decompressed bytes. The data is decompressed completely.
pub(crate) fn decode_first(data: &[u8], keep: usize, whole: u64) -> Result<Vec<u8>, CodecError> {
    read_first("zstd", Frames::new(data, whole)?, keep, whole)
}

/// The decompressed bytes of consecutive frames.
struct Frames<'d> {
    rest: &'d [u8],
    decoder: FrameDecoder,
    /// Decompressed bytes of the frame that is being decoded; `None` between frames.
    made: Option<u64>,
}

impl<'d> Frames<'d> {
    /// Reads the header of the first frame.
    fn new(data: &'d [u8], limit: u64) -> Result<Self, CodecError> {
        let found = wide(data.len());
        let most = (found / BLOCK_IN)
            .saturating_add(1)
            .saturating_mul(BLOCK_OUT);
        let mut decoder = FrameDecoder::new();
        // A window beyond the possible size of the decoded data, or beyond the limit, is never needed.
        decoder.set_max_window_size(WINDOW.max(most.min(limit)));
        let mut frames = Self {
            rest: data,
            decoder,
            made: None,
        };
        let malformed = |error: io::Error| CodecError::malformed(format!("zstd: {error}"));
        if data.is_empty() {
            return Err(CodecError::malformed("zstd: the frame header is damaged"));
        }
        frames.begin().map_err(malformed)?;
        Ok(frames)
    }

    /// Begins the next frame, or skips it if it is a skippable frame.
    fn begin(&mut self) -> io::Result<()> {
        match self.decoder.init(&mut self.rest) {
            Ok(()) => self.made = Some(0),
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let length = usize::try_from(length).ok();
                let rest = length.and_then(|length| self.rest.get(length..));
                self.rest =
                    rest.ok_or_else(|| io::Error::other("a skippable frame is cut short"))?;
            }
            Err(error) => return Err(io::Error::other(error)),
        }
        Ok(())
    }

    /// Ends a frame: compares its length and checksum with the stated ones.
    fn end(&mut self, made: u64) -> io::Result<()> {
        let stated = self.decoder.content_size();
        if stated != 0 && stated != made {
            return Err(io::Error::other(format!(
                "{made} bytes found, expected {stated}"
            )));
        }
        if let Some(stored) = self.decoder.get_checksum_from_data()
            && self.decoder.get_calculated_checksum() != Some(stored)
        {
            return Err(io::Error::other("the checksum of the frame differs"));
        }
        self.made = None;
        Ok(())
    }
}

impl Read for Frames<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(made) = self.made else {
                if self.rest.is_empty() {
                    return Ok(0);
                }
                self.begin()?;
                continue;
            };
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.rest, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(io::Error::other)?;
            }
            let read = self.decoder.read(out)?;
            if read == 0 {
                self.end(made)?;
                continue;
            }
            self.made = Some(made.saturating_add(wide(read)));
            return Ok(read);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{decode, decode_first};
    use crate::CodecError;

    const CAP: u64 = 1 << 20;

    /// Bytes with matches near and far, and some without.
    fn text() -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..60_000u32)
            .flat_map(|i| (i / 7 * i).to_le_bytes())
            .collect();
        let copy = bytes[..100_000].to_vec();
        bytes.extend(copy);
        bytes
    }

    #[test]
    fn frames_of_the_library_in_c_are_read() {
        let text = text();
        for level in [-5, 1, 3, 9, 19, 22] {
            let known = zstd::bulk::compress(&text, level).unwrap();
            assert_eq!(decode(&known, CAP).unwrap(), text, "level {level}");
            let mut summed = zstd::stream::write::Encoder::new(Vec::new(), level).unwrap();
            summed.include_checksum(true).unwrap();
            // Levels above 19 have windows of 128 MiB, unless the length is known.
            let length = (level > 19).then_some(text.len() as u64);
            summed.set_pledged_src_size(length).unwrap();
            summed.write_all(&text).unwrap();
            let mut summed = summed.finish().unwrap();
            assert_eq!(decode(&summed, CAP).unwrap(), text, "level {level}");
            let first = decode_first(&summed, 1000, text.len() as u64).unwrap();
            assert_eq!(first, text[..1000]);
            assert!(decode_first(&summed, 1000, text.len() as u64 + 1).is_err());
            let last = summed.len() - 1;
            summed[last] ^= 1;
            let error = decode(&summed, CAP).unwrap_err().to_string();
            assert!(error.contains("checksum"), "{error}");
            // A skippable frame between two others.
            let skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc".to_vec();
            let several = [skipped.clone(), known.clone(), skipped, known].concat();
            assert_eq!(decode(&several, CAP).unwrap().len(), 2 * text.len());
        }
    }

    #[test]
    fn bombs_are_over_the_limit() {
        let zeros = vec![0u8; 4 << 20];
        let known = zstd::bulk::compress(&zeros, 3).unwrap();
        let mut unknown = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        unknown.write_all(&zeros).unwrap();
        for bomb in [known, unknown.finish().unwrap()] {
            assert!(bomb.len() < 1000);
            assert!(matches!(decode(&bomb, CAP), Err(CodecError::Limit { .. })));
        }
        // A window of 2 GiB in a frame of a few bytes.
        let window = b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00";
        assert!(matches!(
            decode(window, u64::MAX),
            Err(CodecError::Malformed(_))
        ));
    }

    #[test]
    fn truncations_and_flips_never_panic() {
        let text: Vec<u8> = (0..2000u32).flat_map(|i| (i * i).to_le_bytes()).collect();
        let frame = zstd::bulk::compress(&text, 3).unwrap();
        for end in (0..frame.len()).step_by(13) {
            assert!(decode(&frame[..end], CAP).is_err());
        }
        for bit in (0..frame.len() * 8).step_by(101) {
            let mut bad = frame.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(&bad, CAP);
        }
    }
}

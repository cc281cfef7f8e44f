//! Zstandard without C code.

use ruzstd::decoding::{Dictionary, FrameDecoder};

/// The largest window that a frame may request if `out` is smaller: 8 MiB.
const WINDOW: u64 = 8 << 20;

/// Decodes all frames of `frame` into `out`; `false` if they are invalid or do not fill `out` exactly.
pub(crate) fn decode(frame: &[u8], dictionary: Option<&[u8]>, out: &mut [u8]) -> bool {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(WINDOW.max(out.len() as u64));
    if let Some(raw) = dictionary {
        let Ok(dictionary) = Dictionary::decode_dict(raw) else {
            return false;
        };
        if decoder.add_dict(dictionary).is_err() {
            return false;
        }
    }
    let wanted = out.len();
    decoder.decode_all(frame, out).is_ok_and(|n| n == wanted)
}

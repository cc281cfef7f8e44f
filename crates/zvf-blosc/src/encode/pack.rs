//! Encoders of the codecs.

use alloc::vec::Vec;

use crate::{Codec, EncodeError};

/// The encoders of this build; their state is reused for the next stream.
#[derive(Default)]
pub struct Packers {
    #[cfg(feature = "zlib")]
    zlib: Option<(i32, flate2::Compress)>,
    #[cfg(feature = "zstd")]
    zstd: Option<zstd::zstd_safe::CCtx<'static>>,
    blosclz: crate::blosclz_pack::Packer,
}

impl core::fmt::Debug for Packers {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Packers")
    }
}

impl Packers {
    /// Whether this build encodes the codec. The pure-Rust Zstandard only decodes.
    #[must_use]
    pub const fn writes(codec: Codec) -> bool {
        match codec {
            Codec::BloscLz => true,
            Codec::Lz4 => cfg!(feature = "lz4"),
            Codec::Snappy => cfg!(feature = "snappy"),
            Codec::Zlib => cfg!(feature = "zlib"),
            Codec::Zstd => cfg!(feature = "zstd"),
        }
    }

    /// Compresses `data` into `out`, which is emptied first. A stream that would be longer than `data` may be truncated.
    ///
    /// # Errors
    ///
    /// [`EncodeError::Codec`]: this build does not encode the codec, or encoding failed.
    pub fn pack(
        &mut self,
        codec: Codec,
        level: i32,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        out.clear();
        let done = match codec {
            Codec::BloscLz => {
                self.blosclz.pack(data, out);
                true
            }
            Codec::Lz4 => lz4(data, out),
            Codec::Snappy => snappy(data, out),
            Codec::Zlib => self.zlib(level, data, out),
            Codec::Zstd => self.zstd(level, data, out),
        };
        if done {
            Ok(())
        } else {
            Err(EncodeError::Codec { codec })
        }
    }

    #[cfg(feature = "zlib")]
    fn zlib(&mut self, level: i32, data: &[u8], out: &mut Vec<u8>) -> bool {
        let level = level.clamp(0, 9);
        if self.zlib.as_ref().is_none_or(|(found, _)| *found != level) {
            let setting = flate2::Compression::new(level.unsigned_abs());
            self.zlib = Some((level, flate2::Compress::new(setting, true)));
        }
        let Some((_, state)) = &mut self.zlib else {
            return false;
        };
        state.reset();
        // A stream that does not fit is longer than the data; callers do not use it.
        out.resize(data.len(), 0);
        let end = state.compress(data, out, flate2::FlushCompress::Finish);
        match end {
            Ok(flate2::Status::StreamEnd) => {
                out.truncate(usize::try_from(state.total_out()).unwrap_or(usize::MAX));
                true
            }
            other => other.is_ok(),
        }
    }

    #[cfg(not(feature = "zlib"))]
    fn zlib(&mut self, _: i32, _: &[u8], _: &mut Vec<u8>) -> bool {
        false
    }

    #[cfg(feature = "zstd")]
    fn zstd(&mut self, level: i32, data: &[u8], out: &mut Vec<u8>) -> bool {
        if self.zstd.is_none() {
            self.zstd = zstd::zstd_safe::CCtx::try_create();
        }
        let Some(state) = &mut self.zstd else {
            return false;
        };
        out.resize(zstd::zstd_safe::compress_bound(data.len()), 0);
        match state.compress(&mut out[..], data, level) {
            Ok(n) => {
                out.truncate(n);
                true
            }
            Err(_) => false,
        }
    }

    #[cfg(not(feature = "zstd"))]
    fn zstd(&mut self, _: i32, _: &[u8], _: &mut Vec<u8>) -> bool {
        false
    }
}

#[cfg(feature = "lz4")]
fn lz4(data: &[u8], out: &mut Vec<u8>) -> bool {
    out.resize(lz4_flex::block::get_maximum_output_size(data.len()), 0);
    match lz4_flex::block::compress_into(data, out) {
        Ok(n) => {
            out.truncate(n);
            true
        }
        Err(_) => false,
    }
}

#[cfg(not(feature = "lz4"))]
fn lz4(_: &[u8], _: &mut Vec<u8>) -> bool {
    false
}

#[cfg(feature = "snappy")]
fn snappy(data: &[u8], out: &mut Vec<u8>) -> bool {
    out.resize(snap::raw::max_compress_len(data.len()), 0);
    match snap::raw::Encoder::new().compress(data, out) {
        Ok(n) => {
            out.truncate(n);
            true
        }
        Err(_) => false,
    }
}

#[cfg(not(feature = "snappy"))]
fn snappy(_: &[u8], _: &mut Vec<u8>) -> bool {
    false
}

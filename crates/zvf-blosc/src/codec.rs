//! The codecs of streams, and their trait [`Expand`].

use core::fmt;

/// A codec of compressed streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// BloscLZ; in this crate.
    BloscLz,
    /// Bare LZ4 blocks.
    Lz4,
    /// Bare Snappy blocks; only in Blosc 1.
    Snappy,
    /// RFC 1950 streams.
    Zlib,
    /// Zstandard frames.
    Zstd,
}

impl Codec {
    /// The *format* number in chunk flags (`spec/caterva-b2nd.md` 7.1).
    #[must_use]
    pub const fn format(self) -> u8 {
        match self {
            Self::BloscLz => 0,
            Self::Lz4 => 1,
            Self::Snappy => 2,
            Self::Zlib => 3,
            Self::Zstd => 4,
        }
    }

    /// The *compressor* number of frame headers and byte 22 of a chunk (3.1).
    #[must_use]
    pub const fn compressor(self) -> u8 {
        match self {
            Self::BloscLz => 0,
            Self::Lz4 => 1,
            Self::Snappy => 3,
            Self::Zlib => 4,
            Self::Zstd => 5,
        }
    }

    /// The usual name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BloscLz => "blosclz",
            Self::Lz4 => "lz4",
            Self::Snappy => "snappy",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a codec returned no bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamError {
    /// The bytes are not a stream that decodes to the requested length.
    Damaged,
    /// This build, or this implementation, does not have the codec, or not with a dictionary.
    Missing,
}

/// A decoder of streams; [`Codecs`] is the implementation of this crate.
pub trait Expand {
    /// Decodes `stream` into exactly `out`, with `dictionary` as the history if there is one.
    ///
    /// # Errors
    ///
    /// [`StreamError`].
    fn expand(
        &mut self,
        codec: Codec,
        stream: &[u8],
        dictionary: Option<&[u8]>,
        out: &mut [u8],
    ) -> Result<(), StreamError>;
}

/// The codecs that this crate was built with. Their state is reused for the next stream.
///
/// BloscLZ is always available; the others depend on the crate's features.
#[derive(Default)]
pub struct Codecs {
    #[cfg(feature = "zlib")]
    zlib: Option<flate2::Decompress>,
    #[cfg(feature = "zstd")]
    zstd: Option<zstd::zstd_safe::DCtx<'static>>,
}

impl fmt::Debug for Codecs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Codecs")
    }
}

impl Codecs {
    /// Codecs without state; each is initialised when it is first used.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether this build reads the codec.
    #[must_use]
    pub const fn reads(codec: Codec) -> bool {
        match codec {
            Codec::BloscLz => true,
            Codec::Lz4 => cfg!(feature = "lz4"),
            Codec::Snappy => cfg!(feature = "snappy"),
            Codec::Zlib => cfg!(feature = "zlib"),
            Codec::Zstd => cfg!(any(feature = "zstd", feature = "ruzstd")),
        }
    }
}

impl Expand for Codecs {
    fn expand(
        &mut self,
        codec: Codec,
        stream: &[u8],
        dictionary: Option<&[u8]>,
        out: &mut [u8],
    ) -> Result<(), StreamError> {
        let whole = match codec {
            Codec::BloscLz => dictionary.is_none() && crate::blosclz::decode(stream, out),
            Codec::Lz4 => lz4(stream, dictionary, out)?,
            Codec::Snappy => snappy(stream, dictionary, out)?,
            Codec::Zlib => self.zlib(stream, dictionary, out)?,
            Codec::Zstd => self.zstd(stream, dictionary, out)?,
        };
        if whole {
            Ok(())
        } else {
            Err(StreamError::Damaged)
        }
    }
}

#[cfg(feature = "lz4")]
fn lz4(stream: &[u8], dictionary: Option<&[u8]>, out: &mut [u8]) -> Result<bool, StreamError> {
    #[cfg(feature = "lz4-c")]
    if dictionary.is_none() {
        let length = i32::try_from(out.len()).map_err(|_| StreamError::Damaged)?;
        let made = ::lz4::block::decompress_to_buffer(stream, Some(length), out);
        return Ok(made.is_ok_and(|n| n == out.len()));
    }
    let made = match dictionary {
        None => lz4_flex::block::decompress_into(stream, out),
        Some(history) => lz4_flex::block::decompress_into_with_dict(stream, out, history),
    };
    Ok(made.is_ok_and(|n| n == out.len()))
}

#[cfg(not(feature = "lz4"))]
fn lz4(_: &[u8], _: Option<&[u8]>, _: &mut [u8]) -> Result<bool, StreamError> {
    Err(StreamError::Missing)
}

#[cfg(feature = "snappy")]
fn snappy(stream: &[u8], dictionary: Option<&[u8]>, out: &mut [u8]) -> Result<bool, StreamError> {
    if dictionary.is_some() {
        return Err(StreamError::Missing);
    }
    let made = snap::raw::Decoder::new().decompress(stream, out);
    Ok(made.is_ok_and(|n| n == out.len()))
}

#[cfg(not(feature = "snappy"))]
fn snappy(_: &[u8], _: Option<&[u8]>, _: &mut [u8]) -> Result<bool, StreamError> {
    Err(StreamError::Missing)
}

impl Codecs {
    #[cfg(feature = "zlib")]
    fn zlib(
        &mut self,
        stream: &[u8],
        dictionary: Option<&[u8]>,
        out: &mut [u8],
    ) -> Result<bool, StreamError> {
        if dictionary.is_some() {
            return Err(StreamError::Missing);
        }
        let state = self
            .zlib
            .get_or_insert_with(|| flate2::Decompress::new(true));
        state.reset(true);
        let end = state.decompress(stream, out, flate2::FlushDecompress::Finish);
        let made = usize::try_from(state.total_out());
        Ok(matches!(end, Ok(flate2::Status::StreamEnd)) && made == Ok(out.len()))
    }

    #[cfg(not(feature = "zlib"))]
    fn zlib(&self, _: &[u8], _: Option<&[u8]>, _: &mut [u8]) -> Result<bool, StreamError> {
        Err(StreamError::Missing)
    }

    #[cfg(feature = "zstd")]
    fn zstd(
        &mut self,
        stream: &[u8],
        dictionary: Option<&[u8]>,
        out: &mut [u8],
    ) -> Result<bool, StreamError> {
        let wanted = out.len();
        if self.zstd.is_none() {
            self.zstd = zstd::zstd_safe::DCtx::try_create();
        }
        let Some(state) = &mut self.zstd else {
            return Err(StreamError::Missing);
        };
        let made = match dictionary {
            None => state.decompress(out, stream),
            Some(history) => state.decompress_using_dict(out, stream, history),
        };
        Ok(made == Ok(wanted))
    }

    #[cfg(all(feature = "ruzstd", not(feature = "zstd")))]
    fn zstd(
        &self,
        stream: &[u8],
        dictionary: Option<&[u8]>,
        out: &mut [u8],
    ) -> Result<bool, StreamError> {
        Ok(crate::pure_zstd::decode(stream, dictionary, out))
    }

    #[cfg(not(any(feature = "zstd", feature = "ruzstd")))]
    fn zstd(&self, _: &[u8], _: Option<&[u8]>, _: &mut [u8]) -> Result<bool, StreamError> {
        Err(StreamError::Missing)
    }
}

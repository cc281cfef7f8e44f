//! The settings of an encoder, and the errors of writing a chunk.

use core::fmt;

use crate::Codec;
use crate::filters::id;
use crate::header::{LONG, MOST, SHORT};

/// The filter before the shuffle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum FirstFilter {
    /// No such filter.
    #[default]
    None,
    /// XOR with block 0. The reference library returns wrong data for partial reads of such arrays (`spec/caterva-b2nd.md` 12).
    Delta,
    /// Keeps this many bits of the mantissa of 4- or 8-byte floats. Lossy.
    TruncPrec(u8),
}

/// The last filter before the codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum LastFilter {
    /// No such filter.
    None,
    /// Byte shuffle.
    #[default]
    Shuffle,
    /// Bit shuffle.
    BitShuffle,
}

/// The generation of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Generation {
    /// A header of 16 bytes, no special chunks: what Blosc 1 and numcodecs read. Items of at most 255 bytes, and a shuffle as the only filter.
    Blosc1,
    /// A header of 32 bytes.
    #[default]
    Blosc2,
}

impl Generation {
    /// Bytes of a header.
    #[must_use]
    pub const fn header_len(self) -> usize {
        match self {
            Self::Blosc1 => SHORT,
            Self::Blosc2 => LONG,
        }
    }
}

/// Settings of the encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Generation of the chunks.
    pub format: Generation,
    /// Bytes of an item, 1 or more. Above 255 the chunk header states 1, and filters work on bytes.
    pub typesize: usize,
    /// Bytes of a block.
    pub blocksize: usize,
    /// The codec; `None` for stored chunks.
    pub codec: Option<Codec>,
    /// The level, on the codec's own scale; LZ4, Snappy and BloscLZ have only one.
    pub level: i32,
    /// Filter before the shuffle.
    pub first: FirstFilter,
    /// Shuffle.
    pub last: LastFilter,
}

impl Settings {
    /// Byte shuffle and Zstandard at level 3; in builds without Zstandard LZ4, and without either BloscLZ.
    #[must_use]
    pub const fn new(typesize: usize, blocksize: usize) -> Self {
        let codec = if cfg!(feature = "zstd") {
            Codec::Zstd
        } else if cfg!(feature = "lz4") {
            Codec::Lz4
        } else {
            Codec::BloscLz
        };
        Self {
            format: Generation::Blosc2,
            typesize,
            blocksize,
            codec: Some(codec),
            level: 3,
            first: FirstFilter::None,
            last: LastFilter::Shuffle,
        }
    }

    /// The same settings with another codec, at its usual level.
    #[must_use]
    pub const fn with_codec(self, codec: Option<Codec>) -> Self {
        let level = if matches!(codec, Some(Codec::Zlib)) {
            6
        } else {
            3
        };
        Self {
            codec,
            level,
            ..self
        }
    }

    /// The same settings for chunks of another generation.
    #[must_use]
    pub const fn with_format(self, format: Generation) -> Self {
        Self { format, ..self }
    }

    /// The same settings with other filters.
    #[must_use]
    pub const fn with_filters(self, first: FirstFilter, last: LastFilter) -> Self {
        Self {
            first,
            last,
            ..self
        }
    }

    /// Item size as stated in chunk headers.
    #[must_use]
    pub const fn chunk_typesize(&self) -> usize {
        if self.typesize > 255 {
            1
        } else {
            self.typesize
        }
    }

    /// Filter ids and metas, slots 0 to 5, as in chunk and frame headers.
    #[must_use]
    pub const fn slots(&self) -> ([u8; 6], [u8; 6]) {
        let (mut ids, mut metas) = ([0; 6], [0; 6]);
        let (first, meta) = match self.first {
            FirstFilter::None => (id::NONE, 0),
            FirstFilter::Delta => (id::DELTA, 0),
            FirstFilter::TruncPrec(bits) => (id::TRUNC_PREC, bits),
        };
        ids[4] = first;
        metas[4] = meta;
        ids[5] = match self.last {
            LastFilter::None => id::NONE,
            LastFilter::Shuffle => id::SHUFFLE,
            LastFilter::BitShuffle => id::BITSHUFFLE,
        };
        (ids, metas)
    }

    pub(crate) fn check(&self) -> Result<(), EncodeError> {
        let setting = |what, found| Err(EncodeError::Setting { what, found });
        if self.typesize == 0 {
            return setting("item size", 0);
        }
        if self.format == Generation::Blosc1 && self.typesize > 255 {
            return setting("item size of Blosc 1", self.typesize as u64);
        }
        if self.format == Generation::Blosc1 && self.first != FirstFilter::None {
            let (ids, _) = self.slots();
            return setting("filter of Blosc 1", u64::from(ids[4]));
        }
        if self.blocksize == 0 || u32::try_from(self.blocksize).map_or(true, |n| n > MOST) {
            return setting("block size", self.blocksize as u64);
        }
        if let FirstFilter::TruncPrec(bits) = self.first {
            let most = match self.typesize {
                4 => 23,
                8 => 52,
                _ => return setting("item size under truncated precision", self.typesize as u64),
            };
            if bits == 0 || bits > most {
                return setting("bits of precision", u64::from(bits));
            }
        }
        Ok(())
    }
}

/// Clears all but the first `bits` bits of the mantissa of every float.
pub(crate) fn truncate(data: &mut [u8], width: usize, bits: u8) {
    if width == 4 {
        let mask = u32::MAX << 23u32.saturating_sub(u32::from(bits));
        for item in data.as_chunks_mut::<4>().0 {
            *item = (u32::from_le_bytes(*item) & mask).to_le_bytes();
        }
    } else {
        let mask = u64::MAX << 52u32.saturating_sub(u32::from(bits));
        for item in data.as_chunks_mut::<8>().0 {
            *item = (u64::from_le_bytes(*item) & mask).to_le_bytes();
        }
    }
}

/// Why a chunk cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// A setting that the format does not have.
    Setting {
        /// Which one.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// This build does not write that codec, or the codec failed.
    Codec {
        /// Which one.
        codec: Codec,
    },
    /// More bytes than a chunk can hold.
    TooLong {
        /// How many.
        bytes: u64,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting { what, found } => write!(f, "{what} {found} cannot be written"),
            Self::Codec { codec } => write!(f, "{codec} streams cannot be made by this build"),
            Self::TooLong { bytes } => {
                write!(f, "{bytes} bytes in one chunk, expected at most {MOST}")
            }
        }
    }
}

impl core::error::Error for EncodeError {}

//! The header of a chunk.
//!
//! ```text
//!  0  u8     chunk format version   5; 1 to 4 are older, 6 has blocks of variable length
//!  1  u8     codec format version
//!  2  u8     flags                  bits 0 and 2 both: 32 bytes; bit 1 stored; 3 delta; 4 unsplit; 5-7 codec format
//!  3  u8     typesize               1 if the real size is above 255
//!  4  i32    nbytes                 decoded size
//!  8  i32    blocksize
//! 12  i32    cbytes                 header included
//! 16  u8[6]  filter ids             from here on only with 32 bytes
//! 22  u8     compressor id, u8 its meta
//! 24  u8[6]  filter metas
//! 30  u8     flags2                 bit 0: blocks of variable length
//! 31  u8     blosc2 flags           bit 0 dictionary; 3 lazy; 4-6 special; 7 statistics of a codec
//! ```

use crate::error::signed;
use crate::{Codec, DecodeError, Expected, Pipeline};

/// Bytes of a Blosc1 header.
pub const SHORT: usize = 16;
/// Bytes of a Blosc2 header.
pub const LONG: usize = 32;
/// Most bytes that a chunk can decode to (`spec/caterva-b2nd.md` 5.4).
pub const MOST: u32 = i32::MAX as u32 - 32;

/// The body after a header, in the order in which it is detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Body {
    /// All items are equal by convention; at most one value is stored.
    Special(SpecialKind),
    /// Nothing: the chunk decodes to no bytes.
    Empty,
    /// The plain bytes.
    Stored,
    /// A table of block starts, perhaps a dictionary, and streams of a codec.
    Compressed,
}

/// The kinds of special chunks (`spec/caterva-b2nd.md` 3.4, 7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpecialKind {
    /// Zero bytes.
    Zeros,
    /// The quiet NaN of 4- and 8-byte floats.
    Nan,
    /// One value, stored after the header.
    Value,
    /// Never written; read as zero bytes.
    Uninit,
}

impl SpecialKind {
    /// The kind that a code of chunk headers and index entries denotes.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Zeros),
            2 => Some(Self::Nan),
            3 => Some(Self::Value),
            4 => Some(Self::Uninit),
            _ => None,
        }
    }

    /// The code in headers and index entries.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Zeros => 1,
            Self::Nan => 2,
            Self::Value => 3,
            Self::Uninit => 4,
        }
    }
}

/// A checked chunk header of 16 or 32 bytes (`spec/caterva-b2nd.md` 7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    version: u8,
    flags: u8,
    typesize: u8,
    nbytes: u32,
    blocksize: u32,
    cbytes: u32,
    filters: [u8; 6],
    metas: [u8; 6],
    compressor: u8,
    blosc2_flags: u8,
    long: bool,
}

impl Header {
    /// Parses and checks the header at the start of `bytes`, which may be longer.
    ///
    /// The caller checks that the chunk's `cbytes` exist, as [`crate::Chunk::parse`] does.
    ///
    /// # Errors
    ///
    /// Truncated, malformed or unsupported, as in the table of `spec/caterva-b2nd.md` 9.
    ///
    /// # Panics
    ///
    /// Never.
    pub fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (header, flags2) = Self::raw(bytes)?;
        header.check(flags2)?;
        Ok(header)
    }

    /// Parses the header of a chunk, and first checks that it decodes to `nbytes` bytes.
    ///
    /// # Errors
    ///
    /// As for [`Self::parse`]; malformed: another number of bytes.
    pub fn parse_for(bytes: &[u8], nbytes: u64) -> Result<Self, DecodeError> {
        let (header, flags2) = Self::raw(bytes)?;
        if u64::from(header.nbytes) != nbytes {
            let expected = Expected::Exactly(i64::try_from(nbytes).unwrap_or(i64::MAX));
            let found = i64::from(header.nbytes);
            return Err(DecodeError::malformed("chunk nbytes", 4, found, expected));
        }
        header.check(flags2)?;
        Ok(header)
    }

    /// The fields, and the byte at 30.
    fn raw(bytes: &[u8]) -> Result<(Self, u8), DecodeError> {
        let short = |need: usize| {
            DecodeError::truncated("chunk header", 0, bytes.len() as u64, need as u64)
        };
        let head = bytes.first_chunk::<SHORT>().ok_or(short(SHORT))?;
        let [version, _, flags, typesize, ..] = *head;
        let long = flags & 5 == 5;
        let mut more = [0u8; 16];
        if long {
            more = *bytes
                .get(SHORT..)
                .and_then(|rest| rest.first_chunk::<16>())
                .ok_or(short(LONG))?;
        }
        let [
            f0,
            f1,
            f2,
            f3,
            f4,
            f5,
            compressor,
            _,
            m0,
            m1,
            m2,
            m3,
            m4,
            m5,
            flags2,
            blosc2_flags,
        ] = more;
        let field = |what, at| -> Result<u32, DecodeError> {
            let value = u32_at(head, at).unwrap_or_default();
            if value > i32::MAX as u32 {
                let found = i64::from(value) - (1 << 32);
                return Err(DecodeError::malformed(
                    what,
                    at as u64,
                    found,
                    Expected::AtLeast(0),
                ));
            }
            Ok(value)
        };
        let header = Self {
            version,
            flags,
            typesize,
            nbytes: field("chunk nbytes", 4)?,
            blocksize: field("chunk blocksize", 8)?,
            cbytes: field("chunk cbytes", 12)?,
            filters: [f0, f1, f2, f3, f4, f5],
            metas: [m0, m1, m2, m3, m4, m5],
            compressor,
            blosc2_flags,
            long,
        };
        Ok((header, flags2))
    }

    fn check(&self, flags2: u8) -> Result<(), DecodeError> {
        let unsupported = |what, at, found: u8, expected| {
            DecodeError::unsupported(what, at, i64::from(found), Expected::Text(expected))
        };
        if self.version == 0 || self.version > 5 {
            let words = "a version from 1 to 5";
            return Err(unsupported("chunk format version", 0, self.version, words));
        }
        if flags2 & 1 != 0 {
            let words = "blocks of equal length";
            return Err(unsupported("chunk flags2", 30, flags2, words));
        }
        if self.blosc2_flags & 0x80 != 0 {
            let words = "data, not statistics of a codec";
            return Err(unsupported("blosc2 flags", 31, self.blosc2_flags, words));
        }
        if self.blosc2_flags & 8 != 0 {
            let found = i64::from(self.blosc2_flags);
            let expected = Expected::Text("bit 3 clear: not a lazy chunk");
            return Err(DecodeError::malformed("blosc2 flags", 31, found, expected));
        }
        if self.typesize == 0 {
            return Err(DecodeError::malformed(
                "chunk typesize",
                3,
                0,
                Expected::AtLeast(1),
            ));
        }
        if self.blocksize == 0 && self.nbytes > 0 {
            return Err(DecodeError::malformed(
                "chunk blocksize",
                8,
                0,
                Expected::AtLeast(1),
            ));
        }
        let head = self.len();
        if (self.cbytes as usize) < head {
            let found = i64::from(self.cbytes);
            let expected = Expected::AtLeast(signed(head));
            return Err(DecodeError::malformed("chunk cbytes", 12, found, expected));
        }
        self.check_body()
    }

    fn check_body(&self) -> Result<(), DecodeError> {
        let code = (self.blosc2_flags >> 4) & 7;
        let head = self.len();
        let room = (self.cbytes as usize).saturating_sub(head);
        let cbytes = |expected| {
            Err(DecodeError::malformed(
                "chunk cbytes",
                12,
                i64::from(self.cbytes),
                expected,
            ))
        };
        match self.body() {
            _ if code > 4 => Err(DecodeError::unsupported(
                "special chunk",
                31,
                i64::from(code),
                Expected::Text("a code from 1 to 4"),
            )),
            Body::Special(SpecialKind::Value) => {
                if room == 0 || !(self.nbytes as usize).is_multiple_of(room) {
                    return cbytes(Expected::Text("a value whose length divides nbytes"));
                }
                Ok(())
            }
            Body::Special(kind) => {
                if room != 0 {
                    return cbytes(Expected::Exactly(signed(head)));
                }
                let floats = matches!(self.typesize, 4 | 8);
                if kind == SpecialKind::Nan && !floats {
                    let found = i64::from(self.typesize);
                    let expected = Expected::Text("4 or 8 in a chunk of NaN");
                    return Err(DecodeError::malformed("chunk typesize", 3, found, expected));
                }
                Ok(())
            }
            Body::Empty => Ok(()),
            Body::Stored => {
                if room != self.nbytes as usize {
                    return cbytes(Expected::Exactly(i64::from(self.nbytes) + signed(head)));
                }
                Ok(())
            }
            Body::Compressed => {
                let table = self.block_count().saturating_mul(4);
                if table > room {
                    return cbytes(Expected::AtLeast(signed(head.saturating_add(table))));
                }
                Ok(())
            }
        }
    }

    /// Bytes of this header: 16 or 32.
    #[must_use]
    pub const fn len(&self) -> usize {
        if self.long { LONG } else { SHORT }
    }

    /// Whether the chunk decodes to nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.nbytes == 0
    }

    /// The chunk format version, 1 to 5.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.version
    }

    /// The flag byte (offset 2).
    #[must_use]
    pub const fn flags(&self) -> u8 {
        self.flags
    }

    /// Item size in bytes as stated in the chunk: 1 if the real one is above 255.
    #[must_use]
    pub const fn typesize(&self) -> usize {
        self.typesize as usize
    }

    /// Bytes that the chunk decodes to.
    #[must_use]
    pub const fn nbytes(&self) -> usize {
        self.nbytes as usize
    }

    /// Bytes of a decoded block; never more than [`Self::nbytes`].
    #[must_use]
    pub const fn blocksize(&self) -> usize {
        if self.blocksize > self.nbytes {
            self.nbytes as usize
        } else {
            self.blocksize as usize
        }
    }

    /// Bytes of the stored chunk, this header included.
    #[must_use]
    pub const fn cbytes(&self) -> usize {
        self.cbytes as usize
    }

    /// The byte of Blosc2 flags (offset 31); 0 with a short header.
    #[must_use]
    pub const fn blosc2_flags(&self) -> u8 {
        self.blosc2_flags
    }

    /// Filter ids and metas, slots 0 to 5, as stored.
    #[must_use]
    pub fn filters(&self) -> [(u8, u8); 6] {
        let mut slots = [(0, 0); 6];
        for (slot, pair) in slots
            .iter_mut()
            .zip(self.filters.into_iter().zip(self.metas))
        {
            *slot = pair;
        }
        slots
    }

    /// The kind of body after the header.
    #[must_use]
    pub const fn body(&self) -> Body {
        if let Some(kind) = SpecialKind::from_code((self.blosc2_flags >> 4) & 7) {
            Body::Special(kind)
        } else if self.nbytes == 0 {
            Body::Empty
        } else if self.flags & 2 != 0 {
            Body::Stored
        } else {
            Body::Compressed
        }
    }

    /// Whether the streams of the chunk share a dictionary.
    #[must_use]
    pub const fn has_dictionary(&self) -> bool {
        self.blosc2_flags & 1 != 0
    }

    /// The codec of compressed streams.
    ///
    /// # Errors
    ///
    /// Unsupported: a registered codec (by its id, at byte 22) or an unknown format number.
    pub const fn codec(&self) -> Result<Codec, DecodeError> {
        let expected = Expected::Text("blosclz, lz4, snappy, zlib or zstd");
        match self.flags >> 5 {
            0 => Ok(Codec::BloscLz),
            1 => Ok(Codec::Lz4),
            2 => Ok(Codec::Snappy),
            3 => Ok(Codec::Zlib),
            4 => Ok(Codec::Zstd),
            6 => {
                let found = self.compressor as i64;
                Err(DecodeError::unsupported("codec", 22, found, expected))
            }
            other => Err(DecodeError::unsupported(
                "codec format",
                2,
                other as i64,
                expected,
            )),
        }
    }

    /// Number of blocks of the chunk.
    #[must_use]
    pub const fn block_count(&self) -> usize {
        let block = self.blocksize();
        if block == 0 {
            0
        } else {
            self.nbytes().div_ceil(block)
        }
    }

    /// Decoded bytes of block `block`: the blocksize, or less in a short last one; 0 beyond the last.
    #[must_use]
    pub const fn block_len(&self, block: usize) -> usize {
        let before = block.saturating_mul(self.blocksize());
        let left = self.nbytes().saturating_sub(before);
        if left < self.blocksize() {
            left
        } else {
            self.blocksize()
        }
    }

    /// Streams of block `block` (`spec/caterva-b2nd.md` 7.4; the older rule with a short header).
    #[must_use]
    pub const fn stream_count(&self, block: usize) -> usize {
        let width = self.typesize();
        let whole = self.block_len(block) == self.blocksize();
        let old = !self.long && (width > 16 || self.blocksize() / width < 128);
        if self.flags & 0x10 != 0 || !whole || old {
            1
        } else {
            width
        }
    }

    /// The filters. `frame_typesize` is the item size of the frame, which some filters use as their width.
    ///
    /// # Errors
    ///
    /// Unsupported: an unknown filter, by its id.
    pub fn pipeline(&self, frame_typesize: usize) -> Result<Pipeline, DecodeError> {
        if self.long {
            return Pipeline::new(&self.filters(), self.typesize(), frame_typesize);
        }
        Ok(Pipeline::from_flags(
            self.flags,
            self.typesize(),
            self.version,
        ))
    }

    /// The number of bytes that the chunk decodes to, if it is at most `cap` and, for a compressed
    /// chunk, at most 2^18 times the stored size. Blosc2 stores runs of any length in few bytes, so
    /// up to 64 MiB are always possible there.
    ///
    /// # Errors
    ///
    /// Limit: the header states a larger number.
    pub fn possible(&self, cap: usize) -> Result<usize, DecodeError> {
        /// Most decoded bytes per byte of a stream: a run in Zstandard.
        const GAIN: usize = 1 << 18;
        let n = self.nbytes();
        /// Bytes that runs may decode to.
        const FREE: usize = 64 << 20;
        let possible = match self.body() {
            Body::Compressed if self.long => self.cbytes().saturating_mul(GAIN).max(FREE),
            Body::Compressed => self.cbytes().saturating_mul(GAIN),
            _ => usize::MAX,
        };
        let most = cap.min(possible);
        if n > most {
            return Err(DecodeError::limit("chunk nbytes", 4, n as u64, most as u64));
        }
        Ok(n)
    }

    /// Bytes of header and block table, which are needed before any block.
    #[must_use]
    pub const fn table_end(&self) -> usize {
        match self.body() {
            Body::Compressed => self
                .len()
                .saturating_add(self.block_count().saturating_mul(4)),
            _ => self.len(),
        }
    }
}

/// The little-endian `u32` at `at`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*field))
}

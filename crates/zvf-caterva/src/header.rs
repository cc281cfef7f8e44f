//! The 87 fixed bytes of a frame header (`spec/caterva-b2nd.md` 3.1).

use core::mem::offset_of;

use zvf_blosc::{DecodeError, Expected};

use crate::layout::{FrameHead, TrailerEnd};
use crate::marked::MarkedFields;
use zvf_grid::int::wide;

/// The position of a member of the header.
macro_rules! at {
    ($($member:tt)+) => { offset_of!(FrameHead, $($member)+) };
}

/// Bytes of the fixed part of the header; metalayers follow.
pub const HEADER: usize = size_of::<FrameHead>();
/// Bytes of the smallest trailer.
pub const TRAILER: u64 = 35;
/// The magic text, at byte [`MAGIC_AT`].
pub const MAGIC: &[u8; 8] = b"b2frame\0";
/// The position of the magic text, after two markers.
pub const MAGIC_AT: usize = at!(magic.value);

/// Where the chunks of a frame are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FrameLayout {
    /// In the same file as the header.
    Contiguous,
    /// One file each, in the folder of `chunks.b2frame`.
    Sparse,
}

/// The checked fixed part of a frame header.
///
/// Default codec, filters and block size are *advisory*: every chunk describes itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Bytes of the header with its metalayers; chunk positions count from here.
    pub header_len: u32,
    /// Bytes of the frame (sparse: of `chunks.b2frame`).
    pub frame_len: u64,
    /// Version, width of index entries, and whether the sizes of chunks and blocks vary.
    pub general_flags: u8,
    /// Where the chunks are.
    pub layout: FrameLayout,
    /// Default compressor number (low nibble) and level (high). Advisory.
    pub codec: u8,
    /// Decoded bytes of all chunks, padding included.
    pub nbytes: u64,
    /// Bytes of the chunk area (sparse: of all chunk files).
    pub cbytes: u64,
    /// Item size in bytes, 1 or more.
    pub typesize: u32,
    /// Default block size. Advisory.
    pub blocksize: u32,
    /// Decoded bytes of every chunk; 0 without chunks.
    pub chunksize: u32,
    /// Whether the trailer holds variable-length metalayers.
    pub has_vlmetalayers: bool,
    /// Default filter ids. Advisory.
    pub filters: [u8; 6],
    /// Default filter metas. Advisory.
    pub filter_metas: [u8; 6],
}

impl FrameHeader {
    /// Reads and checks the fixed part at the start of `bytes`.
    ///
    /// # Errors
    ///
    /// Truncated, malformed (markers, magic, lengths that contradict each other) or unsupported (version, flags, frame type).
    ///
    /// # Panics
    ///
    /// Never.
    pub fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        let fields = MarkedFields::new(bytes, 0);
        let magic = fields.slice("frame magic", MAGIC_AT, MAGIC.len())?;
        if magic != MAGIC {
            let found = i64::from(magic.first().copied().unwrap_or_default());
            let expected = Expected::Text("\"b2frame\" and a zero byte");
            return Err(DecodeError::malformed(
                "frame magic",
                wide(MAGIC_AT),
                found,
                expected,
            ));
        }
        let head = fields.head::<FrameHead>("frame header")?;
        fields.marker("frame header", 0, 0x9e)?;
        fields.marker("frame magic", 1, 0xa8)?;
        fields.marker("frame flags", at!(general_flags), 0xa4)?;
        for (what, at) in [
            ("compression threads", at!(compression_threads)),
            ("decompression threads", at!(decompression_threads)),
        ] {
            fields.marker(what, at, 0xd1)?;
        }
        let slots = at!(filters);
        fields.marker("filter pipeline", slots, 0xd8)?;
        fields.marker("filter slots", slots + 1, 6)?;
        let layout = match head.frame_type {
            0 => FrameLayout::Contiguous,
            1 => FrameLayout::Sparse,
            other => {
                let expected = Expected::Text("0 contiguous or 1 sparse");
                let found = i64::from(other);
                let at = wide(at!(frame_type));
                return Err(DecodeError::unsupported("frame type", at, found, expected));
            }
        };
        let has_vlmetalayers = match head.has_vlmeta {
            0xc2 => false,
            0xc3 => true,
            other => {
                let (what, found) = ("variable-length metalayers", i64::from(other));
                return Err(DecodeError::malformed(
                    what,
                    wide(at!(has_vlmeta)),
                    found,
                    Expected::Text("194 (false) or 195 (true)"),
                ));
            }
        };
        let header = Self {
            header_len: fields.i32("header_len", at!(header_len), 87)?,
            frame_len: fields.u64("frame_len", at!(frame_len), 0xcf)?,
            general_flags: head.general_flags.value,
            layout,
            codec: head.codec,
            nbytes: fields.u64("frame nbytes", at!(nbytes), 0xd3)?,
            cbytes: fields.u64("frame cbytes", at!(cbytes), 0xd3)?,
            typesize: fields.i32("frame typesize", at!(typesize), 1)?,
            blocksize: fields.i32("frame blocksize", at!(blocksize), 0)?,
            chunksize: fields.i32("frame chunksize", at!(chunksize), 0)?,
            has_vlmetalayers,
            filters: head.filters.value,
            filter_metas: head.filter_metas,
        };
        header.check()?;
        Ok(header)
    }

    fn check(&self) -> Result<(), DecodeError> {
        let flags = self.general_flags;
        let refuse = |words| {
            let expected = Expected::Text(words);
            Err(DecodeError::unsupported(
                "general flags",
                wide(at!(general_flags.value)),
                i64::from(flags),
                expected,
            ))
        };
        if !matches!(flags & 15, 2 | 3) {
            return refuse("frame version 2 or 3");
        }
        if flags & 0x30 != 0x10 {
            return refuse("index entries of 64 bits");
        }
        if flags & 0x80 != 0 {
            return refuse("blocks of equal length");
        }
        if flags & 0x40 != 0 && self.nbytes > 0 {
            return refuse("chunks of equal length");
        }
        if self.nbytes > 0 && self.chunksize == 0 {
            let expected = Expected::AtLeast(1);
            let at = wide(at!(chunksize.value));
            return Err(DecodeError::malformed("frame chunksize", at, 0, expected));
        }
        let length = u64::from(self.header_len);
        if length > self.frame_len {
            let expected = Expected::AtMost(signed(self.frame_len));
            return Err(DecodeError::malformed(
                "header_len",
                wide(at!(header_len.value)),
                signed(length),
                expected,
            ));
        }
        let before = self.index_start().and_then(|at| at.checked_add(TRAILER));
        if before.is_none_or(|end| end > self.frame_len) {
            let expected = Expected::Text("a chunk area that leaves room for a trailer");
            return Err(DecodeError::malformed(
                "frame cbytes",
                wide(at!(cbytes.value)),
                signed(self.cbytes),
                expected,
            ));
        }
        Ok(())
    }

    /// Frame version, 2 or 3.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.general_flags & 15
    }

    /// Where the chunk index begins, from the start of the frame. `None` if the position exceeds 64 bits.
    #[must_use]
    pub fn index_start(&self) -> Option<u64> {
        let area = match self.layout {
            FrameLayout::Contiguous => self.cbytes,
            FrameLayout::Sparse => 0,
        };
        u64::from(self.header_len).checked_add(area)
    }

    /// How many chunks the frame has.
    #[must_use]
    pub fn chunk_count(&self) -> u64 {
        match u64::from(self.chunksize) {
            0 => 0,
            each => self.nbytes.div_ceil(each),
        }
    }

    /// Decoded bytes of chunk `chunk`: the chunk size, or less in the last chunk of a plain list.
    #[must_use]
    pub fn chunk_len(&self, chunk: u64) -> u64 {
        let each = u64::from(self.chunksize);
        self.nbytes
            .saturating_sub(chunk.saturating_mul(each))
            .min(each)
    }

    /// Checks that `available` bytes, counted from the start of the frame, can hold the whole frame.
    ///
    /// # Errors
    ///
    /// Truncated: the frame is longer.
    pub fn check_available(&self, available: u64) -> Result<(), DecodeError> {
        if self.frame_len > available {
            return Err(DecodeError::truncated(
                "frame",
                0,
                available,
                self.frame_len,
            ));
        }
        Ok(())
    }
}

/// The end of a trailer (`spec/caterva-b2nd.md` 3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrailerTail {
    /// Bytes of the whole trailer.
    pub trailer_len: u32,
    /// Kind of the fingerprint; 0 in all files: no fingerprint.
    pub fingerprint: u8,
}

impl TrailerTail {
    /// Bytes of the fixed end of a trailer.
    pub const LEN: usize = size_of::<TrailerEnd>();

    /// Reads the fixed end, the last [`Self::LEN`] bytes of the frame.
    ///
    /// # Errors
    ///
    /// Truncated; malformed: a marker, or a trailer that is shorter than 35 bytes or begins before the index.
    pub fn parse(tail: &[u8], header: &FrameHeader) -> Result<Self, DecodeError> {
        let base = header.frame_len.saturating_sub(wide(Self::LEN));
        let fields = MarkedFields::new(tail, base);
        let at = offset_of!(TrailerEnd, trailer_len);
        let trailer_len = fields.u32("trailer_len", at, 0xce)?;
        let at = offset_of!(TrailerEnd, fingerprint);
        fields.marker("fingerprint", at, 0xd8)?;
        let fingerprint = fields.byte("fingerprint", at + 1)?;
        let most = header
            .frame_len
            .saturating_sub(header.index_start().unwrap_or(u64::MAX));
        if u64::from(trailer_len) < TRAILER || u64::from(trailer_len) > most {
            let expected = Expected::Text("a trailer of 35 bytes or more, after the chunk area");
            let found = i64::from(trailer_len);
            return Err(DecodeError::malformed(
                "trailer_len",
                base + 1,
                found,
                expected,
            ));
        }
        Ok(Self {
            trailer_len,
            fingerprint,
        })
    }
}

/// A position as a number in error messages.
pub(crate) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

//! Writing chunks: [`Encoder`].

mod pack;
mod settings;

use alloc::vec::Vec;

use crate::filters::{bitshuffle, delta_first, delta_other, delta_word, shuffle};
use crate::header::MOST;
use crate::{Codec, SpecialKind};
pub use pack::Packers;
pub use settings::{EncodeError, FirstFilter, Generation, LastFilter, Settings};

/// Flag of a chunk that stores the plain bytes.
const STORED: u8 = 0x02;
/// Flag of a chunk in which each block is one stream.
const UNSPLIT: u8 = 0x10;

/// The body of an encoded chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkBody {
    /// Every byte is zero: a chunk of 32 bytes, which a frame replaces by an index entry.
    Zeros,
    /// Every item is the same: a chunk of a header and one item.
    Value,
    /// The plain bytes: compression did not make them shorter, or was not requested.
    Stored,
    /// Streams.
    Compressed,
}

/// Encodes chunks of Blosc2 or Blosc 1; keeps its buffers and codecs from chunk to chunk.
///
/// Chunks have unsplit streams and no dictionary, which every reader of the format supports (`spec/caterva-b2nd.md` 10).
///
/// # Examples
///
/// ```
/// use zvf_blosc::{Chunk, Codecs, Encoder, Settings};
///
/// let items: Vec<u8> = (0..4000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
/// let mut chunk = Vec::new();
/// Encoder::new(Settings::new(4, 8000))?.encode(&items, &mut chunk)?;
/// assert!(chunk.len() < items.len() / 2);
/// let again = Chunk::parse(&chunk)?.decode_vec(4, 1 << 20, &mut Codecs::new())?;
/// assert_eq!(again, items);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Encoder {
    settings: Settings,
    packers: Packers,
    /// Buffers: a block after its first filter, after its last filter, and its stream.
    first: Vec<u8>,
    last: Vec<u8>,
    stream: Vec<u8>,
}

impl Encoder {
    /// Creates an encoder and checks its settings.
    ///
    /// # Errors
    ///
    /// [`EncodeError`]: settings that the format or this build does not support.
    pub fn new(settings: Settings) -> Result<Self, EncodeError> {
        Self::check(settings)?;
        Ok(Self {
            settings,
            packers: Packers::default(),
            first: Vec::new(),
            last: Vec::new(),
            stream: Vec::new(),
        })
    }

    fn check(settings: Settings) -> Result<(), EncodeError> {
        settings.check()?;
        match settings.codec {
            Some(codec) if !Packers::writes(codec) => Err(EncodeError::Codec { codec }),
            _ => Ok(()),
        }
    }

    /// Sets other settings for later chunks. Keeps buffers and codec state, because creating them costs more than encoding a small chunk.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new); the old settings are then kept.
    pub fn set(&mut self, settings: Settings) -> Result<(), EncodeError> {
        Self::check(settings)?;
        self.settings = settings;
        Ok(())
    }

    /// The settings of the encoder.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Appends one chunk of `data` to `out`, and returns the kind of its body.
    ///
    /// # Errors
    ///
    /// [`EncodeError`]: more bytes than a chunk can hold, or a codec that fails.
    pub fn encode(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<ChunkBody, EncodeError> {
        let n = u32::try_from(data.len()).ok().filter(|n| *n <= MOST);
        let n = n.ok_or(EncodeError::TooLong {
            bytes: data.len() as u64,
        })?;
        let start = out.len();
        let head = self.settings.format.header_len();
        if n > 0
            && self.settings.format == Generation::Blosc2
            && let Some(special) = self.special(data, n, out)
        {
            return Ok(special);
        }
        if let Some(codec) = self.settings.codec
            && data.len() >= head
            && self.compress(codec, data, n, out)?
        {
            return Ok(ChunkBody::Compressed);
        }
        out.truncate(start);
        self.header(out, n, STORED, 0, data.len() + head);
        out.extend(data);
        Ok(ChunkBody::Stored)
    }

    /// Appends a chunk without streams, if all bytes are zero or all items are equal.
    fn special(&self, data: &[u8], n: u32, out: &mut Vec<u8>) -> Option<ChunkBody> {
        let (width, head) = (self.settings.typesize, self.settings.format.header_len());
        if data.iter().all(|byte| *byte == 0) {
            self.header(out, n, 0, SpecialKind::Zeros.code() << 4, head);
            return Some(ChunkBody::Zeros);
        }
        let repeats = data.len() > width
            && data.len().is_multiple_of(width)
            && data
                .iter()
                .zip(data.iter().skip(width))
                .all(|(a, b)| a == b);
        repeats.then(|| {
            self.header(out, n, 0, SpecialKind::Value.code() << 4, head + width);
            out.extend(data.iter().take(width));
            ChunkBody::Value
        })
    }

    /// Appends the compressed body; `false` if it is not shorter than the stored one.
    fn compress(
        &mut self,
        codec: Codec,
        data: &[u8],
        n: u32,
        out: &mut Vec<u8>,
    ) -> Result<bool, EncodeError> {
        let start = out.len();
        let most = data.len() + self.settings.format.header_len();
        self.header(out, n, UNSPLIT | codec.format() << 5, 0, 0);
        let length = self.settings.blocksize.min(data.len());
        let blocks = data.len().div_ceil(length);
        let table = out.len();
        out.extend(core::iter::repeat_n(0, 4 * blocks));
        let reference = data.get(..length).unwrap_or_default();
        for (i, block) in data.chunks(length).enumerate() {
            let at = out.len() - start;
            if at + 4 > most {
                return Ok(false);
            }
            set(out, table + 4 * i, at);
            self.block(codec, i, block, reference, out)?;
        }
        let cbytes = out.len() - start;
        if cbytes >= most {
            return Ok(false);
        }
        set(out, start + 12, cbytes);
        Ok(true)
    }

    /// Appends the one stream of a block.
    fn block(
        &mut self,
        codec: Codec,
        index: usize,
        block: &[u8],
        reference: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let width = self.settings.chunk_typesize();
        let mut data = block;
        match self.settings.first {
            FirstFilter::None => {}
            FirstFilter::Delta => {
                self.first.resize(block.len(), 0);
                let word = delta_word(width);
                if index == 0 {
                    delta_first(data, word, &mut self.first);
                } else {
                    delta_other(data, reference, word, &mut self.first);
                }
                data = &self.first;
            }
            FirstFilter::TruncPrec(bits) => {
                self.first.clear();
                self.first.extend(data);
                settings::truncate(&mut self.first, width, bits);
                data = &self.first;
            }
        }
        match self.settings.last {
            LastFilter::None => {}
            LastFilter::Shuffle if width == 1 => {}
            LastFilter::Shuffle => {
                self.last.resize(block.len(), 0);
                shuffle(data, width, &mut self.last);
                data = &self.last;
            }
            LastFilter::BitShuffle => {
                self.last.resize(block.len(), 0);
                let whole = self.settings.format == Generation::Blosc1;
                bitshuffle(data, width, whole, &mut self.last);
                data = &self.last;
            }
        }
        let byte = data.first().copied().unwrap_or_default();
        if self.settings.format == Generation::Blosc2 && data.iter().all(|other| *other == byte) {
            out.extend((-i32::from(byte)).to_le_bytes());
            if byte != 0 {
                out.push(1);
            }
            return Ok(());
        }
        self.packers
            .pack(codec, self.settings.level, data, &mut self.stream)?;
        let body = if self.stream.len() < data.len() {
            &self.stream[..]
        } else {
            data
        };
        let at = out.len();
        out.extend([0; 4]);
        set(out, at, body.len());
        out.extend(body);
        Ok(())
    }

    /// Appends a header.
    fn header(&self, out: &mut Vec<u8>, n: u32, flags: u8, blosc2_flags: u8, cbytes: usize) {
        let settings = &self.settings;
        let start = out.len();
        let typesize = u8::try_from(settings.chunk_typesize()).unwrap_or(1);
        let (version, filters) = match settings.format {
            Generation::Blosc1 => match settings.last {
                LastFilter::None => (2, 0),
                LastFilter::Shuffle => (2, 1),
                LastFilter::BitShuffle => (2, 4),
            },
            // Both shuffle bits are set: they mark a long header.
            Generation::Blosc2 if settings.first == FirstFilter::Delta => (5, 5 | 8),
            Generation::Blosc2 => (5, 5),
        };
        out.extend([version, 1, flags | filters, typesize]);
        out.extend(n.to_le_bytes());
        out.extend([0; 8]);
        // The format has no empty block, and no block longer than its chunk.
        let blocksize = settings.blocksize.min(n as usize).max(1);
        set(out, start + 8, blocksize);
        set(out, start + 12, cbytes);
        if settings.format == Generation::Blosc1 {
            return;
        }
        let (filters, metas) = settings.slots();
        out.extend(filters);
        out.extend([settings.codec.map_or(0, Codec::compressor), 0]);
        out.extend(metas);
        out.extend([0, blosc2_flags]);
    }
}

/// Writes a 32-bit number over the bytes at `at`.
fn set(out: &mut [u8], at: usize, value: usize) {
    let field = u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes();
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&field);
    }
}

//! A whole chunk in memory.

use crate::header::u32_at;
use crate::stream::{BlockContext, decode_block};
use crate::{Body, DecodeError, Expand, Expected, Header, Pipeline, Special, SpecialKind};

/// Largest size of a dictionary, in bytes.
const DICTIONARY: u32 = 32768;

/// The table of block starts, and the dictionary after it. Both are needed before any block of a compressed chunk
/// (`spec/caterva-b2nd.md` 7.3).
#[derive(Debug, Clone, Copy)]
pub struct BlockTable<'a> {
    starts: &'a [[u8; 4]],
    /// Their offset in the chunk.
    at: usize,
    dictionary: Option<&'a [u8]>,
    /// First byte at which a stream may start.
    first: usize,
    cbytes: usize,
}

impl<'a> BlockTable<'a> {
    /// Parses the table from `bytes`, which begins with the chunk and may end after table and dictionary.
    ///
    /// # Errors
    ///
    /// Truncated: the table or the dictionary is missing. Malformed: a dictionary of an impossible size.
    pub fn parse(header: &Header, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let end = header.table_end();
        let Some(table) = bytes.get(header.len()..end) else {
            let have = bytes.len().saturating_sub(header.len());
            let need = end - header.len();
            let at = header.len() as u64;
            return Err(DecodeError::truncated(
                "block table",
                at,
                have as u64,
                need as u64,
            ));
        };
        let mut first = end;
        let mut dictionary = None;
        if header.has_dictionary() && header.body() == Body::Compressed {
            let at = end as u64;
            let have = bytes.len().saturating_sub(end);
            let short = |need| DecodeError::truncated("dictionary", at, have as u64, need as u64);
            let n = u32_at(bytes, end).ok_or(short(4))?;
            if n == 0 || n > DICTIONARY {
                let expected = Expected::Text("1 to 32768 bytes");
                let found = i64::from(n);
                return Err(DecodeError::malformed(
                    "dictionary size",
                    at,
                    found,
                    expected,
                ));
            }
            first = end + 4 + n as usize;
            dictionary = Some(bytes.get(end + 4..first).ok_or(short(4 + n as usize))?);
        }
        let starts = table.as_chunks::<4>().0;
        Ok(Self {
            starts,
            at: header.len(),
            dictionary,
            first,
            cbytes: header.cbytes(),
        })
    }

    /// The dictionary of all streams of the chunk.
    #[must_use]
    pub const fn dictionary(&self) -> Option<&'a [u8]> {
        self.dictionary
    }

    /// Number of blocks.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether the table has no block.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Start of block `block`, from the start of the chunk.
    ///
    /// # Errors
    ///
    /// Malformed: outside of the chunk, or without room for the size of a stream.
    pub fn start(&self, block: usize) -> Result<usize, DecodeError> {
        let at = self.at.saturating_add(block.saturating_mul(4)) as u64;
        let field = self.starts.get(block).copied().unwrap_or([0xff; 4]);
        let start = i32::from_le_bytes(field);
        let last = self.cbytes.saturating_sub(4);
        match usize::try_from(start) {
            Ok(found) if found >= self.first && found <= last => Ok(found),
            _ => {
                let expected = Expected::Text("a position inside the chunk, after its table");
                Err(DecodeError::malformed(
                    "block start",
                    at,
                    i64::from(start),
                    expected,
                ))
            }
        }
    }
}

/// A complete chunk in memory.
///
/// # Examples
///
/// ```
/// use zvf_blosc::{Chunk, Codecs};
///
/// let mut bytes = vec![5, 1, 0x07, 1, 5, 0, 0, 0, 5, 0, 0, 0, 37, 0, 0, 0];
/// bytes.extend([0; 16]); // no filters
/// bytes.extend(b"hello");
/// let chunk = Chunk::parse(&bytes)?;
/// let (mut out, mut scratch) = ([0; 5], [0; 5]);
/// chunk.decode_into(1, &mut out, &mut scratch, &mut Codecs::new())?;
/// assert_eq!(&out, b"hello");
/// # Ok::<(), zvf_blosc::DecodeError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    header: Header,
    bytes: &'a [u8],
    table: BlockTable<'a>,
}

impl<'a> Chunk<'a> {
    /// Parses the chunk at the start of `bytes`; bytes after its `cbytes` are ignored.
    ///
    /// # Cost
    ///
    /// No heap, no decoding; the block table is bounds-checked as a whole and its entries when used.
    ///
    /// # Errors
    ///
    /// As for [`Header::parse`] and [`BlockTable::parse`]; truncated if there are fewer than `cbytes`
    /// bytes.
    ///
    /// # Panics
    ///
    /// Never.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let header = Header::parse(bytes)?;
        let have = bytes.len() as u64;
        let need = header.cbytes() as u64;
        let Some(bytes) = bytes.get(..header.cbytes()) else {
            return Err(DecodeError::truncated("chunk", 0, have, need));
        };
        let table = BlockTable::parse(&header, bytes)?;
        Ok(Self {
            header,
            bytes,
            table,
        })
    }

    /// The header.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The chunk's own bytes, header included.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The block table; empty unless the chunk is compressed.
    #[must_use]
    pub const fn table(&self) -> &BlockTable<'a> {
        &self.table
    }

    /// The items of a special chunk; `None` for other chunks.
    ///
    /// # Errors
    ///
    /// None: [`Self::parse`] rejects NaN for items that are not of 4 or 8 bytes.
    pub fn special(&self) -> Result<Option<Special<'a>>, DecodeError> {
        match self.header.body() {
            Body::Special(SpecialKind::Value) => {
                let value = self.bytes.get(self.header.len()..).unwrap_or_default();
                Ok(Some(Special::Value(value)))
            }
            Body::Special(kind) => Special::of(kind, self.header.typesize()).map(Some),
            _ => Ok(None),
        }
    }

    /// Decodes only block `block` into `out`, which is as long as the block. Errors state positions in the chunk.
    ///
    /// `scratch` is as long or longer; `reference` is block 0, decoded, for other blocks of a chunk with delta.
    ///
    /// # Errors
    ///
    /// Limit: `out` does not have the length of the block. Malformed: the block starts outside of the
    /// chunk. Otherwise as for [`stream::decode_block`](crate::stream::decode_block).
    pub fn decode_block(
        &self,
        pipeline: &Pipeline,
        block: usize,
        reference: Option<&[u8]>,
        out: &mut [u8],
        scratch: &mut [u8],
        codecs: &mut (impl Expand + ?Sized),
    ) -> Result<(), DecodeError> {
        let n = self.header.block_len(block);
        if out.len() != n {
            return Err(DecodeError::limit(
                "bytes of a block",
                0,
                n as u64,
                out.len() as u64,
            ));
        }
        let before = block.saturating_mul(self.header.blocksize());
        match self.header.body() {
            Body::Empty => Ok(()),
            Body::Special(_) => {
                if let Some(special) = self.special()? {
                    special.fill(before, out);
                }
                Ok(())
            }
            Body::Stored => {
                let from = self.header.len().saturating_add(before);
                match self.bytes.get(from..).and_then(|rest| rest.get(..n)) {
                    Some(body) => out.copy_from_slice(body),
                    None => {
                        return Err(DecodeError::truncated(
                            "stored block",
                            from as u64,
                            0,
                            n as u64,
                        ));
                    }
                }
                Ok(())
            }
            Body::Compressed => {
                let start = self.table.start(block)?;
                let bytes = self.bytes.get(start..).unwrap_or_default();
                let dictionary = self.table.dictionary();
                let context = BlockContext {
                    header: &self.header,
                    pipeline,
                    dictionary,
                    reference,
                };
                decode_block(context, block, bytes, out, scratch, codecs)
                    .map_err(|error| error.shifted(start as u64))
            }
        }
    }

    /// The filters of the blocks; none if the chunk is not compressed.
    fn pipeline(&self, frame_typesize: usize) -> Result<Pipeline, DecodeError> {
        match self.header.body() {
            Body::Compressed => self.header.pipeline(frame_typesize),
            _ => Pipeline::new(&[(0, 0); 6], 1, 1),
        }
    }

    /// Decodes the whole chunk into `out`, which is exactly [`Header::nbytes`] long; `scratch` holds a block.
    ///
    /// # Errors
    ///
    /// Limit: `out` has another length. Otherwise as for [`Self::decode_block`] and
    /// [`Header::pipeline`].
    pub fn decode_into(
        &self,
        frame_typesize: usize,
        out: &mut [u8],
        scratch: &mut [u8],
        codecs: &mut (impl Expand + ?Sized),
    ) -> Result<(), DecodeError> {
        let n = self.header.nbytes();
        if out.len() != n {
            return Err(DecodeError::limit(
                "bytes of a chunk",
                0,
                n as u64,
                out.len() as u64,
            ));
        }
        if n == 0 {
            return Ok(());
        }
        let pipeline = self.pipeline(frame_typesize)?;
        let length = self.header.blocksize();
        let Some((first, rest)) = out.split_at_mut_checked(length) else {
            return Ok(());
        };
        self.decode_block(&pipeline, 0, None, first, scratch, codecs)?;
        for (i, part) in rest.chunks_mut(length).enumerate() {
            self.decode_block(&pipeline, i + 1, Some(first), part, scratch, codecs)?;
        }
        Ok(())
    }
}

#[cfg(feature = "alloc")]
impl Chunk<'_> {
    /// Decodes every block and returns the first `keep` bytes of the chunk. Allocates these bytes and three blocks.
    ///
    /// # Errors
    ///
    /// Limit: the header states more bytes than the stored ones can decode to. Otherwise as for
    /// [`Self::decode_into`].
    pub fn decode_first(
        &self,
        frame_typesize: usize,
        keep: usize,
        codecs: &mut (impl Expand + ?Sized),
    ) -> Result<alloc::vec::Vec<u8>, DecodeError> {
        let (n, length) = (self.header.possible(usize::MAX)?, self.header.blocksize());
        let pipeline = self.pipeline(frame_typesize)?;
        let mut kept = alloc::vec::Vec::with_capacity(keep.min(n));
        let mut scratch = alloc::vec![0; length];
        let mut first: Option<alloc::vec::Vec<u8>> = None;
        let mut other = alloc::vec::Vec::new();
        let blocks = n.checked_div(length).map_or(0, |_| n.div_ceil(length));
        for block in 0..blocks {
            let mut made = core::mem::take(&mut other);
            made.clear();
            made.resize(self.header.block_len(block), 0);
            self.decode_block(
                &pipeline,
                block,
                first.as_deref(),
                &mut made,
                &mut scratch,
                codecs,
            )?;
            kept.extend(made.iter().take(keep - kept.len()));
            match first {
                None => first = Some(made),
                Some(_) => other = made,
            }
        }
        Ok(kept)
    }

    /// Decodes the whole chunk, if it decodes to at most `cap` bytes and no more than its stored bytes can
    /// produce.
    ///
    /// # Errors
    ///
    /// Limit: the header states a larger decoded size. Otherwise as for [`Self::decode_into`].
    pub fn decode_vec(
        &self,
        frame_typesize: usize,
        cap: usize,
        codecs: &mut (impl Expand + ?Sized),
    ) -> Result<alloc::vec::Vec<u8>, DecodeError> {
        let n = self.header.possible(cap)?;
        let mut out = alloc::vec![0; n];
        let needs = self.header.body() == Body::Compressed;
        let mut scratch = alloc::vec![0; if needs { self.header.blocksize() } else { 0 }];
        self.decode_into(frame_typesize, &mut out, &mut scratch, codecs)?;
        Ok(out)
    }
}

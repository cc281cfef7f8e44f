//! The chunk index, decoded block by block as entries are read.
//!
//! A repeated-value index of 40 bytes can describe any number of chunks, so nothing here is as large as the number of
//! chunks unless the file's own bytes are.

use std::sync::OnceLock;

use zvf_blosc::{Body, Chunk, Codecs, DecodeError, Expected};

use crate::view::{check_entry, check_index};
use crate::{Entry, FrameHeader};
use zvf_grid::int::wide;

/// Blocks of the index up to this size are always decoded.
const FREE: usize = 1 << 20;
/// Larger blocks may have at most this many times the bytes of the stored index.
const GAIN: usize = 1 << 10;
/// Most chunks for which positions are sorted, to bound the length of a chunk before its header is read.
const SORTED: u64 = 1 << 20;

/// The index of one frame.
#[derive(Debug)]
pub(crate) struct FrameIndex {
    frame: FrameHeader,
    /// The index chunk, as stored; empty without chunks.
    bytes: Vec<u8>,
    blocks: Vec<OnceLock<Vec<u8>>>,
    sorted: OnceLock<Vec<u64>>,
}

impl FrameIndex {
    /// Checks the index chunk at the start of `between`, the bytes from its position up to the trailer.
    pub(crate) fn new(frame: FrameHeader, between: &[u8]) -> Result<Self, DecodeError> {
        let at = frame.index_start().unwrap_or(u64::MAX);
        let (mut bytes, mut count) = (Vec::new(), 0);
        if frame.chunk_count() > 0 {
            let chunk = Chunk::parse(between).map_err(|error| error.shifted(at))?;
            check_index(&frame, chunk.header(), at)?;
            bytes.extend(chunk.bytes());
            if chunk.header().body() == Body::Compressed {
                let each = chunk.header().blocksize();
                if !each.is_multiple_of(8) {
                    let found = crate::header::signed(wide(each));
                    let expected = Expected::Text("a multiple of 8");
                    return Err(DecodeError::malformed(
                        "index blocksize",
                        at + 8,
                        found,
                        expected,
                    ));
                }
                let most = FREE.max(bytes.len().saturating_mul(GAIN));
                if each > most {
                    return Err(DecodeError::limit(
                        "index blocksize",
                        at + 8,
                        wide(each),
                        wide(most),
                    ));
                }
                count = chunk.header().block_count();
            }
        }
        let blocks = std::iter::repeat_with(OnceLock::new).take(count).collect();
        Ok(Self {
            frame,
            bytes,
            blocks,
            sorted: OnceLock::new(),
        })
    }

    /// The entry of chunk `chunk`. Fails if the index has no such chunk.
    pub(crate) fn entry(&self, chunk: u64) -> Result<Entry, DecodeError> {
        let raw = self.raw(chunk)?;
        let entry = Entry::parse(raw)?;
        if let Entry::At(at) = entry {
            check_entry(&self.frame, at)?;
        }
        Ok(entry)
    }

    fn raw(&self, number: u64) -> Result<i64, DecodeError> {
        let chunk = Chunk::parse(&self.bytes)?;
        let header = chunk.header();
        let absent = || DecodeError::truncated("index", 0, wide(header.nbytes()), number);
        let at = usize::try_from(number).ok().and_then(|n| n.checked_mul(8));
        let at = at.filter(|at| *at < header.nbytes()).ok_or_else(absent)?;
        let mut item = [0; 8];
        match header.body() {
            Body::Special(_) => {
                if let Some(special) = chunk.special()? {
                    special.fill(at, &mut item);
                }
            }
            Body::Stored => {
                let body = chunk
                    .bytes()
                    .get(header.len() + at..)
                    .and_then(|rest| rest.first_chunk());
                item = *body.ok_or_else(absent)?;
            }
            _ => {
                let block = self.block(&chunk, at / header.blocksize().max(1))?;
                let rest = block.get(at % header.blocksize().max(1)..);
                item = *rest
                    .and_then(|rest| rest.first_chunk())
                    .ok_or_else(absent)?;
            }
        }
        Ok(i64::from_le_bytes(item))
    }

    fn block(&self, chunk: &Chunk<'_>, number: usize) -> Result<&[u8], DecodeError> {
        let place = self.blocks.get(number);
        let place = place.ok_or(DecodeError::truncated("index", 0, 0, wide(number)))?;
        if let Some(found) = place.get() {
            return Ok(found);
        }
        let header = chunk.header();
        let pipeline = header.pipeline(8)?;
        let reference = if number > 0 && pipeline.has_delta() {
            Some(self.block(chunk, 0)?)
        } else {
            None
        };
        let n = header.block_len(number);
        let (mut out, mut scratch) = (vec![0; n], vec![0; n]);
        let mut codecs = Codecs::new();
        chunk.decode_block(
            &pipeline,
            number,
            reference,
            &mut out,
            &mut scratch,
            &mut codecs,
        )?;
        Ok(place.get_or_init(|| out))
    }

    /// An upper bound of the end of the chunk at `at`: the position of the next chunk, or the end of the chunk area. Only for
    /// contiguous frames.
    pub(crate) fn next_above(&self, at: u64) -> u64 {
        let sorted = self.sorted.get_or_init(|| {
            let count = self.frame.chunk_count();
            if count > SORTED {
                return Vec::new();
            }
            let mut all: Vec<u64> = (0..count)
                .filter_map(|chunk| match self.entry(chunk) {
                    Ok(Entry::At(at)) => Some(at),
                    _ => None,
                })
                .collect();
            all.sort_unstable();
            all
        });
        let next = sorted.partition_point(|other| *other <= at);
        sorted.get(next).copied().unwrap_or(self.frame.cbytes)
    }
}

//! The streams of one block, and the block that they decode to (`spec/caterva-b2nd.md` 7.4).

use crate::error::signed;
use crate::{DecodeError, Expand, Expected, Header, Pipeline, StreamError};

/// One stream of a block, as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream<'a> {
    /// One repeated byte.
    Run(u8),
    /// The plain bytes.
    Raw(&'a [u8]),
    /// Output of the codec.
    Packed(&'a [u8]),
}

/// The streams of a block. Each decodes to `each` bytes. Positions in errors are relative to `bytes`.
#[derive(Debug, Clone)]
pub struct Streams<'a> {
    rest: &'a [u8],
    at: usize,
    each: usize,
    left: usize,
}

impl<'a> Streams<'a> {
    /// The streams of block `block` of a chunk; `bytes` begins with the first of them.
    ///
    /// # Errors
    ///
    /// Malformed: the length of the block is not a multiple of the number of streams.
    pub fn new(header: &Header, block: usize, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (n, left) = (header.block_len(block), header.stream_count(block));
        if left == 0 || !n.is_multiple_of(left) {
            let expected = Expected::Text("a multiple of the number of streams");
            return Err(DecodeError::malformed(
                "block length",
                0,
                signed(n),
                expected,
            ));
        }
        let each = n / left;
        Ok(Self {
            rest: bytes,
            at: 0,
            each,
            left,
        })
    }

    /// Bytes of the streams that were taken, with their sizes.
    #[must_use]
    pub const fn taken(&self) -> usize {
        self.at
    }

    /// Takes the next stream, with its position; `None` after the last.
    ///
    /// # Errors
    ///
    /// Truncated or malformed, as in the table of 7.4.
    pub fn take(&mut self) -> Result<Option<(u64, Stream<'a>)>, DecodeError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let at = self.at as u64;
        let Some((field, rest)) = self.rest.split_first_chunk::<4>() else {
            return Err(DecodeError::truncated(
                "stream size",
                at,
                self.rest.len() as u64,
                4,
            ));
        };
        let z = i32::from_le_bytes(*field);
        let (stream, used) = match usize::try_from(z) {
            Ok(0) => (Stream::Run(0), 0),
            Ok(z) if z > self.each => {
                let expected = Expected::AtMost(signed(self.each));
                return Err(DecodeError::malformed(
                    "stream size",
                    at,
                    signed(z),
                    expected,
                ));
            }
            Ok(z) => {
                let Some(body) = rest.get(..z) else {
                    let have = rest.len() as u64;
                    return Err(DecodeError::truncated("stream", at + 4, have, z as u64));
                };
                (
                    if z == self.each {
                        Stream::Raw(body)
                    } else {
                        Stream::Packed(body)
                    },
                    z,
                )
            }
            Err(_) => {
                let Some(token) = rest.first() else {
                    return Err(DecodeError::truncated("run token", at + 4, 0, 1));
                };
                if token & 1 == 0 {
                    let expected = Expected::Text("a token with bit 0 set");
                    let found = i64::from(*token);
                    return Err(DecodeError::malformed("run token", at + 4, found, expected));
                }
                let Ok(byte) = u8::try_from(z.unsigned_abs()) else {
                    let expected = Expected::AtLeast(-255);
                    return Err(DecodeError::malformed(
                        "stream size",
                        at,
                        i64::from(z),
                        expected,
                    ));
                };
                (Stream::Run(byte), 1)
            }
        };
        self.rest = rest.get(used..).unwrap_or_default();
        self.at += 4 + used;
        Ok(Some((at, stream)))
    }
}

/// The data, other than its own bytes, that decoding a block needs.
#[derive(Debug, Clone, Copy)]
pub struct BlockContext<'a> {
    /// The chunk's header.
    pub header: &'a Header,
    /// Its filters.
    pub pipeline: &'a Pipeline,
    /// The dictionary of its streams.
    pub dictionary: Option<&'a [u8]>,
    /// The decoded block 0, for other blocks of a chunk with delta.
    pub reference: Option<&'a [u8]>,
}

/// Decodes one compressed block from its own bytes: `bytes` begins with its first stream; bytes after its
/// last are ignored.
///
/// `out` is exactly as long as the block; `scratch` at least as long.
///
/// # Errors
///
/// Truncated, malformed or unsupported, with the position from the start of `bytes`. Limit: `out` has
/// another length than the block, `scratch` is too short, or `reference` is missing or too short for a
/// block with delta.
///
/// # Panics
///
/// Never.
pub fn decode_block(
    context: BlockContext<'_>,
    block: usize,
    bytes: &[u8],
    out: &mut [u8],
    scratch: &mut [u8],
    codecs: &mut (impl Expand + ?Sized),
) -> Result<(), DecodeError> {
    let n = context.header.block_len(block);
    if out.len() != n || scratch.len() < n {
        let found = out.len().min(scratch.len()) as u64;
        return Err(DecodeError::limit("bytes of a block", 0, n as u64, found));
    }
    let pipeline = context.pipeline;
    let reference = if block == 0 { None } else { context.reference };
    if reference.is_none() && block != 0 && pipeline.has_delta() {
        return Err(DecodeError::limit("bytes of block 0", 0, n as u64, 0));
    }
    let target: &mut [u8] = if pipeline.starts_in_scratch() {
        scratch.get_mut(..n).unwrap_or_default()
    } else {
        &mut *out
    };
    join_streams(context, block, bytes, target, codecs)?;
    pipeline.undo(out, scratch, reference)
}

/// Decodes the streams of a compressed block one after another into `out`, which is as long as the block. Filters are
/// not reversed.
///
/// # Errors
///
/// As for [`decode_block`]; `scratch` and `reference` are not used.
pub fn join_streams(
    context: BlockContext<'_>,
    block: usize,
    bytes: &[u8],
    out: &mut [u8],
    codecs: &mut (impl Expand + ?Sized),
) -> Result<(), DecodeError> {
    let BlockContext {
        header, dictionary, ..
    } = context;
    if out.is_empty() {
        return Ok(());
    }
    let mut streams = Streams::new(header, block, bytes)?;
    let (each, count) = (streams.each, streams.left);
    if each == 0 || out.len() != each * count {
        let found = out.len() as u64;
        return Err(DecodeError::limit(
            "bytes of a block",
            0,
            (each * count) as u64,
            found,
        ));
    }
    for part in out.chunks_exact_mut(each) {
        let Some((at, stream)) = streams.take()? else {
            break;
        };
        match stream {
            Stream::Run(byte) => part.fill(byte),
            Stream::Raw(body) => part.copy_from_slice(body),
            Stream::Packed(body) => {
                let codec = header.codec()?;
                match codecs.expand(codec, body, dictionary, part) {
                    Ok(()) => {}
                    Err(StreamError::Damaged) => return Err(DecodeError::stream(codec, at)),
                    Err(StreamError::Missing) => {
                        let expected = Expected::Text("a codec that this build supports");
                        let found = i64::from(codec.format());
                        return Err(DecodeError::unsupported("codec", at, found, expected));
                    }
                }
            }
        }
    }
    Ok(())
}

//! Blosc-1 frames, read without C code.
//!
//! ```text
//!  0  u8   format version         (2)
//!  1  u8   version of the codec
//!  2  u8   flags: 0x01 shuffle, 0x02 plain copy, 0x04 bit shuffle, 0x10 blocks are not split, top 3 bits codec
//!  3  u8   bytes of an element    (1 to 255)
//!  4  u32  bytes when decoded
//!  8  u32  bytes of a block when decoded
//! 12  u32  bytes of the frame
//! 16  i32  start of each block, then the blocks: streams of `i32 length` and that many bytes
//! ```
//!
//! A block that is split has one stream for each byte of an element. A stream as long as its output is a plain
//! copy. Only the codecs that numcodecs builds are read: blosclz, lz4, zlib, zstd; snappy is refused by name.

use super::blosclz;
use crate::StoreError;
use crate::kv::Cap;

const HEAD: usize = 16;
/// Wider elements, or blocks with fewer elements, are never split.
const MOST_SPLITS: usize = 16;
const FEWEST_ELEMENTS: usize = 128;

#[derive(Debug, Clone, Copy)]
enum Inner {
    BloscLz,
    Lz4,
    Zlib,
    Zstd,
}

#[derive(Debug, Clone, Copy)]
struct Head {
    flags: u8,
    typesize: usize,
    nbytes: usize,
    blocksize: usize,
}

/// Decompresses one frame.
pub(super) fn decode(key: &str, frame: &[u8], cap: Cap) -> Result<Vec<u8>, StoreError> {
    let bad = |what: String| StoreError::malformed(key, format!("blosc: {what}"));
    let head = parse(frame).map_err(bad)?;
    cap.check(key, u64::try_from(head.nbytes).unwrap_or(u64::MAX))?;
    if head.nbytes == 0 {
        return Ok(Vec::new());
    }
    if head.flags & 0x02 != 0 {
        return match frame.get(HEAD..HEAD + head.nbytes) {
            Some(body) => Ok(body.to_vec()),
            None => Err(bad(format!(
                "{} bytes found, expected {}",
                frame.len(),
                HEAD + head.nbytes
            ))),
        };
    }
    let inner = match head.flags >> 5 {
        0 => Inner::BloscLz,
        1 => Inner::Lz4,
        2 => return Err(StoreError::unsupported(key, "blosc with snappy")),
        3 => Inner::Zlib,
        4 => Inner::Zstd,
        other => return Err(bad(format!("unknown codec number {other}"))),
    };
    let blocks = head.nbytes.div_ceil(head.blocksize);
    let starts = blocks
        .checked_mul(4)
        .and_then(|n| frame.get(HEAD..HEAD.checked_add(n)?))
        .ok_or_else(|| bad(format!("the table of {blocks} blocks is cut short")))?;
    // A stream stands for at most 2^18 times its bytes (zstd runs); a frame that claims more is damaged.
    if head.nbytes / (1 << 18) > frame.len() {
        return Err(bad(format!(
            "{} bytes claimed by a frame of {}",
            head.nbytes,
            frame.len()
        )));
    }
    let mut out = vec![0; head.nbytes];
    let mut scratch = vec![0; head.blocksize.min(head.nbytes)];
    for ((block, start), part) in starts
        .as_chunks::<4>()
        .0
        .iter()
        .enumerate()
        .zip(out.chunks_mut(head.blocksize))
    {
        let start = usize::try_from(u32::from_le_bytes(*start)).unwrap_or(usize::MAX);
        let stream = frame.get(start..).filter(|_| start >= HEAD);
        let stream = stream.ok_or_else(|| {
            bad(format!(
                "block {block} starts at {start}, outside the frame"
            ))
        })?;
        decode_block(stream, head, inner, part, &mut scratch)
            .map_err(|what| bad(format!("block {block}: {what}")))?;
    }
    Ok(out)
}

/// Checks the head against the bytes that are really there.
fn parse(frame: &[u8]) -> Result<Head, String> {
    let Some(head) = frame.first_chunk::<HEAD>() else {
        return Err(format!(
            "{} bytes found, expected a head of {HEAD}",
            frame.len()
        ));
    };
    let [
        version,
        _,
        flags,
        typesize,
        n0,
        n1,
        n2,
        n3,
        b0,
        b1,
        b2,
        b3,
        c0,
        c1,
        c2,
        c3,
    ] = *head;
    if version != 2 {
        return Err(format!("format version {version} found, expected 2"));
    }
    let size = |bytes| usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX);
    let (nbytes, blocksize, cbytes) = (
        size([n0, n1, n2, n3]),
        size([b0, b1, b2, b3]),
        size([c0, c1, c2, c3]),
    );
    if cbytes != frame.len() {
        return Err(format!("{} bytes found, expected {cbytes}", frame.len()));
    }
    if typesize == 0 || (blocksize == 0 && nbytes > 0) {
        return Err(format!(
            "element size {typesize} and block size {blocksize} must not be 0"
        ));
    }
    if i32::try_from(nbytes).is_err() || i32::try_from(blocksize).is_err() {
        return Err(format!(
            "{nbytes} bytes in blocks of {blocksize} exceed the format"
        ));
    }
    Ok(Head {
        flags,
        typesize: usize::from(typesize),
        nbytes,
        blocksize,
    })
}

fn decode_block(
    stream: &[u8],
    head: Head,
    inner: Inner,
    out: &mut [u8],
    scratch: &mut [u8],
) -> Result<(), String> {
    let (size, width) = (out.len(), head.typesize);
    let leftover = size < head.blocksize;
    let split = head.flags & 0x10 == 0
        && width <= MOST_SPLITS
        && head.blocksize / width >= FEWEST_ELEMENTS
        && !leftover;
    let streams = if split { width } else { 1 };
    let each = size / streams;
    if each == 0 || each * streams != size {
        return Err(format!(
            "{size} bytes cannot be split into {streams} streams"
        ));
    }
    let byte_shuffle = head.flags & 0x01 != 0 && width > 1;
    let bit_shuffle = !byte_shuffle && head.flags & 0x04 != 0 && size >= width;
    let shuffled = byte_shuffle || bit_shuffle;
    let scratch = scratch
        .get_mut(..size)
        .ok_or("block is longer than the block size")?;
    let target: &mut [u8] = if shuffled { &mut *scratch } else { &mut *out };
    let mut rest = stream;
    for (i, part) in target.chunks_exact_mut(each).enumerate() {
        let (length, body) = rest
            .split_first_chunk::<4>()
            .ok_or_else(|| format!("stream {i} is cut short"))?;
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (data, after) = body
            .split_at_checked(length)
            .ok_or_else(|| format!("stream {i} claims {length} bytes of {}", body.len()))?;
        if length == each {
            part.copy_from_slice(data);
        } else if !expand(inner, data, part) {
            return Err(format!("stream {i} is damaged"));
        }
        rest = after;
    }
    if byte_shuffle {
        unshuffle(scratch, width, out);
    } else if bit_shuffle {
        unshuffle_bits(scratch, width, out);
    }
    Ok(())
}

fn expand(inner: Inner, data: &[u8], out: &mut [u8]) -> bool {
    match inner {
        Inner::BloscLz => blosclz::decode_into(data, out),
        Inner::Lz4 => lz4_flex::block::decompress_into(data, out).is_ok_and(|n| n == out.len()),
        Inner::Zlib => {
            let mut decoder = flate2::Decompress::new(true);
            let end = decoder.decompress(data, out, flate2::FlushDecompress::Finish);
            matches!(end, Ok(flate2::Status::StreamEnd))
                && usize::try_from(decoder.total_out()) == Ok(out.len())
        }
        Inner::Zstd => ::zstd::bulk::decompress_to_buffer(data, out).is_ok_and(|n| n == out.len()),
    }
}

/// Puts byte `b` of element `i`, stored in plane `b`, back in its place.
fn unshuffle(planes: &[u8], width: usize, out: &mut [u8]) {
    let elements = out.len() / width;
    let whole = elements * width;
    for (b, plane) in planes.chunks_exact(elements.max(1)).take(width).enumerate() {
        for (element, byte) in out.chunks_exact_mut(width).zip(plane) {
            if let Some(place) = element.get_mut(b) {
                *place = *byte;
            }
        }
    }
    if let (Some(to), Some(from)) = (out.get_mut(whole..), planes.get(whole..)) {
        to.copy_from_slice(from);
    }
}

/// Puts the bits back: plane `8 b + k` holds bit `k` of byte `b` of every element, eight elements a byte.
fn unshuffle_bits(planes: &[u8], width: usize, out: &mut [u8]) {
    let elements = out.len() / width;
    if !elements.is_multiple_of(8) || elements == 0 {
        out.copy_from_slice(planes);
        return;
    }
    let per_plane = elements / 8;
    let whole = elements * width;
    for (b, eight) in planes.chunks_exact(per_plane * 8).take(width).enumerate() {
        for (j, group) in out.chunks_exact_mut(width * 8).enumerate() {
            let mut rows = [0u8; 8];
            for (row, plane) in rows.iter_mut().zip(eight.chunks_exact(per_plane)) {
                *row = plane.get(j).copied().unwrap_or(0);
            }
            let columns = transpose(u64::from_le_bytes(rows)).to_le_bytes();
            for (element, byte) in group.chunks_exact_mut(width).zip(columns) {
                if let Some(place) = element.get_mut(b) {
                    *place = byte;
                }
            }
        }
    }
    if let (Some(to), Some(from)) = (out.get_mut(whole..), planes.get(whole..)) {
        to.copy_from_slice(from);
    }
}

/// Transposes a matrix of 8 times 8 bits: byte = row, bit = column.
fn transpose(mut x: u64) -> u64 {
    let mut t = (x ^ (x >> 7)) & 0x00AA_00AA_00AA_00AA;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000_CCCC_0000_CCCC;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x0000_0000_F0F0_F0F0;
    x ^ t ^ (t << 28)
}

#[cfg(test)]
mod tests {
    use super::{decode, transpose};
    use crate::kv::Cap;

    const CAP: Cap = Cap {
        what: "cell_bytes",
        bytes: 1 << 20,
    };

    #[test]
    fn transposing_twice_changes_nothing() {
        assert_eq!(transpose(1 << 8), 1 << 1);
        for seed in 0..1000u64 {
            let x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            assert_eq!(transpose(transpose(x)), x);
        }
    }

    #[test]
    fn plain_copies_are_read() {
        let mut frame = vec![2, 1, 0x02, 4, 5, 0, 0, 0, 5, 0, 0, 0, 21, 0, 0, 0];
        frame.extend(b"hello");
        assert_eq!(decode("k", &frame, CAP).unwrap(), b"hello");
        for end in 0..frame.len() {
            assert!(decode("k", &frame[..end], CAP).is_err());
        }
    }

    #[test]
    fn claims_are_checked_against_the_limit_and_the_frame() {
        let mut frame = vec![
            2, 1, 0x90, 4, 255, 255, 255, 127, 0, 1, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(
            decode("k", &frame, CAP).unwrap_err().class(),
            crate::Class::Limit
        );
        frame[4..8].copy_from_slice(&[0, 0, 8, 0]);
        assert_eq!(
            decode("k", &frame, CAP).unwrap_err().class(),
            crate::Class::Malformed
        );
    }
}

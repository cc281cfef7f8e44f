//! Damaged chunks give an error or some bytes, never a panic, and never use more memory than the
//! cap.

use proptest::prelude::*;
use zvf_blosc::{
    Chunk, Class, Codec, Codecs, Encoder, FirstFilter, Header, LastFilter, Packers, Settings,
};

fn sample(codec: Codec, first: FirstFilter, last: LastFilter) -> Vec<u8> {
    let data: Vec<u8> = (0..1500u32)
        .flat_map(|i| ((i / 5) * (i / 7)).to_le_bytes())
        .collect();
    let settings = Settings::new(4, 1000)
        .with_codec(Some(codec))
        .with_filters(first, last);
    let mut bytes = Vec::new();
    Encoder::new(settings)
        .unwrap()
        .encode(&data, &mut bytes)
        .unwrap();
    bytes
}

fn samples() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for codec in [Codec::BloscLz, Codec::Lz4, Codec::Zlib, Codec::Zstd] {
        if Packers::writes(codec) {
            for first in [FirstFilter::None, FirstFilter::Delta] {
                for last in [
                    LastFilter::None,
                    LastFilter::Shuffle,
                    LastFilter::BitShuffle,
                ] {
                    all.push(sample(codec, first, last));
                }
            }
        }
    }
    all
}

fn decode(bytes: &[u8]) -> Result<Vec<u8>, zvf_blosc::DecodeError> {
    Chunk::parse(bytes)?.decode_vec(4, 1 << 16, &mut Codecs::new())
}

#[test]
fn prefixes_are_truncated() {
    for bytes in samples() {
        for end in 0..bytes.len() {
            assert_eq!(
                decode(&bytes[..end]).unwrap_err().class(),
                Class::Truncated,
                "{end}"
            );
        }
        decode(&bytes).unwrap();
    }
}

#[test]
fn a_bad_block_start_is_named_by_its_place_also_behind_a_dictionary() {
    for dictionary in [false, true] {
        let mut bytes = vec![5, 1, 0x35, 4, 16, 0, 0, 0, 8, 0, 0, 0, 54, 0, 0, 0];
        bytes.extend([0; 15]);
        bytes.push(u8::from(dictionary));
        bytes.extend(50_u32.to_le_bytes());
        bytes.extend((-1_i32).to_le_bytes());
        // The dictionary: its size, then two bytes. Without the flag, these bytes mean nothing.
        bytes.extend([2, 0, 0, 0, 7, 7]);
        bytes.resize(54, 0);
        let chunk = Chunk::parse(&bytes).unwrap();
        assert_eq!(chunk.table().dictionary().is_some(), dictionary);
        assert_eq!(chunk.table().start(0), Ok(50));
        assert_eq!(chunk.table().start(1).unwrap_err().at(), 36);
    }
}

#[test]
fn flipped_bits_are_answered() {
    for bytes in samples() {
        for at in 0..bytes.len() {
            for flip in [1u8, 0x10, 0x80, 0xff] {
                let mut broken = bytes.clone();
                broken[at] ^= flip;
                let _ = decode(&broken);
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes(head in prop::array::uniform32(any::<u8>()), body in prop::collection::vec(any::<u8>(), 0..400)) {
        // A header that is plausible enough to pass the first checks.
        let mut bytes = head.to_vec();
        bytes.extend(body);
        bytes[0] = 5;
        bytes[2] |= 5;
        bytes[30] = 0;
        bytes[31] &= 0x11;
        for (at, value) in [(4, u32::from(bytes[4]) * 7), (8, u32::from(bytes[8]) + 1), (12, bytes.len() as u32)] {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let _ = decode(&bytes);
    }
}

fn header(change: impl Fn(&mut [u8])) -> zvf_blosc::DecodeError {
    let mut bytes = sample(Codec::BloscLz, FirstFilter::None, LastFilter::Shuffle);
    change(&mut bytes);
    Header::parse(&bytes).unwrap_err()
}

#[test]
fn headers_are_checked_field_by_field() {
    type Case = (&'static str, Class, fn(&mut [u8]));
    let cases: [Case; 9] = [
        ("chunk format version", Class::Unsupported, |b| b[0] = 6),
        ("chunk format version", Class::Unsupported, |b| b[0] = 0),
        ("chunk typesize", Class::Malformed, |b| b[3] = 0),
        ("chunk nbytes", Class::Malformed, |b| b[7] = 0x80),
        ("chunk blocksize", Class::Malformed, |b| b[8..12].fill(0)),
        ("chunk cbytes", Class::Malformed, |b| {
            b[12..16].copy_from_slice(&[31, 0, 0, 0])
        }),
        ("chunk flags2", Class::Unsupported, |b| b[30] = 1),
        ("blosc2 flags", Class::Malformed, |b| b[31] = 8),
        ("special chunk", Class::Unsupported, |b| b[31] = 0x50),
    ];
    for (what, class, change) in cases {
        let error = header(change);
        assert_eq!((error.what(), error.class()), (what, class));
    }
}

#[test]
fn claims_without_bytes_are_limits() {
    // States 2 GiB, but stores only a few streams of zeros.
    let mut bytes = vec![5, 1, 0x15, 1];
    for field in [0x7fff_0000u32, 0x7fff_0000, 40] {
        bytes.extend(field.to_le_bytes());
    }
    bytes.extend([0; 16]);
    bytes.extend(36u32.to_le_bytes());
    bytes.extend([0; 4]);
    let chunk = Chunk::parse(&bytes).unwrap();
    let error = chunk
        .decode_vec(1, usize::MAX, &mut Codecs::new())
        .unwrap_err();
    assert_eq!(error.class(), Class::Limit);
}

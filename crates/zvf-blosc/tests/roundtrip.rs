//! Chunks of the encoder are read back, whole and block by block.

use proptest::prelude::*;
use zvf_blosc::{
    Body, Chunk, ChunkBody, Codec, Codecs, Encoder, FirstFilter, Generation, LastFilter, Packers,
    SHORT, Settings, Special, SpecialKind,
};

fn every_codec() -> Vec<Option<Codec>> {
    [
        Codec::BloscLz,
        Codec::Lz4,
        Codec::Snappy,
        Codec::Zlib,
        Codec::Zstd,
    ]
    .into_iter()
    .filter(|codec| Packers::writes(*codec) && Codecs::reads(*codec))
    .map(Some)
    .chain([None])
    .collect()
}

fn data() -> impl Strategy<Value = Vec<u8>> {
    // Runs of random lengths: some streams compress, some are runs, some are raw.
    prop::collection::vec((any::<u8>(), 1usize..60), 0..120).prop_map(|runs| {
        runs.into_iter()
            .flat_map(|(byte, n)| std::iter::repeat_n(byte, n))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chunks(
        data in data(),
        typesize in 1usize..=300,
        blocksize in 1usize..1500,
        codec in prop::sample::select(every_codec()),
        first in prop::sample::select(vec![FirstFilter::None, FirstFilter::Delta]),
        last in prop::sample::select(vec![LastFilter::None, LastFilter::Shuffle, LastFilter::BitShuffle]),
    ) {
        let settings = Settings::new(typesize, blocksize).with_codec(codec).with_filters(first, last);
        let mut bytes = vec![0xee; 3];
        Encoder::new(settings).unwrap().encode(&data, &mut bytes).unwrap();
        bytes.extend([0xdd; 5]);
        let chunk = Chunk::parse(&bytes[3..]).unwrap();
        prop_assert_eq!(chunk.bytes().len(), bytes.len() - 8);
        prop_assert!(chunk.bytes().len() <= data.len() + 32);
        let mut codecs = Codecs::new();
        prop_assert_eq!(chunk.decode_vec(typesize, usize::MAX, &mut codecs).unwrap(), &data[..]);
        // Block by block, last one first.
        let header = chunk.header();
        let pipeline = header.pipeline(typesize).unwrap();
        let reference = &data[..header.block_len(0)];
        for block in (0..header.block_count()).rev() {
            let n = header.block_len(block);
            let (mut out, mut scratch) = (vec![0; n], vec![0; n]);
            chunk.decode_block(&pipeline, block, Some(reference), &mut out, &mut scratch, &mut codecs).unwrap();
            let at = block * header.blocksize();
            prop_assert_eq!(out, &data[at..at + n]);
        }
    }

    #[test]
    fn chunks_of_blosc_1(
        data in data(),
        typesize in 1usize..=255,
        blocksize in 1usize..1500,
        codec in prop::sample::select(every_codec()),
        last in prop::sample::select(vec![LastFilter::None, LastFilter::Shuffle, LastFilter::BitShuffle]),
    ) {
        let settings = Settings::new(typesize, blocksize)
            .with_format(Generation::Blosc1)
            .with_codec(codec)
            .with_filters(FirstFilter::None, last);
        let mut bytes = Vec::new();
        let written = Encoder::new(settings).unwrap().encode(&data, &mut bytes).unwrap();
        prop_assert!(matches!(written, ChunkBody::Stored | ChunkBody::Compressed));
        prop_assert!(bytes.len() <= data.len() + SHORT);
        let chunk = Chunk::parse(&bytes).unwrap();
        prop_assert_eq!((chunk.header().len(), chunk.header().version()), (SHORT, 2));
        prop_assert_eq!(chunk.decode_vec(typesize, usize::MAX, &mut Codecs::new()).unwrap(), &data[..]);
    }
}

#[test]
fn blosc_1_has_no_other_filters_and_no_wide_items() {
    let settings = Settings::new(4, 64).with_format(Generation::Blosc1);
    assert!(Encoder::new(settings).is_ok());
    let delta = settings.with_filters(FirstFilter::Delta, LastFilter::None);
    assert!(Encoder::new(delta).is_err());
    assert!(Encoder::new(Settings::new(256, 512).with_format(Generation::Blosc1)).is_err());
}

#[test]
fn special_chunks_have_no_blocks() {
    let mut encoder = Encoder::new(Settings::new(4, 64)).unwrap();
    let mut bytes = Vec::new();
    assert_eq!(
        encoder.encode(&[0; 400], &mut bytes).unwrap(),
        ChunkBody::Zeros
    );
    assert_eq!(bytes.len(), 32);
    bytes.clear();
    assert_eq!(
        encoder
            .encode(&[1, 2, 3, 4].repeat(100), &mut bytes)
            .unwrap(),
        ChunkBody::Value
    );
    assert_eq!(bytes.len(), 36);
    let chunk = Chunk::parse(&bytes).unwrap();
    assert_eq!(chunk.header().body(), Body::Special(SpecialKind::Value));
    assert_eq!(
        chunk.special().unwrap(),
        Some(Special::Value(&[1, 2, 3, 4]))
    );
    let mut three = [0; 3];
    chunk.special().unwrap().unwrap().fill(6, &mut three);
    assert_eq!(three, [3, 4, 1]);
}

#[test]
fn nan_is_the_quiet_one() {
    for (typesize, bytes) in [
        (4, vec![0, 0, 0xc0, 0x7f]),
        (8, vec![0, 0, 0, 0, 0, 0, 0xf8, 0x7f]),
    ] {
        let mut out = vec![1; 2 * typesize];
        Special::of(SpecialKind::Nan, typesize)
            .unwrap()
            .fill(0, &mut out);
        assert_eq!(out, [bytes.clone(), bytes].concat());
    }
    assert!(Special::of(SpecialKind::Nan, 2).is_err());
    let mut out = [7; 5];
    Special::of(SpecialKind::Uninit, 3)
        .unwrap()
        .fill(0, &mut out);
    assert_eq!(out, [0; 5]);
}

#[test]
fn far_matches_of_blosclz() {
    // The same 300 random bytes, 20 000 bytes apart: more than a 13-bit distance.
    let mut state = 1u64;
    let mut random = |n: usize| -> Vec<u8> {
        (0..n)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            })
            .collect()
    };
    let head = random(300);
    let data = [head.clone(), vec![5; 20_000], head, random(40)].concat();
    let settings = Settings::new(1, data.len()).with_codec(Some(Codec::BloscLz));
    let mut bytes = Vec::new();
    Encoder::new(settings)
        .unwrap()
        .encode(&data, &mut bytes)
        .unwrap();
    assert!(bytes.len() < 900, "{}", bytes.len());
    let chunk = Chunk::parse(&bytes).unwrap();
    assert_eq!(
        chunk.decode_vec(1, 1 << 20, &mut Codecs::new()).unwrap(),
        data
    );
}

#[test]
fn settings_are_checked() {
    let refused = |settings| Encoder::new(settings).is_err();
    assert!(refused(Settings::new(0, 8)));
    assert!(refused(Settings::new(4, 0)));
    for (typesize, bits) in [(4, 0), (4, 24), (8, 53), (2, 5)] {
        let settings = Settings::new(typesize, 64);
        assert!(refused(
            settings.with_filters(FirstFilter::TruncPrec(bits), LastFilter::None)
        ));
    }
}

/// A Blosc1 frame: 16-byte header, version 2, stored blocks in split streams.
#[test]
fn blosc1_frames_are_read() {
    // typesize 2, shuffled, 512 bytes in two blocks of 256: 128 items each, so split into two streams.
    let items: Vec<u8> = (0..256u16).flat_map(u16::to_le_bytes).collect();
    let mut bytes = vec![2, 1, 0x01 | 1 << 5, 2];
    bytes.extend(512u32.to_le_bytes());
    bytes.extend(256u32.to_le_bytes());
    let total = 16 + 8 + 2 * 2 * (4 + 128);
    bytes.extend((total as u32).to_le_bytes());
    for block in 0..2u32 {
        bytes.extend((24 + block * 264).to_le_bytes());
    }
    for block in items.chunks(256) {
        for byte in 0..2 {
            bytes.extend(128u32.to_le_bytes());
            bytes.extend(block.iter().skip(byte).step_by(2));
        }
    }
    assert_eq!(bytes.len(), total);
    let chunk = Chunk::parse(&bytes).unwrap();
    assert_eq!(chunk.header().len(), 16);
    assert_eq!(chunk.decode_vec(2, 512, &mut Codecs::new()).unwrap(), items);
    assert_eq!(
        chunk
            .decode_vec(2, 511, &mut Codecs::new())
            .unwrap_err()
            .class(),
        zvf_blosc::Class::Limit
    );
}

//! Written arrays are read back: random shapes, item sizes, codecs, filters and selections. The expected items come
//! from an indexer that shares no code with the reader.

use proptest::prelude::*;
use zvf_caterva::{
    Array, Axis, Codec, Error, FirstFilter, Frame, LastFilter, NdKind, ReadOptions, Selection,
    WriteOptions, Writer,
};

use crate::support::naive;

#[derive(Debug, Clone)]
struct Case {
    shape: Vec<u64>,
    chunk: Vec<u64>,
    block: Vec<u64>,
    item: usize,
    codec: Option<Codec>,
    first: FirstFilter,
    last: LastFilter,
    kind: NdKind,
    seed: u64,
    rough: u8,
    axes: Vec<Vec<(u16, u16, u8)>>,
}

fn codecs() -> impl Strategy<Value = Option<Codec>> {
    let mut all = vec![
        None,
        Some(Codec::BloscLz),
        Some(Codec::Lz4),
        Some(Codec::Zlib),
    ];
    if cfg!(feature = "zstd") {
        all.push(Some(Codec::Zstd));
    }
    prop::sample::select(all)
}

fn cases(ranks: std::ops::RangeInclusive<usize>, most: u64) -> impl Strategy<Value = Case> {
    let items = prop_oneof![
        Just(1usize),
        Just(2),
        Just(3),
        Just(4),
        Just(8),
        Just(12),
        Just(16),
        1usize..=300
    ];
    (ranks, items, codecs()).prop_flat_map(move |(rank, item, codec)| {
        let extents = prop::collection::vec((0..=most, 1..=most + 1, 1..=most), rank);
        let axes = prop::collection::vec(prop::collection::vec(any::<(u16, u16, u8)>(), rank), 3);
        let first = prop::sample::select(vec![FirstFilter::None, FirstFilter::Delta]);
        let last = prop::sample::select(vec![
            LastFilter::None,
            LastFilter::Shuffle,
            LastFilter::BitShuffle,
        ]);
        let kind = prop::sample::select(vec![NdKind::B2nd, NdKind::Caterva]);
        (extents, axes, first, last, kind, any::<u64>(), any::<u8>()).prop_map(
            move |(extents, axes, first, last, kind, seed, rough)| Case {
                shape: extents.iter().map(|e| e.0).collect(),
                chunk: extents.iter().map(|e| e.1).collect(),
                block: extents.iter().map(|e| e.2.min(e.1)).collect(),
                item,
                codec,
                first,
                last,
                kind,
                seed,
                rough,
                axes,
            },
        )
    })
}

/// Items that compress here and there.
fn items(case: &Case, n: usize) -> Vec<u8> {
    let mut state = case.seed | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut out = Vec::with_capacity(n);
    let mut byte = 0;
    while out.len() < n {
        if random() & 255 <= u64::from(case.rough) {
            byte = (random() >> 32) as u8 & 0x1f;
        }
        out.push(byte);
    }
    out
}

fn write(case: &Case, items: &[u8]) -> Result<Vec<u8>, Error> {
    let options = WriteOptions::new(case.item, &case.chunk, &case.block)
        .with_codec(case.codec, 1)
        .with_filters(case.first, case.last)
        .with_kind(case.kind)
        .with_metalayer("extra", b"\x01")
        .with_vlmetalayer("unit", b"\xa1m")
        .with_threads(1 + (case.seed % 2) as usize);
    let mut writer = Writer::in_memory(&case.shape, options)?;
    writer.write_all(items)?;
    Ok(writer.finish()?.unwrap_or_default())
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let count: u64 = case.shape.iter().product();
    let data = items(case, count as usize * case.item);
    let bytes = write(case, &data).unwrap();
    let array = Array::from_bytes(bytes.clone()).unwrap();
    prop_assert_eq!(array.read_all().unwrap(), &data[..]);
    prop_assert_eq!(array.frame().vlmeta("unit", 10).unwrap().unwrap(), b"\xa1m");
    prop_assert_eq!(array.kind(), case.kind);
    // In memory, blocks are decoded in place; from a file, they are read some at a time.
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    let of_file = Array::open(file.path()).unwrap();
    for picks in &case.axes {
        let axes: Vec<Axis> = picks
            .iter()
            .zip(&case.shape)
            .map(|((a, b, step), n)| {
                let (a, b) = (u64::from(*a) % (n + 1), u64::from(*b) % (n + 1));
                Axis::new(a.min(b), a.max(b), u64::from(step % 4) + 1)
            })
            .collect();
        let selection = Selection::new(&axes, &case.shape).unwrap();
        let wanted = naive(&data, case.item, &case.shape, &axes);
        for (array, threads, piece) in [
            (&array, 1, 0),
            (&array, 2, 0),
            (&of_file, 1, 0),
            (&of_file, 1, 100),
            (&of_file, 2, usize::MAX),
        ] {
            // Small gaps and no whole chunks: as few bytes as possible.
            let options = ReadOptions {
                threads,
                gap: 0,
                whole_chunk: 0,
                piece,
                ..ReadOptions::default()
            };
            let mut out = vec![0x55; wanted.len()];
            array.read_into(&selection, &mut out, &options).unwrap();
            prop_assert_eq!(&out, &wanted);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn few_dimensions(case in cases(0..=3, 14)) {
        check(&case)?;
    }

    #[test]
    fn more_dimensions(case in cases(4..=6, 4)) {
        check(&case)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn many_dimensions(case in cases(7..=16, 2)) {
        check(&case)?;
    }
}

#[test]
fn files_are_read_by_position() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    let (shape, n) = ([70u64, 50, 60], 70 * 50 * 60u32);
    let data: Vec<u8> = (0..n)
        .flat_map(|i| (i / 3).wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    let options = WriteOptions::new(4, &[32, 32, 32], &[16, 8, 32])
        .with_dtype("<u4")
        .with_codec(Some(Codec::Lz4), 0);
    let mut writer = Writer::create(&path, &shape, options).unwrap();
    writer.write_all(&data).unwrap();
    assert!(!path.exists(), "the name appears when the file is whole");
    assert!(writer.finish().unwrap().is_none());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);

    let array = Array::open(&path).unwrap();
    let opened = array.counts();
    assert_eq!(opened.reads, 2);
    let axes = [Axis::new(3, 70, 5), Axis::at(17), Axis::new(0, 60, 1)];
    let selection = Selection::new(&axes, &shape).unwrap();
    let options = ReadOptions {
        gap: 0,
        whole_chunk: 0,
        threads: 1,
        ..ReadOptions::default()
    };
    let mut out = vec![0; 14 * 60 * 4];
    array.read_into(&selection, &mut out, &options).unwrap();
    assert_eq!(out, naive(&data, 4, &shape, &axes));
    let first = array.counts();
    array.read_into(&selection, &mut out, &options).unwrap();
    let second = array.counts();
    // The tables of six chunks are cached, which saves six reads.
    assert_eq!(first.reads - opened.reads, second.reads - first.reads + 6);
    assert_eq!(second.blocks - first.blocks, first.blocks - opened.blocks);
}

#[test]
fn chunks_of_very_many_blocks_are_read_some_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    let shape = [9000u64];
    let data: Vec<u8> = (0..9000u32)
        .flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    for first in [FirstFilter::None, FirstFilter::Delta] {
        let options = WriteOptions::new(4, &[6000], &[2])
            .with_codec(Some(Codec::Lz4), 1)
            .with_filters(first, LastFilter::Shuffle);
        let mut writer = Writer::create(&path, &shape, options).unwrap();
        writer.write_all(&data).unwrap();
        writer.finish().unwrap();
        let array = Array::open(&path).unwrap();
        for axes in [[Axis::all(9000)], [Axis::new(5, 8990, 7)]] {
            let selection = Selection::new(&axes, &shape).unwrap();
            let wanted = naive(&data, 4, &shape, &axes);
            for piece in [0, 1000, 1 << 20] {
                let options = ReadOptions {
                    piece,
                    ..ReadOptions::default()
                };
                let mut out = vec![0; wanted.len()];
                array.read_into(&selection, &mut out, &options).unwrap();
                assert_eq!(out, wanted);
            }
        }
    }
}

#[test]
fn chunks_can_be_written_one_by_one() {
    let options =
        WriteOptions::new(2, &[4, 5], &[3, 2]).with_filters(FirstFilter::None, LastFilter::Shuffle);
    let mut writer = Writer::in_memory(&[6, 7], options).unwrap();
    let mut wanted = vec![0u8; 84];
    while let Some(region) = writer.next_region().unwrap() {
        let mut items = Vec::new();
        for r in 0..region.extent[0] {
            for c in 0..region.extent[1] {
                let place = (region.origin[0] + r) * 7 + region.origin[1] + c;
                let value = (place as u16 * 3).to_le_bytes();
                items.extend(value);
                wanted[place as usize * 2..place as usize * 2 + 2].copy_from_slice(&value);
            }
        }
        assert!(writer.write_chunk(&items[1..]).is_err());
        writer.write_chunk(&items).unwrap();
    }
    assert!(writer.write_chunk(&[]).is_err());
    let bytes = writer.finish().unwrap().unwrap();
    assert_eq!(
        Array::from_bytes(bytes).unwrap().read_all().unwrap(),
        wanted
    );
}

#[test]
fn chunks_of_zeros_take_no_bytes() {
    let options = WriteOptions::new(4, &[8, 8], &[4, 4]);
    let mut writer = Writer::in_memory(&[64, 64], options).unwrap();
    let mut data = vec![0u8; 64 * 64 * 4];
    data[4 * (64 * 20 + 20)] = 1;
    writer.write_all(&data).unwrap();
    let bytes = writer.finish().unwrap().unwrap();
    let frame = Frame::from_bytes(bytes).unwrap();
    let stored = (0..64).filter(|i| matches!(frame.entry(*i).unwrap(), zvf_caterva::Entry::At(_)));
    assert_eq!(stored.count(), 1);
    assert_eq!(frame.into_array().unwrap().read_all().unwrap(), data);
}

#[test]
fn unfinished_writers_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    let mut writer = Writer::create(&path, &[9], WriteOptions::new(1, &[3], &[3])).unwrap();
    writer.write_chunk(b"abc").unwrap();
    assert!(writer.finish().is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let new = |shape: &[u64], options| Writer::in_memory(shape, options).err();
    assert!(new(&[4], WriteOptions::new(4, &[4], &[2]).with_dtype("<f8")).is_some());
    assert!(new(&[4], WriteOptions::new(4, &[4, 4], &[2, 2])).is_some());
    assert!(new(&[4], WriteOptions::new(4, &[0], &[2])).is_some());
    assert!(new(&[4], WriteOptions::new(4, &[4], &[0])).is_some());
    assert!(new(&[1 << 40], WriteOptions::new(4, &[1 << 40], &[2])).is_some());
    let filtered = WriteOptions::new(3, &[4], &[2]);
    assert!(
        new(
            &[4],
            filtered.with_filters(FirstFilter::TruncPrec(9), LastFilter::None)
        )
        .is_some()
    );
    assert!(
        new(
            &[4],
            WriteOptions::new(1, &[4], &[2]).with_metalayer("b2nd", b"")
        )
        .is_some()
    );
    let long = "a name of more than thirty-one bytes";
    assert!(
        new(
            &[4],
            WriteOptions::new(1, &[4], &[2]).with_metalayer(long, b"")
        )
        .is_some()
    );
    // Variable-length metalayers are written last, but checked first, too.
    assert!(
        new(
            &[4],
            WriteOptions::new(1, &[4], &[2]).with_vlmetalayer(long, b"")
        )
        .is_some()
    );
    assert!(new(&[1 << 40], WriteOptions::new(1, &[1], &[1])).is_some());
}

#[test]
fn truncated_precision_is_what_the_mask_says() {
    let values: Vec<f32> = (0..1000).map(|i| (i as f32).sqrt()).collect();
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let options = WriteOptions::new(4, &[300], &[100])
        .with_filters(FirstFilter::TruncPrec(10), LastFilter::Shuffle);
    let mut writer = Writer::in_memory(&[1000], options).unwrap();
    writer.write_all(&data).unwrap();
    let array = Array::from_bytes(writer.finish().unwrap().unwrap()).unwrap();
    let wanted: Vec<u8> = values
        .iter()
        .flat_map(|v| (v.to_bits() & 0xffff_e000).to_le_bytes())
        .collect();
    assert_eq!(array.read_all().unwrap(), wanted);
}

//! Written files are read back and compared with a naive indexer: any rank, type, codec, tiles and
//! selection.

use std::io::Cursor;

use proptest::prelude::*;
use zvf_tet::{
    Axis, DType, DatasetSpec, OpenOptions, TetFile, TetWriter, TileCodec, WriteOptions, verify,
};

use crate::support::{everything, naive};

/// A dataset with its elements.
#[derive(Debug, Clone)]
struct Made {
    spec: DatasetSpec,
    bytes: Vec<u8>,
    axes: Vec<Axis>,
}

fn made(name: String) -> impl Strategy<Value = Made> {
    let shapes = (1_usize..=8).prop_flat_map(|rank| {
        let most = [40_u64, 12, 7, 5, 4, 3, 3, 2][rank - 1];
        proptest::collection::vec((1..=most, 1..=most + 2), rank)
    });
    (shapes, 0_usize..10, any::<bool>(), 1..=19_i32, any::<u64>()).prop_flat_map(
        move |(extents, dtype, zstd, level, seed)| {
            let (shape, chunk): (Vec<_>, Vec<_>) = extents.into_iter().unzip();
            let dtype = DType::ALL[dtype];
            let codec = if zstd {
                TileCodec::Zstd
            } else {
                TileCodec::Raw
            };
            let spec = DatasetSpec::new(name.clone(), dtype, &shape, &chunk)
                .with_codec(codec)
                .with_level(level);
            let count = shape.iter().product::<u64>() as usize * dtype.size();
            let mut state = seed;
            let bytes: Vec<u8> = (0..count)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    // A quarter of the bytes are 0xff, so that NaN and infinities occur.
                    if state >> 62 == 0 {
                        0xff
                    } else {
                        (state >> 40) as u8 & 0x83
                    }
                })
                .collect();
            let axes: Vec<_> = shape
                .iter()
                .map(|extent| {
                    let extent = *extent;
                    (0..extent).prop_flat_map(move |start| {
                        (start + 1..=extent, 1_u64..=extent + 1)
                            .prop_map(move |(stop, step)| Axis::new(start, stop, step))
                    })
                })
                .collect();
            (Just(spec), Just(bytes), axes).prop_map(|(spec, bytes, axes)| Made {
                spec,
                bytes,
                axes,
            })
        },
    )
}

fn several() -> impl Strategy<Value = Vec<Made>> {
    (1_usize..=3).prop_flat_map(|count| {
        (0..count)
            .map(|number| made(format!("d/{number}")))
            .collect::<Vec<_>>()
    })
}

fn write(datasets: &[Made], packed: bool) -> Vec<u8> {
    let specs = datasets.iter().map(|made| made.spec.clone()).collect();
    let options = WriteOptions::default().with_packed(packed);
    let mut writer = TetWriter::new(Cursor::new(Vec::new()), specs, options).unwrap();
    for made in datasets {
        writer.write_array(&made.bytes).unwrap();
    }
    writer.finish_into().unwrap().into_inner()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(datasets in several(), packed: bool) {
        let bytes = write(&datasets, packed);
        let on_disk = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(on_disk.path(), &bytes).unwrap();
        let options = OpenOptions::default();
        let opened = [
            TetFile::from_bytes(bytes),
            TetFile::open(on_disk.path()),
            TetFile::map(on_disk.path(), options.with_threads(1)),
        ];
        for file in opened {
            let report = verify(&file);
            let file = file.unwrap();
            prop_assert!(report.is_ok());
            prop_assert!(file.proof().canonical);
            prop_assert!(!packed || file.proof().packed);
            for (dataset, made) in file.datasets().iter().zip(&datasets) {
                prop_assert_eq!(&everything(&file, dataset).unwrap(), &made.bytes);
                let expected = naive(dataset.item(), &made.bytes, &made.spec.shape, &made.axes);
                let wanted = dataset.select(&made.axes).unwrap();
                let (found, stats) = file.read(dataset, &wanted).unwrap();
                prop_assert_eq!(&found, &expected);
                prop_assert_eq!(&file.get(dataset, &wanted).unwrap()[..], &expected[..]);
                // Counts the tiles that hold a wanted element one by one on every axis.
                let mut tiles = 1;
                for ((axis, extent), chunk) in made.axes.iter().zip(&made.spec.shape).zip(&made.spec.chunk_shape) {
                    let mut hit: Vec<u64> = (0..*extent)
                        .filter(|at| *at >= axis.start && *at < axis.stop && (at - axis.start) % axis.step == 0)
                        .map(|at| at / chunk)
                        .collect();
                    hit.dedup();
                    tiles *= hit.len() as u64;
                }
                prop_assert_eq!(stats.tiles, tiles);
                let first = file.entry(dataset, &vec![0; made.spec.shape.len()]).unwrap().1;
                prop_assert!(packed || first.payload_offset.get() % 64 == 0);
                if let Some(span) = file.raw_span(dataset) {
                    prop_assert!(made.spec.codec == TileCodec::Raw);
                    let borrowed = file.borrow(dataset, &dataset.all());
                    prop_assert!(!span.row_major || borrowed.is_none() || borrowed == Some(&made.bytes[..]));
                }
            }
        }
    }
}

#[test]
fn large_results_are_read_by_several_threads() {
    let shape = [1100_u64, 1000];
    let elements: Vec<u8> = (0..1_100_000_u32).flat_map(u32::to_le_bytes).collect();
    for codec in [TileCodec::Raw, TileCodec::Zstd] {
        let spec = DatasetSpec::new("a", DType::U32, &shape, &[64, 96]).with_codec(codec);
        let made = Made {
            spec,
            bytes: elements.clone(),
            axes: vec![Axis::new(3, 1100, 2), Axis::new(0, 997, 1)],
        };
        let on_disk = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(on_disk.path(), write(std::slice::from_ref(&made), false)).unwrap();
        for threads in [1, 2, 5] {
            let options = OpenOptions::default().with_threads(threads);
            for file in [
                TetFile::open_with(on_disk.path(), options),
                TetFile::map(on_disk.path(), options),
            ] {
                let file = file.unwrap();
                let dataset = file.dataset("a").unwrap();
                let (all, stats) = file.read(dataset, &dataset.all()).unwrap();
                assert!(all == elements);
                assert_eq!(stats.tiles, 18 * 11);
                let (part, _) = file
                    .read(dataset, &dataset.select(&made.axes).unwrap())
                    .unwrap();
                assert!(part == naive(4, &elements, &shape, &made.axes));
            }
        }
    }
}

#[test]
fn a_column_of_a_file_reads_little_of_it() {
    let shape = [256_u64, 8192];
    let elements: Vec<u8> = (0..256 * 8192_u32).flat_map(u32::to_le_bytes).collect();
    let spec = DatasetSpec::new("a", DType::U32, &shape, &[64, 8192]);
    let on_disk = tempfile::NamedTempFile::new().unwrap();
    let made = Made {
        spec,
        bytes: elements,
        axes: Vec::new(),
    };
    std::fs::write(on_disk.path(), write(&[made], false)).unwrap();
    let file = TetFile::open(on_disk.path()).unwrap();
    let dataset = file.dataset("a").unwrap();
    let column = dataset.select(&[Axis::all(256), Axis::at(5)]).unwrap();
    let (found, stats) = file.read(dataset, &column).unwrap();
    assert_eq!(
        found,
        (0..256_u32)
            .flat_map(|row| (row * 8192 + 5).to_le_bytes())
            .collect::<Vec<_>>()
    );
    assert_eq!((stats.tiles, stats.bytes, stats.requests), (4, 1024, 256));
}

//! TET files.

use std::io::Cursor;

use zvf_tet::{
    Axis, Budget, DType, DatasetSpec, OpenOptions, Profile, Tet, TetFile, TetWriter, TileCodec,
    WriteOptions, verify,
};

use crate::split::parameters;

/// Largest result that is read, in bytes.
const MOST: u64 = 1 << 20;

/// Opens a file in both profiles, verifies it, and reads slices of every dataset in two ways.
///
/// Parameters: where a slice begins and its step (bytes 0 and 1); byte 2 is not used.
///
/// # Panics
///
/// When [`Tet`], which does not allocate, and [`TetFile`] disagree, or a slice differs from the same part of the whole dataset.
pub fn tet_file(data: &[u8]) {
    let ([start, step, _], bytes) = parameters(data);
    for profile in [Profile::Strict, Profile::Lenient] {
        let budget = Budget {
            bytes: Some(MOST),
            percent_bps: None,
        };
        let options = OpenOptions::default()
            .with_profile(profile)
            .with_budget(budget)
            .with_threads(1);
        let view = Tet::open(bytes, profile).map(|(_, proof)| proof.payload_end);
        let file = TetFile::from_bytes_with(bytes.to_vec(), options);
        let report = verify(&file);
        let Ok(file) = file else {
            assert!(!report.is_ok());
            continue;
        };
        assert_eq!(view, Ok(file.proof().payload_end));
        for dataset in file.datasets() {
            let Ok((all, _)) = file.read(dataset, &dataset.all()) else {
                continue;
            };
            let shape = dataset.geometry().shape;
            let axes: Vec<Axis> = shape
                .iter()
                .map(|extent| {
                    let first = u64::from(start) % extent;
                    Axis::new(first, *extent, 1 + u64::from(step) % 5)
                })
                .collect();
            let wanted = dataset.select(&axes).expect("the ranges are inside");
            let (part, stats) = file
                .read(dataset, &wanted)
                .expect("the whole could be read");
            let plan = file.plan(dataset, &wanted).expect("it was read");
            assert_eq!(plan.count() as u64, stats.tiles);
            let item = dataset.item();
            let expected: Vec<u8> = all
                .chunks_exact(item)
                .enumerate()
                .filter(|(number, _)| taken(*number as u64, &shape, &axes))
                .flat_map(|(_, element)| element.to_vec())
                .collect();
            assert_eq!(part, expected);
            if let Some(borrowed) = file.borrow(dataset, &wanted) {
                assert_eq!(borrowed, expected);
            }
        }
    }
}

/// Whether element `number` of an array of `shape` is in the selection.
fn taken(number: u64, shape: &[u64], axes: &[Axis]) -> bool {
    let mut rest = number;
    shape.iter().zip(axes).rev().all(|(extent, axis)| {
        let at = rest % extent;
        rest /= extent;
        at >= axis.start && (at - axis.start).is_multiple_of(axis.step)
    })
}

/// Writes a file whose shapes and elements come from the input, and reads it back.
///
/// Parameters: rank and type, codec and gaps (bytes 0 and 1); then an extent and a tile's extent for each axis.
///
/// # Panics
///
/// When the elements read differ from those written, or the file has a finding.
pub fn tet_writer(data: &[u8]) {
    let ([kind, options], rest) = parameters(data);
    let rank = 1 + usize::from(kind) % 8;
    let dtype = DType::ALL[usize::from(kind / 8) % 10];
    let most = [64, 16, 8, 5, 4, 3, 3, 2][rank - 1];
    let (extents, elements) = rest.split_at(rest.len().min(2 * rank));
    let extent = |at: usize| 1 + u64::from(extents.get(at).copied().unwrap_or(3)) % most;
    let shape: Vec<u64> = (0..rank).map(|axis| extent(2 * axis)).collect();
    let chunk: Vec<u64> = (0..rank).map(|axis| extent(2 * axis + 1)).collect();
    let codec = [TileCodec::Raw, TileCodec::Zstd][usize::from(options & 1)];
    let count = shape.iter().product::<u64>() as usize * dtype.size();
    let bytes: Vec<u8> = elements
        .iter()
        .copied()
        .cycle()
        .chain([0])
        .take(count)
        .collect();
    let bytes = if bytes.len() == count {
        bytes
    } else {
        vec![7; count]
    };
    let spec = DatasetSpec::new("a", dtype, &shape, &chunk).with_codec(codec);
    let written = WriteOptions::default().with_packed(options & 2 != 0);
    let mut writer =
        TetWriter::new(Cursor::new(Vec::new()), vec![spec], written).expect("right shapes");
    writer.write_array(&bytes).expect("the right length");
    let file = writer.finish_into().expect("all tiles").into_inner();
    let file = TetFile::from_bytes(file);
    assert!(verify(&file).is_ok());
    let file = file.expect("it verifies");
    let dataset = file.dataset("a").expect("it was written");
    assert_eq!(
        file.get(dataset, &dataset.all()).expect("it verifies"),
        bytes
    );
}

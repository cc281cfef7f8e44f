//! Files made at random by one, judged and read by the other.

use std::path::Path;

use tetration::catalog::{RawArrayWrite, read_tet_summary_v1, write_multi_raw_array_file};
use tetration::layout::mmap_file_read;
use tetration::query::{AxisSlice, DenseBuffer, materialize_query_selection, parse_query_json};
use tetration::verify::{VerifyOptions, verify_tet_file_with_options};
use zvf_tet::{
    Axis, DType, DatasetSpec, Footer, HistoryRow, TetFile, TetWriter, TileCodec, WriteOptions, verify,
};

use crate::Outcome;

/// Small numbers that depend on a seed alone.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

struct Made {
    spec: DatasetSpec,
    bytes: Vec<u8>,
}

/// A dataset of finite numbers: the reference does not read NaN.
fn made(dice: &mut Dice, number: u64) -> Made {
    let rank = 1 + dice.below(8) as usize;
    let most = [300, 30, 12, 8, 5, 4, 3, 3][rank - 1];
    let shape: Vec<u64> = (0..rank).map(|_| 1 + dice.below(most)).collect();
    let chunk: Vec<u64> = shape
        .iter()
        .map(|extent| 1 + dice.below(extent + 1))
        .collect();
    let dtype = DType::ALL[dice.below(10) as usize];
    let codec = if dice.below(2) == 0 {
        TileCodec::Raw
    } else {
        TileCodec::Zstd
    };
    let count = shape.iter().product::<u64>();
    let mut bytes = Vec::new();
    for _ in 0..count {
        let value = dice.below(200);
        match dtype {
            DType::F32 => bytes.extend((value as f32 / 4.0 - 9.0).to_le_bytes()),
            DType::F64 => bytes.extend((value as f64 / 4.0 - 9.0).to_le_bytes()),
            // Finite whatever the low bits are.
            DType::F16 => bytes.extend((0x3c00_u16 + value as u16).to_le_bytes()),
            other => bytes.extend_from_slice(&(value * 7919).to_le_bytes()[..other.size()]),
        }
    }
    let spec = DatasetSpec::new(format!("d/{number}"), dtype, &shape, &chunk).with_codec(codec);
    Made { spec, bytes }
}

fn bytes_of(buffer: DenseBuffer) -> Vec<u8> {
    macro_rules! bytes {
        ($values:expr) => {
            $values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect()
        };
    }
    match buffer {
        DenseBuffer::F32(v) => bytes!(v),
        DenseBuffer::F64(v) => bytes!(v),
        DenseBuffer::F16(v) => bytes!(v),
        DenseBuffer::I32(v) => bytes!(v),
        DenseBuffer::I64(v) => bytes!(v),
        DenseBuffer::U8(v) => v,
        DenseBuffer::U16(v) => bytes!(v),
        DenseBuffer::U32(v) => bytes!(v),
        DenseBuffer::U64(v) => bytes!(v),
        DenseBuffer::I16(v) => bytes!(v),
    }
}

/// Two selections of every dataset, by both.
fn compare(path: &Path, all: &[Made], dice: &mut Dice, slices: &mut u64) -> Outcome {
    let file = TetFile::open(path)?;
    let map = mmap_file_read(path)?;
    for (dataset, made) in file.datasets().iter().zip(all) {
        let (ours, _) = file.read(dataset, &dataset.all())?;
        if ours != made.bytes {
            return Err(format!("{}: we read other bytes", dataset.name()).into());
        }
        for whole in [true, false] {
            let axes: Vec<Axis> = made
                .spec
                .shape
                .iter()
                .map(|extent| {
                    if whole {
                        return Axis::all(*extent);
                    }
                    let start = dice.below(*extent);
                    let stop = start + 1 + dice.below(extent - start);
                    Axis::new(start, stop, 1 + dice.below(3))
                })
                .collect();
            let mut query = parse_query_json(&format!("{{\"dataset\":{:?}}}", dataset.name()))?;
            let slice = |axis: &Axis| AxisSlice {
                start: Some(axis.start),
                stop: Some(axis.stop),
                step: Some(axis.step),
                start_label: None,
                stop_label: None,
            };
            query.selection = Some(axes.iter().map(slice).collect());
            let theirs = bytes_of(materialize_query_selection(&query, &map)?.buffer);
            let (ours, _) = file.read(dataset, &dataset.select(&axes)?)?;
            if ours != theirs {
                return Err(
                    format!("{} {axes:?}: the two read different bytes", dataset.name()).into(),
                );
            }
            *slices += 1;
        }
    }
    Ok(())
}

pub(crate) fn run(folder: &Path, cases: u64, seed: u64) -> Outcome {
    std::fs::create_dir_all(folder)?;
    let mut dice = Dice(seed);
    let (mut slices, mut gaps) = (0, 0);
    for case in 0..cases {
        let all: Vec<Made> = (0..1 + dice.below(4))
            .map(|number| made(&mut dice, number))
            .collect();
        let ours = folder.join("ours.tet");
        let specs = all.iter().map(|made| made.spec.clone()).collect();
        let mut options = WriteOptions::default().with_packed(dice.below(2) == 0);
        let footer = dice.below(2) == 0;
        if footer {
            options = options.with_footer(Footer {
                version: 1,
                history: vec![HistoryRow::new("make", "dice", "1700000000")],
                metadata: None,
            });
        }
        let packed = options.packed;
        let mut writer = TetWriter::create(&ours, specs, options)?;
        for made in &all {
            writer.write_array(&made.bytes)?;
        }
        writer.finish()?;
        let report = verify_tet_file_with_options(&ours, VerifyOptions { deep_decode: true })?;
        if !report.ok {
            return Err(format!(
                "case {case}: the reference refuses ours: {:?}",
                report.findings
            )
            .into());
        }
        let odd: Vec<_> = report
            .findings
            .iter()
            .filter(|finding| !finding.ok)
            .collect();
        let warned = report
            .findings
            .iter()
            .any(|finding| finding.check == "payload_order");
        gaps += u64::from(warned);
        if !odd.is_empty() || (packed && warned) {
            return Err(format!("case {case}: the reference warns: {odd:?}").into());
        }
        let map = mmap_file_read(&ours)?;
        let rows = read_tet_summary_v1(&map)?.history.len();
        if rows != usize::from(footer) {
            return Err(format!("case {case}: {rows} history rows").into());
        }
        compare(&ours, &all, &mut dice, &mut slices)?;

        let theirs = folder.join("theirs.tet");
        let specs: Vec<_> = all
            .iter()
            .map(|made| RawArrayWrite {
                name: &made.spec.name,
                dtype: made.spec.dtype.tag(),
                shape: &made.spec.shape,
                chunk_shape: &made.spec.chunk_shape,
                chunk_codec: made.spec.codec.tag(),
                data: &made.bytes,
                file_execution: None,
            })
            .collect();
        write_multi_raw_array_file(&theirs, &specs)?;
        let report = verify(&TetFile::open(&theirs));
        if !report.findings.is_empty() {
            return Err(format!("case {case}: we find faults in theirs: {report:?}").into());
        }
        compare(&theirs, &all, &mut dice, &mut slices)?;
        if packed && !footer && all.iter().all(|made| made.spec.codec == TileCodec::Raw) {
            let mut a = std::fs::read(&ours)?;
            let b = std::fs::read(&theirs)?;
            // Bytes behind payloads that look like a footer are ours alone.
            a.truncate(b.len());
            if a != b {
                return Err(format!("case {case}: raw files differ").into());
            }
        }
    }
    println!(
        "{cases} files of ours: the reference verifies all of them deeply ({gaps} with its warning about gaps)"
    );
    println!("{cases} files of the reference: we verify all of them without a finding");
    println!("{slices} selections read by both, equal");
    println!(
        "compared with tetration 0.8.3: {} cases, {slices} values, 0 differ",
        2 * cases
    );
    Ok(())
}

//! Decoding speed of every blob: `cargo bench -p zvf-format`.
//!
//! The sizes are fixed, so that two runs on one machine are comparable: 10 000 fragments in one
//! index (the number in the documentation of `fragments`), 10 000 blocks, elements, rows, keys.

use std::error::Error;
use std::hint::black_box;

use criterion::{Criterion, Throughput};
use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::fragments::{Fragment, FragmentIndex, FragmentIndexBuilder, RankDirectory};
use zvf_format::keys::{format_key, parse_key};
use zvf_format::links::{CellForm, LinkCell, LinkCellBuilder};
use zvf_format::manifest::{FragmentRefs, Manifest, ManifestBuilder};
use zvf_format::vlen::{VlenBuilder, VlenChunk, VlenDirectory};

type Outcome = Result<(), Box<dyn Error>>;

/// Number of fragments, blocks, elements, rows and keys.
const N: u32 = 10_000;

fn main() -> Outcome {
    let mut criterion = Criterion::default().configure_from_args();
    fragments(&mut criterion, "ranges", &index(|_| true)?)?;
    fragments(&mut criterion, "half lists", &index(|f| f % 2 == 0)?)?;
    fragments(
        &mut criterion,
        "mixed at random",
        &index(|f| f.wrapping_mul(0x9E37_79B9) >> 31 == 0)?,
    )?;
    manifests(&mut criterion)?;
    vlen(&mut criterion)?;
    links(&mut criterion)?;
    keys(&mut criterion);
    criterion.final_summary();
    Ok(())
}

/// An index of N fragments of four rows each; fragments for which `is_range` is false are lists.
fn index(is_range: impl Fn(u32) -> bool) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut builder = FragmentIndexBuilder::new();
    for f in 0..N {
        let row = i64::from(f) * 4;
        if is_range(f) {
            builder.push_range(row, 4)?;
        } else {
            builder.push_rows(&[row + 3, row + 1, row, row + 2])?;
        }
    }
    Ok(builder.finish())
}

/// Numbers below N in an order that neither caches nor branch predictors can use.
fn shuffled() -> Vec<u32> {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((state >> 33) % u64::from(N)).unwrap_or(0)
    };
    (0..1000).map(|_| next()).collect()
}

fn fragments(criterion: &mut Criterion, kind: &str, blob: &[u8]) -> Outcome {
    let index = FragmentIndex::parse(blob)?;
    index.check(u64::from(N) * 4)?;
    let mut group = criterion.benchmark_group(format!("fragments 10000 {kind}"));
    group.bench_function("parse", |bench| {
        bench.iter(|| FragmentIndex::parse(black_box(blob)).map(|i| i.len()))
    });
    group.bench_function("verify", |bench| bench.iter(|| black_box(&index).verify()));
    group.bench_function("check_rows", |bench| {
        bench.iter(|| black_box(&index).check_rows(u64::from(N) * 4))
    });
    group.bench_function("visit in order", |bench| {
        bench.iter(|| {
            let mut sum = 0_i64;
            for fragment in black_box(&index).iter() {
                sum = sum.wrapping_add(match fragment {
                    Fragment::Range { start, count } => start ^ count,
                    Fragment::List(rows) => rows.first().map_or(0, |row| row.get()),
                });
            }
            sum
        });
    });
    group.bench_function("visit in order, every row", |bench| {
        bench.iter(|| {
            let rows = black_box(&index)
                .iter()
                .flat_map(|fragment| fragment.rows());
            rows.fold(0_i64, i64::wrapping_add)
        });
    });

    let wanted = shuffled();
    group.throughput(Throughput::Elements(1000));
    group.bench_function("1000 random, rank get", |bench| {
        bench.iter(|| {
            wanted
                .iter()
                .filter_map(|&f| index.get(f))
                .map(|fragment| fragment.len())
                .sum::<u64>()
        });
    });
    let directory = RankDirectory::build(&index);
    group.bench_function("1000 random, directory get", |bench| {
        bench.iter(|| {
            let found = wanted.iter().filter_map(|&f| directory.get(&index, f));
            found.map(|fragment| fragment.len()).sum::<u64>()
        });
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("directory build", |bench| {
        let mut storage = [0; 160];
        bench.iter(|| RankDirectory::build_in(black_box(&index), &mut storage).is_ok());
    });
    group.finish();
    Ok(())
}

fn manifests(criterion: &mut Criterion) -> Outcome {
    let mut builder = ManifestBuilder::new(3)?;
    for block in 0..i64::from(N) {
        builder.push(&[block / 100, block % 100, -block], block % 7)?;
    }
    let blob = builder.finish();
    let manifest = Manifest::parse(&blob, 3)?;
    let mut group = criterion.benchmark_group("manifest 10000 blocks");
    group.throughput(Throughput::Elements(u64::from(N)));
    group.bench_function("parse", |bench| {
        bench.iter(|| Manifest::parse(black_box(&blob), 3).map(|m| m.len()))
    });
    group.bench_function("walk blocks", |bench| {
        bench.iter(|| {
            let blocks = black_box(&manifest).blocks();
            blocks
                .map(|block| block.chunk.len() as u64 + FragmentRefs::len(&block.fragments))
                .sum::<u64>()
        });
    });
    group.bench_function("walk references", |bench| {
        bench.iter(|| {
            black_box(&manifest)
                .fragment_refs()
                .map(|(_, fragment)| fragment)
                .sum::<i64>()
        });
    });
    group.finish();
    Ok(())
}

fn vlen(criterion: &mut Criterion) -> Outcome {
    let mut builder = VlenBuilder::new();
    for i in 0..N {
        builder.push(&[0; 64][..(i % 64) as usize])?;
    }
    let bytes = builder.finish();
    let chunk = VlenChunk::parse(&bytes, u64::from(N))?;
    let mut group = criterion.benchmark_group("vlen 10000 elements");
    group.throughput(Throughput::Elements(u64::from(N)));
    group.bench_function("parse", |bench| {
        bench.iter(|| VlenChunk::parse(black_box(&bytes), u64::from(N)).map(|chunk| chunk.len()));
    });
    group.bench_function("walk", |bench| {
        bench.iter(|| black_box(&chunk).iter().map(<[u8]>::len).sum::<usize>())
    });
    let directory = VlenDirectory::build(&chunk);
    let wanted = shuffled();
    group.throughput(Throughput::Elements(1000));
    group.bench_function("1000 random, directory get", |bench| {
        bench.iter(|| {
            wanted
                .iter()
                .filter_map(|&i| directory.get(&chunk, i))
                .map(<[u8]>::len)
                .sum::<usize>()
        });
    });
    group.finish();
    Ok(())
}

fn links(criterion: &mut Criterion) -> Outcome {
    let mut group = criterion.benchmark_group("links 10000 records");
    group.throughput(Throughput::Elements(u64::from(N)));
    for (name, offsets, dtype) in [
        ("edges inside, int64", [0], DType::I64),
        ("edges inside, int32", [0], DType::little(DTypeKind::I32)),
        ("edges across with permutation, int64", [1], DType::I64),
    ] {
        let form = CellForm::derive(2, 0, &offsets, false, false, dtype);
        let mut builder = LinkCellBuilder::new(form);
        for row in 0..i64::from(N) {
            let s = if form.has_perm && row % 3 == 0 {
                [1, 0]
            } else {
                [0, 1]
            };
            builder.push(&s, &[row, row + 1])?;
        }
        let bytes = builder.finish();
        let cell = LinkCell::parse(&bytes, form)?;
        group.bench_function(format!("{name}: restore"), |bench| {
            bench.iter(|| {
                let (mut sum, mut rows) = (0_i64, [0; 2]);
                for record in black_box(&cell).iter() {
                    if record.restore(&mut rows).is_ok() {
                        sum = sum.wrapping_add(rows[0] ^ rows[1]);
                    }
                }
                sum
            });
        });
        let mut out = vec![0; cell.rows().len() * cell.rows().width()];
        group.bench_function(format!("{name}: copy rows"), |bench| {
            bench.iter(|| black_box(&cell).rows().copy_to(&mut out));
        });
    }
    group.finish();
    Ok(())
}

fn keys(criterion: &mut Criterion) {
    let coordinates: Vec<[i64; 3]> = (0..i64::from(N))
        .map(|i| [i / 100, -(i % 100), 7])
        .collect();
    let texts: Vec<String> = coordinates
        .iter()
        .map(|key| format_key(key).to_string())
        .collect();
    let mut group = criterion.benchmark_group("keys 10000");
    group.throughput(Throughput::Elements(u64::from(N)));
    group.bench_function("parse", |bench| {
        let mut out = [0; 4];
        bench.iter(|| {
            texts
                .iter()
                .filter(|text| parse_key(text, &mut out).is_ok())
                .count()
        });
    });
    group.bench_function("format", |bench| {
        let mut text = String::new();
        bench.iter(|| {
            use std::fmt::Write as _;
            text.clear();
            coordinates
                .iter()
                .filter(|key| write!(text, "{}", format_key(&key[..])).is_ok())
                .count()
        });
    });
    group.finish();
}

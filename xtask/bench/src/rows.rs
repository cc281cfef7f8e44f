//! Short queries of streamlines in one process, for comparing two builds in turn.
//!
//! `zvf-bench rows make FOLDER COUNT SIDE CODEC` writes a store of COUNT lines of 100 points in bundles, in chunks of SIDE;
//! `zvf-bench rows run ROUNDS STORE…` opens each store once and prints a line a job: store, job, median microseconds, vertices and a
//! checksum of their positions, which is the same for every build and codec. `rows loop ROUNDS STORE JOB` runs one job alone, for a
//! profiler. `rows codecs STORE…` encodes the cells of vertices of stores again, as Blosc frames of several kinds and as zstd, and prints
//! size, time to decode all, and time to decode the first block and one in the middle.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use zvf_blosc::{
    Chunk, Codec as Library, Codecs, Encoder, FirstFilter, Generation, LastFilter, Settings,
};
use zvf_query::{BBox, Query, Select, Table};
use zvf_store::Store;
use zvf_store::blocking::Runtime;
use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, WriteOptions};

/// World size of the box that the lines are in, along every axis.
const SIDE: f32 = 200.0;
/// Points of a line.
const POINTS: u16 = 100;
/// Coordinates are multiples of a 256th.
const STEPS: f32 = 256.0;

/// Runs a command; the words after `rows`.
pub(crate) fn run(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = Runtime::new()?;
    match words.as_slice() {
        ["make", folder, count, side, codec] => runtime.wait(make(
            folder,
            count.parse()?,
            side.parse()?,
            codec.parse::<zvf_write::Compression>()?,
        )),
        ["run", rounds, stores @ ..] => {
            for url in stores {
                measure(&runtime, url, rounds.parse()?, None)?;
            }
            Ok(())
        }
        ["codecs", stores @ ..] => {
            for url in stores {
                codecs(&runtime, url)?;
            }
            Ok(())
        }
        ["loop", rounds, url, job] => measure(&runtime, url, rounds.parse()?, Some(job)),
        _ => bail!(
            "rows codecs STORE… | rows make FOLDER COUNT SIDE CODEC | rows run ROUNDS STORE… | rows loop ROUNDS STORE JOB"
        ),
    }
}

/// Numbers that look random and are the same everywhere.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// From 0 to 1.
    pub(crate) fn unit(&mut self) -> f32 {
        f32::from((self.next() >> 48) as u16) / 65536.0
    }

    /// About normally distributed.
    pub(crate) fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.unit()).sum::<f32>() - 6.0
    }

    fn point(&mut self, of: impl Fn(&mut Self) -> f32) -> [f32; 3] {
        [of(self), of(self), of(self)]
    }
}

/// Writes smooth lines in bundles of about 500.
async fn make(folder: &str, count: u64, side: f64, codec: zvf_write::Compression) -> Result<()> {
    let spec = StoreSpec::new(Kind::Streamline, [side; 3]).with_compression(codec);
    let options = WriteOptions::new().with_durable(false);
    let mut writer = StoreWriter::create(folder, spec, options).await?;
    let mut numbers = Numbers(5);
    let bundles: Vec<([f32; 3], [f32; 3])> = (0..(count / 500).max(1))
        .map(|_| {
            let start = numbers.point(|n| 30.0 + n.unit() * (SIDE - 60.0));
            (start, numbers.point(Numbers::normal))
        })
        .collect();
    let many = bundles.len() as u64;
    for first in (0..count).step_by(1000) {
        let (mut positions, mut runs) = (Vec::new(), Vec::new());
        for id in first..count.min(first + 1000) {
            let bundle = usize::try_from(numbers.next() % many)?;
            let (start, course) = *bundles.get(bundle).context("a bundle")?;
            let mut at = start;
            let offset = numbers.point(Numbers::normal);
            (0..3).for_each(|axis| at[axis] += 4.0 * offset[axis]);
            let mut drift = [0.0_f32; 3];
            for _ in 0..POINTS {
                let noise = numbers.point(Numbers::normal);
                (0..3).for_each(|axis| drift[axis] += 0.15 * noise[axis]);
                let step = [0, 1, 2].map(|axis| course[axis] + drift[axis]);
                let length = step
                    .iter()
                    .map(|one| one * one)
                    .sum::<f32>()
                    .sqrt()
                    .max(1e-3);
                for axis in 0..3 {
                    at[axis] += 0.8 * step[axis] / length;
                    // Turned back at the walls.
                    let inside = SIDE - (SIDE - at[axis].abs()).abs() % SIDE;
                    positions.push((inside * STEPS).round() / STEPS);
                }
            }
            runs.push((i64::try_from(id)?, usize::from(POINTS)));
        }
        writer.push(&Batch::new(&positions[..]).with_object_runs(&runs[..]))?;
    }
    writer.finish().await?;
    Ok(())
}

/// Opens a store and runs the jobs, or one of them.
fn measure(runtime: &Runtime, url: &str, rounds: usize, only: Option<&str>) -> Result<()> {
    let store = runtime.wait(Store::open(url))?;
    let count = runtime.wait(objects(&store))?;
    let half = f64::from(SIDE) * 0.01_f64.cbrt() / 2.0;
    let middle = runtime.wait(middle(&store))?;
    let bbox = BBox::new(
        middle.map(|one| one - half).to_vec(),
        middle.map(|one| one + half).to_vec(),
    )?;
    for (job, wanted, weight) in [
        ("one", 1, 100),
        ("200", 200, 4),
        ("box", 0, 2),
        ("full", 0, 1),
    ] {
        if only.is_some_and(|only| only != job) {
            continue;
        }
        let mut numbers = Numbers(7);
        let (mut times, mut vertices, mut sum) = (Vec::new(), 0, 0_u64);
        for round in 0..=rounds * weight {
            let mut ids: Vec<i64> = Vec::new();
            while ids.len() < wanted {
                let id = i64::try_from(numbers.next() % count)?;
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
            let query = Query {
                objects: (wanted > 0).then_some(ids),
                bbox: (job == "box").then(|| bbox.clone()),
                select: if job == "full" {
                    Select::Vertices
                } else {
                    Select::Objects
                },
                ..Query::default()
            };
            let start = Instant::now();
            let (rows, part) = runtime.wait(answer(&store, query))?;
            // The first one fills caches.
            if round > 0 {
                times.push(start.elapsed().as_nanos());
            }
            vertices += rows;
            sum = sum.wrapping_add(part);
        }
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        println!(
            "{url} {job} {}.{:01} us {vertices} {sum:016x}",
            median / 1000,
            median / 100 % 10
        );
    }
    Ok(())
}

async fn objects(store: &Store) -> Result<u64> {
    let need = zvf_store::Need {
        objects: true,
        ..Default::default()
    };
    let level = store.level(0, &need).await?;
    Ok(level.object_index().context("no objects")?.len())
}

/// The point in the middle of the first line.
async fn middle(store: &Store) -> Result<[f64; 3]> {
    let query = Query {
        objects: Some(vec![0]),
        ..Query::default()
    };
    let found = zvf_query::query(store, query).await?.collect().await?;
    let batch = found.vertices.first().context("no rows")?;
    let rows = batch.column(0).as_fixed_size_list();
    let values = rows.values().as_primitive::<Float32Type>();
    let from = rows.len() / 2 * 3;
    let point = values.values().get(from..from + 3).context("no point")?;
    Ok([0, 1, 2].map(|axis| f64::from(point[axis])))
}

/// Takes every batch; rows and a checksum of their positions.
async fn answer(store: &Store, query: Query) -> Result<(u64, u64)> {
    let light = query.objects.is_none();
    let mut answer = zvf_query::query(store, query).await?;
    let (mut vertices, mut sum) = (0, 0_u64);
    while let Some((table, batch)) = answer.next().await? {
        if table != Table::Vertices {
            continue;
        }
        vertices += batch.num_rows() as u64;
        let rows = std::hint::black_box(&batch).column(0).as_fixed_size_list();
        let values = rows.values().as_primitive::<Float32Type>();
        let step = if light { 1001 } else { 1 };
        for value in values.values().iter().step_by(step) {
            sum = sum.rotate_left(5) ^ u64::from(value.to_bits());
        }
    }
    Ok((vertices, sum))
}

/// Frames of the cells of vertices under several settings.
fn codecs(runtime: &Runtime, url: &str) -> Result<()> {
    let cells: Vec<Vec<u8>> = runtime.wait(async {
        let store = Store::open(url).await?;
        let level = store.level(0, &zvf_store::Need::default()).await?;
        let array = level.vertices();
        let chunks = array.presence().iter().take(200);
        let wants = chunks
            .map(|chunk| zvf_store::CellWant::new(array, chunk))
            .collect();
        let cells = store.fetch(9, wants).await?;
        Ok::<_, anyhow::Error>(
            cells
                .into_iter()
                .flatten()
                .map(|cell| framed(&cell))
                .collect(),
        )
    })?;
    let raw: usize = cells.iter().map(Vec::len).sum();
    println!("{url}: {} cells, {raw} bytes", cells.len());
    let line = |name: &str, size: usize, all: u128, part: u128| {
        let speed = raw as f64 * 1000.0 / all.max(1) as f64;
        let part = part / cells.len().max(1) as u128;
        println!(
            "{name:24} {:.3} of raw, {speed:.0} MB/s whole, {part} ns for two blocks",
            size as f64 / raw as f64
        );
    };
    let packed: Vec<Vec<u8>> = cells
        .iter()
        .map(|cell| zstd::bulk::compress(cell, 0))
        .collect::<Result<_, _>>()?;
    let mut state = zstd::bulk::Decompressor::new()?;
    let all = best(|| {
        for (frame, cell) in packed.iter().zip(&cells) {
            std::hint::black_box(state.decompress(frame, cell.len())?);
        }
        Ok(())
    })?;
    line("zstd", packed.iter().map(Vec::len).sum(), all, 0);
    for (codec, level) in [(Library::Lz4, 0), (Library::Zstd, 3), (Library::Zstd, 9)] {
        for (width, block) in [(4, 128), (4, 64), (4, 32), (4, 16), (4, 8), (12, 16)] {
            let size = (block << 10) / width * width;
            let mut settings = Settings::new(width, size)
                .with_format(Generation::Blosc1)
                .with_codec(Some(codec))
                .with_filters(FirstFilter::None, LastFilter::Shuffle);
            settings.level = level;
            let mut encoder = Encoder::new(settings)?;
            let mut frames = Vec::new();
            for cell in &cells {
                let mut frame = Vec::new();
                encoder.encode(cell, &mut frame)?;
                frames.push(frame);
            }
            let mut state = Codecs::new();
            let all = best(|| {
                for frame in &frames {
                    let chunk = Chunk::parse(frame)?;
                    std::hint::black_box(chunk.decode_vec(width, usize::MAX, &mut state)?);
                }
                Ok(())
            })?;
            let (mut out, mut scratch) = (vec![0; size], vec![0; size]);
            let part = best(|| {
                for frame in &frames {
                    let chunk = Chunk::parse(frame)?;
                    let header = chunk.header();
                    let pipeline = header.pipeline(width)?;
                    for block in [0, header.block_count() / 2] {
                        let length = header.block_len(block);
                        let out = out.get_mut(..length).context("a block")?;
                        chunk.decode_block(
                            &pipeline,
                            block,
                            None,
                            out,
                            &mut scratch,
                            &mut state,
                        )?;
                    }
                }
                Ok(())
            })?;
            let size = frames.iter().map(Vec::len).sum();
            line(
                &format!("{codec} {level}, {width} bytes, {block} KiB"),
                size,
                all,
                part,
            );
        }
    }
    Ok(())
}

/// A cell as it is stored: a chunk of one element.
fn framed(cell: &[u8]) -> Vec<u8> {
    let length = u32::try_from(cell.len()).unwrap_or(u32::MAX);
    [&1_u32.to_le_bytes()[..], &length.to_le_bytes(), cell].concat()
}

/// The least nanoseconds of a few runs.
fn best(mut run: impl FnMut() -> Result<()>) -> Result<u128> {
    let mut least = u128::MAX;
    for _ in 0..9 {
        let start = Instant::now();
        run()?;
        least = least.min(start.elapsed().as_nanos());
    }
    Ok(least)
}

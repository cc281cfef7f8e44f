//! The shapes of the published benchmark of the Python package, written by us: `zvf-bench shapes FOLDER VERTICES CODEC`.
//!
//! A domain of 1000 units in chunks of 200: uniform points in bins of 50, and streamlines, random walks of 32 units with 11.5 vertices on average. Prints a
//! line a store: shape, codec, vertices, files, bytes, bytes a vertex, and seconds of CPU time of the process.

use std::path::Path;

use anyhow::{Context, Result, bail};
use zvf_store::blocking::Runtime;
use zvf_write::{Batch, Compression, Kind, StoreSpec, StoreWriter, WriteOptions};

use crate::rows::Numbers;

/// World size of the domain, of a chunk and of a bin, along every axis.
const DOMAIN: f32 = 1000.0;
const CHUNK: f64 = 200.0;
const BIN: f64 = 50.0;
/// Length of a streamline.
const LENGTH: f32 = 32.0;
/// Vertices of a batch.
const BATCH: usize = 100_000;

/// Writes the stores; the words after `shapes`.
pub(crate) fn run(words: &[String]) -> Result<()> {
    let [folder, vertices, codec] = words else {
        bail!("shapes FOLDER VERTICES CODEC");
    };
    let runtime = Runtime::new()?;
    let compression: Compression = codec.parse()?;
    for kind in [Kind::PointCloud, Kind::Streamline] {
        let store = Path::new(folder).join(format!("{kind}-{}", codec.replace(':', "-")));
        let before = cpu()?;
        let spec = spec(kind).with_compression(compression.clone());
        let count = runtime.wait(write(&store, spec, vertices.parse()?))?;
        let taken = cpu()? - before;
        let (mut files, mut bytes) = (0_u64, 0_u64);
        add_up(&store, &mut files, &mut bytes)?;
        let each = bytes as f64 / count as f64;
        println!("{kind} {codec} {count} {files} {bytes} {each:.2} {taken:.2}");
    }
    Ok(())
}

fn spec(kind: Kind) -> StoreSpec {
    let spec = StoreSpec::new(kind, [CHUNK; 3]);
    match kind {
        Kind::PointCloud => spec.with_bin_shape([BIN; 3]),
        _ => spec,
    }
}

/// Writes a store of about so many vertices; returns how many it has.
async fn write(store: &Path, spec: StoreSpec, vertices: usize) -> Result<u64> {
    let address = store.to_str().context("the folder is not UTF-8")?;
    let lines = spec.kind == Kind::Streamline;
    let options = WriteOptions::new().with_durable(false).with_threads(1);
    let mut writer = StoreWriter::create(address, spec, options).await?;
    let mut numbers = Numbers(7);
    let (mut count, mut id) = (0_usize, 0_i64);
    while count < vertices {
        let (mut positions, mut runs): (Vec<f32>, Vec<(i64, usize)>) = (Vec::new(), Vec::new());
        while positions.len() < 3 * BATCH {
            let mut at = [0, 1, 2].map(|_| numbers.unit() * DOMAIN);
            if !lines {
                positions.extend(at);
                continue;
            }
            // 8 to 15 vertices, so 7 to 14 steps.
            let steps = u8::try_from(7 + numbers.next() % 8)?;
            positions.extend(at);
            for _ in 0..steps {
                let course = [0, 1, 2].map(|_| numbers.normal());
                let norm = course.iter().map(|one| one * one).sum::<f32>().sqrt();
                let step = LENGTH / f32::from(steps) / norm.max(1e-3);
                for (at, course) in at.iter_mut().zip(course) {
                    *at = (*at + step * course).clamp(0.0, DOMAIN - 0.01);
                }
                positions.extend(at);
            }
            runs.push((id, usize::from(steps) + 1));
            id += 1;
        }
        count += positions.len() / 3;
        let mut batch = Batch::new(&positions[..]);
        if lines {
            batch = batch.with_object_runs(&runs[..]);
        }
        writer.push(&batch)?;
    }
    writer.finish().await?;
    Ok(u64::try_from(count)?)
}

/// CPU seconds of this process so far, in user mode.
fn cpu() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, rest) = stat.rsplit_once(')').context("no name in stat")?;
    let ticks: f64 = rest
        .split_whitespace()
        .nth(11)
        .context("no time")?
        .parse()?;
    Ok(ticks / 100.0)
}

fn add_up(folder: &Path, files: &mut u64, bytes: &mut u64) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_dir() {
            add_up(&entry.path(), files, bytes)?;
        } else {
            *files += 1;
            *bytes += about.len();
        }
    }
    Ok(())
}

//! Streams random points into a store: `ingest ADDRESS POINTS [MEMORY_MB]`. Prints the time and memory used.
#![allow(clippy::print_stdout, reason = "a program")]

use std::error::Error;
use std::time::Instant;

use zvf_store::blocking::Runtime;
use zvf_write::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, WriteOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, points, rest @ ..] = &arguments[..] else {
        return Err("ingest ADDRESS POINTS [MEMORY_MB]".into());
    };
    let points: u64 = points.parse()?;
    let budget: usize = rest.first().map_or(Ok(256), |text| text.parse())?;
    // About a thousand points per chunk.
    let side = (points as f64 / 1000.0).cbrt().max(1.0).round();
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3])
        .with_bin_shape([5.0; 3])
        .with_vertex_attribute(AttributeSpec::number("intensity", NumberType::F32))
        .with_vertex_attribute(AttributeSpec::number("label", NumberType::U16));
    let options = WriteOptions::new().with_memory_budget(budget << 20);
    Runtime::new()?.wait(async {
        let start = Instant::now();
        let mut writer = StoreWriter::create(address, spec, options).await?;
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / 16_777_216.0
        };
        let mut left = points;
        while left > 0 {
            let rows = left.min(1 << 16);
            let positions: Vec<f32> = (0..rows * 3)
                .map(|_| random() * side as f32 * 10.0)
                .collect();
            let intensity: Vec<f32> = (0..rows).map(|_| random()).collect();
            let label: Vec<u16> = (0..rows).map(|_| (random() * 40.0) as u16).collect();
            let batch = Batch::new(positions)
                .with_attribute("intensity", intensity)
                .with_attribute("label", label);
            writer.push(&batch)?;
            left -= rows;
        }
        let pushed = start.elapsed();
        let summary = writer.finish().await?;
        println!(
            "{} points, {} chunks: {:.2} s in all, {:.2} s of it pushing; peak memory {}",
            summary.vertices,
            summary.chunks,
            start.elapsed().as_secs_f64(),
            pushed.as_secs_f64(),
            peak()
        );
        Ok(())
    })
}

/// The peak memory of this process, if the system reports it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".to_owned(), |line| line.trim().to_owned())
}

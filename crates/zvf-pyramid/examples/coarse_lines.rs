//! Adds coarse levels to long lines, and prints how much smaller each level is and how far any part moved. The ends of lines stay.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::sync::Arc;

use zvf_pyramid::{BaseBins, LevelStep, PyramidSpec, build_pyramid};
use zvf_store::blocking::Runtime;
use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, WriteOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let address = folder.path().join("waves.zarrvectors");
    let address = address.to_string_lossy();
    Runtime::new()?.wait(async {
        let spec = StoreSpec::new(Kind::Streamline, [50.0; 2]);
        let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
        for id in 0..10_u8 {
            let xs = (0..1000_u16).map(|n| f32::from(n) / 10.0);
            let points = xs.flat_map(|x| [x, 3.0 * (x / 8.0).sin() + f32::from(id)]);
            let objects = [(i64::from(id), 1000)];
            writer
                .push(&Batch::new(points.collect::<Vec<f32>>()).with_object_runs(&objects[..]))?;
        }
        writer.finish().await?;

        let steps = [LevelStep::new(4.0), LevelStep::new(4.0)];
        let spec = PyramidSpec::new(steps).with_base(BaseBins::Data);
        let options = WriteOptions::new();
        let made = build_pyramid(&address, &spec, &options, Arc::new(|_| ())).await?;
        for level in made.levels {
            let (number, vertices) = (level.level, level.vertices);
            println!("level {number}: {vertices} vertices of {}", level.finer);
            if let Some(bound) = level.error_bound {
                println!("  at most {bound:.2} away from the line below");
            }
        }
        Ok(())
    })
}

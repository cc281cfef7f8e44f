//! Copies a store into an older version of the format, and prints the content that this version cannot have. The copy is compared with the original
//! before it is complete.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use zvf_migrate::{MigrateOptions, migrate};
use zvf_store::{Store, blocking::Runtime};
use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, TargetVersion, WriteOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let place = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (new, old) = (place("new.zarrvectors"), place("old.zarrvectors"));
    Runtime::new()?.wait(async {
        let spec = StoreSpec::new(Kind::Streamline, [10.0; 2]);
        let mut writer = StoreWriter::create(&new, spec, WriteOptions::new()).await?;
        let points: Vec<f32> = (0..40).map(|n| n as f32).collect();
        let objects = &[(1000, 5), (7, 15)][..];
        writer.push(&Batch::new(points).with_object_runs(objects))?;
        writer.finish().await?;

        let options = MigrateOptions::new().with_target(TargetVersion::V0_8_1);
        let report = migrate(&Store::open(&new).await?, &old, options).await?;
        for loss in &report.losses {
            println!("{}: {}", loss.place, loss.what);
        }
        let same = report.verified.ok_or("not compared")?;
        println!("{} vertices are the same", same.vertices);
        Ok(())
    })
}

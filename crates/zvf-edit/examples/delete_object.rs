//! Deletes an object and then removes its rows from the cells of its chunks. Readers see the first change at once, and no difference after the
//! second.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use zvf_edit::{Edit, vacuum};
use zvf_store::blocking::Runtime;
use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, WriteOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let address = folder.path().join("lines.zarrvectors");
    let address = address.to_string_lossy();
    Runtime::new()?.wait(async {
        let spec = StoreSpec::new(Kind::Streamline, [10.0; 2]);
        let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
        let points: Vec<f32> = (0..40).map(|n| n as f32).collect();
        let objects = &[(1, 5), (2, 15)][..];
        writer.push(&Batch::new(points).with_object_runs(objects))?;
        writer.finish().await?;

        let mut edit = Edit::open(&address, WriteOptions::new()).await?;
        edit.delete(&[2]).await?;
        let done = edit.commit().await?;
        println!(
            "{} vertices, in {} changed chunks",
            done.vertices, done.chunks
        );

        let removed = vacuum(&address, WriteOptions::new()).await?;
        println!(
            "{} rows removed from {} chunks",
            removed.rows, removed.edit.chunks
        );
        Ok(())
    })
}

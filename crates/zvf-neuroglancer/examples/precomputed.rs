//! Writes the views of a store as precomputed files, for a bucket that Neuroglancer reads. Prints the folders and the description of one.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use zvf_neuroglancer::{Shards, export_precomputed};
use zvf_store::{Store, blocking::Runtime};
use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, WriteOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let address = folder.path().join("cells.zarrvectors");
    let address = address.to_string_lossy();
    let out = folder.path().join("precomputed");
    std::fs::create_dir(&out)?;
    Runtime::new()?.wait(async {
        let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3]).with_unit("micrometer");
        let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
        let points: Vec<f32> = (0..300).map(|n| (n % 37) as f32).collect();
        writer.push(&Batch::new(points))?;
        writer.finish().await?;

        let store = Store::open(&address).await?;
        let done = export_precomputed(store, &out, 64 << 20, Shards::None).await?;
        println!("{} files, {} bytes", done.files, done.bytes);
        for view in done.views {
            println!(
                "{view}/info: {}",
                std::fs::read_to_string(out.join(view).join("info"))?
            );
        }
        Ok(())
    })
}

//! Draws a spiral as an SVG picture, coloured by the height of its vertices. `plot` draws the same picture as pixels, for stores of any size.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use zvf_plot::{Layer, PlotOptions, plot_svg};
use zvf_store::{Store, blocking::Runtime};
use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, WriteOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let address = folder.path().join("spiral.zarrvectors");
    let address = address.to_string_lossy();
    Runtime::new()?.wait(async {
        let spec = StoreSpec::new(Kind::Streamline, [1.0; 3]);
        let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
        let angles = (0..100_u8).map(|n| f32::from(n) / 5.0);
        let points = angles.flat_map(|angle| [angle.cos(), angle.sin(), angle / 10.0]);
        let points: Vec<f32> = points.collect();
        writer.push(&Batch::new(points).with_object_runs(&[(1, 100)][..]))?;
        writer.finish().await?;

        let layer = Layer::new(Store::open(&address).await?, "spiral");
        let drawn = plot_svg(&[layer], &PlotOptions::default()).await?;
        println!("{}", drawn.picture);
        Ok(())
    })
}

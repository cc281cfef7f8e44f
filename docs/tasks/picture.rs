//! Draw a store as a picture.

use zvf_plot::{Layer, PlotOptions, plot};
use zvf_store::Store;
use zvf_store::blocking::Runtime;

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let png = Runtime::new()?.wait(async {
        let store = Store::open("tracts.zarrvectors").await?;
        let options = PlotOptions {
            size: [320, 240],
            view: "x-z".parse()?,
            ..PlotOptions::default()
        };
        let drawn = plot(&[Layer::new(store, "tracts")], &options).await?;
        Ok::<_, Box<dyn std::error::Error>>(drawn.picture.to_png()?)
    })?;
    std::fs::write("tracts.png", &png)?;
    println!("{}", png.len());
    Ok(())
}

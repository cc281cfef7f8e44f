//! Pictures of Zarr Vectors stores, drawn on the CPU.
//!
//! [`plot`] draws one or several [`Layer`]s, each a selection of a store, into a [`Picture`]; [`plot_svg`] writes small ones as SVG. Points,
//! lines and faces are drawn into pixels with depth as batches of `zvf-query` arrive, on several threads, and give the same picture in any
//! order. Only some points and lines are in memory at a time. All vertices that stored links refer to are kept in memory, up to
//! [`PlotOptions::vertices`].
//!
//! ```
//! use zvf_plot::{Layer, PlotOptions, plot};
//! use zvf_store::{Store, blocking::Runtime};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let bundled = zvf_testkit::unpacked("real_skeleton")?.url()?;
//! let png = Runtime::new()?.wait(async {
//!     let store = Store::open(&bundled).await?; // or s3://bucket/neuron.zarrvectors
//!     let options = PlotOptions { size: [320, 240], view: "x-z".parse()?, ..PlotOptions::default() };
//!     let drawn = plot(&[Layer::new(store, "neuron")], &options).await?;
//!     assert_eq!(drawn.layers[0].vertices, 4465);
//!     Ok::<_, Box<dyn std::error::Error>>(drawn.picture.to_png()?)
//! })?;
//! assert!(png.starts_with(b"\x89PNG"));
//! # Ok(())
//! # }
//! ```
//!
//! # Camera
//!
//! A [`Camera`] defines the projection from world positions to pixels. [`Drawing::camera`] is the camera of the picture, from which other programs
//! can draw the same view.

mod camera;
mod canvas;
mod color;
mod decor;
mod density;
mod draw;
mod error;
mod extent;
mod layer;
mod level;
mod pen;
mod picture;
mod pool;
mod rows;
mod scale;
mod scene;
mod sixel;
mod svg;

pub use camera::{Bounds, Camera, Orientation, Point3, ProjectedPoint, Projection, UpAxis};
pub use color::{ColorBy, Colormap, Rgb};
pub use error::PlotError;
pub use layer::Layer;
pub use level::LevelChoice;
pub use picture::Picture;
pub use scene::{Drawing, DrawnLayer, PlotOptions, plot, plot_svg};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

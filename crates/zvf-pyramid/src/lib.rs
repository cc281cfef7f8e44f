//! Makes coarse levels of an existing store.
//!
//! [`build_pyramid`] adds all levels at once; [`refresh_pyramid`] rebuilds them after edits, and [`remove_pyramid`]
//! removes them. `docs/pyramids.md` describes the methods.
//!
//! ```
//! # use std::sync::Arc;
//! # use zvf_store::{Store, blocking::Runtime};
//! # use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, WriteOptions};
//! # use zvf_pyramid::{LevelStep, PyramidSpec, build_pyramid};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let address = folder.path().join("points.zarrvectors").to_string_lossy().into_owned();
//! # Runtime::new()?.wait(async {
//! # let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2]);
//! # let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
//! # writer.push(&Batch::new((0..2000).map(|n| (n % 97) as f32).collect::<Vec<f32>>()))?;
//! # writer.finish().await?;
//! // Bins of twice the size, and of four times the size.
//! let spec = PyramidSpec::new([LevelStep::new(2.0), LevelStep::new(2.0)]);
//! let report = build_pyramid(&address, &spec, &WriteOptions::new(), Arc::new(|_| ())).await?;
//! let levels = report.levels;
//! assert_eq!(Store::open(&address).await?.levels(), [0, 1, 2]);
//! assert!(levels[1].vertices < levels[0].vertices);
//! # Ok(())
//! # })
//! # }
//! ```

mod base;
mod bin;
mod bins;
mod cross;
mod density;
mod fine;
mod growth;
mod make;
mod median;
mod meter;
mod needs;
mod plan;
mod reference;
mod replace;
mod root;
mod run;
mod sample;
mod sink;
mod spec;
mod sums;

pub use base::{BinReason, ChosenBins};
pub use make::LevelReport;
pub use needs::pyramid_memory;
pub use run::{PyramidReport, build_pyramid, refresh_pyramid, remove_pyramid};
pub use spec::{BaseBins, CrossLevel, Existing, LevelStep, Method, PyramidSpec};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

//! Coarse levels for a store that is there.

mod base;
mod bins;
mod cross;
mod density;
mod fine;
mod growth;
mod leftovers;
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
mod storage;
mod sums;

pub(crate) use leftovers::leftovers;

pub use base::{BinReason, ChosenBins};
pub use make::LevelReport;
pub use needs::pyramid_memory;
pub use run::{PyramidReport, build_pyramid, refresh_pyramid, remove_pyramid};
pub use spec::{BaseBins, CrossLevel, Existing, LevelStep, Method, PyramidSpec};

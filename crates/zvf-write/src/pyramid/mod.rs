//! Coarse levels for a store that is there.

mod bins;
mod cross;
mod density;
mod fine;
mod reference;
mod root;
mod run;
mod sample;
mod spec;
mod storage;

pub use run::{LevelReport, build_pyramid};
pub use spec::{CrossLevel, LevelStep, Method, PyramidSpec};

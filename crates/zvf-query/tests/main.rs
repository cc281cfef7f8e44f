//! Queries against the bundled stores, against stores made here from the format's pages, and against damage.

mod fixtures;
mod make;
mod support;
mod traps;

//! Queries against the bundled stores, against stores made here from the format's pages, and against damage.

mod fixtures;
mod hostile;
mod make;
mod properties;
mod rounds;
mod support;
mod traps;

//! Queries against the bundled stores, against stores made here from the format's pages, and against damage.

mod fixtures;
mod support;

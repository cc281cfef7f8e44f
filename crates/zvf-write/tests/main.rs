//! What goes into a store comes out of it again: compared with the input, never with what was written.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod chains;
mod crash;
mod edited;
mod edits;
mod edits_broken;
mod edits_fixtures;
mod killed;
mod links;
mod local;
mod minimal;
mod model;
mod points;
mod random;
mod refused;
mod support;
mod tables;
mod traps;

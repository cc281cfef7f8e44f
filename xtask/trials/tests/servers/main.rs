//! Reader and writer against servers that other people wrote. Run by `cargo xtask test`, which makes them ready.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests stand outside test functions"
)]

mod changed;
mod edits;
mod jobs;
mod s3;
mod support;
mod unlucky;
mod validation;
mod web;
mod writing;

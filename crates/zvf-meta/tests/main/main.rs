//! Integration tests of `zvf-meta`: real stores, broken documents, arbitrary input.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail as tests do"
)]

mod arbitrary;
mod base;
mod breaks;
mod broken;
mod meaning;
mod stores;

//! Tests of whole frames: samples of other writers, damage, round trips.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop where they fail"
)]

mod claims;
mod damaged;
mod objects;
mod roundtrip;
mod samples;
mod support;
mod sweeps;

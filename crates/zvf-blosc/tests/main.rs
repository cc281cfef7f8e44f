//! Tests of whole chunks: round trips, an independent implementation of the filters, damage, Blosc1
//! frames.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop where they fail"
)]

mod damage;
mod filters;
mod roundtrip;

//! Tests through the public API only. Expected results come from the manifests of `testdata/tet`, or from a naive
//! computation in [`support`].
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where its preparation fails"
)]

mod damage;
mod derived;
mod manifest;
mod remote;
mod round_trip;
mod support;
mod writer;

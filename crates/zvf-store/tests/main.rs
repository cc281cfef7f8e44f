//! Tests of whole stores: the bundled ones and small ones made in memory.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests stand outside test functions"
)]

mod backends;
mod blobs;
mod blobs_group;
mod bundled;
mod changing;
mod chunks;
mod codecs;
mod containers;
mod damage;
mod dense;
mod left_out;
mod legacy_tables;
mod limits;
mod link_values;
mod links;
mod links_07;
mod links_08;
mod older;
mod oracle;
mod packed;
mod padded;
mod probe;
mod ranges;
mod remote;
mod requests;
mod side;
mod support;
mod together;
mod traps;
#[cfg(feature = "http")]
mod web;

//! What goes wrong on the way between a reader and a store, and what a question costs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests stand outside test functions"
)]

mod growth;
mod local;
mod permanent;
mod points;
mod requests;
mod support;
mod swapped;
mod transient;

/// `cargo test --workspace` does not build the tests against real servers. The command that the README names does.
#[test]
fn cargo_xtask_test_runs_the_servers_too() {
    let task = include_str!("../../../src/test.rs");
    assert!(task.contains("zvf-trials/servers"));
}

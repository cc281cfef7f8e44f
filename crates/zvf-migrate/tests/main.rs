//! Copies of stores: their verification, and sources that change in the meantime.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod damage;
mod made;
mod sources;
mod verbatim;

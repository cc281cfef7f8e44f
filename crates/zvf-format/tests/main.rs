//! Tests through the public API alone.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends where its preparation fails"
)]

mod damage;
mod store;

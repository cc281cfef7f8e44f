//! Tests through the public API only.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends where its preparation fails"
)]

mod damage;
mod store;

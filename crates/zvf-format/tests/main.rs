//! Tests through the public API alone.

mod damage;
mod store;

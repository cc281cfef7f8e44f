//! Tests through the public API alone.

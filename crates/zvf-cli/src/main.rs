//! The `zvf` program.
fn main() {}

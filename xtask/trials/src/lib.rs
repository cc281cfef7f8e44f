//! What the trials share: questions, their answers as values that compare, their truth, and stores that are made.
//!
//! The trials are tests and measurements of what happens between the reader and a store that lies far away. `tests/faults`
//! runs with every `cargo test`: requests that fail, bodies that are cut, stores that change under the reader, and how many
//! requests a question costs. `tests/servers` needs the feature `servers` and is run by `cargo xtask test`, which makes the
//! servers ready. The program measures what depends on the machine: time and memory.

pub mod altered;
pub mod answers;
pub mod points;
pub mod questions;
pub mod sharded;
pub mod truth;

//! One binary for all tests of the crate.

mod breaks;
mod crash;
mod kept;
mod left;
mod repaired;
mod support;
mod swept;
